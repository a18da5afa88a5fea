/* SPDX-License-Identifier: MIT */
/*
 * test_engine.c - each engine is tested at the start, a wrong one is seen and
 * not used, and both give the formula.
 */
#include "suite.h"
#include "trial.h"

#include <math.h>

#include "engine.h"
#include "real.h"

static struct kernel spoilt[2];

/* ------------------------------------------------- kernels with a fault */

static void forget_the_last_key(int vecs, int64_t n, int64_t d, const void *q,
                                const void *k, int64_t k_row, double scale,
                                void *s)
{
    attn_kernel(ATTN_FLOAT32)->scores(vecs, n - (n > 20), d, q, k, k_row,
                                      scale, s);
}

static void forget_alpha(int vecs, int64_t n, int64_t d, const void *p,
                         const void *v, int64_t v_row, const void *alpha,
                         void *o)
{
    float one[64];

    (void)alpha;
    for (int i = 0; i < 64; i++)
        one[i] = 1;
    attn_kernel(ATTN_FLOAT32)->mix(vecs, n, d, p, v, v_row, one, o);
}

static void forget_the_sum(int vecs, int64_t n, void *s, void *m, void *l,
                           void *alpha)
{
    const struct kernel *k = attn_kernel(ATTN_FLOAT32);

    k->softmax(vecs, n, s, m, l, alpha);
    real_put(l, vecs * k->lanes - 1, sizeof(float), 0);
}

static void shift_a_line(int rows, int64_t n, int64_t d, const void *p,
                         int64_t p_row, const void *v, int64_t v_row,
                         const void *alpha, void *o)
{
    attn_kernel(ATTN_FLOAT32)->line_mix(rows - (rows == 4), n, d, p, p_row, v,
                                        v_row, alpha, o);
}

static bool passes(void)
{
    return engine_test_kernels(&spoilt[0], ATTN_FLOAT32);
}

START_TEST(a_wrong_kernel_is_seen_and_a_right_one_is_not)
{
    spoilt[0] = *attn_kernel(ATTN_FLOAT32);
    ck_assert(passes());
    spoilt[0].scores = forget_the_last_key;
    ck_assert(!passes());
    spoilt[0] = *attn_kernel(ATTN_FLOAT32);
    spoilt[0].mix = forget_alpha;
    ck_assert(!passes());
    spoilt[0] = *attn_kernel(ATTN_FLOAT32);
    spoilt[0].softmax = forget_the_sum;
    ck_assert(!passes());
    spoilt[0] = *attn_kernel(ATTN_FLOAT32);
    spoilt[0].line_mix = shift_a_line;
    ck_assert(!passes());
}
END_TEST

/* ------------------------------------------------------------- the choice */

#define N ATTN_ENGINE_NATIVE
#define O ATTN_ENGINE_OPENBLAS
#define R ATTN_ENGINE_REFERENCE

START_TEST(a_wrong_engine_gives_way_to_the_other_and_both_to_the_formula)
{
    static const struct {
        enum attn_engine wanted;
        bool native, openblas;
        enum attn_engine taken;
    } rows[] = {
        { N, true, true, N },  { N, true, false, N },  { N, false, true, O },
        { O, true, true, O },  { O, true, false, N },  { O, false, true, O },
        { N, false, false, R }, { O, false, false, R },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ck_assert_int_eq(engine_choose(rows[i].wanted, rows[i].native,
                                       rows[i].openblas), rows[i].taken);
}
END_TEST

/* trial_run() holds what each comes to against the formula. */
START_TEST(each_engine_gives_the_formula)
{
    static const enum attn_engine engines[] = { ATTN_ENGINE_NATIVE,
                                                ATTN_ENGINE_OPENBLAS };
    static const struct sizes sizes[] = {
        { 1, 1, 1, 1, 1, 1, 1 },     { 2, 4, 2, 23, 57, 9, 5 },
        { 1, 2, 1, 3, 300, 64, 64 }, { 1, 1, 1, 130, 260, 64, 33 } };
    struct trial t;

    for (size_t e = 0; e < 2; e++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            ck_assert_int_eq(attn_init(engines[e]), engines[e]);
            trial_open(&t, i % 2 ? ATTN_FLOAT64 : ATTN_FLOAT32);
            trial_operands(&t, sizes[i]);
            t.in.causal = i == 1;
            trial_run(&t);
            trial_close(&t);
        }
}
END_TEST

/* A product by 0 may not lose the NaN in it. */
START_TEST(a_scale_of_0_keeps_a_NaN_in_each_engine)
{
    float q[] = { 1 }, k[] = { 1, (float)NAN }, v[] = { 1, 2 };
    struct trial t;

    for (int e = ATTN_ENGINE_NATIVE; e <= ATTN_ENGINE_OPENBLAS; e++) {
        ck_assert_int_eq(attn_init((enum attn_engine)e), e);
        trial_open(&t, ATTN_FLOAT32);
        t.in.tensor[ATTN_Q] = (struct attn_tensor){ q, 2, { 1, 1 } };
        t.in.tensor[ATTN_K] = (struct attn_tensor){ k, 2, { 2, 1 } };
        t.in.tensor[ATTN_V] = (struct attn_tensor){ v, 2, { 2, 1 } };
        t.in.has_scale = true;
        t.in.scale = 0;
        trial_run(&t);
        ck_assert(isnan(trial_out(&t, ATTN_OUT_OUTPUT, 0)));
        trial_close(&t);
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        a_wrong_kernel_is_seen_and_a_right_one_is_not,
        a_wrong_engine_gives_way_to_the_other_and_both_to_the_formula,
        each_engine_gives_the_formula,
        a_scale_of_0_keeps_a_NaN_in_each_engine,
        NULL};
    suite_init_library();
    return suite_run("engine", tests, NULL, NULL, 60);
}
