/* SPDX-License-Identifier: MIT */
/*
 * test_encode_json.c - replies of every shape, cut into pieces that are
 * written last to first, against a plain writer.
 */
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "form.h"
#include "number.h"
#include "posted.h"
#include "tensor.h"

static struct posted p;

static void setup(void)
{
    posted_decode(&p, "{}", 2);
    p.r->input.returns = 0;
}

static void teardown(void)
{
    posted_close(&p);
}

/* An output whose element i is i / 8. */
static void give(enum attn_out out, int rank, const int64_t *dim)
{
    struct attn_tensor *t = &p.r->plan.output[out];
    t->rank = rank;
    memcpy(t->dim, dim, (size_t)rank * sizeof *dim);
    int64_t n = attn_tensor_elements(t);
    p.r->output.data[out] = arena_alloc(&p.r->arena, 8 * (size_t)n + 8);
    for (int64_t i = 0; i < n; i++)
        tensor_set(p.r->output.data[out], p.r->input.dtype, i,
                   (double)i / 8);
    p.r->input.returns |= ATTN_RETURN(out);
}

/* The same as text, by recursion. */
static char *nested(char *end, enum attn_out out, int axis, int64_t *i)
{
    const struct attn_tensor *t = &p.r->plan.output[out];
    if (axis == t->rank)
        return end + number_write_f64(end, (double)(*i)++ / 8);
    *end++ = '[';
    for (int64_t k = 0; k < t->dim[axis]; k++) {
        if (k > 0)
            *end++ = ',';
        end = nested(end, out, axis + 1, i);
    }
    *end++ = ']';
    return end;
}

static void expect_all(void)
{
    char *got = posted_encode(&p);
    char *want = calloc(strlen(got) + 1000000, 1), *end = want;
    for (int out = 0; out < ATTN_N_OUT; out++) {
        int64_t i = 0;
        if (p.r->plan.output[out].rank == 0)
            continue;
        end += sprintf(end, "%c\"%s\":", end == want ? '{' : ',',
                       attn_out_name[out]);
        end = nested(end, (enum attn_out)out, 0, &i);
    }
    strcpy(end, "}\n");
    ck_assert_msg(strcmp(got, want) == 0, "%.300s\n%.300s", got, want);
    free(want);
    free(got);
}

START_TEST(one_member_of_any_rank)
{
    static const struct {
        int rank;
        int64_t dim[4];
    } rows[] = {
        {1, {1}}, {1, {5}}, {2, {2, 3}}, {2, {1, 1}}, {3, {2, 1, 3}},
        {3, {1, 4, 1}}, {4, {2, 3, 2, 2}}, {4, {1, 1, 1, 1}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        give(ATTN_OUT_OUTPUT, rows[i].rank, rows[i].dim);
        expect_all();
    }
}
END_TEST

START_TEST(members_stand_in_the_order_of_the_table)
{
    give(ATTN_OUT_S_MASKED, 2, (int64_t[]){2, 2});
    give(ATTN_OUT_A, 2, (int64_t[]){2, 2});
    give(ATTN_OUT_LSE, 1, (int64_t[]){2});
    char *got = posted_encode(&p);
    ck_assert_str_eq(got, "{\"A\":[[0,0.125],[0.25,0.375]],"
                          "\"lse\":[0,0.125],"
                          "\"S_masked\":[[0,0.125],[0.25,0.375]]}\n");
    free(got);
}
END_TEST

/* Borders of pieces within rows, at their ends, and with many members in one
 * piece. */
START_TEST(pieces_meet_without_a_gap)
{
    static const struct {
        int rank;
        int64_t dim[4];
    } rows[] = {
        {1, {100000}}, {2, {3, 50001}}, {2, {40000, 3}}, {2, {70000, 1}},
        {3, {5, 211, 64}}, {4, {2, 7, 333, 17}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        p.r->input.dtype = (enum attn_dtype)(i % 2);
        give(ATTN_OUT_OUTPUT, rows[i].rank, rows[i].dim);
        give(ATTN_OUT_A, 3, (int64_t[]){7, 3, 1});
        give(ATTN_OUT_LSE, rows[i].rank, rows[i].dim);
        expect_all();
        ck_assert_int_gt(p.r->form_reply->encode_plan(p.r), 3);
    }
}
END_TEST

START_TEST(axes_of_size_0_are_empty_lists)
{
    static const struct {
        int rank;
        int64_t dim[4];
    } rows[] = {
        {1, {0}}, {2, {0, 3}}, {2, {3, 0}}, {3, {2, 3, 0}}, {3, {2, 0, 3}},
        {4, {2, 3, 1, 0}}, {4, {0, 0, 0, 0}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        give(ATTN_OUT_OUTPUT, rows[i].rank, rows[i].dim);
        give(ATTN_OUT_A, 2, (int64_t[]){2, 2});
        give(ATTN_OUT_LSE, rows[i].rank, rows[i].dim);
        expect_all();
    }
}
END_TEST

START_TEST(values_that_are_no_numbers_are_strings)
{
    give(ATTN_OUT_LSE, 1, (int64_t[]){4});
    float *x = p.r->output.data[ATTN_OUT_LSE];
    x[0] = NAN;
    x[1] = INFINITY;
    x[2] = -INFINITY;
    x[3] = -0.0f;
    char *got = posted_encode(&p);
    ck_assert_str_eq(got,
                     "{\"lse\":[\"NaN\",\"Infinity\",\"-Infinity\",-0.0]}\n");
    free(got);
}
END_TEST

START_TEST(stats_follow_the_tensors)
{
    p.r->input.returns = ATTN_RETURN(ATTN_OUT_STATS);
    p.r->output.stats = (struct attn_stats){
        .s_variance = 0.5, .s_scaled_variance = 0.25, .a_max_mean = NAN,
        .a_entropy_mean = 1e-9, .a_row_sum_min = 1, .a_row_sum_max = 1};
    p.r->output.empty_rows = 3;
    static const char stats[] =
        "\"stats\":{\"S_variance\":0.5,\"S_scaled_variance\":0.25,"
        "\"A_max_mean\":\"NaN\",\"A_entropy_mean\":1e-9,\"A_row_sum_min\":1,"
        "\"A_row_sum_max\":1,\"empty_rows\":3}}\n";
    char *got = posted_encode(&p);
    ck_assert_int_eq(*got, '{');
    ck_assert_str_eq(got + 1, stats);
    free(got);

    give(ATTN_OUT_LSE, 1, (int64_t[]){1});
    got = posted_encode(&p);
    ck_assert_str_eq(strchr(got, ']') + 2, stats);
    free(got);
}
END_TEST

START_TEST(stats_of_nothing_are_null)
{
    p.r->input.returns = ATTN_RETURN(ATTN_OUT_STATS);
    p.r->output.stats = (struct attn_stats){.empty = true};
    char *got = posted_encode(&p);
    ck_assert_str_eq(
        got, "{\"stats\":{\"S_variance\":null,\"S_scaled_variance\":null,"
             "\"A_max_mean\":null,\"A_entropy_mean\":null,"
             "\"A_row_sum_min\":null,\"A_row_sum_max\":null,"
             "\"empty_rows\":0}}\n");
    free(got);
}
END_TEST

START_TEST(warnings_are_a_list_of_escaped_strings_within_their_bound)
{
    give(ATTN_OUT_LSE, 1, (int64_t[]){1});
    char longest[FAULT_DETAIL_MAX] = "";
    memset(longest, '\x01', sizeof longest - 1);
    p.r->n_warnings = 2;
    p.r->warnings[0] = longest;
    p.r->warnings[1] = "say \"end\"\n";
    char *got = posted_encode(&p);
    json_t *reply = json_loads(got, 0, NULL);
    ck_assert_ptr_nonnull(reply);
    json_t *list = json_object_get(reply, "warnings");
    ck_assert_uint_eq(json_array_size(list), 2);
    ck_assert_str_eq(json_string_value(json_array_get(list, 1)),
                     "say \"end\"\n");
    ck_assert_uint_ge(json_string_length(json_array_get(list, 0)),
                      sizeof longest - 2);
    json_decref(reply);
    free(got);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        one_member_of_any_rank,
        members_stand_in_the_order_of_the_table,
        pieces_meet_without_a_gap,
        axes_of_size_0_are_empty_lists,
        values_that_are_no_numbers_are_strings,
        stats_follow_the_tensors,
        stats_of_nothing_are_null,
        warnings_are_a_list_of_escaped_strings_within_their_bound,
        NULL};
    return suite_run("encode_json", tests, setup, teardown, 30);
}
