/* SPDX-License-Identifier: MIT */
/*
 * number_read - what the readers of one number and of rows share. Not for
 * others: they include number.h.
 */
#ifndef NUMBER_READ_H
#define NUMBER_READ_H

#include <stdint.h>
#include <string.h>

#include "number.h"
#include "number_power.h"

#define NUMBER_INFINITY ((uint64_t)2047 << 52)

/* w 10^q to the nearest binary64, as a bit pattern, infinity on overflow;
 * false if that took more than 128 bits, and *bits is one too low or right. */
bool number_round(uint64_t w, int64_t q, uint64_t *bits);

/* Adds the exponent that begins at p with its 'e'; as number_read(). */
enum number_status number_read_exponent(const char *p, const char *end,
                                        int64_t *exponent, const char **next);

/* The same for normal results that 64 bits of the power decide; else false.
 * Here w 10^q, in units of the product's last bit, lies in (P - 1, P + 2). */
static inline bool number_round_quickly(uint64_t w, int64_t q, uint64_t *bits)
{
    if (q < -290 || q > 280)
        return false;
    uint64_t some = w | (w == 0);
    int zeros = __builtin_clzll(some);
    number_u128 product =
        (number_u128)(some << zeros) * number_power(q).high;
    uint64_t high = (uint64_t)(product >> 64);
    int top = (int)(high >> 63);
    uint64_t exponent =
        (uint64_t)(1085 + top + number_log2_of_power10((int)q) - zeros);
    uint64_t half = (uint64_t)1 << (9 + top);
    uint64_t rest = high & (2 * half - 1);
    if (rest == half || rest == half - 1)
        return false;
    *bits = (exponent << 52) + ((high + half) >> (10 + top));
    *bits &= -(uint64_t)(w != 0);
    return true;
}

static inline bool number_is_digit(char c)
{
    return (unsigned char)(c - '0') <= 9;
}

static inline const char *number_skip_space(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t'))
        p++;
    return p;
}

/* The first byte of the text is the lowest of the word on every machine. */
static inline uint64_t number_load8(const char *p)
{
    uint64_t word;
    memcpy(&word, p, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

/* Each byte is '0' to '9': 3 in its upper half, and still 3 with 6 added. */
static inline bool number_are_digits(uint64_t word)
{
    uint64_t high = 0xf0f0f0f0f0f0f0f0, six = 0x0606060606060606;
    return (((word & high) | ((word + six) & high) >> 4)) ==
           0x3333333333333333;
}

/* Eight digits, the first the most significant: pairs, then fours, then all,
 * each step one product that adds a high part to a low part's multiple. */
static inline uint64_t number_of_digits(uint64_t word)
{
    word -= 0x3030303030303030;
    word = word * 10 + (word >> 8);
    uint64_t mask = 0x000000ff000000ff;
    uint64_t even = (word & mask) * (100 + (1000000ULL << 32));
    uint64_t odd = (word >> 16 & mask) * (1 + (10000ULL << 32));
    return (even + odd) >> 32;
}

static inline double number_from_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, 8);
    return value;
}

#endif
