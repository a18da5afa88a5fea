/* SPDX-License-Identifier: MIT */
/*
 * test_kernel_line.c - the kernels of a line, one query, against plain loops in
 * double, with odd sizes.
 */
#include "levels.h"
#include "suite.h"
#include "tensor.h"

#include <math.h>
#include <string.h>

static void line_once(int64_t n, int64_t d)
{
    int64_t lanes = kernel->lanes, room = (n + lanes - 1) / lanes * lanes;
    int64_t row = d + 1;
    void *q = numbers(d), *k = numbers(n * row), *v = numbers(n * row);
    void *s = numbers(room), *o = numbers(d), *before = numbers(d);
    void *m = constant(1, 0.5), *l = constant(1, 2), *alpha = numbers(1);
    double expected[200], top = 0.5, sum = 0;

    memcpy(before, o, (size_t)d * attn_dtype_bytes(dtype));
    for (int64_t j = 0; j < n; j++) {
        expected[j] = 0;
        for (int64_t c = 0; c < d; c++) {
            expected[j] += 0.3 * get(q, c) * get(k, j * row + c);
        }
        top = fmax(top, expected[j]);
    }
    kernel->line_scores(n, d, q, k, row, 0.3, s);
    for (int64_t j = 0; j < n; j++) {
        near(get(s, j), expected[j], 1000 * unit);
        expected[j] = exp(expected[j] - top);
        sum += expected[j];
    }
    kernel->line_softmax(n, s, m, l, alpha);
    near(get(m, 0), top, 1000 * unit);
    near(get(alpha, 0), exp(0.5 - top), 1000 * unit);
    near(get(l, 0), sum + 2 * exp(0.5 - top), 2000 * unit * sum);
    for (int64_t j = 0; j < room; j++) {
        near(get(s, j), j < n ? expected[j] : 0, j < n ? 1000 * unit : 0);
    }
    kernel->line_mix(n, d, s, v, row, alpha, o);
    for (int64_t c = 0; c < d; c++) {
        double mixed = get(before, c) * exp(0.5 - top);
        for (int64_t j = 0; j < n; j++) {
            mixed += expected[j] * get(v, j * row + c);
        }
        near(get(o, c), mixed, 2000 * unit * (1 + sum));
    }
}

static void line_everywhere(void)
{
    line_once(128, 64);
    line_once(100, 128);
    line_once(33, 37);
    line_once(1, 1);
}

START_TEST(a_line_does_scores_softmax_and_mix_of_one_query)
{
    everywhere(line_everywhere);
}
END_TEST

/* line_softmax over 20 keys, the key 17 with this score: returns l. */
static double line_sum(double rest, double score)
{
    int64_t lanes = kernel->lanes, n = 20;
    void *s = constant((n + lanes - 1) / lanes * lanes, rest);
    void *m = constant(1, -INFINITY), *l = constant(1, 0), *alpha = numbers(1);
    double sum;

    tensor_set(s, dtype, 17, score);
    if (isnan(score)) {
        set_odd_nan(s, 17);
    }
    kernel->line_softmax(n, s, m, l, alpha);
    sum = get(l, 0);
    return sum;
}

static void line_ends_everywhere(void)
{
    ck_assert(isnan(line_sum(0.5, NAN)));
    ck_assert(isnan(line_sum(-INFINITY, NAN)));
    ck_assert(isnan(line_sum(0.5, INFINITY)));
    ck_assert_double_eq(line_sum(0.5, -INFINITY), 19);
    ck_assert_double_eq(line_sum(-INFINITY, 3), 1);
    ck_assert_double_eq(line_sum(-INFINITY, -INFINITY), 0);
}

START_TEST(a_line_keeps_nan_and_infinity_and_may_be_all_hidden)
{
    everywhere(line_ends_everywhere);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        a_line_does_scores_softmax_and_mix_of_one_query,
        a_line_keeps_nan_and_infinity_and_may_be_all_hidden,
        NULL,
    };
    return suite_run("kernel_line", tests, NULL, NULL, 60);
}
