/* SPDX-License-Identifier: MIT */
/*
 * number_read - what reading numbers one by one shares with the wide readers
 * of rows. Not for others: they include number.h.
 */
#ifndef NUMBER_READ_H
#define NUMBER_READ_H

#include <stdint.h>

#include "number.h"
#include "number_power.h"

static const uint64_t number_infinity = (uint64_t)2047 << 52;

/* number_round_product() of what is too small for a full mantissa. */
bool number_round_subnormal(number_u128 product, int exponent, uint64_t *bits);

/* w 10^q to the nearest binary64, as a bit pattern, infinity on overflow;
 * false if that took more than 128 bits, and *bits is one too low or right.
 * P = floor(w g / 2^64), the upper 128 of 192 bits. With w and g normalised,
 * w 10^q in units of P's last bit lies in (P - 1, P + 1), since g is at most
 * 1 too large and the floor at most 1 too small. So the only P that does not
 * tell how to round is the one just half way. */
static inline bool number_round_product(uint64_t w, int64_t q, uint64_t *bits)
{
    *bits = w == 0 || q < NUMBER_POWER_MIN ? 0 : number_infinity;
    if (*bits == 0 || q > 308)
        return true;
    int zeros = __builtin_clzll(w);
    struct number_power g = number_power(q);
    w <<= zeros;
    number_u128 product = (number_u128)w * g.high;
    product += (number_u128)w * g.low >> 64;

    uint64_t high = (uint64_t)(product >> 64);
    int top = (int)(high >> 63);
    int exponent = 63 + top + number_log2_of_power10((int)q) - zeros;
    if (exponent < -1022)
        return number_round_subnormal(product, exponent, bits);
    uint64_t m = high >> (9 + top), odd = m & 1; /* 53 bits and one more */
    bool middle = (uint64_t)product == 0 && odd && m << (9 + top) == high;
    *bits = ((uint64_t)(exponent + 1022) << 52) + ((m + (odd & !middle)) >> 1);
    if (*bits > number_infinity)
        *bits = number_infinity;
    return !middle;
}

/* Adds the exponent that begins at p with its 'e'; as number_read(). */
enum number_status number_read_exponent(const char *p, const char *end,
                                        int64_t *exponent, const char **next);

static inline const char *number_skip_space(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t'))
        p++;
    return p;
}

#endif
