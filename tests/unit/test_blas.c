/* SPDX-License-Identifier: MIT */
/*
 * test_blas.c - the self-test sees a BLAS that is wrong, and calls then are
 * computed without it.
 */
#include "suite.h"
#include "trial.h"

#include "blas.h"
#include "engine.h"

#include <math.h>

/* ------------------------------------------------- BLASes with a fault */

static void forget_to_transpose(const struct blas_product *p)
{
    struct blas_product q = *p;
    q.transpose_b = false;
    q.b_row = q.n;
    blas_multiply(&q);
}

static void read_below_beta_0(const struct blas_product *p)
{
    double first = p->dtype == ATTN_FLOAT64 ? *(double *)p->c
                                            : (double)*(float *)p->c;
    blas_multiply(p);
    if (p->beta != 0 || !isnan(first))
        return;
    if (p->dtype == ATTN_FLOAT64)
        *(double *)p->c = first;
    else
        *(float *)p->c = (float)first;
}

static void lose_the_last_column(const struct blas_product *p)
{
    struct blas_product q = *p;
    if (q.n % 8 == 1 && q.n > 64)
        q.n--;
    blas_multiply(&q);
}

static void do_nothing_in_double(const struct blas_product *p)
{
    if (p->dtype == ATTN_FLOAT32)
        blas_multiply(p);
}

START_TEST(self_test_passes_the_blas_that_is_right)
{
    ck_assert(blas_self_test(blas_multiply));
}
END_TEST

START_TEST(self_test_sees_each_fault)
{
    ck_assert(!blas_self_test(forget_to_transpose));
    ck_assert(!blas_self_test(read_below_beta_0));
    ck_assert(!blas_self_test(lose_the_last_column));
    ck_assert(!blas_self_test(do_nothing_in_double));
}
END_TEST

START_TEST(a_product_without_depth_is_zero)
{
    float c[6];
    for (int i = 0; i < 6; i++)
        c[i] = NAN;
    struct blas_product p = {.m = 2, .n = 2, .c = c, .c_row = 3,
                             .alpha = 1};
    blas_multiply(&p);
    ck_assert(c[0] == 0 && c[1] == 0 && c[3] == 0 && c[4] == 0);
    ck_assert(isnan(c[2]) && isnan(c[5]));
}
END_TEST

/* ------------------------------------------------------------ distrust */

static struct trial t;

static void setup(void)
{
    trial_open(&t, ATTN_FLOAT64);
}

static void teardown(void)
{
    blas_trust(true);
    suite_init_library();
    trial_close(&t);
}

/* trial_run() holds each against the formula. */
START_TEST(without_a_blas_projections_and_additive_terms_come_out)
{
    blas_trust(false);
    trial_operands(&t, (struct sizes){2, 4, 2, 23, 57, 9, 5});
    trial_random(&t, ATTN_W_A, SHAPE(9, 6), 1);
    trial_random(&t, ATTN_U_A, SHAPE(9, 6), 1);
    trial_random(&t, ATTN_V_A, SHAPE(6), 1);
    trial_run(&t);
    trial_close(&t);
    trial_open(&t, ATTN_FLOAT32);
    trial_random(&t, ATTN_X, SHAPE(300, 70), 0.1);
    trial_random(&t, ATTN_W_Q, SHAPE(70, 60), 0.1);
    trial_random(&t, ATTN_W_K, SHAPE(70, 60), 0.1);
    trial_random(&t, ATTN_W_V, SHAPE(70, 50), 0.1);
    trial_run(&t);
}
END_TEST

START_TEST(a_product_without_the_blas_is_the_same_product)
{
    blas_trust(false);
    ck_assert(blas_self_test(blas_multiply));
}
END_TEST

START_TEST(without_any_engine_a_call_is_the_reference_to_the_bit)
{
    trial_operands(&t, (struct sizes){2, 4, 2, 23, 57, 9, 5});
    t.in.causal = true;
    t.in.returns |= ATTN_RETURN(ATTN_OUT_STATS);
    engine_use(ATTN_ENGINE_REFERENCE);
    trial_run(&t);
    ck_assert_int_eq(t.plan.n_phases, 1);
    for (int64_t i = 0; i < trial_out_count(&t, ATTN_OUT_OUTPUT); i++)
        ck_assert(trial_out(&t, ATTN_OUT_OUTPUT, i) ==
                  ((double *)t.expected.data[ATTN_OUT_OUTPUT])[i]);
    ck_assert_int_eq(t.out.empty_rows, t.expected.empty_rows);
    ck_assert_double_eq(t.out.stats.s_variance, t.expected.stats.s_variance);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        self_test_passes_the_blas_that_is_right,
        self_test_sees_each_fault,
        a_product_without_depth_is_zero,
        without_a_blas_projections_and_additive_terms_come_out,
        a_product_without_the_blas_is_the_same_product,
        without_any_engine_a_call_is_the_reference_to_the_bit,
        NULL};
    suite_init_library();
    return suite_run("blas", tests, setup, teardown, 10);
}
