/* SPDX-License-Identifier: MIT */
/*
 * test_decode_json.c - bodies against an unreadable page: what is read, what
 * is refused and where. Texts of every kind of fault are in tests/cases.
 */
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "compute.h"
#include "config.h"
#include "posted.h"
#include "tensor.h"

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

static void expect_shape(enum attn_in name, int rank, const int64_t *dim)
{
    ck_assert_int_eq(p.r->input.tensor[name].rank, rank);
    for (int i = 0; i < rank; i++)
        ck_assert_int_eq(p.r->input.tensor[name].dim[i], dim[i]);
}

/* -------------------------------------------------------------- accepted */

START_TEST(numbers_lie_row_by_row_in_the_type_asked_for)
{
    for (int wide = 0; wide < 2; wide++) {
        decode(wide ? "{\"Q\":[[[1,2.5],[3,4]],[[5,6],[7,0.1]]],"
                      "\"dtype\":\"float64\"}"
                    : "{\"Q\":[[[1,2.5],[3,4]],[[5,6],[7,0.1]]]}");
        ck_assert_int_eq((int)p.r->fault.problem, PROBLEM_NONE);
        expect_shape(ATTN_Q, 3, (int64_t[]){2, 2, 2});
        ck_assert_int_eq((int)p.r->input.dtype, wide);
        ck_assert_double_eq(element(ATTN_Q, 1), 2.5);
        ck_assert_double_eq(element(ATTN_Q, 6), 7);
        ck_assert_double_eq(element(ATTN_Q, 7), wide ? 0.1 : 0.1f);
        posted_close(&p);
    }
}
END_TEST

START_TEST(special_values_stand_anywhere_in_a_row)
{
    decode("{\"bias\":[[\"NaN\",1,\"Infinity\"],[2,\"-Infinity\",3],"
           "[\"NaN\",\"NaN\",\"NaN\"],[4,5,\"NaN\"]]}");
    ck_assert_int_eq((int)p.r->fault.problem, PROBLEM_NONE);
    expect_shape(ATTN_BIAS, 2, (int64_t[]){4, 3});
    const double expected[] = {NAN, 1, INFINITY, 2, -INFINITY, 3,
                               NAN, NAN, NAN, 4, 5, NAN};
    for (int i = 0; i < 12; i++)
        ck_assert(number_near(element(ATTN_BIAS, i), expected[i], 0));
    posted_close(&p);
}
END_TEST

START_TEST(booleans_become_bytes_and_integers_int64)
{
    decode("{\"mask\":[[true,false],[false , true]],"
           "\"key_lengths\":[3,4.0,5e0],\"offset\":[-7,9007199254740992]}");
    ck_assert_int_eq((int)p.r->fault.problem, PROBLEM_NONE);
    const struct attn_tensor *t = p.r->input.tensor;
    ck_assert_mem_eq(t[ATTN_MASK].data, "\1\0\0\1", 4);
    const int64_t lengths[] = {3, 4, 5};
    const int64_t offset[] = {-7, 9007199254740992};
    ck_assert_mem_eq(t[ATTN_KEY_LENGTHS].data, lengths, sizeof lengths);
    ck_assert_mem_eq(t[ATTN_OFFSET].data, offset, sizeof offset);
    posted_close(&p);
}
END_TEST

START_TEST(options_go_where_the_library_looks)
{
    decode("{\"scale\":-0.5,\"softcap\":3,\"causal\":true,\"num_heads\":4,"
           "\"num_kv_heads\":2,\"weight_layout\":\"out_in\","
           "\"window\":{\"right\":5,\"left\":null},\"offset\":\"end\","
           "\"rope\":{\"base\":5,\"dim\":4,\"interleaved\":true},"
           "\"return\":[\"lse\",\"stats\"]}");
    const struct attn_input *in = &p.r->input;
    ck_assert_int_eq((int)p.r->fault.problem, PROBLEM_NONE);
    ck_assert(in->has_scale && in->scale == -0.5 && in->softcap == 3);
    ck_assert(in->causal && in->weights_out_in && in->offset_end);
    ck_assert(in->num_heads == 4 && in->num_kv_heads == 2);
    ck_assert(in->window_left == ATTN_OPEN && in->window_right == 5);
    ck_assert(in->rope && in->rope_base == 5 && in->rope_dim == 4 &&
              in->rope_interleaved);
    ck_assert_uint_eq(in->returns, ATTN_RETURN(ATTN_OUT_LSE) |
                                       ATTN_RETURN(ATTN_OUT_STATS));
    posted_close(&p);
}
END_TEST

/* Replaces every blank of the text by `space`. */
static char *spaced(const char *text, const char *space)
{
    char *out = calloc(strlen(text) * strlen(space) + strlen(text) + 1, 1);
    char *end = out;
    for (; *text; text++) {
        if (*text == ' ')
            end = stpcpy(end, space);
        else
            *end++ = *text;
    }
    return out;
}

START_TEST(white_space_changes_nothing_wherever_it_stands)
{
    static const char text[] =
        " { \"K\" : [ [ [ [ 1 , 2 , \"NaN\" ] ] , [ [ 3 , 4 , 5 ] ] ] , "
        "[ [ [ 6 , 7 , 8 ] ] , [ [ 9 , 10 , 11 ] ] ] ] , \"mask\" : "
        "[ true , false ] , \"window\" : { \"left\" : 1 , \"right\" : null }"
        " , \"return\" : [ \"A\" , \"lse\" ] , \"offset\" : [ 1 , 2 ] } ";
    static const char *const spaces[] = {"", " ", "\n", "\r\n", "\t",
                                         "                    \n\t  "};
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++) {
        char *body = spaced(text, spaces[i]);
        decode(body);
        ck_assert_msg(p.r->fault.problem == PROBLEM_NONE, "%s",
                      p.r->fault.detail);
        expect_shape(ATTN_K, 4, (int64_t[]){2, 2, 1, 3});
        ck_assert(isnan(element(ATTN_K, 2)));
        for (int k = 3; k < 12; k++)
            ck_assert_double_eq(element(ATTN_K, k), k);
        ck_assert_int_eq(p.r->input.window_left, 1);
        posted_close(&p);
        free(body);
    }
}
END_TEST

/* {"Q": ...} with the numbers 0, 1, 2, ... in that shape. */
static char *counting(int rank, const int64_t *dim, const char *comma)
{
    int64_t n = 1, block;
    for (int i = 0; i < rank; i++)
        n *= dim[i];
    char *text = malloc((size_t)n * (24 + 2 * strlen(comma)) + 100);
    char *end = stpcpy(text, "{\"Q\":");
    for (int64_t i = 0; i < n; i++) {
        if (i > 0)
            end = stpcpy(end, comma);
        block = 1;
        for (int a = rank - 1; a >= 0 && i % (block *= dim[a]) == 0; a--)
            *end++ = '[';
        end += sprintf(end, "%ld", (long)i);
        block = 1;
        for (int a = rank - 1; a >= 0 && (i + 1) % (block *= dim[a]) == 0; a--)
            *end++ = ']';
    }
    strcpy(end, "}");
    return text;
}

START_TEST(ranges_of_a_large_body_meet_without_a_gap)
{
    static const struct {
        int rank;
        int64_t dim[4];
    } shapes[] = {
        {1, {300000}},         {2, {1, 200000}},      {2, {200000, 1}},
        {2, {3000, 64}},       {3, {7, 333, 64}},     {4, {3, 5, 211, 64}},
        {4, {1000, 3, 17, 2}}, {3, {100000, 1, 1}},   {3, {5, 1, 30000}},
    };
    static const char *const commas[] = {",", " ,\n  "};
    for (size_t s = 0; s < 2 * sizeof shapes / sizeof *shapes; s++) {
        int rank = shapes[s / 2].rank;
        char *body = counting(rank, shapes[s / 2].dim, commas[s % 2]);
        decode(body);
        ck_assert_msg(p.r->fault.problem == PROBLEM_NONE, "%s",
                      p.r->fault.detail);
        expect_shape(ATTN_Q, rank, shapes[s / 2].dim);
        int64_t n = attn_tensor_elements(&p.r->input.tensor[ATTN_Q]);
        int64_t i = 0;
        while (i < n && element(ATTN_Q, i) == (double)i)
            i++;
        ck_assert_int_eq(i, n);
        posted_close(&p);
        free(body);
    }
}
END_TEST

/* --------------------------------------------------------------- refused */

#define BODY                                                                  \
    "\n{\"Q\":[[1,-2.5e+1],[\"NaN\",0]],\n \"K\":[[1,2]],\"mask\":[true],"    \
    "\"causal\":false,\"window\":{\"left\":null},\"dtype\":\"float\\u00364\"" \
    ",\"return\":[\"A\"]\n}"

static void expect_not_json(const char *body, size_t at)
{
    int64_t line = 1, column = 1;
    for (size_t i = 0; i < at; i++) {
        column = body[i] == '\n' ? 1 : column + 1;
        line += body[i] == '\n';
    }
    ck_assert_msg(p.r->fault.problem == PROBLEM_NOT_JSON, "at %zu: %s", at,
                  p.r->fault.detail);
    ck_assert_int_eq(p.r->fault.line, line);
    ck_assert_int_eq(p.r->fault.column, column);
}

START_TEST(text_cut_at_any_byte_ends_too_early_there)
{
    static const char body[] = BODY;
    decode(body);
    ck_assert_int_eq((int)p.r->fault.problem, PROBLEM_NONE);
    posted_close(&p);
    for (size_t n = 0; n < strlen(body); n++) {
        posted_decode(&p, body, n);
        expect_not_json(body, n);
        posted_close(&p);
    }
}
END_TEST

START_TEST(byte_that_no_json_has_is_named_wherever_it_stands)
{
    char body[] = BODY;
    for (size_t i = 0; i < strlen(BODY); i++) {
        body[i] = 0x01;
        posted_decode(&p, body, strlen(BODY));
        expect_not_json(BODY, i);
        posted_close(&p);
        body[i] = BODY[i];
    }
}
END_TEST

/* The borders of UTF-8 (RFC 3629): `bad` is the place of the first byte that
 * cannot be there, or -1. */
START_TEST(nul_between_any_two_bytes_is_named)
{
    char body[sizeof BODY];
    for (size_t i = 0; i < strlen(BODY); i++) {
        memcpy(body, BODY, i);
        body[i] = '\0';
        memcpy(body + i + 1, &BODY[i], strlen(BODY) - i);
        posted_decode(&p, body, sizeof body);
        expect_not_json(BODY, i);
        posted_close(&p);
    }
}
END_TEST

START_TEST(strings_hold_what_utf_8_allows)
{
    static const struct {
        const char *string;
        int bad;
    } rows[] = {
        {"\xc2\x80", -1}, {"\xdf\xbf", -1}, {"\xe0\xa0\x80", -1},
        {"\xed\x9f\xbf", -1}, {"\xee\x80\x80", -1},
        {"\xf0\x90\x80\x80", -1}, {"\xf4\x8f\xbf\xbf", -1}, {"\x7f", -1},
        {"\x80", 0}, {"\xc1\xbf", 0}, {"\xc2\x7f", 1}, {"\xc2\xc0", 1},
        {"\xe0\x9f\xbf", 1}, {"\xed\xa0\x80", 1}, {"\xe1\x80(", 2},
        {"\xf0\x8f\xbf\xbf", 1}, {"\xf4\x90\x80\x80", 1},
        {"\xf1\x80\x80(", 3}, {"\xf5\x80\x80\x80", 0}, {"\xff", 0},
        {"\x1f", 0}, {"\x10", 0}, {"\n", 0}, {"\\x", 1}, {"\\u00g0", 4},
        {"\\uD800", -1}, {"\\\"\\/\\b\\f\\n\\r\\t\\\\\\uAbCd", -1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char body[64];
        sprintf(body, "{\"%s\":1}", rows[i].string);
        decode(body);
        if (rows[i].bad >= 0)
            expect_not_json(body, 2 + (size_t)rows[i].bad);
        else
            ck_assert_int_eq((int)p.r->fault.problem, PROBLEM_UNKNOWN_MEMBER);
        posted_close(&p);
    }
}
END_TEST

static bool jansson_reads(const char *text, size_t n)
{
    json_error_t error;
    json_t *j = json_loadb(text, n, JSON_ALLOW_NUL | JSON_DECODE_ANY, &error);
    json_decref(j);
    return j != NULL ||
           json_error_code(&error) == json_error_numeric_overflow;
}

/* Bytes put in, left out and changed at random: what is not JSON for jansson
 * is not for us either, and every refusal finds its reason. */
START_TEST(json_is_what_jansson_takes_for_json)
{
    static const char alphabet[] = "[]{},:\"0123-+.eE \ntrufalsn\\QKV\x80";
    struct random random = {20240607};
    int good = 0;
    for (int k = 0; k < 20000; k++) {
        char body[sizeof BODY + 8] = BODY;
        size_t n = strlen(BODY);
        for (int64_t edits = 1 + random_below(&random, 3); edits > 0; edits--) {
            size_t at = (size_t)random_below(&random, (int64_t)n);
            char c = alphabet[random_below(&random, sizeof alphabet - 1)];
            int64_t kind = random_below(&random, 3);
            if (kind == 0 && n < sizeof body - 1)
                memmove(body + at + 1, body + at, n++ - at);
            if (kind == 1)
                memmove(body + at, body + at + 1, --n - at);
            else
                body[at] = c;
        }
        posted_decode(&p, body, n);
        enum problem problem = p.r->fault.problem;
        good += problem == PROBLEM_NONE;
        ck_assert_msg((problem == PROBLEM_NOT_JSON) != jansson_reads(body, n),
                      "%.*s: %s", (int)n, body, p.r->fault.detail);
        ck_assert_msg(problem != PROBLEM_INTERNAL, "%.*s", (int)n, body);
        posted_close(&p);
    }
    ck_assert_int_gt(good, 300);
}
END_TEST

START_TEST(fault_at_the_far_end_of_a_large_body_has_its_place)
{
    char *body = counting(2, (int64_t[]){4000, 64}, ", ");
    size_t n = strlen(body);
    char *last = strrchr(body, ',') + 1;

    memcpy(last, " true  ", 7);
    decode(body);
    ck_assert_int_eq((int)p.r->fault.problem, PROBLEM_WRONG_TYPE);
    ck_assert_str_eq(p.r->fault.pointer, "/Q/3999/63");
    posted_close(&p);

    memcpy(last, "1, 2   ", 7);
    decode(body);
    ck_assert_int_eq((int)p.r->fault.problem, PROBLEM_MISSING_OPERAND);
    posted_close(&p);

    memcpy(last, " 25 5  ", 7);
    decode(body);
    expect_not_json(body, (size_t)(last - body) + 4);
    posted_close(&p);

    posted_decode(&p, body, n - 1);
    ck_assert_int_eq((int)p.r->fault.problem, PROBLEM_NOT_JSON);
    posted_close(&p);
    free(body);
}
END_TEST

START_TEST(overflow_is_judged_by_a_dtype_that_comes_last)
{
    const struct fault *f = decode(
        "{\"Q\":[[1e39,2],[1]],\"K\":[[1]],\"V\":[[1]],"
        "\"dtype\":\"float64\"}");
    ck_assert_str_eq(f->pointer, "/Q/1");
    posted_close(&p);
    f = decode("{\"Q\":[[1e39,2],[1]],\"K\":[[1]],\"V\":[[1]]}");
    ck_assert_str_eq(f->pointer, "/Q/0/0");
    ck_assert_int_eq((int)f->problem, PROBLEM_NUMBER_OVERFLOW);
    posted_close(&p);
}
END_TEST

START_TEST(more_numbers_than_the_limit_are_refused_with_both)
{
    decode("{}");
    posted_close(&p);
    int64_t limit = config.elements;
    config.elements = 5;
    const struct fault *f = decode("{\"Q\":[[1,2],[3,4]],\"K\":[[1,2]]}");
    ck_assert_int_eq((int)f->problem, PROBLEM_TOO_MANY_ELEMENTS);
    ck_assert(f->has_limit && f->limit == 5 && f->has_got && f->got == 6);
    posted_close(&p);
    config.elements = limit;
}
END_TEST

START_TEST(memory_that_can_never_be_had_is_no_matter_of_waiting)
{
    char *body = counting(2, (int64_t[]){3000, 64}, ",");
    block_set_budget(512 << 10, 0);
    const struct fault *f = decode(body);
    ck_assert_int_eq((int)f->problem, PROBLEM_MEMORY_BUDGET);
    posted_close(&p);

    compute_set_budget(512 << 10);
    f = decode(body);
    ck_assert_int_eq((int)f->problem, PROBLEM_TOO_MUCH_MEMORY);
    ck_assert(f->has_limit && f->limit == (double)compute_alone());
    ck_assert(f->has_got && f->got >= 3000 * 64 * sizeof(float));
    posted_close(&p);
    compute_set_budget(0);
    free(body);
}
END_TEST

START_TEST(rows_that_claim_more_than_the_text_holds_are_refused)
{
    /* 1 x 1000 numbers, then 1000 rows of one: a shape of 10^6. */
    char *body = malloc(10000), *end = stpcpy(body, "{\"Q\":[[1");
    for (int i = 1; i < 1000; i++)
        end = stpcpy(end, ",1");
    *end++ = ']';
    for (int i = 0; i < 1000; i++)
        end = stpcpy(end, ",[1]");
    strcpy(end, "],\"K\":[[1]],\"V\":[[1]]}");
    ck_assert_str_eq(decode(body)->pointer, "/Q/1");
    ck_assert_uint_lt(p.r->arena.bytes, 500000);
    posted_close(&p);
    free(body);
}
END_TEST

START_TEST(each_failing_allocation_is_a_503_and_leaks_nothing)
{
    char *body = counting(2, (int64_t[]){3000, 64}, ",");
    int failures = 0;
    decode("{}");
    posted_close(&p);
    for (int takes = 0;; takes++) {
        ck_assert_uint_eq(block_used_bytes(), 0);
        block_fail_after(takes);
        decode(body);
        bool failed = block_failed();
        block_fail_after(-1);
        enum problem problem = p.r->fault.problem;
        posted_close(&p);
        ck_assert_int_eq(failed ? 503 : 200, problem_row(problem)->status);
        if (!failed)
            break;
        failures++;
    }
    ck_assert_int_ge(failures, 2);
    ck_assert_uint_eq(block_used_bytes(), 0);
    free(body);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        numbers_lie_row_by_row_in_the_type_asked_for,
        special_values_stand_anywhere_in_a_row,
        booleans_become_bytes_and_integers_int64,
        options_go_where_the_library_looks,
        white_space_changes_nothing_wherever_it_stands,
        ranges_of_a_large_body_meet_without_a_gap,
        text_cut_at_any_byte_ends_too_early_there,
        byte_that_no_json_has_is_named_wherever_it_stands,
        nul_between_any_two_bytes_is_named,
        strings_hold_what_utf_8_allows,
        json_is_what_jansson_takes_for_json,
        fault_at_the_far_end_of_a_large_body_has_its_place,
        overflow_is_judged_by_a_dtype_that_comes_last,
        more_numbers_than_the_limit_are_refused_with_both,
        memory_that_can_never_be_had_is_no_matter_of_waiting,
        rows_that_claim_more_than_the_text_holds_are_refused,
        each_failing_allocation_is_a_503_and_leaks_nothing,
        NULL};
    return suite_run("decode_json", tests, NULL, NULL, 60);
}
