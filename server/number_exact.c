/* SPDX-License-Identifier: MIT */
/*
 * number_exact - see number_exact.h. A midpoint between two binary64 has at
 * most 767 significant digits, so a decimal cut to 800 digits, with a 1 put
 * behind if anything but zeros was cut off, lies on the same side of each
 * midpoint as the whole.
 */
#include "number_exact.h"

#include <stdbool.h>

#include "number_big.h"

enum { DIGITS_MAX = 800 };

struct decimal {
    struct big digits;
    int exponent; /* value is digits * 10^exponent */
};

static void take_digits(struct decimal *d, const char *p, const char *end,
                        int64_t exponent)
{
    int taken = 0;
    bool more = false;
    big_set(&d->digits, 0);
    for (; p < end; p++) {
        if (*p == '.')
            continue;
        if (taken == DIGITS_MAX) {
            more |= *p != '0';
            exponent++;
            continue;
        }
        big_multiply(&d->digits, 10, (uint64_t)(*p - '0'));
        taken += d->digits.n > 0;
    }
    if (more)
        big_multiply(&d->digits, 10, 1);
    d->exponent = (int)(exponent - more);
}

/* Which side of the midpoint between `bits` and its upper neighbour d is on:
 *     digits 10^exponent  <=>  (2m + 1) 2^(e - 1)   with bits ~ m 2^e
 * with the powers of five on one side and those of two on one side. */
static int compare_to_midpoint(const struct decimal *d, uint64_t bits)
{
    struct big left = d->digits, right;
    uint64_t m = bits & (((uint64_t)1 << 52) - 1);
    int e = (int)(bits >> 52);
    m |= (uint64_t)(e > 0) << 52;
    e = (e > 0 ? e : 1) - 1075;
    big_set(&right, 2 * m + 1);
    if (d->exponent >= 0)
        big_multiply_power5(&left, d->exponent);
    else
        big_multiply_power5(&right, -d->exponent);
    int twos = d->exponent - (e - 1);
    if (twos >= 0)
        big_shift(&left, twos);
    else
        big_shift(&right, -twos);
    return big_compare(&left, &right);
}

uint64_t number_round_exactly(const char *p, const char *end,
                              int64_t exponent, uint64_t bits)
{
    const uint64_t infinity = (uint64_t)2047 << 52;
    struct decimal d;
    take_digits(&d, p, end, exponent);
    while (bits < infinity) {
        int side = compare_to_midpoint(&d, bits);
        if (side < 0 || (side == 0 && bits % 2 == 0))
            break;
        bits++;
    }
    while (bits > 0) {
        int side = compare_to_midpoint(&d, bits - 1);
        if (side > 0 || (side == 0 && bits % 2 == 0))
            break;
        bits--;
    }
    return bits;
}
