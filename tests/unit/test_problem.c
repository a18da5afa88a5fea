/* SPDX-License-Identifier: MIT */
/*
 * test_problem.c - the table of problems, which fault is kept, both dialects,
 * and the name that was probably meant.
 */
#include "suite.h"

#include <string.h>

#include <jansson.h>

#include "problem.h"

START_TEST(every_problem_has_a_code_of_its_own)
{
    for (int i = 0; i < PROBLEM_COUNT; i++) {
        const struct problem_row *row = problem_row((enum problem)i);
        ck_assert_int_eq((int)row->problem, i);
        ck_assert_uint_gt(strlen(row->code), 0);
        ck_assert_uint_gt(strlen(row->title), 0);
        ck_assert(i == 0 || (row->status >= 400 && row->status < 600));
        ck_assert_int_eq(row->blame == BLAME_SERVER,
                         row->status >= 500 || i == 0);
        for (int k = 0; k < i; k++)
            ck_assert_str_ne(row->code,
                             problem_row((enum problem)k)->code);
    }
}
END_TEST

START_TEST(a_400_takes_the_place_of_a_422_and_nothing_else_does)
{
    static const struct {
        enum problem first, second, kept;
    } rows[] = {
        {PROBLEM_NONE, PROBLEM_RAGGED, PROBLEM_RAGGED},
        {PROBLEM_RAGGED, PROBLEM_NOT_JSON, PROBLEM_NOT_JSON},
        {PROBLEM_RAGGED, PROBLEM_SHAPE, PROBLEM_RAGGED},
        {PROBLEM_NOT_JSON, PROBLEM_RAGGED, PROBLEM_NOT_JSON},
        {PROBLEM_NOT_JSON, PROBLEM_WRONG_TYPE, PROBLEM_NOT_JSON},
        {PROBLEM_QUEUE_FULL, PROBLEM_NOT_JSON, PROBLEM_QUEUE_FULL},
        {PROBLEM_RAGGED, PROBLEM_MEMORY_BUDGET, PROBLEM_RAGGED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct fault f = {.problem = rows[i].first, .line = 7};
        ck_assert_int_eq((int)fault_set(&f, rows[i].second, "/K", "No. %d", 2),
                         (int)rows[i].kept);
        ck_assert_int_eq((int)f.problem, (int)rows[i].kept);
        bool taken = rows[i].kept == rows[i].second &&
                     rows[i].first != rows[i].second;
        ck_assert_str_eq(f.detail, taken ? "No. 2" : "");
        ck_assert_int_eq((int)f.line, taken ? 0 : 7);
    }
}
END_TEST

static json_t *printed(const struct fault *f)
{
    char text[8192];
    size_t n = fault_print_problem_json(f, text, sizeof text);
    ck_assert_uint_eq(n, strlen(text));
    ck_assert_int_eq(text[n - 1], '\n');
    json_t *p = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    ck_assert_msg(p != NULL, "%s", text);
    return p;
}

START_TEST(problem_json_has_what_the_fault_has)
{
    struct fault f = {0};
    fault_set(&f, PROBLEM_SHAPE, "/K/3", "K is \"%s\"", "odd");
    f.has_got = f.has_expected = true;
    f.got = 3;
    f.expected = 2.5;
    f.line = 4;
    f.column = 5;
    json_t *p = printed(&f), *want = json_pack(
        "{s:s s:s s:i s:s s:s s:s s:s s:i s:f s:i s:i}", "type",
        "about:blank", "title", "Shapes do not match", "status", 422,
        "detail", "K is \"odd\"", "code", "shape_mismatch", "pointer", "/K/3",
        "error", "K is \"odd\"", "got", 3, "expected", 2.5, "line", 4,
        "column", 5);
    ck_assert(json_equal(p, want));
    json_decref(p);
    json_decref(want);
}
END_TEST

START_TEST(any_bytes_in_the_detail_give_valid_json)
{
    struct fault f = {0};
    fault_set(&f, PROBLEM_UNKNOWN_MEMBER, NULL, "\x01\x1f\x7f\"\\\xff\xc3("
              "\xed\xa0\x80\xe2\x82\xac\xf4\x90\x80\x80\xf0\x9f\x98\x80\xc3");
    json_t *p = printed(&f);
    ck_assert(json_object_get(p, "pointer") == NULL);
    const char *detail = json_string_value(json_object_get(p, "detail"));
    ck_assert_ptr_nonnull(strstr(detail, "\xe2\x82\xac"));
    ck_assert_ptr_nonnull(strstr(detail, "\xf0\x9f\x98\x80"));
    json_decref(p);
}
END_TEST

START_TEST(printing_stays_within_every_size)
{
    struct fault f = {0};
    char text[400];
    fault_set(&f, PROBLEM_RAGGED, "/Q", "a \"quoted\" word");
    for (size_t size = 1; size < sizeof text; size++) {
        memset(text, '#', sizeof text);
        size_t n = fault_print_problem_json(&f, text, size);
        ck_assert_uint_lt(n, size);
        ck_assert_int_eq(text[n], '\0');
        ck_assert_int_eq(text[size], '#');
    }
}
END_TEST

START_TEST(error_dialect_is_the_error_alone)
{
    struct fault f = {0};
    char text[200];
    fault_set(&f, PROBLEM_RAGGED, "/Q", "No \"good\".");
    fault_print_error_json(&f, text, sizeof text);
    ck_assert_str_eq(text, "{\"error\":\"No \\\"good\\\".\"}\n");
}
END_TEST

START_TEST(nearest_name_is_the_one_that_was_meant)
{
    static const char *const names[] = {"mask", "causal", "scale", "W_Q",
                                        "past_K", "num_kv_heads", "softcap",
                                        "Q"};
    static const struct {
        const char *word, *meant;
    } rows[] = {
        {"attn_mask", "mask"}, {"Mask", "mask"}, {"masks", "mask"},
        {"casual", "causal"}, {"is_causal", "causal"}, {"w_q", "W_Q"},
        {"scael", "scale"}, {"softmax_scale", "scale"}, {"pastK", "past_K"},
        {"kv_heads", "num_kv_heads"}, {"soft_cap", "softcap"}, {"q", "Q"},
        {"zzz", NULL}, {"", NULL}, {"x", NULL}, {"_", NULL},
        {"a_name_that_is_far_too_long_to_be_compared_mask", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *near = problem_nearest(
            rows[i].word, strlen(rows[i].word), names,
            sizeof names / sizeof *names);
        ck_assert_msg((near && rows[i].meant &&
                       strcmp(near, rows[i].meant) == 0) ||
                          near == rows[i].meant,
                      "%s: %s", rows[i].word, near ? near : "none");
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        every_problem_has_a_code_of_its_own,
        a_400_takes_the_place_of_a_422_and_nothing_else_does,
        problem_json_has_what_the_fault_has,
        any_bytes_in_the_detail_give_valid_json,
        printing_stays_within_every_size,
        error_dialect_is_the_error_alone,
        nearest_name_is_the_one_that_was_meant,
        NULL};
    return suite_run("problem", tests, NULL, NULL, 20);
}
