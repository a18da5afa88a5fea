/* SPDX-License-Identifier: MIT */
/*
 * size.h - the one place where sizes are multiplied and added. Everything
 * saturates at SIZE_LIMIT, which no memory can hold, so a chain of products
 * needs a single question at its end.
 */
#ifndef SIZE_H
#define SIZE_H

#include <stdbool.h>
#include <stdint.h>

/* Elements: times eight bytes and some padding they still fit an int64_t. */
#define SIZE_LIMIT ((int64_t)1 << 58)

static inline int64_t size_mul(int64_t a, int64_t b)
{
    int64_t product;
    if (__builtin_mul_overflow(a, b, &product) || product > SIZE_LIMIT)
        return SIZE_LIMIT;
    return product;
}

static inline int64_t size_add(int64_t a, int64_t b)
{
    return a > SIZE_LIMIT - b ? SIZE_LIMIT : a + b;
}

static inline bool size_fits(int64_t size)
{
    return size < SIZE_LIMIT;
}

static inline int64_t size_ceil(int64_t a, int64_t by)
{
    return a / by + (a % by != 0);
}

static inline int64_t size_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t size_max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* a + b for positions among keys: at the borders instead of beyond. */
static inline int64_t size_shift(int64_t a, int64_t b)
{
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum))
        return b > 0 ? INT64_MAX : INT64_MIN;
    return sum;
}

#endif
