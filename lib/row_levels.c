/* SPDX-License-Identifier: MIT */
/*
 * row_levels.c - the operations on a row, for float and for double, compiled
 * once for each CPU level (LEVEL is v2, v3, v4 or base). row_body.h is the
 * text for one type; row.c chooses.
 */
#include "row.h"

#include <math.h>

#include "fuse.h"

static int64_t see_mask(unsigned char *map, int64_t n,
                        const unsigned char *mask, int64_t step)
{
    int64_t count = 0;
    if (step)
        for (int64_t j = 0; j < n; j++)
            map[j] = (unsigned char)(map[j] & (mask[j] != 0));
    else
        for (int64_t j = 0; j < n; j++)
            map[j] = (unsigned char)(map[j] & (*mask != 0));
    for (int64_t j = 0; j < n; j++)
        count += map[j];
    return count;
}

#define real float
#define whole uint32_t
#define NAME(x) x##_f32
#define LANES 16
#define EXP_LOG2E 1.44269504f
#define EXP_SHIFT 12582912.f /* 1.5 * 2^23 */
#define EXP_LN2_HIGH 0.693359375f
#define EXP_LN2_LOW (-2.12194440e-4f)
#define EXP_BIAS 127
#define EXP_MANTISSA 23
/* (exp(r) - 1 - r) / r^2 to the last bit for |r| <= ln 2 / 2 */
#define EXP_SERIES \
    {1 / 5040.f, 1 / 720.f, 1 / 120.f, 1 / 24.f, 1 / 6.f, 1 / 2.f}
#define TANH_ONE 10.f /* from here on tanh is 1 */
#include "row_body.h"

#define real double
#define whole uint64_t
#define NAME(x) x##_f64
#define LANES 8
#define EXP_LOG2E 1.4426950408889634
#define EXP_SHIFT 6755399441055744. /* 1.5 * 2^52 */
#define EXP_LN2_HIGH 0x1.62e42feep-1
#define EXP_LN2_LOW 0x1.a39ef35793c76p-33
#define EXP_BIAS 1023
#define EXP_MANTISSA 52
#define EXP_SERIES \
    {1 / 6227020800., 1 / 479001600., 1 / 39916800., 1 / 3628800., \
     1 / 362880., 1 / 40320., 1 / 5040., 1 / 720., 1 / 120., 1 / 24., \
     1 / 6., 1 / 2.}
#define TANH_ONE 20.
#include "row_body.h"

#define JOIN(a, b) a##b
#define TABLE(level) JOIN(row_ops_, level)

extern const struct row_ops *const TABLE(LEVEL)[2];
const struct row_ops *const TABLE(LEVEL)[2] = {
    [ATTN_FLOAT32] = &ops_f32,
    [ATTN_FLOAT64] = &ops_f64,
};
