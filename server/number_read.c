/* SPDX-License-Identifier: MIT */
/*
 * number_read - JSON numbers of any kind, in plain C. The digits make an
 * integer w and a power of ten q, and w 10^q is rounded by a 128-bit product
 * (Eisel and Lemire, "Number parsing at a gigabyte per second", 2021). What
 * the product leaves open goes to number_exact.c.
 */
#include "number_read.h"

#include <math.h>
#include <string.h>

#include "number_exact.h"
#include "number_level.h"
#include "number_power.h"

enum { DIGITS_OF_W = 19 }; /* 10^19 < 2^64 */

/* Further digits of an exponent change nothing: no text has as many bytes. */
static const int64_t exponent_limit = 1000000000000000;

struct decimal {
    bool negative;
    const char *digits, *end;       /* digits, perhaps a point among them */
    int64_t exponent;               /* of the last digit */
    uint64_t w;                     /* the digits, if they are not too many */
};

static bool is_digit(char c)
{
    return (unsigned char)(c - '0') <= 9;
}

/* The first byte of the text is the lowest of the word on every machine. */
static uint64_t load8(const char *p)
{
    uint64_t word;
    memcpy(&word, p, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

/* Bits in each byte that is not '0' to '9': these have 3 in their upper half,
 * and still 3 with 6 added. Behind the first such byte they mean nothing. */
static uint64_t not_digits(uint64_t word)
{
    uint64_t high = 0xf0f0f0f0f0f0f0f0, six = 0x0606060606060606;
    uint64_t halves = (word & high) | ((word + six) & high) >> 4;
    return halves ^ 0x3333333333333333;
}

/* Of eight digits, the first the most significant: as four pairs, then by two
 * products that gather the sum of the pairs, each at its place, above. */
static uint64_t whole(uint64_t digits)
{
    digits = digits * 10 + (digits >> 8);
    uint64_t mask = 0x000000ff000000ff;
    uint64_t even = (digits & mask) * (100 + (1000000ULL << 32));
    uint64_t odd = (digits >> 16 & mask) * (1 + (10000ULL << 32));
    return (even + odd) >> 32;
}

/* The last of them, less than eight, move up to make room for zeros in front:
 * a loop would end too soon or too late for the CPU to guess it. */
static const char *take_digits(const char *p, const char *end, uint64_t *w)
{
    static const uint64_t powers[] = {1,     10,     100,     1000,
                                      10000, 100000, 1000000, 10000000};
    for (; end - p >= 8; p += 8) {
        uint64_t text = load8(p), others = not_digits(text);
        uint64_t digits = text - 0x3030303030303030;
        if (others != 0) {
            int n = __builtin_ctzll(others) / 8;
            *w = *w * powers[n] + whole(digits << 1 << (63 - 8 * n));
            return p + n;
        }
        *w = *w * 100000000 + whole(digits);
    }
    for (; p < end && is_digit(*p); p++)
        *w = *w * 10 + (uint64_t)(*p - '0');
    return p;
}

enum number_status number_read_exponent(const char *p, const char *end,
                                        int64_t *exponent, const char **next)
{
    int64_t e = 0;
    p++;
    bool minus = p < end && *p == '-';
    p += minus || (p < end && *p == '+');
    *next = p;
    for (; p < end && is_digit(*p); p++)
        if (e < exponent_limit)
            e = e * 10 + (*p - '0');
    if (p == *next)
        return NUMBER_SYNTAX;
    *exponent += minus ? -e : e;
    *next = p;
    return NUMBER_OK;
}

static enum number_status take_apart(const char *p, const char *end,
                                     struct decimal *d, const char **next)
{
    d->w = 0;
    d->exponent = 0;
    d->negative = p < end && *p == '-';
    p += d->negative;
    d->digits = p;
    p = p < end && *p == '0' ? p + 1 : take_digits(p, end, &d->w);
    *next = p;
    if (p == d->digits)
        return NUMBER_SYNTAX;
    if (p < end && *p == '.') {
        const char *fraction = p + 1;
        p = take_digits(fraction, end, &d->w);
        *next = p;
        if (p == fraction)
            return NUMBER_SYNTAX;
        d->exponent = fraction - p;
    }
    d->end = p;
    if (p < end && (*p | 0x20) == 'e')
        return number_read_exponent(p, end, &d->exponent, next);
    return NUMBER_OK;
}

/* Leaves the first 19 significant digits in w; true if others were cut off. */
static bool cut_digits(struct decimal *d)
{
    int taken = 0;
    bool cut = false;
    const char *first = d->digits;
    if (*first == '0')
        first += 2; /* and the point */
    while (d->end - first > DIGITS_OF_W && *first == '0')
        first++;
    if (d->end - first <= DIGITS_OF_W)
        return false;
    d->w = 0;
    for (const char *p = d->digits; p < d->end; p++) {
        if (*p == '.')
            continue;
        if (taken == DIGITS_OF_W) {
            d->exponent++;
            cut = true;
            continue;
        }
        d->w = d->w * 10 + (uint64_t)(*p - '0');
        taken += d->w > 0;
    }
    return cut;
}

bool number_round_subnormal(number_u128 product, int exponent, uint64_t *bits)
{
    int drop = 74 + (int)(product >> 127) - 1022 - exponent;
    *bits = 0;
    if (drop > 127)
        return false;
    number_u128 half = (number_u128)1 << (drop - 1);
    number_u128 rest = product & (2 * half - 1);
    *bits = (uint64_t)(product >> drop) + (rest > half);
    return rest != half;
}

static uint64_t round_decimal(struct decimal *d)
{
    uint64_t bits, above;
    const char *digits = d->digits;
    int64_t exponent = d->exponent;
    bool cut = cut_digits(d);
    bool sure = number_round_product(d->w, d->exponent, &bits);
    if (sure && !cut)
        return bits;
    if (sure && number_round_product(d->w + 1, d->exponent, &above) &&
        above == bits)
        return bits;
    return number_round_exactly(digits, d->end, exponent, bits);
}

enum number_status number_read(const char *p, const char *end, double *value,
                               const char **next)
{
    struct decimal d;
    enum number_status status = take_apart(p, end, &d, next);
    if (status != NUMBER_OK)
        return status;
    uint64_t bits = round_decimal(&d);
    if (bits == number_infinity)
        return NUMBER_OVERFLOW;
    bits |= (uint64_t)d.negative << 63;
    memcpy(value, &bits, sizeof bits);
    return NUMBER_OK;
}

size_t number_read_f64_plain(const char *p, const char *end, double *out,
                             size_t max, const char **next)
{
    size_t n = 0;
    *next = p;
    while (n < max) {
        p = number_skip_space(p, end);
        if (number_read(p, end, &out[n], &p) != NUMBER_OK)
            break;
        n++;
        *next = p;
        p = number_skip_space(p, end);
        if (p == end || *p++ != ',')
            break;
    }
    return n;
}

size_t number_read_f32_plain(const char *p, const char *end, float *out,
                             size_t max, const char **next)
{
    size_t n = 0;
    *next = p;
    while (n < max) {
        double value;
        p = number_skip_space(p, end);
        if (number_read(p, end, &value, &p) != NUMBER_OK)
            break;
        out[n] = (float)value;
        if (isinf(out[n]))
            break;
        n++;
        *next = p;
        p = number_skip_space(p, end);
        if (p == end || *p++ != ',')
            break;
    }
    return n;
}
