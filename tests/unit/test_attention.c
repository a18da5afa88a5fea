/* SPDX-License-Identifier: MIT */
/*
 * test_attention.c - SPEC's worked examples, the layouts of heads, and the
 * projections. Each trial is held against the reference as well.
 */
#include "suite.h"
#include "trial.h"

#include <math.h>

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

static void returns(struct trial *trial, unsigned outputs)
{
    trial->in.returns |= outputs;
}

static void copy(enum attn_in name)
{
    u.in.tensor[name] = t.in.tensor[name];
}

static void copy_operands(void)
{
    copy(ATTN_Q);
    copy(ATTN_K);
    copy(ATTN_V);
}

/* ---------------------------------------------------------- by hand */

/* A[0,0] = e^s / (e^s + 1) with s = 1/sqrt(2): scores 1 and 0, d_k = 2. */
START_TEST(two_orthogonal_tokens_mix_two_to_one)
{
    double a = exp(sqrt(0.5)) / (exp(sqrt(0.5)) + 1);
    trial_values(&t, ATTN_Q, SHAPE(2, 2), (double[]){1, 0, 0, 1});
    trial_values(&t, ATTN_K, SHAPE(2, 2), (double[]){1, 0, 0, 1});
    trial_values(&t, ATTN_V, SHAPE(2, 2), (double[]){10, 0, 0, 10});
    trial_run(&t);
    ck_assert_double_eq_tol(a, 0.669761, 1e-6);
    trial_expect(&t, ATTN_OUT_A, (double[]){a, 1 - a, 1 - a, a}, 1e-15);
    trial_expect(&t, ATTN_OUT_OUTPUT,
                 (double[]){10 * a, 10 - 10 * a, 10 - 10 * a, 10 * a}, 1e-15);
}
END_TEST

START_TEST(one_query_weighs_three_keys_by_their_angle)
{
    double sum = exp(1) + 1 + exp(-1);
    double a[] = {exp(1) / sum, 1 / sum, exp(-1) / sum};
    trial_values(&t, ATTN_Q, SHAPE(1, 2), (double[]){1, 0});
    trial_values(&t, ATTN_K, SHAPE(3, 2), (double[]){1, 0, 0, 1, -1, 0});
    trial_values(&t, ATTN_V, SHAPE(3, 2), (double[]){2, 0, 0, 2, 0, 0});
    t.in.has_scale = true;
    t.in.scale = 1;
    trial_run(&t);
    ck_assert_double_eq_tol(a[0], 0.66524, 1e-5);
    trial_expect(&t, ATTN_OUT_A, a, 1e-15);
    trial_expect(&t, ATTN_OUT_OUTPUT, (double[]){2 * a[0], 2 * a[1]}, 1e-15);
    trial_expect(&t, ATTN_OUT_LSE, &(double){log(sum)}, 1e-15);
}
END_TEST

START_TEST(scale_is_one_over_root_of_width_unless_given)
{
    returns(&t, ATTN_RETURN(ATTN_OUT_S) | ATTN_RETURN(ATTN_OUT_S_SCALED));
    trial_operands(&t, (struct sizes){.n_q = 7, .n_k = 23, .d_k = 9,
                                      .d_v = 5});
    trial_run(&t);
    for (int64_t i = 0; i < 7 * 23; i++)
        ck_assert_double_eq_tol(trial_out(&t, ATTN_OUT_S_SCALED, i),
                                trial_out(&t, ATTN_OUT_S, i) / 3, 1e-15);
}
END_TEST

/* All scores are equal, so each weight is 1/n_k. */
START_TEST(scale_zero_gives_the_mean_of_the_values)
{
    trial_operands(&t, (struct sizes){.n_q = 3, .n_k = 4, .d_k = 5,
                                      .d_v = 1});
    trial_values(&t, ATTN_V, SHAPE(4, 1), (double[]){1, 2, 3, 10});
    t.in.has_scale = true;
    trial_run(&t);
    trial_expect(&t, ATTN_OUT_OUTPUT, (double[]){4, 4, 4}, 1e-15);
}
END_TEST

START_TEST(one_key_alone_gives_its_value)
{
    trial_operands(&t, (struct sizes){2, 3, 3, 5, 1, 9, 7});
    trial_run(&t);
    for (int64_t i = 0; i < 2 * 3 * 5; i++) {
        ck_assert_double_eq(trial_out(&t, ATTN_OUT_A, i), 1);
        for (int64_t c = 0; c < 7; c++)
            ck_assert_double_eq(trial_out(&t, ATTN_OUT_OUTPUT, i * 7 + c),
                                trial_get(&t, ATTN_V, i / 5 * 7 + c));
    }
}
END_TEST

/* S_softcapped = c tanh(S_scaled / c) lies within (-c, c). */
START_TEST(softcap_bounds_scores_before_bias_is_added)
{
    t.in.returns = ATTN_RETURN(ATTN_OUT_S_SCALED) |
                   ATTN_RETURN(ATTN_OUT_S_SOFTCAPPED) |
                   ATTN_RETURN(ATTN_OUT_S_MASKED);
    trial_operands(&t, (struct sizes){.n_q = 7, .n_k = 57, .d_k = 5,
                                      .d_v = 5});
    trial_same(&t, ATTN_BIAS, SHAPE(1), 100);
    t.in.softcap = 1.5;
    trial_run(&t);
    for (int64_t i = 0; i < 7 * 57; i++) {
        double capped = trial_out(&t, ATTN_OUT_S_SOFTCAPPED, i);
        double scaled = trial_out(&t, ATTN_OUT_S_SCALED, i);
        ck_assert_double_eq_tol(capped, 1.5 * tanh(scaled / 1.5), 1e-15);
        ck_assert_double_eq(trial_out(&t, ATTN_OUT_S_MASKED, i),
                            capped + 100);
    }
}
END_TEST

/* With a = 1: S = v tanh(q w + k u); scale is 1 unless given. */
START_TEST(additive_score_of_one_column_is_a_tanh)
{
    const double q[] = {0.5, -1}, k[] = {2, 0, -0.25};
    returns(&t, ATTN_RETURN(ATTN_OUT_S) | ATTN_RETURN(ATTN_OUT_S_SCALED));
    trial_values(&t, ATTN_Q, SHAPE(2, 1), q);
    trial_values(&t, ATTN_K, SHAPE(3, 1), k);
    trial_values(&t, ATTN_V, SHAPE(3, 1), k);
    trial_same(&t, ATTN_W_A, SHAPE(1, 1), 0.75);
    trial_same(&t, ATTN_U_A, SHAPE(1, 1), -0.5);
    trial_same(&t, ATTN_V_A, SHAPE(1), 3);
    trial_run(&t);
    for (int64_t i = 0; i < 6; i++) {
        double s = 3 * tanh(0.75 * q[i / 3] - 0.5 * k[i % 3]);
        ck_assert_double_eq_tol(trial_out(&t, ATTN_OUT_S, i), s, 1e-15);
        ck_assert_double_eq_tol(trial_out(&t, ATTN_OUT_S_SCALED, i), s,
                                1e-15);
    }
}
END_TEST

/* ------------------------------------------------------------- heads */

/* u's name = t's [B, heads, n, d] as [B, n, heads * d]. */
static void pack(enum attn_in name)
{
    const int64_t *dim = t.in.tensor[name].dim;
    int64_t B = dim[0], heads = dim[1], n = dim[2], d = dim[3];
    trial_same(&u, name, SHAPE(B, n, heads * d), 0);
    for (int64_t i = 0; i < B * n * heads * d; i++) {
        int64_t c = i % d, h = i / d % heads, row = i / d / heads % n;
        int64_t b = i / d / heads / n;
        trial_set(&u, name, i,
                  trial_get(&t, name, ((b * heads + h) * n + row) * d + c));
    }
}

START_TEST(packed_heads_equal_heads_apart)
{
    trial_operands(&t, (struct sizes){2, 6, 3, 7, 23, 5, 9});
    pack(ATTN_Q);
    pack(ATTN_K);
    pack(ATTN_V);
    u.in.num_heads = 6;
    u.in.num_kv_heads = 3;
    trial_run(&t);
    trial_run(&u);
    trial_expect_equal(&u, &t, ATTN_OUT_A, 1e-14);
    for (int64_t i = 0; i < 2 * 7 * 6 * 9; i++) {
        int64_t c = i % 9, h = i / 9 % 6, row = i / 54 % 7, b = i / 378;
        int64_t apart = ((b * 6 + h) * 7 + row) * 9 + c;
        ck_assert_double_eq_tol(trial_out(&u, ATTN_OUT_OUTPUT, i),
                                trial_out(&t, ATTN_OUT_OUTPUT, apart), 1e-14);
    }
}
END_TEST

START_TEST(fewer_axes_give_the_same_numbers)
{
    trial_operands(&t, (struct sizes){1, 1, 1, 7, 23, 5, 9});
    trial_run(&t);
    for (int axes = 1; axes <= 2; axes++) {
        copy_operands();
        for (enum attn_in name = ATTN_Q; name <= ATTN_V; name++) {
            struct attn_tensor *from = &t.in.tensor[name];
            u.in.tensor[name].rank = 4 - axes;
            for (int axis = 0; axis < 4 - axes; axis++)
                u.in.tensor[name].dim[axis] = from->dim[axis + axes];
        }
        trial_run(&u);
        trial_expect_equal(&u, &t, ATTN_OUT_OUTPUT, 0);
        trial_expect_equal(&u, &t, ATTN_OUT_A, 0);
        trial_expect_equal(&u, &t, ATTN_OUT_LSE, 0);
    }
}
END_TEST

/* u's name = t's, each head three times: g = floor(h G / H). */
static void repeat_heads(enum attn_in name, int64_t n, int64_t d)
{
    trial_same(&u, name, SHAPE(6, n, d), 0);
    for (int64_t i = 0; i < 6 * n * d; i++)
        trial_set(&u, name, i,
                  trial_get(&t, name, i / (3 * n * d) * n * d + i % (n * d)));
}

START_TEST(grouped_heads_equal_repeated_heads)
{
    for (int64_t n_q = 1; n_q < 60; n_q += 56) {
        trial_operands(&t, (struct sizes){0, 6, 2, n_q, 57, 5, 9});
        copy(ATTN_Q);
        repeat_heads(ATTN_K, 57, 5);
        repeat_heads(ATTN_V, 57, 9);
        trial_run(&t);
        trial_run(&u);
        trial_expect_equal(&t, &u, ATTN_OUT_A, 1e-14);
        trial_expect_equal(&t, &u, ATTN_OUT_OUTPUT, 1e-14);
    }
}
END_TEST

/* ------------------------------------------------------------- shapes */

static void expect_shape(const struct trial *trial, enum attn_out name,
                         int rank, const int64_t *dim)
{
    const struct attn_tensor *shape = &trial->plan.output[name];
    ck_assert_msg(shape->rank == rank, "%s has rank %d, not %d",
                  attn_out_name[name], shape->rank, rank);
    for (int axis = 0; axis < rank; axis++)
        ck_assert_int_eq(shape->dim[axis], dim[axis]);
}

START_TEST(outputs_have_the_axes_of_Q)
{
    for (int axes = 0; axes < 3; axes++) {
        struct sizes s = {axes > 1 ? 2 : 0, axes ? 6 : 0, 3, 7, 23, 5, 9};
        int skip = 2 - axes;
        trial_operands(&t, s);
        t.in.returns = (1u << ATTN_N_OUT) - 1;
        trial_run(&t);
        expect_shape(&t, ATTN_OUT_OUTPUT, 2 + axes,
                     (int64_t[]){2, 6, 7, 9} + skip);
        expect_shape(&t, ATTN_OUT_A, 2 + axes,
                     (int64_t[]){2, 6, 7, 23} + skip);
        expect_shape(&t, ATTN_OUT_LSE, 1 + axes,
                     (int64_t[]){2, 6, 7} + skip);
        expect_shape(&t, ATTN_OUT_PRESENT_V, 2 + axes,
                     (int64_t[]){2, 3, 23, 9} + skip);
        expect_shape(&t, ATTN_OUT_A_MEAN, axes > 1 ? 3 : 2,
                     (int64_t[]){2, 7, 23} + (axes < 2));
    }
}
END_TEST

START_TEST(packed_heads_come_out_apart_but_for_output)
{
    trial_random(&t, ATTN_Q, SHAPE(7, 30), 1);
    trial_random(&t, ATTN_K, SHAPE(23, 15), 1);
    trial_random(&t, ATTN_V, SHAPE(23, 27), 1);
    t.in.num_heads = 6;
    t.in.num_kv_heads = 3;
    t.in.returns = (1u << ATTN_N_OUT) - 1;
    trial_run(&t);
    expect_shape(&t, ATTN_OUT_OUTPUT, SHAPE(7, 54));
    expect_shape(&t, ATTN_OUT_A, SHAPE(6, 7, 23));
    expect_shape(&t, ATTN_OUT_A_MEAN, SHAPE(7, 23));
    expect_shape(&t, ATTN_OUT_LSE, SHAPE(6, 7));
    expect_shape(&t, ATTN_OUT_Q, SHAPE(6, 7, 5));
    expect_shape(&t, ATTN_OUT_K, SHAPE(3, 23, 5));
    expect_shape(&t, ATTN_OUT_V, SHAPE(3, 23, 9));
}
END_TEST

/* -------------------------------------------------------- projections */

static void project(struct trial *x, int64_t B, int64_t n, int64_t d,
                    int64_t d_k, int64_t d_v)
{
    trial_random(x, ATTN_X, SHAPE(B, n, d), 1);
    trial_random(x, ATTN_W_Q, SHAPE(d, d_k), 0.3);
    trial_random(x, ATTN_W_K, SHAPE(d, d_k), 0.3);
    trial_random(x, ATTN_W_V, SHAPE(d, d_v), 0.3);
    returns(x, ATTN_RETURN(ATTN_OUT_Q) | ATTN_RETURN(ATTN_OUT_K) |
                   ATTN_RETURN(ATTN_OUT_V));
}

/* Given Q, K, V as X was projected, everything after is the same. */
START_TEST(projecting_is_giving_the_products)
{
    project(&t, 2, 23, 15, 10, 6);
    trial_random(&t, ATTN_B_Q, SHAPE(10), 1);
    trial_run(&t);
    const enum attn_out from[] = {ATTN_OUT_Q, ATTN_OUT_K, ATTN_OUT_V};
    for (int i = 0; i < 3; i++) {
        u.in.tensor[ATTN_Q + i] = t.plan.output[from[i]];
        u.in.tensor[ATTN_Q + i].data = t.out.data[from[i]];
    }
    trial_run(&u);
    trial_expect_equal(&t, &u, ATTN_OUT_A, 1e-14);
    trial_expect_equal(&t, &u, ATTN_OUT_OUTPUT, 1e-14);
}
END_TEST

/* Head h of Q is the column block h: X = 1 and W_Q = 0, 1, 2 ... 5. */
START_TEST(head_h_is_the_column_block_h)
{
    const double w[] = {0, 1, 2, 3, 4, 5};
    trial_same(&t, ATTN_X, SHAPE(1, 1), 1);
    trial_values(&t, ATTN_W_Q, SHAPE(1, 6), w);
    trial_values(&t, ATTN_W_K, SHAPE(1, 6), w);
    trial_values(&t, ATTN_W_V, SHAPE(1, 6), w);
    trial_values(&t, ATTN_B_V, SHAPE(6), (double[]){10, 20, 30, 40, 50, 60});
    t.in.num_heads = 3;
    returns(&t, ATTN_RETURN(ATTN_OUT_Q));
    trial_run(&t);
    expect_shape(&t, ATTN_OUT_Q, SHAPE(3, 1, 2));
    trial_expect(&t, ATTN_OUT_Q, w, 0);
    expect_shape(&t, ATTN_OUT_OUTPUT, SHAPE(1, 6));
    trial_expect(&t, ATTN_OUT_OUTPUT, (double[]){10, 21, 32, 43, 54, 65}, 0);
}
END_TEST

START_TEST(context_gives_the_keys_and_values)
{
    project(&t, 2, 7, 5, 4, 4);
    trial_random(&t, ATTN_CONTEXT, SHAPE(2, 23, 9), 1);
    trial_random(&t, ATTN_W_K, SHAPE(9, 4), 0.3);
    trial_random(&t, ATTN_W_V, SHAPE(9, 4), 0.3);
    trial_run(&t);
    expect_shape(&t, ATTN_OUT_A, SHAPE(2, 7, 23));
    expect_shape(&t, ATTN_OUT_K, SHAPE(2, 23, 4));
}
END_TEST

/* output = heads W_O + b_O, where heads is the output without W_O. */
START_TEST(W_O_multiplies_the_concatenated_heads)
{
    project(&t, 1, 7, 5, 4, 6);
    t.in.num_heads = u.in.num_heads = 2;
    for (enum attn_in name = ATTN_X; name <= ATTN_B_V; name++)
        copy(name);
    trial_random(&u, ATTN_W_O, SHAPE(6, 3), 1);
    trial_random(&u, ATTN_B_O, SHAPE(3), 1);
    trial_run(&t);
    trial_run(&u);
    expect_shape(&u, ATTN_OUT_OUTPUT, SHAPE(1, 7, 3));
    for (int64_t i = 0; i < 7 * 3; i++) {
        double sum = trial_get(&u, ATTN_B_O, i % 3);
        for (int64_t e = 0; e < 6; e++)
            sum += trial_out(&t, ATTN_OUT_OUTPUT, i / 3 * 6 + e) *
                   trial_get(&u, ATTN_W_O, e * 3 + i % 3);
        ck_assert_double_eq_tol(trial_out(&u, ATTN_OUT_OUTPUT, i), sum,
                                1e-14);
    }
}
END_TEST

/* u's weight = t's transposed. */
static void transpose(enum attn_in name)
{
    int64_t rows = t.in.tensor[name].dim[0], columns = t.in.tensor[name].dim[1];
    trial_same(&u, name, SHAPE(columns, rows), 0);
    for (int64_t i = 0; i < rows * columns; i++)
        trial_set(&u, name, i % columns * rows + i / columns,
                  trial_get(&t, name, i));
}

START_TEST(out_in_means_transposed_weights)
{
    project(&t, 2, 23, 15, 10, 6);
    trial_random(&t, ATTN_W_O, SHAPE(6, 3), 1);
    copy(ATTN_X);
    transpose(ATTN_W_Q);
    transpose(ATTN_W_K);
    transpose(ATTN_W_V);
    transpose(ATTN_W_O);
    u.in.weights_out_in = true;
    trial_run(&t);
    trial_run(&u);
    trial_expect_equal(&u, &t, ATTN_OUT_A, 1e-14);
    trial_expect_equal(&u, &t, ATTN_OUT_OUTPUT, 1e-14);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        two_orthogonal_tokens_mix_two_to_one,
        one_query_weighs_three_keys_by_their_angle,
        scale_is_one_over_root_of_width_unless_given,
        scale_zero_gives_the_mean_of_the_values,
        one_key_alone_gives_its_value,
        softcap_bounds_scores_before_bias_is_added,
        additive_score_of_one_column_is_a_tanh,
        packed_heads_equal_heads_apart,
        fewer_axes_give_the_same_numbers,
        grouped_heads_equal_repeated_heads,
        outputs_have_the_axes_of_Q,
        packed_heads_come_out_apart_but_for_output,
        projecting_is_giving_the_products,
        head_h_is_the_column_block_h,
        context_gives_the_keys_and_values,
        W_O_multiplies_the_concatenated_heads,
        out_in_means_transposed_weights,
        NULL};
    return suite_run("attention", tests, setup, teardown, 20);
}
