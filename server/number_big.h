/* SPDX-License-Identifier: MIT */
/*
 * number_big - naturals of up to 4096 bits, as little as the table of powers
 * and the exact reading of a decimal need. Words are 64 bits, lowest first;
 * words from n on count as 0 and are not set. Callers stay within the size:
 * the longest is the 801 digits and 5^1143 of number_exact.c, 2700 bits.
 */
#ifndef NUMBER_BIG_H
#define NUMBER_BIG_H

#include <stdint.h>

enum { BIG_WORDS = 64 };

struct big {
    int n;   /* words in use; the highest is not 0 */
    uint64_t word[BIG_WORDS];
};

/* b = value */
void big_set(struct big *b, uint64_t value);

/* b = b * factor + addend, factor not 0 */
void big_multiply(struct big *b, uint64_t factor, uint64_t addend);

/* b = b * 5^power */
void big_multiply_power5(struct big *b, int power);

/* b = b * 2^bits */
void big_shift(struct big *b, int bits);

/* a -= b, where a >= b */
void big_subtract(struct big *a, const struct big *b);

/* below, at or above 0 as a is to b */
int big_compare(const struct big *a, const struct big *b);

/* bits up to the highest 1 */
int big_bits(const struct big *b);

#endif
