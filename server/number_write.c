/* SPDX-License-Identifier: MIT */
/*
 * number_write - one number as text, in plain C: the shortest digits from
 * number_write.h, their point or exponent, and the strings for what is not
 * finite.
 */
#include "number_write.h"

enum { DIGITS_MAX = 17 };

static size_t put(char *out, const char *text)
{
    size_t n = strlen(text);
    memcpy(out, text, n);
    return n;
}

static size_t write_not_finite(char *out, bool nan, bool negative)
{
    if (nan)
        return put(out, "\"NaN\"");
    return put(out, negative ? "\"-Infinity\"" : "\"Infinity\"");
}

static char *fill(char *out, char c, int n)
{
    memset(out, c, (size_t)n);
    return out + n;
}

static char *copy(char *out, const char *from, int n)
{
    memcpy(out, from, (size_t)n);
    return out + n;
}

/* 0.000123, 12.3 or 12300: n digits, the first of which counts 10^lead. */
static char *write_with_point(char *out, const char *digits, int n, int lead)
{
    if (lead < 0) {
        out = copy(out, "0.", 2);
        out = fill(out, '0', -1 - lead);
        return copy(out, digits, n);
    }
    if (n <= lead + 1) {
        out = copy(out, digits, n);
        return fill(out, '0', lead + 1 - n);
    }
    out = copy(out, digits, lead + 1);
    *out++ = '.';
    return copy(out, digits + lead + 1, n - lead - 1);
}

char *number_write_exponent(char *out, int lead)
{
    *out++ = 'e';
    if (lead < 0)
        *out++ = '-';
    int size = lead < 0 ? -lead : lead;
    if (size >= 100)
        *out++ = (char)('0' + size / 100);
    if (size >= 10)
        *out++ = (char)('0' + size / 10 % 10);
    *out++ = (char)('0' + size % 10);
    return out;
}

static char *write_decimal(char *out, struct number_decimal d)
{
    char digits[DIGITS_MAX];
    int first = DIGITS_MAX, n;
    for (; d.digits > 0; d.digits /= 10)
        digits[--first] = (char)('0' + d.digits % 10);
    int lead = d.exponent + DIGITS_MAX - 1 - first;
    for (n = DIGITS_MAX - first; digits[first + n - 1] == '0'; n--)
        ;
    if (lead < NUMBER_PLAIN_MIN || lead > NUMBER_PLAIN_MAX) {
        out = write_with_point(out, digits + first, n, 0);
        return number_write_exponent(out, lead);
    }
    return write_with_point(out, digits + first, n, lead);
}

size_t number_write_f32(char out[NUMBER_F32_MAX], float value)
{
    char *p = out;
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    bool negative = bits >> 31;
    bits &= 0x7fffffff;
    if (bits >= 0x7f800000)
        return write_not_finite(out, bits > 0x7f800000, negative);
    *p = '-';
    p += negative;
    if (bits == 0)
        *p++ = '0';
    else if (bits == NUMBER_TWICE_ROUNDED)
        p += put(p, "7.0385307e-26");
    else
        p = write_decimal(p, number_shortest_f32(bits));
    return (size_t)(p - out);
}

size_t number_write_f64(char out[NUMBER_F64_MAX], double value)
{
    const uint64_t infinity = (uint64_t)0x7ff << 52;
    char *p = out;
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    bool negative = bits >> 63;
    bits &= ~((uint64_t)1 << 63);
    if (bits >= infinity)
        return write_not_finite(out, bits > infinity, negative);
    *p = '-';
    p += negative;
    if (bits == 0)
        *p++ = '0';
    else
        p = write_decimal(p, number_shortest_f64(bits));
    return (size_t)(p - out);
}
