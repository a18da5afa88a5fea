/* SPDX-License-Identifier: MIT */
/*
 * number_write - the shortest decimals, and their digits put around a point.
 * Shared by the writers of all CPUs; others include number.h.
 *
 * A finite value is c 2^q. Every decimal nearer to it than to its neighbours
 * reads back as the same bits; the shortest, and of these the nearest to the
 * value, is found as in R. Giulietti, "The Schubfach way to render doubles"
 * (2021): scaled by a power of ten 10^-k such that one or two of the integers
 * s, s + 1, or 10 floor(s / 10), 10 floor(s / 10) + 10 fall between the
 * midpoints to the neighbours. All are computed in quarters, as integers with
 * a sticky last bit.
 */
#ifndef NUMBER_WRITE_H
#define NUMBER_WRITE_H

#include <stdint.h>
#include <string.h>

#include "number.h"
#include "number_power.h"

/* Where reading as binary64 first makes the shortest decimal of a float32,
 * 7.038531e-26, fall on the neighbour: this one needs a digit more. */
#define NUMBER_TWICE_ROUNDED 0x15ae43fdu

struct number_decimal {
    uint64_t digits; /* may end in zeros */
    int exponent;    /* value is digits 10^exponent */
};

/* One of the candidates, where v4, lower and upper are four times the scaled
 * value and its midpoints. An odd c has its midpoints outside. */
static inline struct number_decimal number_choose(uint64_t v4, uint64_t lower,
                                                  uint64_t upper, bool odd,
                                                  int k)
{
    uint64_t s = v4 / 4, ten = s / 10 * 10;
    lower += odd;
    upper -= odd;
    /* By arithmetic, not by branches: which one it is cannot be foretold. What
     * is out of the interval gives a negative difference, below 2^63. */
    uint64_t ten_out = (4 * ten - lower) >> 63;
    uint64_t next_ten_out = (upper - 4 * ten - 40) >> 63;
    uint64_t out = (4 * s - lower) >> 63, next_out = (upper - 4 * s - 4) >> 63;
    uint64_t nearer = (v4 % 4 + s % 2 + 1) >> 2;
    uint64_t one_of_both = out ^ next_out;
    s += nearer ^ (one_of_both & (nearer ^ out));
    ten += 10 & (next_ten_out - 1);
    uint64_t chosen = s ^ ((s ^ ten) & (0 - (ten_out ^ next_ten_out)));
    return (struct number_decimal){chosen, k};
}

/* round-to-odd of cp g / 2^64: the upper word, its last bit set if the rest
 * is not 0. A rest of 1 comes from g's being too large. */
static inline uint32_t number_scale_f32(uint64_t g, uint32_t cp)
{
    number_u128 product = (number_u128)g * cp;
    uint32_t rest = (uint32_t)((uint64_t)product >> 32);
    return (uint32_t)(product >> 64) | (rest > 1);
}

static inline uint64_t number_scale_f64(struct number_power g, uint64_t cp)
{
    number_u128 product = (number_u128)g.high * cp;
    product += (number_u128)g.low * cp >> 64;
    return (uint64_t)(product >> 64) | ((uint64_t)product > 1);
}

/* The value with these bits, not 0, sign passed over, neither infinite nor
 * NaN. */
static inline struct number_decimal number_shortest_f32(uint32_t bits)
{
    uint32_t c = bits & 0x7fffff, biased = bits >> 23 & 0xff;
    /* Whether it is a power of two: c is 0 and biased above 1. */
    uint32_t nearer_below = (c - 1) >> 31 & (1 - biased) >> 31;
    uint32_t normal = (0 - biased) >> 31;
    c |= normal << 23;
    int q = (int)(biased + 1 - normal) - 150;
    int k = nearer_below ? number_log10_of_three_quarters(q)
                         : number_log10_of_power2(q);
    int h = q + number_log2_of_power10(-k) + 1;
    uint64_t g = number_power(-k).high + 1;
    uint32_t v4 = number_scale_f32(g, 4 * c << h);
    uint32_t lower = number_scale_f32(g, (4 * c - 2 + nearer_below) << h);
    uint32_t upper = number_scale_f32(g, (4 * c + 2) << h);
    return number_choose(v4, lower, upper, c & 1, k);
}

static inline struct number_decimal number_shortest_f64(uint64_t bits)
{
    uint64_t c = bits & (((uint64_t)1 << 52) - 1);
    uint32_t biased = (uint32_t)(bits >> 52 & 0x7ff);
    uint32_t nearer_below = (uint32_t)((c - 1) >> 63) & (1 - biased) >> 31;
    uint32_t normal = (0 - biased) >> 31;
    c |= (uint64_t)normal << 52;
    int q = (int)(biased + 1 - normal) - 1075;
    int k = nearer_below ? number_log10_of_three_quarters(q)
                         : number_log10_of_power2(q);
    int h = q + number_log2_of_power10(-k) + 1;
    struct number_power g = number_power(-k);
    uint64_t v4 = number_scale_f64(g, 4 * c << h);
    uint64_t lower = number_scale_f64(g, (4 * c - 2 + nearer_below) << h);
    uint64_t upper = number_scale_f64(g, (4 * c + 2) << h);
    return number_choose(v4, lower, upper, c & 1, k);
}

/* The first digit's power of ten if the number has no exponent. */
enum { NUMBER_PLAIN_MIN = -4, NUMBER_PLAIN_MAX = 15 };

/* 17 digits: the first, and eight and eight as the bytes of a text. */
struct number_digits {
    char first;
    uint64_t high, low;
    int count; /* up to the last that is not 0, at least one */
    int lead;  /* the first one's power of ten */
};

#define NUMBER_ZEROS 0x3030303030303030u /* eight digits */

/* "e" and the power; returns the end. */
char *number_write_exponent(char *out, int power);

static inline void number_store8(char *out, uint64_t word)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    memcpy(out, &word, 8);
}

/* Bytes that a number may overwrite. */
enum { NUMBER_TEXT_MAX = 40 };

/* 0.000123, 12.3, 12300 or 1.23e-5; returns the end. */
static inline char *number_put_digits(char *out, struct number_digits d)
{
    bool plain = d.lead >= NUMBER_PLAIN_MIN && d.lead <= NUMBER_PLAIN_MAX;
    int lead = plain ? d.lead : 0;
    if (lead < 0) {
        memcpy(out, "0.000000", 8);
        out += 1 - lead;
    }
    out[0] = d.first;
    number_store8(out + 1, d.high);
    number_store8(out + 9, d.low);
    if (lead < 0)
        return out + d.count;
    int length = lead + 1;
    if (d.count > length) {
        number_u128 behind = ((number_u128)d.low << 64 | d.high) >> 8 * lead;
        out[length] = '.';
        number_store8(out + length + 1, (uint64_t)behind);
        number_store8(out + length + 9, (uint64_t)(behind >> 64));
        length = d.count + 1;
    }
    return plain ? out + length : number_write_exponent(out + length, d.lead);
}

#endif
