/* SPDX-License-Identifier: MIT */
/*
 * turn - see turn.h.
 */
#include "turn.h"

#include <limits.h>
#include <stdatomic.h>

unsigned turn(void)
{
    static atomic_uint next;
    static _Thread_local unsigned own = UINT_MAX;

    if (own == UINT_MAX)
        own = atomic_fetch_add(&next, 1);
    return own;
}
