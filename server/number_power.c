/* SPDX-License-Identifier: MIT */
/*
 * number_power - makes the table once, before main(), exactly: 10^k has the
 * leading bits of 5^k, and 10^-k those of 2^n / 5^k. About a millisecond.
 */
#include "number_power.h"

#include "number_big.h"

struct number_power number_powers[NUMBER_POWERS];
uint64_t number_fractions[32];

static void store(int k, number_u128 cut)
{
    number_powers[k - NUMBER_POWER_MIN] = (struct number_power){
        (uint64_t)((cut + 1) >> 64), (uint64_t)(cut + 1)};
}

/* The highest 128 bits of b, its highest 1 in front. */
static number_u128 leading(const struct big *b)
{
    uint64_t top[3] = {0, 0, 0};
    for (int i = 0; i < 3 && i < b->n; i++)
        top[i] = b->word[b->n - 1 - i];
    int shift = __builtin_clzll(top[0]);
    number_u128 high = (number_u128)top[0] << 64 | top[1];
    return high << shift | (((number_u128)top[2] << shift) >> 64);
}

/* floor(2^(127 + bits of b) / b), bit by bit; b is no power of two. */
static number_u128 reciprocal(const struct big *b)
{
    struct big rest;
    number_u128 quotient = 0;
    big_set(&rest, 1);
    big_shift(&rest, big_bits(b) - 1);
    for (int i = 0; i < 128; i++) {
        big_shift(&rest, 1);
        quotient <<= 1;
        if (big_compare(&rest, b) >= 0) {
            big_subtract(&rest, b);
            quotient |= 1;
        }
    }
    return quotient;
}

__attribute__((constructor)) static void make_table(void)
{
    struct big five;
    big_set(&five, 1);
    store(0, leading(&five));
    for (int k = 1; k <= -NUMBER_POWER_MIN; k++) {
        big_multiply(&five, 5, 0);
        store(-k, reciprocal(&five));
        if (k <= NUMBER_POWER_MAX)
            store(k, leading(&five));
    }
    for (int k = 0; k < 32; k++)
        number_fractions[k] = number_power(-k).high;
}
