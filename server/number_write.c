/* SPDX-License-Identifier: MIT */
/*
 * number_write - one number as text, in plain C: the shortest digits from
 * number_write.h made bytes eight at a time, exponents, and the strings for
 * what is not finite.
 */
#include "number_level.h"
#include "number_write.h"

/* Eight digits as bytes, the first one lowest: fours, twos, ones, each
 * quotient below its remainder. */
static uint64_t eight_bytes(uint32_t x)
{
    uint64_t v = x / 10000 | (uint64_t)(x % 10000) << 32;
    uint64_t q = (v * 10486 >> 20) & 0x0000007f0000007f;
    v = q | (v - q * 100) << 16;
    q = (v * 103 >> 10) & 0x000f000f000f000f;
    return q | (v - q * 10) << 8;
}

/* Nine digits and eight. */
static struct number_digits as_bytes(uint32_t nine, uint32_t eight, int lead)
{
    struct number_digits d = {.first = (char)('0' + nine / 100000000),
                              .lead = lead, .count = 1};
    d.high = eight_bytes(nine % 100000000);
    d.low = eight > 0 ? eight_bytes(eight) : 0;
    if (d.low > 0)
        d.count = 17 - __builtin_clzll(d.low) / 8;
    else if (d.high > 0)
        d.count = 9 - __builtin_clzll(d.high) / 8;
    d.high |= NUMBER_ZEROS;
    d.low |= NUMBER_ZEROS;
    return d;
}

/* Zeros behind, until it is at least `least`; seldom more than two. */
static void fill_up(struct number_decimal *d, uint64_t least)
{
    for (int i = 0; i < 2; i++) {
        uint64_t few = (d->digits - least) >> 63;
        d->digits += d->digits * 9 & -few;
        d->exponent -= (int)few;
    }
    for (; d->digits < least; d->exponent--)
        d->digits *= 10;
}

char *number_write_exponent(char *out, int power)
{
    int size = power < 0 ? -power : power;
    *out++ = 'e';
    *out = '-';
    out += power < 0;
    if (size >= 100)
        *out++ = (char)('0' + size / 100);
    if (size >= 10)
        *out++ = (char)('0' + size / 10 % 10);
    *out++ = (char)('0' + size % 10);
    return out;
}

static char *put_not_finite(char *out, bool nan, bool negative)
{
    const char *text = nan ? "\"NaN\"" : negative ? "\"-Infinity\""
                                                  : "\"Infinity\"";
    size_t n = strlen(text);
    memcpy(out, text, n);
    return out + n;
}

/* "-0" would do, but many readers take a text without point for an integer,
 * which has no such zero. */
static char *put_zero(char *out, bool negative)
{
    memcpy(out, negative ? "-0.0" : "0\0\0", 4);
    return out + (negative ? 4 : 1);
}

static char *put_f32(char *out, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    bool negative = bits >> 31;
    bits &= 0x7fffffff;
    if (bits >= 0x7f800000)
        return put_not_finite(out, bits > 0x7f800000, negative);
    if (bits == 0)
        return put_zero(out, negative);
    *out = '-';
    out += negative;
    struct number_decimal d = {70385307, -33};
    if (bits != NUMBER_TWICE_ROUNDED)
        d = number_shortest_f32(bits);
    fill_up(&d, 100000000);
    return number_put_digits(
        out, as_bytes((uint32_t)d.digits, 0, d.exponent + 8));
}

static char *put_f64(char *out, double value)
{
    const uint64_t infinity = (uint64_t)0x7ff << 52;
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    bool negative = bits >> 63;
    bits &= ~((uint64_t)1 << 63);
    if (bits >= infinity)
        return put_not_finite(out, bits > infinity, negative);
    if (bits == 0)
        return put_zero(out, negative);
    *out = '-';
    out += negative;
    struct number_decimal d = number_shortest_f64(bits);
    fill_up(&d, 10000000000000000);
    return number_put_digits(
        out, as_bytes((uint32_t)(d.digits / 100000000),
                      (uint32_t)(d.digits % 100000000), d.exponent + 16));
}

size_t number_write_f32(char out[NUMBER_F32_MAX], float value)
{
    char text[NUMBER_TEXT_MAX];
    size_t n = (size_t)(put_f32(text, value) - text);
    memcpy(out, text, n);
    return n;
}

size_t number_write_f64(char out[NUMBER_F64_MAX], double value)
{
    char text[NUMBER_TEXT_MAX];
    size_t n = (size_t)(put_f64(text, value) - text);
    memcpy(out, text, n);
    return n;
}

/* The last numbers are written elsewhere, as put_*() need more room. */
size_t number_write_f32_plain(char *out, const float *values, size_t n)
{
    const char *end = out + n * (NUMBER_F32_MAX + 1);
    char *p = out;
    for (size_t i = 0; i < n; i++) {
        if (end - p > NUMBER_TEXT_MAX)
            p = put_f32(p, values[i]);
        else
            p += number_write_f32(p, values[i]);
        if (i + 1 < n)
            *p++ = ',';
    }
    return (size_t)(p - out);
}

size_t number_write_f64_plain(char *out, const double *values, size_t n)
{
    const char *end = out + n * (NUMBER_F64_MAX + 1);
    char *p = out;
    for (size_t i = 0; i < n; i++) {
        if (end - p > NUMBER_TEXT_MAX)
            p = put_f64(p, values[i]);
        else
            p += number_write_f64(p, values[i]);
        if (i + 1 < n)
            *p++ = ',';
    }
    return (size_t)(p - out);
}
