/* SPDX-License-Identifier: MIT */
/*
 * spin - a lock for moments. Whoever finds it taken looks again for as long as
 * a few loads and stores take, and only then leaves its core to others, among
 * whom is the holder, if it has lost its own.
 */
#ifndef SPIN_H
#define SPIN_H

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { SPIN_LOOKS = 200 };

static inline void spin_take(atomic_bool *taken)
{
    int looks = 0;

    while (atomic_exchange_explicit(taken, true, memory_order_acquire))
        while (atomic_load_explicit(taken, memory_order_relaxed))
            if (++looks % SPIN_LOOKS == 0)
                sched_yield();
}

static inline void spin_give(atomic_bool *taken)
{
    atomic_store_explicit(taken, false, memory_order_release);
}

#endif
