/* SPDX-License-Identifier: MIT */
/*
 * test_properties.c - what must hold by algebra, whatever the numbers are.
 * The derivation stands above each test.
 */
#include "suite.h"
#include "trial.h"

#include <math.h>

static struct trial t, u;

static void setup(void)
{
    trial_open(&t, ATTN_FLOAT64);
    trial_open(&u, ATTN_FLOAT64);
    u.random.state = 2;
}

static void teardown(void)
{
    trial_close(&t);
    trial_close(&u);
}

static void copy_operands(void)
{
    for (enum attn_in name = ATTN_Q; name <= ATTN_V; name++)
        u.in.tensor[name] = t.in.tensor[name];
}

static void returns(struct trial *trial, enum attn_out name)
{
    trial->in.returns |= ATTN_RETURN(name);
}

static double out(const struct trial *trial, enum attn_out name, int64_t i)
{
    return trial_out(trial, name, i);
}

static void near(double got, double expected)
{
    ck_assert_double_eq_tol(got, expected, 1e-12 * fmax(1, fabs(expected)));
}

/* ------------------------------------------------------------- softmax */

/* sum_j exp(s_j) / sum_k exp(s_k) = 1. */
START_TEST(rows_of_A_sum_to_one)
{
    trial_operands(&t, (struct sizes){2, 3, 1, 7, 1030, 9, 5});
    trial_run(&t);
    for (int64_t row = 0; row < 2 * 3 * 7; row++) {
        double sum = 0;
        for (int64_t j = 0; j < 1030; j++)
            sum += out(&t, ATTN_OUT_A, row * 1030 + j);
        near(sum, 1);
    }
}
END_TEST

/* Numerator and denominator of A both gain the factor e^c; lse gains c. */
START_TEST(a_constant_added_to_a_row_changes_lse_alone)
{
    trial_operands(&t, (struct sizes){.n_q = 23, .n_k = 130, .d_k = 9,
                                      .d_v = 5});
    copy_operands();
    trial_random(&u, ATTN_BIAS, SHAPE(23, 1), 5);
    trial_run(&t);
    trial_run(&u);
    trial_expect_equal(&t, &u, ATTN_OUT_A, 1e-13);
    trial_expect_equal(&t, &u, ATTN_OUT_OUTPUT, 1e-13);
    for (int64_t i = 0; i < 23; i++)
        near(out(&u, ATTN_OUT_LSE, i) - trial_get(&u, ATTN_BIAS, i),
             out(&t, ATTN_OUT_LSE, i));
}
END_TEST

/* exp(s - lse) = exp(s) / sum exp(s) = A. */
START_TEST(A_is_exp_of_scores_less_lse)
{
    trial_operands(&t, (struct sizes){0, 3, 3, 7, 267, 15, 5});
    returns(&t, ATTN_OUT_S_MASKED);
    t.in.causal = t.in.offset_end = true;
    trial_run(&t);
    for (int64_t i = 0; i < 3 * 7 * 267; i++)
        near(out(&t, ATTN_OUT_A, i), exp(out(&t, ATTN_OUT_S_MASKED, i) -
                                         out(&t, ATTN_OUT_LSE, i / 267)));
}
END_TEST

/* A softmax is an order of its arguments: a sum does not know it. */
START_TEST(permuting_keys_permutes_A)
{
    const int64_t n = 267, d_k = 9, d_v = 5;
    trial_operands(&t, (struct sizes){.n_q = 7, .n_k = n, .d_k = d_k,
                                      .d_v = d_v});
    trial_operands(&u, (struct sizes){.n_q = 7, .n_k = n, .d_k = d_k,
                                      .d_v = d_v});
    u.in.tensor[ATTN_Q] = t.in.tensor[ATTN_Q];
    for (int64_t i = 0; i < n * d_k; i++)
        trial_set(&u, ATTN_K, i,
                  trial_get(&t, ATTN_K, i / d_k * 5 % n * d_k + i % d_k));
    for (int64_t i = 0; i < n * d_v; i++)
        trial_set(&u, ATTN_V, i,
                  trial_get(&t, ATTN_V, i / d_v * 5 % n * d_v + i % d_v));
    trial_run(&t);
    trial_run(&u);
    trial_expect_equal(&t, &u, ATTN_OUT_OUTPUT, 1e-13);
    trial_expect_equal(&t, &u, ATTN_OUT_LSE, 1e-13);
    for (int64_t i = 0; i < 7 * n; i++)
        near(out(&u, ATTN_OUT_A, i),
             out(&t, ATTN_OUT_A, i / n * n + i % n * 5 % n));
}
END_TEST

/* (c q) . k = c (q . k). */
START_TEST(a_factor_of_Q_is_a_factor_of_scale)
{
    trial_operands(&t, (struct sizes){.n_q = 7, .n_k = 57, .d_k = 4,
                                      .d_v = 5});
    copy_operands();
    trial_values(&u, ATTN_Q, SHAPE(7, 4), t.in.tensor[ATTN_Q].data);
    for (int64_t i = 0; i < 28; i++)
        trial_set(&u, ATTN_Q, i, -2 * trial_get(&t, ATTN_Q, i));
    t.in.has_scale = true;
    t.in.scale = -1; /* -2 / sqrt(4) */
    trial_run(&t);
    trial_run(&u);
    trial_expect_equal(&t, &u, ATTN_OUT_A, 1e-13);
}
END_TEST

/* A (2 V + 1) = 2 A V + 1, as rows of A sum to 1. */
START_TEST(output_is_affine_in_V)
{
    trial_operands(&t, (struct sizes){.n_q = 7, .n_k = 514, .d_k = 9,
                                      .d_v = 5});
    copy_operands();
    trial_values(&u, ATTN_V, SHAPE(514, 5), t.in.tensor[ATTN_V].data);
    for (int64_t i = 0; i < 514 * 5; i++)
        trial_set(&u, ATTN_V, i, 2 * trial_get(&t, ATTN_V, i) + 1);
    trial_run(&t);
    trial_run(&u);
    for (int64_t i = 0; i < 7 * 5; i++)
        near(out(&u, ATTN_OUT_OUTPUT, i), 2 * out(&t, ATTN_OUT_OUTPUT, i) + 1);
}
END_TEST

START_TEST(A_mean_is_the_mean_over_heads)
{
    trial_operands(&t, (struct sizes){2, 3, 3, 7, 57, 9, 5});
    returns(&t, ATTN_OUT_A_MEAN);
    trial_run(&t);
    for (int64_t i = 0; i < 2 * 7 * 57; i++) {
        int64_t first = i / (7 * 57) * 3 * 7 * 57 + i % (7 * 57);
        near(out(&t, ATTN_OUT_A_MEAN, i),
             (out(&t, ATTN_OUT_A, first) + out(&t, ATTN_OUT_A, first + 399) +
              out(&t, ATTN_OUT_A, first + 2 * 399)) / 3);
    }
}
END_TEST

/* --------------------------------------------------------------- sinks */

/* A key of zeros scores 0; with bias = sink and a value of zeros it adds
 * exp(sink) to the denominator and nothing to the output. */
START_TEST(a_sink_is_a_key_without_value)
{
    trial_operands(&t, (struct sizes){.n_q = 7, .n_k = 57, .d_k = 3,
                                      .d_v = 2});
    trial_same(&t, ATTN_SINKS, SHAPE(1), 1.25);
    u.in.tensor[ATTN_Q] = t.in.tensor[ATTN_Q];
    trial_same(&u, ATTN_K, SHAPE(58, 3), 0);
    trial_same(&u, ATTN_V, SHAPE(58, 2), 0);
    trial_same(&u, ATTN_BIAS, SHAPE(58), 0);
    trial_set(&u, ATTN_BIAS, 57, 1.25);
    for (int64_t i = 0; i < 57 * 3; i++)
        trial_set(&u, ATTN_K, i, trial_get(&t, ATTN_K, i));
    for (int64_t i = 0; i < 57 * 2; i++)
        trial_set(&u, ATTN_V, i, trial_get(&t, ATTN_V, i));
    trial_run(&t);
    trial_run(&u);
    trial_expect_equal(&t, &u, ATTN_OUT_OUTPUT, 1e-13);
    trial_expect_equal(&t, &u, ATTN_OUT_LSE, 1e-13);
    for (int64_t i = 0; i < 7 * 57; i++)
        near(out(&t, ATTN_OUT_A, i), out(&u, ATTN_OUT_A, i / 57 * 58 + i % 57));
}
END_TEST

/* exp(1000) overflows, exp(sink - max) does not: A is near 0, lse 1000. */
START_TEST(a_sink_of_1000_takes_all_the_weight)
{
    trial_operands(&t, (struct sizes){.n_q = 2, .n_k = 57, .d_k = 3,
                                      .d_v = 2});
    trial_same(&t, ATTN_SINKS, SHAPE(1), 1000);
    trial_run(&t);
    trial_expect(&t, ATTN_OUT_OUTPUT, (double[]){0, 0, 0, 0}, 0);
    trial_expect(&t, ATTN_OUT_LSE, (double[]){1000, 1000}, 0);
}
END_TEST

/* ------------------------------------------------------------ position */

/* alibi adds -m |p - j| and nothing else: a bias can say the same. */
START_TEST(alibi_is_a_bias_of_distance)
{
    trial_operands(&t, (struct sizes){0, 2, 2, 7, 57, 9, 5});
    copy_operands();
    trial_values(&t, ATTN_ALIBI, SHAPE(2), (double[]){0.5, -0.25});
    t.in.offset_end = true; /* p = i + 50 */
    trial_same(&u, ATTN_BIAS, SHAPE(2, 7, 57), 0);
    for (int64_t i = 0; i < 2 * 7 * 57; i++) {
        double distance = fabs((double)(i / 57 % 7 + 50 - i % 57));
        trial_set(&u, ATTN_BIAS, i,
                  -trial_get(&t, ATTN_ALIBI, i / 399) * distance);
    }
    trial_run(&t);
    trial_run(&u);
    trial_expect_equal(&t, &u, ATTN_OUT_A, 1e-13);
    trial_expect_equal(&t, &u, ATTN_OUT_OUTPUT, 1e-13);
}
END_TEST

/* <R(p) q, R(j) k> = <q, R(j - p) k>: five cached keys in front, hidden,
 * move queries and keys alike, so nothing changes. */
START_TEST(rope_sees_the_distance_alone)
{
    trial_operands(&t, (struct sizes){.n_q = 7, .n_k = 57, .d_k = 8,
                                      .d_v = 5});
    copy_operands();
    t.in.rope = u.in.rope = true;
    trial_random(&u, ATTN_PAST_K, SHAPE(5, 8), 1);
    trial_random(&u, ATTN_PAST_V, SHAPE(5, 5), 1);
    trial_same(&u, ATTN_MASK, SHAPE(62), 1);
    for (int64_t j = 0; j < 5; j++)
        trial_set(&u, ATTN_MASK, j, 0);
    trial_run(&t);
    trial_run(&u);
    trial_expect_equal(&t, &u, ATTN_OUT_OUTPUT, 1e-13);
    for (int64_t i = 0; i < 7 * 57; i++)
        near(out(&u, ATTN_OUT_A, i / 57 * 62 + 5 + i % 57),
             out(&t, ATTN_OUT_A, i));
}
END_TEST

/* With p = 1, base 1 and dim 2 the angle is 1; columns from dim on stay. */
START_TEST(rope_turns_a_pair_by_its_angle)
{
    trial_same(&t, ATTN_Q, SHAPE(1, 3), 1);
    trial_same(&t, ATTN_V, SHAPE(2, 3), 1);
    trial_values(&t, ATTN_K, SHAPE(2, 3), (double[]){3, 4, 5, 3, 4, 5});
    t.in.rope = true;
    t.in.rope_base = 1;
    t.in.rope_dim = 2;
    returns(&t, ATTN_OUT_K);
    returns(&t, ATTN_OUT_PRESENT_K);
    trial_run(&t);
    trial_expect(&t, ATTN_OUT_K, (double[]){3, 4, 5, 3, 4, 5}, 0);
    trial_expect(&t, ATTN_OUT_PRESENT_K,
                 (double[]){3, 4, 5, 3 * cos(1) - 4 * sin(1),
                            3 * sin(1) + 4 * cos(1), 5}, 1e-15);
}
END_TEST

/* Pairs (2t, 2t+1) of columns 0 1 2 3 are pairs (t, t+2) of 0 2 1 3, and a
 * dot product does not know the order of its columns. */
START_TEST(interleaved_rope_is_halved_rope_of_sorted_columns)
{
    const int64_t from[] = {0, 2, 1, 3};
    trial_operands(&t, (struct sizes){.n_q = 7, .n_k = 57, .d_k = 4,
                                      .d_v = 5});
    trial_operands(&u, (struct sizes){.n_q = 7, .n_k = 57, .d_k = 4,
                                      .d_v = 5});
    u.in.tensor[ATTN_V] = t.in.tensor[ATTN_V];
    for (int64_t i = 0; i < 7 * 4; i++)
        trial_set(&u, ATTN_Q, i,
                  trial_get(&t, ATTN_Q, i / 4 * 4 + from[i % 4]));
    for (int64_t i = 0; i < 57 * 4; i++)
        trial_set(&u, ATTN_K, i,
                  trial_get(&t, ATTN_K, i / 4 * 4 + from[i % 4]));
    t.in.rope = u.in.rope = t.in.rope_interleaved = true;
    trial_run(&t);
    trial_run(&u);
    trial_expect_equal(&t, &u, ATTN_OUT_A, 1e-13);
}
END_TEST

/* --------------------------------------------------------------- stats */

static double variance(const double *x, int64_t n)
{
    double mean = 0, squares = 0;
    for (int64_t i = 0; i < n; i++)
        mean += x[i] / (double)n;
    for (int64_t i = 0; i < n; i++)
        squares += (x[i] - mean) * (x[i] - mean);
    return squares / (double)n;
}

static void stats_of_stages(int64_t n_q, int64_t n_k)
{
    const int64_t rows = 2 * n_q;
    trial_operands(&t, (struct sizes){0, 2, 2, n_q, n_k, 9, 5});
    t.in.returns |= ATTN_RETURN(ATTN_OUT_S) | ATTN_RETURN(ATTN_OUT_S_SCALED) |
                    ATTN_RETURN(ATTN_OUT_STATS);
    trial_run(&t);
    double max_sum = 0, entropy = 0;
    for (int64_t row = 0; row < rows; row++) {
        double max = 0;
        for (int64_t j = 0; j < n_k; j++) {
            double a = out(&t, ATTN_OUT_A, row * n_k + j);
            max = fmax(max, a);
            entropy -= a * log(a);
        }
        max_sum += max;
    }
    const struct attn_stats *stats = &t.out.stats;
    near(stats->s_variance, variance(t.out.data[ATTN_OUT_S], rows * n_k));
    near(stats->s_scaled_variance,
         variance(t.out.data[ATTN_OUT_S_SCALED], rows * n_k));
    near(stats->a_max_mean, max_sum / (double)rows);
    near(stats->a_entropy_mean, entropy / (double)rows);
    near(stats->a_row_sum_min, 1);
    near(stats->a_row_sum_max, 1);
}

START_TEST(stats_are_those_of_the_returned_stages)
{
    stats_of_stages(7, 130);
    stats_of_stages(1, 20001); /* several ranges of keys, merged */
}
END_TEST

/* Query 0 sees one key: A = 1, its entropy 0, the variance of S 0. */
START_TEST(stats_leave_hidden_pairs_out)
{
    trial_operands(&t, (struct sizes){.n_q = 1, .n_k = 57, .d_k = 9,
                                      .d_v = 5});
    t.in.returns = ATTN_RETURN(ATTN_OUT_STATS);
    t.in.causal = true;
    trial_run(&t);
    ck_assert_double_eq(t.out.stats.s_variance, 0);
    ck_assert_double_eq(t.out.stats.a_max_mean, 1);
    ck_assert_double_eq(t.out.stats.a_entropy_mean, 0);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        rows_of_A_sum_to_one,
        a_constant_added_to_a_row_changes_lse_alone,
        A_is_exp_of_scores_less_lse,
        permuting_keys_permutes_A,
        a_factor_of_Q_is_a_factor_of_scale,
        output_is_affine_in_V,
        A_mean_is_the_mean_over_heads,
        a_sink_is_a_key_without_value,
        a_sink_of_1000_takes_all_the_weight,
        alibi_is_a_bias_of_distance,
        rope_sees_the_distance_alone,
        rope_turns_a_pair_by_its_angle,
        interleaved_rope_is_halved_rope_of_sorted_columns,
        stats_are_those_of_the_returned_stages,
        stats_leave_hidden_pairs_out,
        NULL};
    return suite_run("properties", tests, setup, teardown, 20);
}
