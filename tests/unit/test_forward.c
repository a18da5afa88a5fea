/* SPDX-License-Identifier: MIT */
/*
 * test_forward.c - what a task meets when keys are cut in ranges, when rows
 * are few, and on every level of the CPU: each time it is the formula.
 */
#include "suite.h"
#include "trial.h"

#include "kernel.h"
#include "row.h"

#include <math.h>

static struct trial t;

static void setup(void)
{
    trial_open(&t, ATTN_FLOAT32);
}

static void teardown(void)
{
    trial_close(&t);
    suite_init_library();
}

static void reopen(enum attn_dtype dtype)
{
    trial_close(&t);
    trial_open(&t, dtype);
    t.in.returns = ATTN_RETURN(ATTN_N_OUT) - 1;
}

/* Beyond two ranges of keys, for as few rows as lines have and for more. */
static void open_ranges(enum attn_dtype dtype, int64_t n_q)
{
    reopen(dtype);
    trial_operands(&t, (struct sizes){1, 4, 2, n_q, 17000, 5, 3});
}

static void with_each_kind_of_block(void (*claim)(void))
{
    for (int64_t n_q = 1; n_q <= 7; n_q += 3)
        for (int dtype = ATTN_FLOAT32; dtype <= ATTN_FLOAT64; dtype++) {
            open_ranges((enum attn_dtype)dtype, n_q);
            claim();
        }
}

/* -------------------------------------------------------------- ranges */

static void plain(void)
{
    trial_run(&t);
    ck_assert_int_eq(t.plan.n_phases, 4); /* copies, tiles, ranges, mean */
}

START_TEST(ranges_of_keys_meet_the_formula)
{
    with_each_kind_of_block(plain);
}
END_TEST

static void restricted(void)
{
    trial_random(&t, ATTN_SINKS, SHAPE(4), 3);
    trial_random(&t, ATTN_ALIBI, SHAPE(4), 0.001);
    t.in.causal = t.in.offset_end = true;
    t.in.window_left = 9000; /* the first range is hidden, or nearly */
    trial_run(&t);
    ck_assert_int_eq(t.out.empty_rows, 0);
}

START_TEST(options_meet_the_formula_over_ranges)
{
    with_each_kind_of_block(restricted);
}
END_TEST

static void hidden(void)
{
    trial_random(&t, ATTN_SINKS, SHAPE(4), 3);
    trial_same(&t, ATTN_KEY_LENGTHS, SHAPE(1), 0);
    trial_run(&t);
    ck_assert_int_eq(t.out.empty_rows, 4 * t.plan.n_q);
    for (int64_t i = 0; i < trial_out_count(&t, ATTN_OUT_A); i++)
        ck_assert(trial_out(&t, ATTN_OUT_A, i) == 0);
}

START_TEST(a_row_hidden_in_all_ranges_is_zero)
{
    with_each_kind_of_block(hidden);
}
END_TEST

static void short_of_the_last_range(void)
{
    trial_same(&t, ATTN_KEY_LENGTHS, SHAPE(1), 9000);
    trial_run(&t);
    ck_assert_int_eq(t.out.empty_rows, 0);
}

START_TEST(a_row_that_sees_only_the_first_ranges_is_not_empty)
{
    with_each_kind_of_block(short_of_the_last_range);
}
END_TEST

static void spoilt(void)
{
    int64_t last = 4 * t.in.tensor[ATTN_Q].dim[2] * 5 - 1;
    int64_t n_k = t.in.tensor[ATTN_K].dim[2];
    trial_set(&t, ATTN_Q, last, NAN);
    trial_set(&t, ATTN_V, (n_k - 1) * 3, INFINITY);
    trial_set(&t, ATTN_V, (n_k - 2) * 3 + 1, NAN);
    trial_same(&t, ATTN_KEY_LENGTHS, SHAPE(1), (double)(n_k - 1));
    trial_run(&t);
    ck_assert(isfinite(trial_out(&t, ATTN_OUT_OUTPUT, 0)));
    ck_assert(isnan(trial_out(&t, ATTN_OUT_OUTPUT, 1)));
    ck_assert(isnan(trial_out(&t, ATTN_OUT_LSE, 4 * t.plan.n_q - 1)));
    ck_assert(isnan(trial_out(&t, ATTN_OUT_A, 4 * t.plan.n_q * n_k - 2)));
    ck_assert(trial_out(&t, ATTN_OUT_A, 4 * t.plan.n_q * n_k - 1) == 0);
}

START_TEST(NaN_spoils_what_sees_it_over_ranges)
{
    with_each_kind_of_block(spoilt);
}
END_TEST

/* Every row of the first key head's, and not the last tile alone hides. */
static void all_spoilt(void)
{
    int64_t n_k = t.in.tensor[ATTN_K].dim[2];
    trial_set(&t, ATTN_K, (n_k - 1) * 5, NAN);
    trial_same(&t, ATTN_MASK, SHAPE(n_k), 1);
    for (int64_t key = 0; key < n_k - 1; key += 100)
        trial_set(&t, ATTN_MASK, key, 0);
    trial_run(&t);
    for (int64_t r = 0; r < 2 * t.plan.n_q; r++) {
        ck_assert(isnan(trial_out(&t, ATTN_OUT_A, r * n_k + 1)));
        ck_assert(trial_out(&t, ATTN_OUT_A, r * n_k) == 0);
    }
}

START_TEST(hidden_weights_of_spoilt_rows_are_zero_over_ranges)
{
    with_each_kind_of_block(all_spoilt);
}
END_TEST

/* ------------------------------------------------- levels of the CPU */

static void options_at_once(enum attn_dtype dtype)
{
    reopen(dtype);
    trial_operands(&t, (struct sizes){2, 4, 2, 67, 130, 16, 9});
    trial_random(&t, ATTN_PAST_K, SHAPE(2, 2, 33, 16), 1);
    trial_random(&t, ATTN_PAST_V, SHAPE(2, 2, 33, 9), 1);
    trial_random(&t, ATTN_BIAS, SHAPE(67, 163), 1);
    trial_set(&t, ATTN_BIAS, 100, -INFINITY);
    trial_random(&t, ATTN_ALIBI, SHAPE(4), 0.1);
    trial_random(&t, ATTN_SINKS, SHAPE(4), 1);
    t.in.causal = t.in.rope = true;
    t.in.window_left = 40;
    t.in.softcap = 3;
    trial_run(&t);
}

static void additive(enum attn_dtype dtype)
{
    reopen(dtype);
    trial_operands(&t, (struct sizes){2, 4, 2, 23, 57, 9, 5});
    trial_random(&t, ATTN_W_A, SHAPE(9, 37), 0.3);
    trial_random(&t, ATTN_U_A, SHAPE(9, 37), 0.3);
    trial_random(&t, ATTN_V_A, SHAPE(37), 1);
    trial_run(&t);
}

START_TEST(every_level_of_the_CPU_meets_the_formula)
{
    const char *level;
    for (size_t i = 0; (level = attn_kernel_force(i)); i++) {
        row_init(level);
        for (int dtype = ATTN_FLOAT32; dtype <= ATTN_FLOAT64; dtype++) {
            options_at_once((enum attn_dtype)dtype);
            additive((enum attn_dtype)dtype);
            open_ranges((enum attn_dtype)dtype, 3);
            trial_run(&t);
        }
    }
}
END_TEST

/* --------------------------------------------------------- small shapes */

static const struct sizes with_0[] = {
    {2, 4, 2, 0, 7, 4, 8}, {2, 4, 2, 5, 0, 4, 8},  {2, 4, 2, 5, 7, 0, 8},
    {2, 4, 2, 5, 7, 4, 0}, {2, 4, 2, 60, 7, 0, 0}, {1, 1, 1, 1, 0, 0, 0}};

enum { N_WITH_0 = sizeof with_0 / sizeof *with_0 };

START_TEST(axes_of_size_0_are_legal)
{
    for (int i = 0; i < N_WITH_0; i++) {
        reopen(ATTN_FLOAT32);
        trial_operands(&t, with_0[i]);
        t.in.rope = true;
        trial_run(&t);
    }
}
END_TEST

START_TEST(the_mean_over_no_heads_is_zero)
{
    reopen(ATTN_FLOAT32);
    for (int name = ATTN_Q; name <= ATTN_V; name++)
        trial_random(&t, (enum attn_in)name, SHAPE(2, 0, 3, 4), 1);
    t.in.returns = ATTN_RETURN(ATTN_OUT_A_MEAN);
    trial_run(&t);
}
END_TEST

START_TEST(what_has_no_elements_needs_no_memory)
{
    for (int i = 0; i < N_WITH_0; i++) {
        reopen(ATTN_FLOAT32);
        trial_operands(&t, with_0[i]);
        for (int name = ATTN_Q; name <= ATTN_V; name++)
            if (attn_tensor_elements(&t.in.tensor[name]) == 0)
                t.in.tensor[name].data = NULL;
        struct attn_call call = {.in = &t.in, .plan = &t.plan, .out = &t.out};
        ck_assert_int_eq(trial_plan(&t), ATTN_OK);
        for (int name = 0; name < ATTN_N_OUT; name++)
            if (t.plan.output_bytes[name])
                t.out.data[name] = trial_block(&t, t.plan.output_bytes[name]);
        attn_run(&call, trial_block(&t, attn_run_bytes(&t.plan)));
        for (int64_t k = 0; k < trial_out_count(&t, ATTN_OUT_OUTPUT); k++)
            ck_assert(isfinite(trial_out(&t, ATTN_OUT_OUTPUT, k)));
    }
}
END_TEST

START_TEST(every_number_of_queries_meets_the_formula)
{
    for (int64_t n_q = 1; n_q < 150; n_q += n_q < 20 ? 1 : 13) {
        reopen(ATTN_FLOAT32);
        trial_operands(&t, (struct sizes){0, 2, 2, n_q, 133, 7, 11});
        trial_run(&t);
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        ranges_of_keys_meet_the_formula,
        options_meet_the_formula_over_ranges,
        a_row_hidden_in_all_ranges_is_zero,
        a_row_that_sees_only_the_first_ranges_is_not_empty,
        NaN_spoils_what_sees_it_over_ranges,
        hidden_weights_of_spoilt_rows_are_zero_over_ranges,
        every_level_of_the_CPU_meets_the_formula,
        axes_of_size_0_are_legal,
        the_mean_over_no_heads_is_zero,
        what_has_no_elements_needs_no_memory,
        every_number_of_queries_meets_the_formula,
        NULL};
    suite_init_library();
    return suite_run("forward", tests, setup, teardown, 60);
}
