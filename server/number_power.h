/* SPDX-License-Identifier: MIT */
/*
 * number_power - the powers of ten that reading and writing share, with 128
 * bits each, and the few logarithms that go with them.
 *
 *     10^k = (g_k - d) 2^(e_k - 127),  2^127 <= g_k < 2^128,  0 < d <= 1
 *
 * with e_k = floor(log2 10^k): g_k is one above the power cut to 128 bits,
 * also where that is exact. Its upper word alone is the power cut to 64.
 */
#ifndef NUMBER_POWER_H
#define NUMBER_POWER_H

#include <stdint.h>

__extension__ typedef unsigned __int128 number_u128;

struct number_power {
    uint64_t high, low; /* g_k */
};

enum {
    NUMBER_POWER_MIN = -342, /* reading: 1e-324 as 19 digits times a power */
    NUMBER_POWER_MAX = 324,  /* writing: 4.9e-324 as an integer */
    NUMBER_POWERS = NUMBER_POWER_MAX - NUMBER_POWER_MIN + 1,
};

extern struct number_power number_powers[NUMBER_POWERS];

/* The upper words of 10^0, 10^-1 ... side by side. */
extern uint64_t number_fractions[32];

static inline struct number_power number_power(int64_t k)
{
    return number_powers[k - NUMBER_POWER_MIN];
}

/* floor(log2 10^k) for |k| <= 1233 */
static inline int number_log2_of_power10(int k)
{
    return (k * 1741647) >> 19;
}

/* floor(log10 2^e) for |e| <= 1500 */
static inline int number_log10_of_power2(int e)
{
    return (e * 1262611) >> 22;
}

/* floor(log10 (3/4 2^e)) for |e| <= 1500 */
static inline int number_log10_of_three_quarters(int e)
{
    return (e * 1262611 - 524031) >> 22;
}

#endif
