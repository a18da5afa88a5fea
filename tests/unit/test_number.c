/* SPDX-License-Identifier: MIT */
/*
 * test_number.c - what is a number and where it ends, what rows stop at, how
 * numbers are written, and that nothing beyond the given memory is touched.
 * That the values are right is the claim of test_number_round.c.
 */
#include "suite.h"

#include <locale.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "number.h"

#define EACH(i, list) size_t i = 0; i < sizeof(list) / sizeof(list)[0]; i++

enum { ROOM = 8192 };

/* ROOM bytes before and behind which nothing may be touched: `end` is their
 * end. */
static char *end;

static void setup(void)
{
    char *memory = mmap(NULL, 3 * ROOM, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(memory, MAP_FAILED);
    ck_assert_int_eq(mprotect(memory + ROOM, ROOM, PROT_READ | PROT_WRITE), 0);
    end = memory + 2 * ROOM;
}

static void teardown(void)
{
    munmap(end - 2 * ROOM, 3 * ROOM);
    number_use(number_levels() - 1);
}

/* A copy of the text that ends where the memory does. */
static const char *at_the_end(const char *text, size_t n)
{
    return memcpy(end - n, text, n);
}

static bool same_bits(double a, double b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

START_TEST(numbers_have_their_value)
{
    static const struct { const char *text; double value; } list[] = {
        {"0", 0}, {"-0", -0.0}, {"0.0", 0}, {"-0.0e5", -0.0}, {"7", 7},
        {"10", 10}, {"-12.5", -12.5}, {"0.1", 0.1}, {"1e0", 1}, {"1E3", 1000},
        {"1e+3", 1000}, {"1e-3", 0.001}, {"1e0003", 1000}, {"0e999999", 0},
        {"1.25e2", 125}, {"123456789012345678901234567890", 0x1.8ee90ff6c373ep96},
        {"9007199254740993", 9007199254740992}, {"4.9e-324", 0x1p-1074},
        {"1e-999999999999999999999", 0}, {"0.000001", 1e-6},
        {"1.7976931348623157e308", 0x1.fffffffffffffp1023},
    };
    for (EACH(i, list)) {
        size_t n = strlen(list[i].text);
        const char *text = at_the_end(list[i].text, n), *next;
        double value;
        ck_assert_msg(number_read(text, end, &value, &next) == NUMBER_OK &&
                      next == end && same_bits(value, list[i].value),
                      "%s is %a", list[i].text, value);
    }
}
END_TEST

START_TEST(a_fault_is_at_the_first_impossible_byte)
{
    static const struct { const char *text; size_t at; } list[] = {
        {"", 0}, {"-", 1}, {"+1", 0}, {".5", 0}, {"x", 0}, {"-x", 1},
        {"--1", 1}, {"1.", 2}, {"1.x", 2}, {"1.e5", 2}, {"-.5", 1}, {"1e", 2},
        {"1e+", 3}, {"1e-", 3}, {"1e+-1", 3}, {"1ex", 2}, {"1.5E", 4},
        {"NaN", 0}, {"Infinity", 0}, {"-Infinity", 1}, {" 1", 0}, {"\"1\"", 0},
        {"12345678.", 9}, {"1234567890123456.", 17}, {"0.5e", 4},
    };
    for (EACH(i, list)) {
        const char *text = at_the_end(list[i].text, strlen(list[i].text));
        const char *next;
        double value;
        ck_assert_msg(number_read(text, end, &value, &next) == NUMBER_SYNTAX &&
                      next == text + list[i].at, "%s", list[i].text);
    }
}
END_TEST

START_TEST(a_number_ends_where_it_can_go_no_further)
{
    static const struct { const char *text; size_t length; } list[] = {
        {"00", 1}, {"01", 1}, {"-01", 2}, {"1.5.5", 3}, {"1-1", 1}, {"1x", 1},
        {"1e5e5", 3}, {"1e5.5", 3}, {"1]", 1}, {"1 ", 1}, {"0x10", 1},
        {"12345678,", 8}, {"1_000", 1}, {"1,5", 1}, {"1\xff", 1},
    };
    for (EACH(i, list)) {
        const char *text = at_the_end(list[i].text, strlen(list[i].text));
        const char *next;
        double value;
        ck_assert_msg(number_read(text, end, &value, &next) == NUMBER_OK &&
                      next == text + list[i].length, "%s", list[i].text);
    }
}
END_TEST

START_TEST(what_is_too_large_for_a_double_overflows)
{
    static const char *const list[] = {
        "1e309", "-1e309", "1.7976931348623159e308", "1e99999999999999999999",
        "0.00001e99999", "123456789e301",
    };
    for (EACH(i, list)) {
        size_t n = strlen(list[i]);
        const char *text = at_the_end(list[i], n), *next;
        double value;
        ck_assert_int_eq(number_read(text, end, &value, &next),
                         NUMBER_OVERFLOW);
        ck_assert_ptr_eq(next, end);
    }
}
END_TEST

/* Every level finds `count` numbers in a row, up to `place`, with the values
 * that they have one by one. */
static void check_row(const char *text, const char *stop, size_t max,
                      size_t count, const char *place, bool is_f32)
{
    for (size_t level = 0; level < number_levels(); level++) {
        static double f64[ROOM];
        static float f32[ROOM];
        const char *next, *p = text;
        number_use(level);
        size_t n = is_f32 ? number_read_row_f32(text, stop, f32, max, &next)
                          : number_read_row_f64(text, stop, f64, max, &next);
        if (n != count || next != place)
            ck_abort_msg("%s f%d: %zu of %zu numbers, at %td not %td: %.*s",
                         number_level_name(level), is_f32 ? 32 : 64, n, count,
                         next - text, place - text, (int)(stop - text), text);
        for (size_t i = 0; i < n; i++) {
            double value;
            p += strspn(p, ", \t\r\n");
            if (number_read(p, stop, &value, &p) != NUMBER_OK ||
                !(is_f32 ? same_bits((double)f32[i], (double)(float)value)
                         : same_bits(f64[i], value)))
                ck_abort_msg("%s: %.30s", number_level_name(level), p);
        }
    }
}

START_TEST(a_row_stops_right_behind_its_last_number)
{
    static const struct { const char *text; size_t count, at; } list[] = {
        {"", 0, 0}, {"]", 0, 0}, {" ]", 0, 0}, {"1", 1, 1}, {"1]", 1, 1},
        {"1 ,2]", 2, 4}, {" 1\t,\r\n2 ]", 2, 7}, {"1,]", 1, 1},
        {"1,,2", 1, 1}, {",1", 0, 0}, {"1 2", 1, 1}, {"1,x", 1, 1},
        {"1,\"NaN\"", 1, 1}, {"1,[2]", 1, 1}, {"1,-", 1, 1}, {"1,2.", 1, 1},
        {"1,2e", 1, 1}, {"1,02", 2, 3}, {"1,.5", 1, 1}, {"1,+5", 1, 1},
        {"1.5e3x,2", 1, 5}, {"1,2e3e4,5", 2, 5}, {"1,2.3.4", 2, 5},
        {"1,2-3", 2, 3}, {"1,--2", 1, 1}, {"1\v,2", 1, 1}, {"1,1e999,2", 1, 1},
        {"1,-,3", 1, 1}, {"1,2e+,3", 1, 1}, {"1,2e3.5,3", 2, 5},
        {"0,-0,0.5,-0.5]", 4, 13}, {"1\xb2,2", 1, 1},
    };
    /* Long enough before and behind for the wide readers, or nothing. */
    static const char *const before[] = {
        "", "1,", "-0.25,1e5,", "0.12345678,-0.12345678,0.5,7,0,",
        "0.12345678901234567,1.2345678901234567,-12345678901.234567, 1.5e-7,",
    };
    for (EACH(i, list))
        for (EACH(j, before))
            for (size_t pad = 0; pad < 300; pad += 100) {
                char text[512];
                size_t first = strlen(before[j]), count = list[i].count;
                int n = sprintf(text, "%s%s", before[j], list[i].text);
                for (const char *p = before[j]; *p; p++)
                    count += *p == ',';
                size_t place = first + list[i].at;
                if (list[i].count == 0 && first > 0)
                    place = (size_t)(strrchr(before[j], ',') - before[j]);
                memset(text + n, list[i].text[0] ? ' ' : ']', pad);
                const char *p = at_the_end(text, (size_t)n + pad);
                check_row(p, end, ROOM, count, p + place, false);
                check_row(p, end, ROOM, count, p + place, true);
            }
}
END_TEST

START_TEST(a_row_stops_where_it_is_full)
{
    const char *text = "1,-2,0.5,12345678901234567,1.5e3,6,7,8,9,10,11,12,13,"
                       "14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,"
                       "32,33,34,35,36,37,38,39,40,41,42,43,44,45,46,47,48,49";
    size_t length = strlen(text), max = 0;
    const char *p = at_the_end(text, length), *place = p;
    for (; max < 49; max++) {
        check_row(p, end, max, max, place, false);
        check_row(p, end, max, max, place, true);
        const char *comma = memchr(place + 1, ',', (size_t)(end - place - 1));
        place = comma != NULL ? comma : end;
    }
}
END_TEST

START_TEST(a_row_stops_before_what_its_type_cannot_hold)
{
    static const char *const list[] = {
        "1e39", "-1e39", "3.4028235677973366e38",
        "1e300", "340282356779733661637539395458142568448",
    };
    for (size_t before = 0; before < 40; before++)
        for (EACH(i, list)) {
            char text[512];
            int n = 0;
            for (size_t j = 0; j < before; j++)
                n += sprintf(text + n, j % 3 ? "%zu.5," : "%zue30,", j);
            const char *p = end - n - 100;
            const char *stop = before > 0 ? p + n - 1 : p;
            memset(end - 100, ' ', 100);
            memcpy(end - 100, list[i], strlen(list[i]));
            memcpy(end - n - 100, text, (size_t)n);
            check_row(p, end, ROOM, before, stop, true);
            check_row(p, end, ROOM, before + 1, end - 100 + strlen(list[i]),
                      false);
        }
}
END_TEST

/* Rows of which one byte in 200 is anything. */
START_TEST(every_level_reads_the_same)
{
    static const char *const formats[] = {"%.9g", "%.17g", "%.6f", "%.0f",
                                          "%.3e", "%.25g"};
    static const char *const gaps[] = {",", ",", ",", ", ", " , ", ",\n    "};
    static const char any[] = "0123456789.-+eE, \n[]\"x\0\x80\xff";
    srand(5);
    for (int round = 0; round < 20000; round++) {
        char *p = end - ROOM;
        const char *format = formats[rand() % 6], *gap = gaps[rand() % 6];
        bool wild = rand() % 2;
        for (int n = rand() % 60; n > 0; n--) {
            double value = ldexp(rand() - RAND_MAX / 2.0, -rand() % 60);
            p += sprintf(p, format, rand() % 9 ? value : 0.0);
            p += sprintf(p, "%s", n > 1 ? gap : "],");
        }
        for (char *q = end - ROOM; wild && q < p; q++)
            if (rand() % 200 == 0)
                *q = any[(size_t)rand() % (sizeof any - 1)];
        const char *row = at_the_end(end - ROOM, (size_t)(p - (end - ROOM)));
        static float out[ROOM];
        const char *next;
        number_use(0);
        size_t n = number_read_row_f32(row, end, out, ROOM, &next);
        check_row(row, end, ROOM, n, next, true);
        check_row(row, next, ROOM, n, next, false);
        double all[ROOM / 8];
        n = number_read_row_f64(row, end, all, ROOM / 8, &next);
        check_row(row, end, ROOM, n, next, false);
    }
}
END_TEST

/* What is cut off is not looked at: the text ends before an unreadable page,
 * and what is left reads as it does elsewhere. */
START_TEST(a_text_may_be_cut_at_every_byte)
{
    const char *row = "0.12345678,-0.5,7,0.1234567890123456789, 1e5 ,-2.5E-07"
                      ",12345678901234567890,0,0,1,-1.5,0.000001,3.14159265,"
                      "0.99999999,0.11111111,0.22222222,0.33333333,4e-4,5,6";
    for (size_t n = 0; n <= strlen(row); n++) {
        const char *p = at_the_end(row, n), *next, *other;
        char copy[512];
        double value, again;
        memset(copy, ' ', sizeof copy);
        memcpy(copy, row, n);
        static double out[200];
        number_use(0);
        size_t count = number_read_row_f64(copy, copy + n, out, 200, &other);
        check_row(p, end, ROOM, count, p + (other - copy), false);
        check_row(p, end, ROOM, count, p + (other - copy), true);
        for (size_t i = 0; i < n; i++)
            ck_assert(number_read(p + i, end, &value, &next) ==
                      number_read(copy + i, copy + n, &again, &other) &&
                      next - p == other - copy);
    }
}
END_TEST

START_TEST(what_is_before_a_text_is_not_looked_at)
{
    static const char *const list[] = {
        "7,8,9,10,11", "-0.5,1", "0.12345678901234567,-1.5,3",
        "0.00012345678901234567890123456,1", "1234567.12345678,-2", "1.5e-7,2",
    };
    char *begin = end - ROOM;
    for (EACH(i, list)) {
        size_t n = strlen(list[i]), count = 1;
        for (const char *p = list[i]; *p; p++)
            count += *p == ',';
        memset(begin, ']', ROOM);
        memcpy(begin, list[i], n);
        check_row(begin, end, ROOM, count, begin + n, false);
        check_row(begin, end, ROOM, count, begin + n, true);
    }
}
END_TEST

static const struct { double value; const char *f64, *f32; } written[] = {
    {0, "0", "0"}, {-0.0, "-0.0", "-0.0"}, {1, "1", "1"}, {-1.5, "-1.5", "-1.5"},
    {0.1, "0.1", "0.1"}, {120, "120", "120"}, {1e-4, "0.0001", "0.0001"},
    {1e-5, "1e-5", "1e-5"}, {1.25e-5, "1.25e-5", "1.25e-5"},
    {1e15, "1000000000000000", "1000000000000000"}, {1e16, "1e16", "1e16"},
    {1.5e22, "1.5e22", "1.5e22"}, {-1.5e22, "-1.5e22", "-1.5e22"},
    {123456789, "123456789", "123456790"}, {16777216, "16777216", "16777216"},
    {1234567890123456, "1234567890123456", "1234568000000000"},
    {1.0 / 3, "0.3333333333333333", "0.33333334"},
    {0.0001220703125, "0.0001220703125", "0.00012207031"},
    {0x1p-149, "1.401298464324817e-45", "1e-45"}, {5e-324, "5e-324", "0"},
    {0x1.fffffep127, "3.4028234663852886e38", "3.4028235e38"},
    {1e300, "1e300", "\"Infinity\""}, {-1e300, "-1e300", "\"-Infinity\""},
    {0x1.fffffffffffffp1023, "1.7976931348623157e308", "\"Infinity\""},
    {-0x1p-1022, "-2.2250738585072014e-308", "-0.0"}, {1e9, "1000000000", "1000000000"},
    {INFINITY, "\"Infinity\"", "\"Infinity\""}, {NAN, "\"NaN\"", "\"NaN\""},
    {-INFINITY, "\"-Infinity\"", "\"-Infinity\""}, {2e-45, "2e-45", "1e-45"},
};

START_TEST(numbers_are_written_in_this_form)
{
    for (EACH(i, written))
        for (size_t level = 0; level < number_levels(); level++) {
            char text[64];
            double f64 = written[i].value;
            float f32 = (float)f64;
            number_use(level);
            text[number_write_row_f64(text, &f64, 1)] = '\0';
            ck_assert_str_eq(text, written[i].f64);
            text[number_write_row_f32(text, &f32, 1)] = '\0';
            ck_assert_str_eq(text, written[i].f32);
            text[number_write_f64(text, f64)] = '\0';
            ck_assert_str_eq(text, written[i].f64);
            text[number_write_f32(text, f32)] = '\0';
            ck_assert_str_eq(text, written[i].f32);
        }
}
END_TEST

/* Room for n * (MAX + 1) bytes, before an unreadable page, is enough. */
START_TEST(rows_are_written_into_the_room_they_ask_for)
{
    static const double longest[] = {
        -1.2345678901234567e-308, -1234567890123456, -0.00012345678901234567,
        NAN, -INFINITY, -1.2345678e-38, -0.00012345678,
    }; /* the last number of a row is the next one of these */
    enum { COUNT = 50 };
    for (size_t level = 0; level < number_levels(); level++)
        for (size_t n = 0; n < COUNT; n++)
            for (EACH(kind, longest)) {
                double f64[COUNT];
                float f32[COUNT];
                char expected[COUNT * (NUMBER_F64_MAX + 1)], *p = expected;
                char *out = end - n * (NUMBER_F64_MAX + 1);
                for (size_t i = 0; i < n; i++) {
                    f64[i] = longest[(kind + (i + 1 == n)) % 7];
                    f32[i] = (float)f64[i];
                    p += number_write_f64(p, f64[i]);
                    *p++ = ',';
                }
                number_use(level);
                size_t length = number_write_row_f64(out, f64, n);
                ck_assert(length == (size_t)(p - expected) - (n > 0));
                ck_assert(memcmp(out, expected, length) == 0);
                out = end - n * (NUMBER_F32_MAX + 1);
                length = number_write_row_f32(out, f32, n);
                ck_assert_uint_le(length, n * (NUMBER_F32_MAX + 1));
            }
    number_write_f32(end - NUMBER_F32_MAX, -1.2345678e-38f);
    number_write_f64(end - NUMBER_F64_MAX, -1.2345678901234567e-308);
}
END_TEST

/* A locale of glibc's binary form with nothing but a decimal comma. */
static void write_comma_locale(const char *folder)
{
    static const char strings[] = ",\0\0\0,\0\0\0\0\0\0\0UTF-8";
    const uint32_t head[] = {0x20031115 ^ LC_NUMERIC, 6,
                             32, 34, 35, 36, 40, 44};
    char path[64];
    snprintf(path, sizeof path, "%s/comma", folder);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/comma/LC_NUMERIC", folder);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fwrite(head, sizeof head, 1, file);
    fwrite(strings, sizeof strings, 1, file);
    fclose(file);
}

START_TEST(a_decimal_comma_in_the_locale_changes_nothing)
{
    char folder[] = "/tmp/number-XXXXXX", text[64];
    const char *next;
    double value = 0.5;
    ck_assert_ptr_nonnull(mkdtemp(folder));
    write_comma_locale(folder);
    setenv("LOCPATH", folder, 1);
    ck_assert_ptr_nonnull(setlocale(LC_NUMERIC, "comma"));
    snprintf(text, sizeof text, "rm -r %s", folder);
    ck_assert_int_eq(system(text), 0);
    snprintf(text, sizeof text, "%.1f", value);
    ck_assert_str_eq(text, "0,5");

    text[number_write_f64(text, value)] = '\0';
    ck_assert_str_eq(text, "0.5");
    const char *p = at_the_end("2.5,3", 5);
    ck_assert_int_eq(number_read(p, end, &value, &next), NUMBER_OK);
    ck_assert(same_bits(value, 2.5) && next == p + 3);
    check_row(p, end, ROOM, 2, end, true);
    setlocale(LC_NUMERIC, "C");
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        numbers_have_their_value,
        a_fault_is_at_the_first_impossible_byte,
        a_number_ends_where_it_can_go_no_further,
        what_is_too_large_for_a_double_overflows,
        a_row_stops_right_behind_its_last_number,
        a_row_stops_where_it_is_full,
        a_row_stops_before_what_its_type_cannot_hold,
        every_level_reads_the_same,
        a_text_may_be_cut_at_every_byte,
        what_is_before_a_text_is_not_looked_at,
        numbers_are_written_in_this_form,
        rows_are_written_into_the_room_they_ask_for,
        a_decimal_comma_in_the_locale_changes_nothing,
        NULL,
    };
    return suite_run("number", tests, setup, teardown, 60);
}
