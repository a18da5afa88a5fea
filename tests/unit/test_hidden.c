/* SPDX-License-Identifier: MIT */
/*
 * test_hidden.c - what a hidden key may hold, rows that see nothing, and
 * where NaN and Infinity go from visible places.
 */
#include "suite.h"
#include "trial.h"

#include <math.h>

#define N_Q 7
#define N_K 57
#define D_K 9
#define D_V 5

static struct trial t, u;

static void setup(void)
{
    trial_open(&t, ATTN_FLOAT64);
    trial_open(&u, ATTN_FLOAT64);
}

static void teardown(void)
{
    trial_close(&t);
    trial_close(&u);
}

static void afresh(void)
{
    teardown();
    setup();
}

/* The same two heads for both; all that hidden keys must not reach. */
static void two_heads(void)
{
    struct trial *both[] = {&t, &u};
    for (int i = 0; i < 2; i++) {
        both[i]->random.state = 1;
        trial_operands(both[i], (struct sizes){0, 2, 2, N_Q, N_K, D_K, D_V});
        both[i]->in.returns |= ATTN_RETURN(ATTN_OUT_S_MASKED) |
                               ATTN_RETURN(ATTN_OUT_A_MEAN) |
                               ATTN_RETURN(ATTN_OUT_STATS);
    }
}

static void expect_same_results(void)
{
    for (enum attn_out name = 0; name < ATTN_OUT_STATS; name++)
        trial_expect_equal(&t, &u, name, 0);
    ck_assert_double_eq(t.out.stats.s_variance, u.out.stats.s_variance);
    ck_assert_double_eq(t.out.stats.a_entropy_mean,
                        u.out.stats.a_entropy_mean);
}

/* ------------------------------------------------------- hidden keys */

enum means { BY_MASK, BY_BIAS, BY_LENGTH, BY_CAUSAL, BY_WINDOW, N_MEANS };

/* Hides the keys from 40 on from every query: 6 + 33 is the last seen. */
static void hide_from_40(struct trial *trial, enum means means)
{
    trial->in.causal = means == BY_CAUSAL;
    trial->in.window_right = means == BY_WINDOW ? 0 : ATTN_OPEN;
    if (means == BY_CAUSAL || means == BY_WINDOW)
        trial_same(trial, ATTN_OFFSET, SHAPE(1), 33);
    if (means == BY_LENGTH)
        trial_same(trial, ATTN_KEY_LENGTHS, SHAPE(1), 40);
    if (means == BY_MASK)
        trial_same(trial, ATTN_MASK, SHAPE(N_K), 1);
    if (means == BY_BIAS)
        trial_same(trial, ATTN_BIAS, SHAPE(N_K), 0);
    for (int64_t j = 40; j < N_K; j++) {
        if (means == BY_MASK)
            trial_set(trial, ATTN_MASK, j, 0);
        if (means == BY_BIAS)
            trial_set(trial, ATTN_BIAS, j, -INFINITY);
    }
}

static void fill_from_40(struct trial *trial, enum attn_in name, double x)
{
    int64_t d = trial->in.tensor[name].dim[2];
    for (int64_t i = 0; i < 2 * N_K * d; i++)
        if (i / d % N_K >= 40)
            trial_set(trial, name, i, x);
}

START_TEST(a_hidden_key_may_hold_anything)
{
    const double poisons[] = {NAN, INFINITY, -INFINITY, 1e300, -1e300};
    for (enum means means = 0; means < N_MEANS; means++)
        for (int i = 0; i < 5; i++) {
            afresh();
            two_heads();
            hide_from_40(&t, means);
            hide_from_40(&u, means);
            fill_from_40(&t, ATTN_K, poisons[i]);
            fill_from_40(&t, ATTN_V, poisons[i]);
            trial_run(&t);
            trial_run(&u);
            expect_same_results();
        }
}
END_TEST

START_TEST(a_hidden_bias_may_be_NaN)
{
    two_heads();
    hide_from_40(&t, BY_LENGTH);
    hide_from_40(&u, BY_LENGTH);
    trial_same(&t, ATTN_BIAS, SHAPE(N_K), 0);
    trial_same(&u, ATTN_BIAS, SHAPE(N_K), 0);
    for (int64_t j = 40; j < N_K; j++)
        trial_set(&t, ATTN_BIAS, j, j % 2 ? NAN : INFINITY);
    trial_run(&t);
    trial_run(&u);
    expect_same_results();
}
END_TEST

START_TEST(hidden_weights_are_zero_and_scores_plain)
{
    two_heads();
    hide_from_40(&t, BY_MASK);
    t.in.returns |= ATTN_RETURN(ATTN_OUT_S) | ATTN_RETURN(ATTN_OUT_S_SCALED);
    trial_run(&t);
    for (int64_t i = 0; i < 2 * N_Q * N_K; i++) {
        bool hidden = i % N_K >= 40;
        ck_assert_int_eq(trial_out(&t, ATTN_OUT_A, i) == 0, hidden);
        ck_assert_int_eq(isinf(trial_out(&t, ATTN_OUT_S_MASKED, i)) != 0,
                         hidden);
        ck_assert(isfinite(trial_out(&t, ATTN_OUT_S_SCALED, i)));
    }
}
END_TEST

/* Query i sees keys i-3 ... i: the first blocks of late rows, and the last
 * of early ones, hold nothing. NaN in V at key 300 reaches rows 300 to 303. */
START_TEST(a_band_of_600_sees_nothing_outside)
{
    trial_operands(&t, (struct sizes){.n_q = 600, .n_k = 600, .d_k = 9,
                                      .d_v = 2});
    trial_same(&t, ATTN_MASK, SHAPE(600, 600), 0);
    for (int64_t i = 0; i < 600; i++)
        for (int64_t j = i < 3 ? 0 : i - 3; j <= i; j++)
            trial_set(&t, ATTN_MASK, i * 600 + j, 1);
    trial_set(&t, ATTN_V, 300 * 2, NAN);
    trial_run(&t);
    for (int64_t i = 0; i < 600; i++) {
        ck_assert_int_eq(isnan(trial_out(&t, ATTN_OUT_OUTPUT, 2 * i)) != 0,
                         i >= 300 && i <= 303);
        ck_assert(isfinite(trial_out(&t, ATTN_OUT_OUTPUT, 2 * i + 1)));
    }
}
END_TEST

/* --------------------------------------------------------- empty rows */

static void expect_all_empty(void)
{
    ck_assert_int_eq(t.out.empty_rows, 2 * N_Q);
    for (int64_t i = 0; i < 2 * N_Q; i++)
        ck_assert_double_eq(trial_out(&t, ATTN_OUT_LSE, i), -INFINITY);
    for (int64_t i = 0; i < 2 * N_Q * N_K; i++)
        ck_assert_double_eq(trial_out(&t, ATTN_OUT_A, i), 0);
    for (int64_t i = 0; i < 2 * N_Q * D_V; i++)
        ck_assert_double_eq(trial_out(&t, ATTN_OUT_OUTPUT, i), 0);
}

START_TEST(a_row_that_sees_nothing_is_zero)
{
    for (enum means means = 0; means < N_MEANS; means++) {
        afresh();
        two_heads();
        trial_same(&t, ATTN_V, SHAPE(2, N_K, D_V), NAN);
        trial_same(&t, ATTN_SINKS, SHAPE(2), means % 2 ? NAN : 3);
        if (means == BY_MASK)
            trial_same(&t, ATTN_MASK, SHAPE(1), 0);
        if (means == BY_BIAS)
            trial_same(&t, ATTN_BIAS, SHAPE(1), -INFINITY);
        if (means == BY_LENGTH)
            trial_same(&t, ATTN_KEY_LENGTHS, SHAPE(1), 0);
        t.in.causal = means == BY_CAUSAL;
        t.in.window_right = means == BY_WINDOW ? 3 : ATTN_OPEN;
        trial_same(&t, ATTN_OFFSET, SHAPE(1), -10);
        trial_run(&t);
        expect_all_empty();
        ck_assert(t.out.stats.empty);
    }
}
END_TEST

/* Rows 0 ... 2 stand before the first key. */
START_TEST(empty_rows_leave_their_neighbours_alone)
{
    two_heads();
    t.in.causal = true;
    trial_same(&t, ATTN_OFFSET, SHAPE(1), -3);
    trial_run(&t);
    ck_assert_int_eq(t.out.empty_rows, 2 * 3);
    ck_assert_double_eq(trial_out(&t, ATTN_OUT_LSE, 2), -INFINITY);
    ck_assert_double_eq(trial_out(&t, ATTN_OUT_A, 3 * N_K), 1);
    ck_assert_double_eq(t.out.stats.a_row_sum_max, t.out.stats.a_row_sum_min);
}
END_TEST

/* A visible score of -Infinity is no hidden key: -Infinity less the row's
 * maximum, itself, is NaN by IEEE arithmetic. */
START_TEST(emptiness_is_decided_by_visibility)
{
    trial_same(&t, ATTN_Q, SHAPE(1, 1), 1);
    trial_same(&t, ATTN_K, SHAPE(3, 1), -INFINITY);
    trial_same(&t, ATTN_V, SHAPE(3, 1), 1);
    trial_run(&t);
    ck_assert_int_eq(t.out.empty_rows, 0);
    ck_assert(isnan(trial_out(&t, ATTN_OUT_A, 0)));
    ck_assert(isnan(trial_out(&t, ATTN_OUT_OUTPUT, 0)));
}
END_TEST

/* ----------------------------------------------------- visible places */

/* Which rows (h, i) are spoilt, and of those which columns of output. */
static void expect_spoilt(bool (*row)(int64_t h, int64_t i), int64_t column)
{
    trial_run(&t);
    trial_run(&u);
    for (int64_t i = 0; i < 2 * N_Q * D_V; i++) {
        bool spoilt = row(i / D_V / N_Q, i / D_V % N_Q) &&
                      (column < 0 || column == i % D_V);
        double got = trial_out(&t, ATTN_OUT_OUTPUT, i);
        if (spoilt)
            ck_assert_msg(isnan(got), "output %d is no NaN", (int)i);
        else
            ck_assert_double_eq_tol(got, trial_out(&u, ATTN_OUT_OUTPUT, i),
                                    1e-14);
    }
    for (int64_t i = 0; i < 2 * N_Q; i++)
        ck_assert_int_eq(isnan(trial_out(&t, ATTN_OUT_LSE, i)) != 0,
                         column < 0 && row(i / N_Q, i % N_Q));
}

static bool row_3_of_head_1(int64_t h, int64_t i)
{
    return h == 1 && i == 3;
}

static bool rows_from_2_of_head_0(int64_t h, int64_t i)
{
    return h == 0 && i >= 2;
}

static bool all_of_head_1(int64_t h, int64_t i)
{
    (void)i;
    return h == 1;
}

START_TEST(NaN_in_Q_spoils_its_row_only)
{
    two_heads();
    trial_set(&t, ATTN_Q, (N_Q + 3) * D_K + 4, NAN);
    expect_spoilt(row_3_of_head_1, -1);
}
END_TEST

START_TEST(NaN_in_K_spoils_the_rows_that_see_it)
{
    two_heads();
    t.in.causal = u.in.causal = true;
    trial_set(&t, ATTN_K, 2 * D_K, NAN);
    expect_spoilt(rows_from_2_of_head_0, -1);
}
END_TEST

START_TEST(NaN_in_V_spoils_its_column_of_the_rows_that_see_it)
{
    two_heads();
    t.in.causal = u.in.causal = true;
    trial_set(&t, ATTN_V, 2 * D_V + 3, NAN);
    expect_spoilt(rows_from_2_of_head_0, 3);
}
END_TEST

/* The maximum is +Infinity, and Infinity - Infinity is NaN. */
START_TEST(a_bias_of_infinity_spoils_its_row)
{
    two_heads();
    trial_same(&t, ATTN_BIAS, SHAPE(2, N_Q, N_K), 0);
    trial_set(&t, ATTN_BIAS, (N_Q + 3) * N_K + 50, INFINITY);
    expect_spoilt(row_3_of_head_1, -1);
    ck_assert(isnan(t.out.stats.a_max_mean));
}
END_TEST

START_TEST(a_sink_of_NaN_or_infinity_spoils_its_head)
{
    const double sinks[] = {NAN, INFINITY};
    for (int i = 0; i < 2; i++) {
        two_heads();
        trial_values(&t, ATTN_SINKS, SHAPE(2), (double[]){-INFINITY, sinks[i]});
        expect_spoilt(all_of_head_1, -1);
    }
}
END_TEST

/* The NaN may come before or after larger scores, in any block. */
START_TEST(the_maximum_does_not_lose_a_NaN)
{
    for (int64_t j = 0; j < 1030; j += 103) {
        trial_operands(&t, (struct sizes){.n_q = 2, .n_k = 1030, .d_k = 9,
                                          .d_v = 5});
        trial_set(&t, ATTN_K, j * 9, NAN);
        trial_run(&t);
        ck_assert(isnan(trial_out(&t, ATTN_OUT_OUTPUT, 0)));
        ck_assert(isnan(trial_out(&t, ATTN_OUT_LSE, 1)));
    }
}
END_TEST

/* --------------------------------------------------------- empty axes */

START_TEST(no_keys_give_zeros)
{
    trial_operands(&t, (struct sizes){2, 6, 3, 7, 0, 5, 9});
    t.in.returns = (1u << ATTN_N_OUT) - 1;
    trial_run(&t);
    ck_assert_int_eq(t.out.empty_rows, 2 * 6 * 7);
    ck_assert(t.out.stats.empty);
    for (int64_t i = 0; i < 2 * 6 * 7 * 9; i++)
        ck_assert_double_eq(trial_out(&t, ATTN_OUT_OUTPUT, i), 0);
    ck_assert_int_eq(trial_out_count(&t, ATTN_OUT_A), 0);
}
END_TEST

START_TEST(no_queries_give_an_empty_result)
{
    trial_operands(&t, (struct sizes){2, 6, 3, 0, 23, 5, 9});
    t.in.returns = (1u << ATTN_N_OUT) - 1;
    trial_run(&t);
    ck_assert_int_eq(t.plan.output[ATTN_OUT_OUTPUT].rank, 4);
    ck_assert_int_eq(trial_out_count(&t, ATTN_OUT_OUTPUT), 0);
    ck_assert_int_eq(t.out.empty_rows, 0);
}
END_TEST

START_TEST(no_columns_give_scores_of_zero)
{
    trial_operands(&t, (struct sizes){0, 2, 2, 7, 4, 0, 1});
    t.in.returns |= ATTN_RETURN(ATTN_OUT_S_MASKED);
    trial_run(&t);
    for (int64_t i = 0; i < 2 * 7 * 4; i++) {
        ck_assert_double_eq(trial_out(&t, ATTN_OUT_S_MASKED, i), 0);
        ck_assert_double_eq(trial_out(&t, ATTN_OUT_A, i), 0.25);
    }
}
END_TEST

START_TEST(any_axis_may_be_empty)
{
    for (int axis = 0; axis < 7; axis++) {
        int64_t s[] = {2, 3, 3, 7, 23, 5, 9};
        if (axis == 2)
            continue; /* query heads need key heads */
        s[axis] = 0;
        trial_random(&t, ATTN_Q, SHAPE(s[0], s[1], s[3], s[5]), 1);
        trial_random(&t, ATTN_K, SHAPE(s[0], s[2], s[4], s[5]), 1);
        trial_random(&t, ATTN_V, SHAPE(s[0], s[2], s[4], s[6]), 1);
        t.in.returns = (1u << ATTN_N_OUT) - 1;
        trial_run(&t);
    }
}
END_TEST

/* X of no columns: Q, K and V are their biases alone. */
START_TEST(no_columns_of_X_leave_the_bias)
{
    trial_random(&t, ATTN_X, SHAPE(3, 0), 1);
    trial_random(&t, ATTN_W_Q, SHAPE(0, 2), 1);
    trial_random(&t, ATTN_W_K, SHAPE(0, 2), 1);
    trial_random(&t, ATTN_W_V, SHAPE(0, 2), 1);
    trial_values(&t, ATTN_B_V, SHAPE(2), (double[]){5, 6});
    trial_run(&t);
    trial_expect(&t, ATTN_OUT_OUTPUT, (double[]){5, 6, 5, 6, 5, 6}, 1e-15);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        a_hidden_key_may_hold_anything,
        a_hidden_bias_may_be_NaN,
        hidden_weights_are_zero_and_scores_plain,
        a_band_of_600_sees_nothing_outside,
        a_row_that_sees_nothing_is_zero,
        empty_rows_leave_their_neighbours_alone,
        emptiness_is_decided_by_visibility,
        NaN_in_Q_spoils_its_row_only,
        NaN_in_K_spoils_the_rows_that_see_it,
        NaN_in_V_spoils_its_column_of_the_rows_that_see_it,
        a_bias_of_infinity_spoils_its_row,
        a_sink_of_NaN_or_infinity_spoils_its_head,
        the_maximum_does_not_lose_a_NaN,
        no_keys_give_zeros,
        no_queries_give_an_empty_result,
        no_columns_give_scores_of_zero,
        any_axis_may_be_empty,
        no_columns_of_X_leave_the_bias,
        NULL};
    return suite_run("hidden", tests, setup, teardown, 20);
}
