/* SPDX-License-Identifier: MIT */
/*
 * test_decode_long.c - bodies with blanks, digits and strings without end,
 * and long ones of every kind: what they say, and that it is found out in
 * many short steps.
 */
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nested.h"
#include "posted.h"
#include "tensor.h"

#define EACH(i, list) size_t i = 0; i < sizeof(list) / sizeof(list)[0]; i++

#define KV ",\"K\":[[1]],\"V\":[[1]]"

enum { LONG = 700000 };     /* longer than any piece that is looked at */

static struct posted p;

static const struct fault *decode(const char *text)
{
    posted_decode(&p, text, strlen(text));
    return &p.r->fault;
}

static double element(enum attn_in name, int64_t i)
{
    return tensor_get(p.r->input.tensor[name].data, p.r->input.dtype, i);
}

static char *put_times(char *end, const char *unit, size_t n)
{
    size_t length = strlen(unit);

    memcpy(end, unit, length);
    for (size_t i = length; i < n * length; i++)
        end[i] = end[i - length];
    end += n > 0 ? n * length : 0;
    *end = '\0';
    return end;
}

/* front, n times unit, behind; to be freed. */
static char *repeated(const char *front, const char *unit, size_t n,
                      const char *behind)
{
    char *text = malloc(strlen(front) + strlen(unit) * (n + 1) +
                        strlen(behind) + 1);
    strcpy(put_times(stpcpy(text, front), unit, n), behind);
    return text;
}

/* The number as the only one of a body that has to be squeezed. */
static void check_number(const char *number)
{
    size_t n = strlen(number);
    char *body = malloc(n + LONG / 2 + 100), *end;
    double expected = strtod(number, &end);

    ck_assert(*end == '\0');
    end = put_times(stpcpy(body, "{\"dtype\":\"float64\",\"Q\":"), " ", LONG / 2);
    sprintf(end, "[[%s,7]]" KV "}", number);
    const struct fault *f = decode(body);
    if (isinf(expected))
        ck_assert_str_eq(f->pointer, "/Q/0/0");
    else
        ck_assert_msg(f->problem == PROBLEM_NONE &&
                      memcmp(p.r->input.tensor[ATTN_Q].data, &expected,
                             sizeof expected) == 0 &&
                      element(ATTN_Q, 1) == 7,
                      "%.30s of %zu is %a not %a: %s", number, n,
                      element(ATTN_Q, 0), expected, f->detail);
    posted_close(&p);
    free(body);
}

/* 9007199254740993 lies half way between two doubles. */
static const struct {
    const char *front, *unit, *behind;
} numbers[] = {
    {"1", "1", "e-30"}, {"1", "1", ""}, {"0.", "0", "123e30"},
    {"-0.", "0", "17"}, {"0.", "0", "0"}, {"12", "34", ".5678e-40"},
    {"9007199254740993.", "0", "0"}, {"9007199254740993.", "0", "1"},
    {"-9007199254740993", "0", "e-1600"}, {"9007199254740993", "0", "1e-1601"},
    {"9007199254740993", "0", ".1e-1600"}, {"1e", "0", "5"},
    {"1E-", "0", "5"}, {"2.5e+", "0", "300"}, {"1e", "9", ""}, {"1e-", "9", ""},
    {"0.", "9", "e5"}, {"4.9", "3", "e-324"}, {"1.7976931348623157", "0", "e308"},
    {"0.0001", "0", "1E4"}, {"1", "0", "e-1590"},
};

START_TEST(numbers_cut_short_keep_their_value)
{
    /* Around the digits that are kept, and the bytes that are taken back. */
    static const size_t ends[][2] = {{1, 10}, {1560, 1640}, {20000, 20001}};
    for (EACH(i, numbers))
        for (EACH(k, ends))
            for (size_t n = ends[k][0]; n < ends[k][1]; n += 1 + n % 3) {
                char *number = repeated(numbers[i].front, numbers[i].unit, n,
                                        numbers[i].behind);
                check_number(number);
                free(number);
            }
}
END_TEST

START_TEST(numbers_may_be_as_long_as_they_like)
{
    static const struct {
        const char *front, *unit, *behind;
    } rows[] = {
        {"1", "1", "e-699990"}, {"0.", "0", "123e700002"},
        {"9007199254740993", "0", "e-700000"},
        {"9007199254740993", "0", "1e-700001"}, {"1e", "0", "5"},
    };
    for (EACH(i, rows)) {
        char *number = repeated(rows[i].front, rows[i].unit, LONG,
                                rows[i].behind);
        check_number(number);
        free(number);
    }
}
END_TEST

START_TEST(blanks_without_end_change_nothing_wherever_they_stand)
{
    static const char text[] =
        " { \"K\" : [ [ [ 1 , 2 , \"NaN\" ] ] , [ [ 3 , 4 , 5 ] ] ] , "
        "\"mask\" : [ true ] , \"window\" : { \"left\" : 1 } , "
        "\"return\" : [ \"A\" , \"lse\" ] } ";
    char *body = malloc(sizeof text + LONG);
    for (const char *at = strchr(text, ' '); at; at = strchr(at + 1, ' ')) {
        char *end = mempcpy(body, text, (size_t)(at - text));
        strcpy(put_times(end, " \n", LONG / 2), at);
        decode(body);
        ck_assert_msg(p.r->fault.problem == PROBLEM_NONE, "%s: %s", at,
                      p.r->fault.detail);
        for (int k = 0; k < 6; k++)
            ck_assert(k == 2 ? isnan(element(ATTN_K, k))
                             : element(ATTN_K, k) == k + (k < 2));
        ck_assert_int_eq(p.r->input.window_left, 1);
        ck_assert_mem_eq(p.r->input.tensor[ATTN_MASK].data, "\1", 1);
        posted_close(&p);
    }
    free(body);
}
END_TEST

START_TEST(faults_behind_blanks_without_end_have_their_place)
{
    char *body = repeated("{\"Q\":[[1,2],", "\n ", LONG / 2, "[3,x]]" KV "}");
    const struct fault *f = decode(body);
    ck_assert_int_eq((int)f->problem, PROBLEM_NOT_JSON);
    ck_assert_int_eq(f->line, 1 + LONG / 2);
    ck_assert_int_eq(f->column, 5);
    posted_close(&p);

    strcpy(strchr(body, 'x'), "[4]]]" KV "}");
    f = decode(body);
    ck_assert_str_eq(f->pointer, "/Q/1/1");
    posted_close(&p);
    free(body);
}
END_TEST

START_TEST(strings_without_end_are_refused_for_what_they_are)
{
    static const struct {
        const char *front, *behind, *pointer;
        enum problem problem;
    } rows[] = {
        {"{\"Q\":[[1,\"", "\"]]}", "/Q/0/1", PROBLEM_WRONG_TYPE},
        {"{\"dtype\":\"", "\",\"Q\":[[1]]" KV "}", "/dtype",
         PROBLEM_UNKNOWN_MEMBER},
        {"{\"Q\":[[1,\"", "\"]}", "", PROBLEM_NOT_JSON},
        {"{\"Q\":[[1,\"", "\\x\"]}", "", PROBLEM_NOT_JSON},
        {"{\"", "\":[[1]]}", NULL, PROBLEM_UNKNOWN_MEMBER},
    };
    static const char *const units[] = {"x", "\\u00e9", "\xc3\xa9",
                                        "\\ud83d\\ude00", "\xf0\x9f\x98\x80"};
    for (EACH(i, rows))
        for (EACH(k, units)) {
            char *body = repeated(rows[i].front, units[k],
                                  LONG / strlen(units[k]), rows[i].behind);
            const struct fault *f = decode(body);
            ck_assert_msg(f->problem == rows[i].problem, "%s", f->detail);
            if (rows[i].pointer)
                ck_assert_str_eq(f->pointer, rows[i].pointer);
            if (rows[i].problem == PROBLEM_NOT_JSON)
                ck_assert_int_eq(f->column, (int64_t)strlen(body) -
                                            (rows[i].behind[0] == '"' ? 0 : 3));
            posted_close(&p);
            free(body);
        }
}
END_TEST

/* A step takes about a millisecond and walks a megabyte at most. */
START_TEST(bodies_of_any_kind_are_decoded_in_many_short_steps)
{
    enum { BYTES = 16 << 20 };
    static const char *const rows[][3] = {
        {"", " ", "{}"}, {"{\"Q\":[[1,", " ", "2]]}"}, {"{", "\n", "}"},
        {"{\"Q\":[[1", "0", "]]}"}, {"{\"Q\":[[\"", "x", "\"]]}"},
        {"{\"Q\":[", "[1],", "[1]]}"}, {"{\"Q\":[[", "1,", "1]]}"},
        {"{\"Q\":[", "[1],", "2]}"}, {"{\"Q\":[[", "1,", "true]]}"},
        {"{\"", "x", "\":1}"}, {"{\"scale\":[", "[],", "1]}"},
        {"{\"Q\":[[[[[", "1,", "1]]]]]}"}, {"{\"dtype\":\"", "x", "\"}"},
        {"{\"mask\":[", "true,", "false]}"}, {"", "[", ""},
    };
    for (EACH(i, rows)) {
        char *body = repeated(rows[i][0], rows[i][1],
                              BYTES / strlen(rows[i][1]), rows[i][2]);
        decode(body);
        ck_assert_msg(p.calls >= BYTES >> 20, "%s%s: %d steps", rows[i][0],
                      rows[i][1], (int)p.calls);
        posted_close(&p);
        free(body);
    }
}
END_TEST

/* The place of a range follows from the first row and the first lists: what
 * comes later must not make it lie outside the array. */
START_TEST(later_lists_that_are_longer_write_nothing)
{
    static const char *const rows[][3] = {
        {"{\"Q\":[[1],[1", ",2", "]],\"K\":[[1]],\"V\":[[1]]}"},
        {"{\"Q\":[[[1,2,3]],[[1,2,3]", ",[1,2,3]",
         "]],\"K\":[[1]],\"V\":[[1]]}"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *body = repeated(rows[i][0], rows[i][1], 1000000, rows[i][2]);
        size_t length = strlen(body);
        struct nested t;
        struct nested_range *ranges =
            calloc(NESTED_RANGES_MAX(length), sizeof *ranges);
        int64_t n = 0;
        struct nested_scan scan = {.p = strchr(body, '['),
                                   .end = body + length, .id = ATTN_Q,
                                   .found = &t, .ranges = ranges,
                                   .n_ranges = &n};
        enum walk walk = WALK_MORE;
        t.rank = 0;
        while (walk == WALK_MORE)
            walk = nested_scan(&scan);
        ck_assert_int_eq((int)walk, WALK_REFUSED);
        free(ranges);

        const struct fault *f = decode(body);
        ck_assert_int_eq((int)f->problem, PROBLEM_RAGGED);
        ck_assert_str_eq(f->pointer, "/Q/1");
        ck_assert(f->has_got && f->got == 1000001 && f->expected == 1);
        posted_close(&p);
        free(body);
    }
}
END_TEST

/* Each of these would take minutes in quadratic time, or overflow a stack. */
START_TEST(hostile_bodies_take_linear_time)
{
    static const char *const rows[][3] = {
        {"{\"Q\":", "[", ""},        {"{\"Q\":", "[[", "]]}"},
        {"{\"Q\":[", "[1],", "1]}"}, {"{\"Q\":[", "[[[1]]],", "[]]}"},
        {"{\"dtype\":", "[", ""},    {"{\"dtype\":", "{\"a\":", ""},
        {"{\"x\":\"", "\\u0041", "\"}"}, {"{\"Q\":[\"", "]", "\"]}"},
        {"", " ", ""},               {"{\"Q\":[[1", "0", "]]}"},
        {"{\"return\":[", "\"A\",", "1]}"}, {"", "{\"Q\":", ""},
        {"{\"Q\":[[0.", "1", ",true]]}"}, {"{\"mask\":[", "true,", "1]}"},
        {"{\"", "Q", "\":1}"},        {"{\"\\u0051", "Q", "\":1}"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *body = repeated(rows[i][0], rows[i][1], 500000, rows[i][2]);
        const struct fault *f = decode(body);
        ck_assert_msg(f->problem != PROBLEM_NONE, "%.20s", body);
        ck_assert_int_ne((int)f->problem, PROBLEM_INTERNAL);
        ck_assert_uint_lt(p.r->arena.bytes, 4 * strlen(body) + 100000);
        posted_close(&p);
        free(body);
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        numbers_cut_short_keep_their_value,
        numbers_may_be_as_long_as_they_like,
        blanks_without_end_change_nothing_wherever_they_stand,
        faults_behind_blanks_without_end_have_their_place,
        strings_without_end_are_refused_for_what_they_are,
        bodies_of_any_kind_are_decoded_in_many_short_steps,
        later_lists_that_are_longer_write_nothing,
        hostile_bodies_take_linear_time,
        NULL};
    return suite_run("decode_long", tests, NULL, NULL, 120);
}
