/* SPDX-License-Identifier: MIT */
/*
 * test_number_round.c - that numbers are read to the nearest and written as
 * the shortest: every float32 (one in 257), random doubles against the C
 * library, and the hard cases that make_number_cases.py made with integers.
 * EXHAUSTIVE=2/3 in the environment does the second third of all of them,
 * which takes minutes: see `make test-exhaustive`.
 */
#include "suite.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "number.h"

#define EACH(i, list) size_t i = 0; i < sizeof(list) / sizeof(list)[0]; i++

enum { CHUNK = 4096, ROOM = CHUNK * (NUMBER_F64_MAX + 40) };

static bool exhaustive;
static unsigned part = 1, parts = 1;
static uint64_t state = 88172645463325252u;
static char text[ROOM], other[ROOM];

static void setup(void)
{
    const char *share = getenv("EXHAUSTIVE");
    exhaustive = share != NULL;
    if (exhaustive && (sscanf(share, "%u/%u", &part, &parts) != 2 ||
                       part < 1 || part > parts))
        ck_abort_msg("EXHAUSTIVE=%s: 1/1 is all", share);
    state *= 2 * part - 1;
}

static uint64_t random_bits(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static double double_of(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static double random_double(void)
{
    for (;;) {
        double value = double_of(random_bits());
        if (isfinite(value))
            return value;
    }
}

static double read_all(const char *p, size_t n)
{
    double value;
    const char *next;
    if (number_read(p, p + n, &value, &next) != NUMBER_OK || next != p + n)
        ck_abort_msg("not a number: %.*s", (int)n, p);
    return value;
}

/* All levels write a row alike, and read it back. */
static void check_floats(const float *values, size_t n)
{
    static float back[CHUNK];
    const char *next;
    size_t length = 0;
    for (size_t level = 0; level < number_levels(); level++) {
        number_use(level);
        char *out = level == 0 ? text : other;
        size_t written = number_write_row_f32(out, values, n);
        if (level > 0 && (written != length || memcmp(text, other, length)))
            ck_abort_msg("%s writes otherwise", number_level_name(level));
        length = written;
        size_t got = number_read_row_f32(out, out + length, back, n, &next);
        if (got != n || next != out + length ||
            memcmp(values, back, n * sizeof *values) != 0)
            ck_abort_msg("%s: %a is not read back", number_level_name(level),
                         (double)values[0]);
    }
}

/* The C library reads in `text` what was written there. */
static void check_strtod(const double *values, size_t n, size_t length)
{
    char *p = text;
    text[length] = '\0';
    for (size_t i = 0; i < n; i++, p++) {
        double value = strtod(p, &p);
        if (bits_of(value) != bits_of(values[i]))
            ck_abort_msg("%a is written as what is %a", values[i], value);
    }
}

static void check_doubles(const double *values, size_t n)
{
    static double back[CHUNK];
    const char *next;
    size_t length = 0;
    for (size_t level = 0; level < number_levels(); level++) {
        number_use(level);
        char *out = level == 0 ? text : other;
        size_t written = number_write_row_f64(out, values, n);
        if (level == 0)
            check_strtod(values, n, written);
        if (level > 0 && (written != length || memcmp(text, other, length)))
            ck_abort_msg("%s writes otherwise", number_level_name(level));
        length = written;
        size_t got = number_read_row_f64(out, out + length, back, n, &next);
        if (got != n || next != out + length ||
            memcmp(values, back, n * sizeof *values) != 0)
            ck_abort_msg("%s: %a is not read back", number_level_name(level),
                         values[0]);
    }
}

START_TEST(every_float32_is_read_back_as_it_was_written)
{
    static float values[CHUNK];
    uint64_t step = exhaustive ? parts : 257;
    size_t n = 0;
    for (uint64_t bits = part - 1; bits < (uint64_t)1 << 32; bits += step) {
        values[n] = float_of((uint32_t)bits);
        n += isfinite(values[n]) != 0;
        if (n == CHUNK) {
            check_floats(values, n);
            n = 0;
        }
    }
    check_floats(values, n);
}
END_TEST

START_TEST(doubles_of_every_size_are_read_back_as_they_were_written)
{
    static double values[CHUNK];
    long chunks = exhaustive ? (1 << 14) / parts + 1 : 1 << 8;
    for (long i = 0; i < chunks; i++) {
        for (size_t j = 0; j < CHUNK; j++)
            values[j] = random_double();
        check_doubles(values, CHUNK);
    }
}
END_TEST

/* Powers of two and of ten, whole numbers, and what is next to them. */
START_TEST(doubles_beside_round_numbers_are_read_back_too)
{
    static double values[CHUNK];
    size_t n = 0;
    for (int e = -1074; e < 1024; e++) {
        double centres[] = {ldexp(1, e), pow(10, e * 3 / 10), e, ldexp(e, 10)};
        for (EACH(i, centres)) {
            values[n++] = centres[i];
            values[n++] = nextafter(centres[i], INFINITY);
            values[n++] = nextafter(centres[i], -INFINITY);
        }
        if (n + 12 > CHUNK) {
            check_doubles(values, n);
            n = 0;
        }
    }
    check_doubles(values, n);
}
END_TEST

/* The digits as one integer, not ending in 0, and its power of ten. */
static uint64_t take_digits(const char *p, size_t n, int *power)
{
    uint64_t digits = 0;
    bool fraction = false;
    *power = 0;
    for (const char *end = p + n; p < end && *p != 'e'; p++) {
        fraction |= *p == '.';
        if (*p < '0' || *p > '9')
            continue;
        digits = digits * 10 + (uint64_t)(*p - '0');
        *power -= fraction;
    }
    if (*p == 'e')
        *power += atoi(p + 1);
    for (; digits > 0 && digits % 10 == 0; digits /= 10)
        ++*power;
    return digits;
}

static double times_power(uint64_t digits, int power)
{
    char number[64];
    int n = sprintf(number, "%llue%d", (unsigned long long)digits, power);
    return read_all(number, (size_t)n);
}

/* No decimal with fewer digits reads as the same bits, none with as many is
 * nearer. Those with one digit less that are next to the value enclose it, so
 * if any of that length did, one of these two would. */
static void check_shortest(double value, size_t length, bool is_f32)
{
    int power, count, printed_power;
    text[length] = '\0';
    uint64_t digits = take_digits(text, length, &power);
    for (uint64_t up = 0; up < 2 && digits >= 10; up++) {
        double shorter = times_power(digits / 10 + up, power + 1);
        if ((is_f32 ? (double)(float)shorter : shorter) == value)
            ck_abort_msg("%s: there is a shorter one", text);
    }
    for (count = 0; digits >= 10; digits /= 10)
        count++;
    digits = take_digits(text, length, &power);
    size_t n = (size_t)sprintf(other, "%.*e", count, value);
    double nearest = read_all(other, n);
    if ((is_f32 ? (double)(float)nearest : nearest) == value &&
        (take_digits(other, n, &printed_power) != digits ||
         printed_power != power))
        ck_abort_msg("%s: %s is nearer", text, other);
}

START_TEST(no_float32_can_be_written_shorter_or_nearer)
{
    uint32_t step = exhaustive ? 61 * parts : 8191;
    for (uint32_t bits = part; bits < 0x7f800000; bits += step) {
        float value = float_of(bits);
        check_shortest((double)value, number_write_f32(text, value), true);
    }
    for (uint32_t exponent = 1; exponent < 255; exponent++) {
        float value = float_of(exponent << 23);
        check_shortest((double)value, number_write_f32(text, value), true);
    }
}
END_TEST

START_TEST(no_double_can_be_written_shorter_or_nearer)
{
    long count = exhaustive ? (1 << 24) / parts : 1 << 17;
    for (long i = 0; i < count; i++) {
        double value = fabs(random_double());
        check_shortest(value, number_write_f64(text, value), false);
    }
    for (int e = -1074; e < 1024; e++) {
        double value = ldexp(1, e);
        check_shortest(value, number_write_f64(text, value), false);
    }
}
END_TEST

/* 7.038531e-26 is this one's shortest, but for a reader that goes through
 * binary64 it is the next. */
START_TEST(a_float32_that_two_roundings_miss_gets_one_digit_more)
{
    float value = float_of(0x15ae43fd);
    for (size_t level = 0; level < number_levels(); level++) {
        number_use(level);
        text[number_write_row_f32(text, &value, 1)] = '\0';
        ck_assert_str_eq(text, "7.0385307e-26");
    }
    ck_assert(strtof("7.038531e-26", NULL) == value);
    ck_assert((float)read_all("7.038531e-26", 12) == float_of(0x15ae43fe));
    ck_assert((float)read_all(text, strlen(text)) == value);
}
END_TEST

static const char *random_digits(void)
{
    static char digits[32];
    for (int i = 0; i < 25; i++)
        digits[i] = (char)('0' + random_bits() % 10);
    return digits;
}

/* As often a random decimal of 1 to 25 digits as %.17g of a random double. Of
 * the former every fourth is 0.ddd, perhaps with zeros behind the point. */
static size_t random_decimal(char *out)
{
    if (random_bits() % 2)
        return (size_t)sprintf(out, "%.17g", random_double());
    int digits = 1 + (int)(random_bits() % 25);
    if (random_bits() % 4 == 0)
        return (size_t)sprintf(out, "0.%.*s%.*s", (int)(random_bits() % 5),
                               "0000", digits, random_digits());
    int power = (int)(random_bits() % 700) - 360;
    int n = sprintf(out, "%d", 1 + (int)(random_bits() % 9));
    if (digits > 1)
        out[n++] = '.';
    while (digits-- > 1)
        out[n++] = (char)('0' + random_bits() % 10);
    if (random_bits() % 4)
        n += sprintf(out + n, "e%d", power);
    return (size_t)n;
}

START_TEST(random_decimals_are_read_as_the_c_library_reads_them)
{
    static double expected[CHUNK], values[CHUNK];
    long chunks = exhaustive ? (1 << 15) / parts + 1 : 1 << 8;
    for (long i = 0; i < chunks; i++) {
        char *p = text;
        const char *next;
        for (size_t j = 0; j < CHUNK; p++) {
            char *start = p;
            p += random_decimal(p);
            *p = '\0';
            expected[j] = strtod(start, NULL);
            *p = ',';
            if (isfinite(expected[j]))
                j++;
            else
                p = start - 1;
        }
        for (size_t level = 0; level < number_levels(); level++) {
            number_use(level);
            size_t n = number_read_row_f64(text, p - 1, values, CHUNK, &next);
            for (size_t j = 0; j < CHUNK; j++)
                if (n != CHUNK || bits_of(values[j]) != bits_of(expected[j]))
                    ck_abort_msg("%s: %zu, %a is read as %a",
                                 number_level_name(level), n, expected[j],
                                 values[j]);
        }
    }
}
END_TEST

/* One line of number_cases.txt, alone and within a row. */
static void check_case(const char *number, const char *f64, const char *f32)
{
    size_t n = (size_t)sprintf(text, "%s,0.5,1,0.12345678901234567,", number);
    const char *end = text + n + 200, *next;
    bool over64 = f64[0] == '-', over32 = f32[0] == '-';
    double value = 0, values[8];
    float floats[8];
    memset(text + n, '1', 200);
    enum number_status status = number_read(text, end, &value, &next);
    ck_assert_msg(next == text + strlen(number), "%s", number);
    ck_assert_msg(status == (over64 ? NUMBER_OVERFLOW : NUMBER_OK), "%s",
                  number);
    ck_assert_msg(over64 || bits_of(value) == strtoull(f64, NULL, 16),
                  "%s is read as %a", number, value);
    for (size_t level = 0; level < number_levels(); level++) {
        number_use(level);
        n = number_read_row_f64(text, end, values, 4, &next);
        ck_assert_msg(n == (over64 ? 0 : 4) &&
                          (over64 || bits_of(values[0]) == bits_of(value)),
                      "%s: %s", number_level_name(level), number);
        n = number_read_row_f32(text, end, floats, 4, &next);
        ck_assert_msg(n == (over32 ? 0 : 4) &&
                          (over32 || floats[0] == float_of((uint32_t)strtoul(
                                                      f32, NULL, 16))),
                      "%s: %s", number_level_name(level), number);
    }
}

START_TEST(hard_decimals_are_read_to_the_nearest)
{
    static char number[2000];
    char f64[20], f32[20];
    int count = 0;
    FILE *cases = fopen("tests/vectors/number_cases.txt", "r");
    ck_assert_ptr_nonnull(cases);
    for (; fscanf(cases, "%1999s %19s %19s", number, f64, f32) == 3; count++)
        check_case(number, f64, f32);
    fclose(cases);
    ck_assert_int_gt(count, 700);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        every_float32_is_read_back_as_it_was_written,
        doubles_of_every_size_are_read_back_as_they_were_written,
        doubles_beside_round_numbers_are_read_back_too,
        no_float32_can_be_written_shorter_or_nearer,
        no_double_can_be_written_shorter_or_nearer,
        a_float32_that_two_roundings_miss_gets_one_digit_more,
        random_decimals_are_read_as_the_c_library_reads_them,
        hard_decimals_are_read_to_the_nearest,
        NULL,
    };
    bool all = getenv("EXHAUSTIVE") != NULL;
    return suite_run("number round", tests, setup, NULL, all ? 20000 : 60);
}
