/* SPDX-License-Identifier: MIT */
/*
 * test_kernel_line.c - the kernels of lines, few queries, against plain loops
 * in double, with odd sizes.
 */
#include "levels.h"
#include "suite.h"
#include "tensor.h"

#include <math.h>
#include <string.h>

/* What one row comes to: its scores, then its weights, and their sum. */
struct row {
    double s[200], top, sum;
};

static struct row expected_row(const void *q, const void *k, int64_t n,
                               int64_t d, int64_t k_row)
{
    struct row row = {.top = 0.5};

    for (int64_t j = 0; j < n; j++) {
        for (int64_t c = 0; c < d; c++) {
            row.s[j] += 0.3 * get(q, c) * get(k, j * k_row + c);
        }
        row.top = fmax(row.top, row.s[j]);
    }
    return row;
}

static void softmax_once(void *s, int64_t n, int64_t room, struct row *row,
                         void *alpha)
{
    void *m = constant(1, 0.5), *l = constant(1, 2);

    for (int64_t j = 0; j < n; j++) {
        near(get(s, j), row->s[j], 1000 * unit);
        row->s[j] = exp(row->s[j] - row->top);
        row->sum += row->s[j];
    }
    kernel->line_softmax(n, s, m, l, alpha);
    near(get(m, 0), row->top, 1000 * unit);
    near(get(alpha, 0), exp(0.5 - row->top), 1000 * unit);
    near(get(l, 0), row->sum + 2 * exp(0.5 - row->top),
         2000 * unit * row->sum);
    for (int64_t j = 0; j < room; j++) {
        near(get(s, j), j < n ? row->s[j] : 0, j < n ? 1000 * unit : 0);
    }
}

static void *at(void *x, int64_t index)
{
    return (char *)x + index * (int64_t)attn_dtype_bytes(dtype);
}

static void lines_once(int rows, int64_t n, int64_t d)
{
    int64_t lanes = kernel->lanes, room = (n + lanes - 1) / lanes * lanes;
    int64_t k_row = d + 1;
    void *q = numbers(rows * d), *k = numbers(n * k_row);
    void *v = numbers(n * k_row), *s = numbers(rows * room);
    void *o = numbers(rows * d), *before = numbers(rows * d);
    void *alpha = numbers(rows);
    struct row row[KERNEL_LINES];

    memcpy(before, o, (size_t)(rows * d) * attn_dtype_bytes(dtype));
    kernel->line_scores(rows, n, d, q, k, k_row, 0.3, s, room);
    for (int r = 0; r < rows; r++) {
        row[r] = expected_row(at(q, r * d), k, n, d, k_row);
        softmax_once(at(s, r * room), n, room, &row[r], at(alpha, r));
    }
    kernel->line_mix(rows, n, d, s, room, v, k_row, alpha, o);
    for (int64_t i = 0; i < rows * d; i++) {
        const struct row *own = &row[i / d];
        double mixed = get(before, i) * exp(0.5 - own->top);
        for (int64_t j = 0; j < n; j++) {
            mixed += own->s[j] * get(v, j * k_row + i % d);
        }
        near(get(o, i), mixed, 2000 * unit * (1 + own->sum));
    }
}

static void lines_everywhere(void)
{
    for (int rows = 1; rows <= KERNEL_LINES; rows++) {
        lines_once(rows, 128, 64);
        lines_once(rows, 100, 128);
        lines_once(rows, 33, 37);
        lines_once(rows, 1, 1);
    }
}

START_TEST(lines_do_scores_softmax_and_mix_of_few_queries)
{
    everywhere(lines_everywhere);
}
END_TEST

/* Of four rows together and of each alone: scores and mixture. */
static void neighbours_everywhere(void)
{
    enum { rows = KERNEL_LINES, n = 39, d = 83, room = 48 };
    size_t size = attn_dtype_bytes(dtype);
    void *q = numbers(rows * d), *k = numbers(n * d), *v = numbers(n * d);
    void *alpha = numbers(rows), *o = numbers(rows * d);
    void *s = constant(rows * room, 0), *alone = constant(room, 0);
    void *mixed = numbers(d);

    kernel->line_scores(rows, n, d, q, k, d, 0.3, s, room);
    for (int r = 0; r < rows; r++) {
        kernel->line_scores(1, n, d, at(q, r * d), k, d, 0.3, alone, room);
        ck_assert_mem_eq(at(s, r * room), alone, n * size);
    }
    void *before = numbers(rows * d);
    memcpy(before, o, rows * d * size);
    kernel->line_mix(rows, n, d, s, room, v, d, alpha, o);
    for (int r = 0; r < rows; r++) {
        memcpy(mixed, at(before, r * d), d * size);
        kernel->line_mix(1, n, d, at(s, r * room), room, v, d, at(alpha, r),
                         mixed);
        ck_assert_mem_eq(at(o, r * d), mixed, d * size);
    }
}

START_TEST(a_line_has_the_same_bits_alone_and_among_others)
{
    everywhere(neighbours_everywhere);
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
        lines_do_scores_softmax_and_mix_of_few_queries,
        a_line_has_the_same_bits_alone_and_among_others,
        a_line_keeps_nan_and_infinity_and_may_be_all_hidden,
        NULL,
    };
    return suite_run("kernel_line", tests, NULL, NULL, 60);
}
