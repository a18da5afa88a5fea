/* SPDX-License-Identifier: MIT */
/*
 * test_number_rows.c - matrices: at every level they are read as their numbers
 * are one by one, as far as their rows are right, and written as these are,
 * within the memory that is given.
 */
#include "suite.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "number.h"

#define EACH(i, list) size_t i = 0; i < sizeof(list) / sizeof(list)[0]; i++

enum { ROOM = 32768, NUMBERS = 600 };

/* The ends of twice ROOM bytes before and behind which nothing may be touched:
 * for text, and for values. */
static char *end, *values_end;

static void setup(void)
{
    char *memory = mmap(NULL, 5 * ROOM, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(memory, MAP_FAILED);
    for (int i = 1; i < 5; i += 2)
        ck_assert_int_eq(mprotect(memory + i * ROOM, ROOM,
                                  PROT_READ | PROT_WRITE), 0);
    end = memory + 2 * ROOM;
    values_end = memory + 4 * ROOM;
    srand(11);
}

static void teardown(void)
{
    munmap(end - 2 * ROOM, 5 * ROOM);
    number_use(number_levels() - 1);
}

static size_t below(size_t n)
{
    return (size_t)rand() % n;
}

/* --------------------------------------------------------------- reading */

static const char *skip_space(const char *p, const char *stop)
{
    while (p < stop && strchr(" \t\r\n", *p) != NULL && *p != '\0')
        p++;
    return p;
}

static bool row_ends(struct number_rows rows, size_t n)
{
    return (n + rows.width - rows.left) % rows.width == 0;
}

/* Behind the tokens, or NULL. */
static const char *pass(const char *p, const char *stop, const char *tokens)
{
    for (; *tokens != '\0'; tokens++) {
        p = skip_space(p, stop);
        if (p == stop || *p++ != *tokens)
            return NULL;
    }
    return p;
}

static const char *pass_gap(const char *p, const char *stop,
                            struct number_rows rows, size_t n)
{
    return pass(p, stop, row_ends(rows, n) ? "],[" : ",");
}

static size_t one_by_one(const char *p, const char *stop, double *out,
                         struct number_rows rows, const char **next,
                         bool is_f32)
{
    size_t n = 0;
    *next = p;
    while (n < rows.n && p != NULL) {
        p = skip_space(p, stop);
        if (number_read(p, stop, &out[n], &p) != NUMBER_OK ||
            (is_f32 && isinf((float)out[n])))
            break;
        *next = p;
        p = pass_gap(p, stop, rows, ++n);
    }
    return n;
}

/* As nested.c: from where it stopped at the end of a row on to the next. */
static size_t in_rows(const char *p, const char *stop, void *out,
                      struct number_rows rows, const char **next, bool is_f32)
{
    struct number_rows rest = rows;
    size_t n = 0, got;
    *next = p;
    for (;;) {
        const char *behind;
        got = is_f32 ? number_read_rows_f32(p, stop, (float *)out + n, rest,
                                            &behind)
                     : number_read_rows_f64(p, stop, (double *)out + n, rest,
                                            &behind);
        n += got;
        if (got > 0)
            *next = behind;
        if (got == 0 || n == rows.n || !row_ends(rows, n))
            return n;
        p = pass_gap(behind, stop, rows, n);
        if (p == NULL)
            return n;
        rest = (struct number_rows){rows.n - n, rows.width, rows.width};
    }
}

static bool same(double expected, const void *values, size_t i, bool is_f32)
{
    float f32 = (float)expected;
    return is_f32 ? memcmp((const float *)values + i, &f32, sizeof f32) == 0
                  : memcmp((const double *)values + i, &expected,
                           sizeof expected) == 0;
}

/* Returns how many numbers there are. */
static size_t check(const char *p, const char *stop, struct number_rows rows,
                    bool is_f32)
{
    static double expected[NUMBERS], f64[NUMBERS + 1];
    static float f32[NUMBERS + 1];
    const char *place, *next;
    size_t count = one_by_one(p, stop, expected, rows, &place, is_f32);
    void *out = is_f32 ? (void *)f32 : (void *)f64;
    for (size_t level = 0; level < number_levels(); level++) {
        number_use(level);
        f32[rows.n] = 77;
        f64[rows.n] = 77;
        size_t n = in_rows(p, stop, out, rows, &next, is_f32);
        if (n != count || next != place)
            ck_abort_msg("%s f%d, %zu wide: %zu of %zu numbers, %td: %.*s",
                         number_level_name(level), is_f32 ? 32 : 64,
                         rows.width, n, count, next - place, (int)(stop - p),
                         p);
        for (size_t i = 0; i < n; i++)
            if (!same(expected[i], out, i, is_f32))
                ck_abort_msg("%s f%d, %zu wide: number %zu is not %a",
                             number_level_name(level), is_f32 ? 32 : 64,
                             rows.width, i, expected[i]);
        ck_assert(same(77, out, rows.n, is_f32));
    }
    return count;
}

static const char *at_the_end(const char *text, size_t n)
{
    return memcpy(end - n, text, n);
}

/* Near enough for a load that ends in the first number to begin before. */
static const char *at_the_start(const char *text, size_t n)
{
    return memcpy(end - ROOM + below(40), text, n);
}

/* What a text is made of: mostly the same throughout. */
struct style {
    const char *format, *comma, *row;
    unsigned odd; /* one number of so many is of another kind */
};

static struct style random_style(void)
{
    static const char *const formats[] = {"%.9g", "%.17g", "%.6f", "%.0f",
                                          "%.3e", "%.25g", "%.2f"};
    static const char *const commas[] = {",", ",", ", ", ", ", " , ", ",\n  "};
    static const char *const rows[] = {"],[", "], [", "],[", "], [", "],\n[",
                                       "],\t[", "] ,[", "],[ ", "],  [",
                                       " ] , [ "};
    return (struct style){formats[below(7)], commas[below(6)],
                          rows[below(10)], (unsigned)(1 + below(200))};
}

static char *put_number(char *p, struct style s)
{
    static const char *const odd[] = {
        "0", "-0", "1e39", "-1e5", "2.5E-07", "1e400", "0e0", "\"NaN\"",
        "0.12345678901234567890123456789012345", "1e-999", "12345678901234567890",
    };
    if (below(s.odd) == 0)
        return stpcpy(p, odd[below(sizeof odd / sizeof *odd)]);
    double value = ldexp(rand() - RAND_MAX / 2.0, -(int)below(60));
    return p + sprintf(p, s.format, below(9) ? value : 0.0);
}

/* One gap in so many is of the other kind, so that rows are ragged. */
static char *put_matrix(char *p, struct number_rows rows, struct style s,
                        unsigned ragged)
{
    for (size_t n = 0; n < rows.n; n++) {
        if (n > 0)
            p = stpcpy(p, row_ends(rows, n) != (ragged && !below(ragged))
                              ? s.row : s.comma);
        p = put_number(p, s);
    }
    return stpcpy(p, below(2) ? "]]" : "],[");
}

static struct number_rows random_rows(size_t width_max)
{
    size_t width = 1 + below(width_max), n = below(250);
    return (struct number_rows){n, 1 + below(width), width};
}

START_TEST(every_level_reads_a_matrix_as_its_numbers_one_by_one)
{
    static const char any[] = "0123456789.-+eE, \n[]\"x\0\x80\xff";
    size_t all = 0, complete = 0;
    for (int round = 0; round < 20000; round++) {
        static char text[ROOM];
        struct number_rows rows = random_rows(20);
        unsigned ragged = below(4) ? 0 : 1 + (unsigned)below(100);
        size_t n = (size_t)(put_matrix(text, rows, random_style(), ragged) -
                            text);
        for (size_t i = 0; round % 4 == 0 && i < n; i++)
            if (below(300) == 0)
                text[i] = any[below(sizeof any - 1)];
        const char *p = round % 8 < 4 ? at_the_end(text, n)
                                      : at_the_start(text, n);
        check(p, p + n, rows, true);
        complete += check(p, p + n, rows, false) == rows.n;
        all++;
    }
    ck_assert_uint_gt(complete, all / 4);
    ck_assert_uint_lt(complete, all - all / 4);
}
END_TEST

/* Of the right number, but not in the right rows; and other brackets. */
START_TEST(rows_of_another_length_are_not_read)
{
    static const struct { const char *text; size_t width, count; } list[] = {
        {"1,2],[3],[4,5,6", 2, 3}, {"1,2],[3,4,5],[6", 2, 4},
        {"1,2,3],[4],[5,6", 2, 2}, {"1],[2,3],[4,5,6", 2, 1},
        {"1,2],[3,4],[5,6", 2, 6}, {"1,2],[3,4]],[[5,6", 2, 4},
        {"1,2],[[3,4],[5,6", 2, 2}, {"1,2],[],[3,4", 2, 2},
        {"1,2],3,4],[5,6", 2, 2}, {"1,2,[3,4],[5,6", 2, 2},
        {"1,2][3,4],[5,6", 2, 2}, {"1,2],,[3,4],[5,6", 2, 2},
        {"1,2],[,3,4],[5,6", 2, 2}, {"1,2,],[3,4],[5,6", 2, 2},
        {"1,[2],[3,4],[5,6", 2, 1}, {"1],[2],[3,4],[5", 1, 3},
        {"1,2],x[3,4],[5,6", 2, 2}, {"1,2],  [3,4],[5,6", 2, 6},
        {"1,2] ,[3,4],[5,6", 2, 6}, {"1,2,3,4,5,6", 2, 2},
        {"1,2]],[[3,4],[5,6", 2, 2}, {"1,2],{3,4],[5,6", 2, 2},
        {"1,2},{3,4],[5,6", 2, 2}, {"1,2],[ 3 , 4 ],[5,6", 2, 6},
        {"1],[2", 2, 1}, {"1,2],[3,4],5", 2, 4}, {"1,2],", 2, 2},
    };
    /* Rows before, so that all that comes falls at every place in a block. */
    for (EACH(i, list))
        for (size_t before = 0; before < 130; before++)
            for (size_t behind = 0; behind < 160; behind += 40) {
                char text[1024], *p = text;
                size_t n = list[i].width * (before / 10 + 1);
                for (size_t j = 0; j < n; j++) {
                    p += sprintf(p, "%.*f", (int)(before % 10), 7.0);
                    p = stpcpy(p, (j + 1) % list[i].width ? "," : "],[");
                }
                p = stpcpy(p, list[i].text);
                memset(p, behind % 80 ? ' ' : ']', behind);
                p += behind;
                struct number_rows rows = {n + 7, list[i].width,
                                           list[i].width};
                const char *at = at_the_end(text, (size_t)(p - text));
                if (list[i].count == 6)
                    rows.n = n + 6;
                ck_assert_msg(check(at, end, rows, true) == n + list[i].count,
                              "%s", list[i].text);
                check(at, end, rows, false);
            }
}
END_TEST

/* Each text ends before an unreadable page. */
START_TEST(a_matrix_may_be_cut_at_every_byte)
{
    static const struct style styles[] = {
        {"%.17g", ", ", "], [", 1000}, {"%.9g", ",", "],[", 1000},
        {"%.0f", ",", "],[", 10},      {"%.3e", ", ", "], [", 10},
    };
    static char text[ROOM];
    for (EACH(i, styles))
        for (size_t width = 1; width <= 20; width += 1 + width / 4) {
            struct number_rows rows = {60, width, width};
            size_t n = (size_t)(put_matrix(text, rows, styles[i], 0) - text);
            for (size_t cut = 0; cut <= n; cut++) {
                const char *p = at_the_end(text, cut);
                check(p, end, rows, true);
                check(p, end, rows, false);
            }
        }
}
END_TEST

/* --------------------------------------------------------------- writing */

static float random_float(void)
{
    static const float odd[] = {0, -0.0f, NAN, INFINITY, -INFINITY, 1e-45f,
                                -1.2345678e-38f, 1, -1234567890123456.0f};
    if (below(6) == 0)
        return odd[below(9)];
    return (float)ldexp(rand() - RAND_MAX / 2.0, (int)below(90) - 60);
}

static size_t put_one_by_one(char *out, const float *f32, const double *f64,
                             struct number_rows rows)
{
    char *p = out;
    for (size_t n = 0; n < rows.n; n++) {
        if (n > 0)
            p = stpcpy(p, row_ends(rows, n) ? "],[" : ",");
        p += f32 ? number_write_f32(p, f32[n]) : number_write_f64(p, f64[n]);
    }
    return (size_t)(p - out);
}

static size_t room(struct number_rows rows, size_t longest)
{
    size_t ends = 0;
    for (size_t n = 1; n <= rows.n; n++)
        ends += row_ends(rows, n);
    return rows.n * (longest + 1) + 2 * ends;
}

static void check_written(const float *f32, const double *f64,
                          struct number_rows rows)
{
    static char expected[ROOM];
    size_t length = put_one_by_one(expected, f32, f64, rows);
    if (f32)
        f32 = memcpy(values_end - rows.n * sizeof *f32, f32,
                     rows.n * sizeof *f32);
    else
        f64 = memcpy(values_end - rows.n * sizeof *f64, f64,
                     rows.n * sizeof *f64);
    for (size_t level = 0; level < number_levels(); level++) {
        number_use(level);
        char *out = end - room(rows, f32 ? NUMBER_F32_MAX : NUMBER_F64_MAX);
        size_t n = f32 ? number_write_rows_f32(out, f32, rows)
                       : number_write_rows_f64(out, f64, rows);
        if (n != length || memcmp(out, expected, n) != 0)
            ck_abort_msg("%s, %zu wide: %.*s, not %.*s",
                         number_level_name(level), rows.width, (int)n, out,
                         (int)length, expected);
    }
}

START_TEST(every_level_writes_a_matrix_as_its_numbers_one_by_one)
{
    for (int round = 0; round < 5000; round++) {
        float f32[256];
        double f64[256];
        struct number_rows rows = random_rows(round % 2 ? 20 : 200);
        for (size_t i = 0; i < rows.n; i++) {
            f32[i] = random_float();
            f64[i] = below(2) ? (double)random_float() / 3 : (double)f32[i];
        }
        check_written(f32, NULL, rows);
        check_written(NULL, f64, rows);
    }
}
END_TEST

START_TEST(the_longest_numbers_find_room)
{
    float f32[100];
    double f64[100];
    for (size_t i = 0; i < 100; i++) {
        f32[i] = -1.2345678e-38f;
        f64[i] = -1.2345678901234567e-308;
    }
    for (size_t width = 1; width < 110; width++)
        for (size_t n = 0; n < 100; n++) {
            struct number_rows rows = {n, 1 + n % width, width};
            check_written(f32, NULL, rows);
            check_written(NULL, f64, rows);
        }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        every_level_reads_a_matrix_as_its_numbers_one_by_one,
        rows_of_another_length_are_not_read,
        a_matrix_may_be_cut_at_every_byte,
        every_level_writes_a_matrix_as_its_numbers_one_by_one,
        the_longest_numbers_find_room,
        NULL,
    };
    return suite_run("number rows", tests, setup, teardown, 60);
}
