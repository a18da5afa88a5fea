/* SPDX-License-Identifier: MIT */
/*
 * real.h - numbers of either type behind a plain pointer.
 */
#ifndef REAL_H
#define REAL_H

#include "attention.h"

/* Element `index` of an array whose elements have `size` bytes. An array
 * without elements may be NULL, to which C lets nothing be added, even 0. */
static inline void *real_at(const void *x, int64_t index, int64_t size)
{
    return x ? (char *)x + index * size : NULL;
}

static inline double real_get(const void *x, int64_t index, int64_t size)
{
    if (size == sizeof(double))
        return ((const double *)x)[index];
    return (double)((const float *)x)[index];
}

static inline void real_put(void *x, int64_t index, int64_t size, double value)
{
    if (size == sizeof(double))
        ((double *)x)[index] = value;
    else
        ((float *)x)[index] = (float)value;
}

#endif
