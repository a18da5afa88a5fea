/* SPDX-License-Identifier: MIT */
/*
 * test_kernel.c - the kernels of a tile against plain loops in double, with
 * odd sizes.
 */
#include "levels.h"
#include "suite.h"
#include "tensor.h"

#include <math.h>
#include <string.h>

/* --- between rows and lanes ---------------------------------------------- */

static void columns_once(int vecs, int64_t rows, int64_t n)
{
    int64_t w = vecs * kernel->lanes, x_row = n + 3;
    void *x = numbers(rows * x_row), *t = numbers(n * w);

    kernel->columns(vecs, rows, n, x, x_row, t);
    for (int64_t c = 0; c < n; c++) {
        for (int64_t i = 0; i < w; i++) {
            near(get(t, c * w + i), i < rows ? get(x, i * x_row + c) : 0, 0);
        }
    }
}

static void columns_everywhere(void)
{
    for (int vecs = 1; vecs <= KERNEL_VECS; vecs++) {
        columns_once(vecs, vecs * kernel->lanes, 64);
        columns_once(vecs, vecs * kernel->lanes - 1, 37);
        columns_once(vecs, 1, 1);
    }
}

START_TEST(columns_turns_rows_into_lanes_and_pads_with_zeros)
{
    everywhere(columns_everywhere);
}
END_TEST

static void rows_once(int vecs, int64_t rows, int64_t n)
{
    int64_t w = vecs * kernel->lanes, x_row = n + 2;
    void *t = numbers(n * w), *factor = numbers(w);
    void *x = constant(rows * x_row, -7);

    kernel->rows(vecs, rows, n, t, factor, x, x_row);
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t c = 0; c < n; c++) {
            double expected = get(t, c * w + i) * get(factor, i);
            near(get(x, i * x_row + c), expected, unit * fabs(expected));
        }
        near(get(x, i * x_row + n), -7, 0);
    }
}

static void rows_everywhere(void)
{
    for (int vecs = 1; vecs <= KERNEL_VECS; vecs++) {
        rows_once(vecs, vecs * kernel->lanes, 64);
        rows_once(vecs, vecs * kernel->lanes - 1, 37);
        rows_once(vecs, 1, 1);
    }
}

START_TEST(rows_turns_lanes_into_rows_and_writes_nothing_else)
{
    everywhere(rows_everywhere);
}
END_TEST

/* --- the two products ---------------------------------------------------- */

static void scores_once(int vecs, int64_t n, int64_t d)
{
    int64_t w = vecs * kernel->lanes, k_row = d + 5;
    void *q = numbers(d * w), *k = numbers(n * k_row), *s = numbers(n * w);

    kernel->scores(vecs, n, d, q, k, k_row, 0.3, s);
    for (int64_t j = 0; j < n; j++) {
        for (int64_t i = 0; i < w; i++) {
            double sum = 0, size = 0;
            for (int64_t c = 0; c < d; c++) {
                double term = get(k, j * k_row + c) * get(q, c * w + i);
                sum += term;
                size += fabs(term);
            }
            near(get(s, j * w + i), 0.3 * sum,
                 (double)(d + 2) * unit * 0.3 * size);
        }
    }
}

static void scores_everywhere(void)
{
    for (int vecs = 1; vecs <= KERNEL_VECS; vecs++) {
        scores_once(vecs, 16, 64);
        scores_once(vecs, 21, 33);
        scores_once(vecs, 3, 0);
    }
}

START_TEST(scores_are_scaled_products_of_keys_and_queries)
{
    everywhere(scores_everywhere);
}
END_TEST

static void mix_once(int vecs, int64_t n, int64_t d)
{
    int64_t w = vecs * kernel->lanes, v_row = d + 1;
    void *p = numbers(n * w), *v = numbers(n * v_row), *alpha = numbers(w);
    void *o = numbers(d * w), *before = numbers(d * w);

    memcpy(before, o, (size_t)(d * w) * attn_dtype_bytes(dtype));
    kernel->mix(vecs, n, d, p, v, v_row, alpha, o);
    for (int64_t c = 0; c < d; c++) {
        for (int64_t i = 0; i < w; i++) {
            double sum = get(before, c * w + i) * get(alpha, i);
            double size = fabs(sum);
            for (int64_t j = 0; j < n; j++) {
                double term = get(v, j * v_row + c) * get(p, j * w + i);
                sum += term;
                size += fabs(term);
            }
            near(get(o, c * w + i), sum, (double)(n + 2) * unit * size);
        }
    }
}

static void mix_everywhere(void)
{
    for (int vecs = 1; vecs <= KERNEL_VECS; vecs++) {
        mix_once(vecs, 64, 16);
        mix_once(vecs, 37, 19);
        mix_once(vecs, 0, 9);
    }
}

START_TEST(mix_shrinks_what_was_there_and_adds_weighted_values)
{
    everywhere(mix_everywhere);
}
END_TEST

/* --- softmax ------------------------------------------------------------- */

/* exp in the type's own steps: |got - e^x| in units of the last place */
static double ulps(double got, double x)
{
    int least = dtype == ATTN_FLOAT32 ? -149 : -1074, exponent;
    int digits = dtype == ATTN_FLOAT32 ? 24 : 53;
    long double e = expl((long double)x);

    frexpl(e, &exponent);
    exponent = exponent - digits > least ? exponent - digits : least;
    return (double)(fabsl(got - e) * ldexpl(1, -exponent));
}

static void exp_everywhere(void)
{
    int64_t w = kernel->lanes, n = 4096 / w;
    double end = dtype == ATTN_FLOAT32 ? 106 : 750;

    for (int round = 0; round < 24; round++) {
        void *m = constant(w, 0), *l = constant(w, 0), *alpha = numbers(w);
        void *s = numbers(n * w), *x = numbers(n * w);
        double least = round % 3 == 0 ? 1 : end;
        double most = round % 3 == 1 ? end - 20 : 0;

        for (int64_t i = 0; i < n * w; i++) {
            tensor_set(x, dtype, i, -most - (least - most)
                                                * random_uniform(&level_dice));
            tensor_set(s, dtype, i, get(x, i));
        }
        kernel->softmax(1, n, s, m, l, alpha);
        for (int64_t i = 0; i < n * w; i++) {
            ck_assert_double_le(ulps(get(s, i), get(x, i)), 4);
        }
    }
}

START_TEST(exp_is_right_to_4_ulp_down_to_the_last_subnormal)
{
    everywhere(exp_everywhere);
}
END_TEST

static void ends_everywhere(void)
{
    int64_t w = kernel->lanes;
    void *m = constant(w, 0), *l = constant(w, 0), *alpha = numbers(w);
    void *s = constant(3 * w, -INFINITY);

    tensor_set(s, dtype, 0, 0);
    tensor_set(s, dtype, 1, -0.0);
    tensor_set(s, dtype, w, -1e30);
    kernel->softmax(1, 3, s, m, l, alpha);
    ck_assert_double_eq(get(s, 0), 1);
    ck_assert_double_eq(get(s, 1), 1);
    ck_assert_double_eq(get(s, w), 0);
    ck_assert_double_eq(get(s, 2 * w), 0);
}

START_TEST(exp_of_0_is_1_and_of_minus_infinity_0)
{
    everywhere(ends_everywhere);
}
END_TEST

/* Lane i of s [n, W] and what the tiles before left in m and l. */
static void check_lane(int64_t w, int64_t n, int64_t i, const void *s,
                       const void *p, double m_before, double l_before,
                       double m, double l, double alpha)
{
    double top = m_before, sum = 0;

    for (int64_t j = 0; j < n; j++) {
        top = fmax(top, get(s, j * w + i));
    }
    for (int64_t j = 0; j < n; j++) {
        double e = exp(get(s, j * w + i) - top);
        near(get(p, j * w + i), e, 12 * unit * e);
        sum += e;
    }
    near(m, top, 0);
    near(alpha, exp(m_before - top), 12 * unit);
    near(l, sum + l_before * exp(m_before - top), (double)(n + 12) * unit * l);
}

static void softmax_once(int vecs, int64_t n)
{
    int64_t w = vecs * kernel->lanes;
    size_t bytes = (size_t)(n * w) * attn_dtype_bytes(dtype);
    void *m = constant(w, -INFINITY), *l = constant(w, 0), *alpha = numbers(w);
    void *m0 = numbers(w), *l0 = numbers(w);

    for (int tile = 0; tile < 3; tile++) {
        void *s = numbers(n * w), *p = numbers(n * w);
        memcpy(p, s, bytes);
        memcpy(m0, m, (size_t)w * attn_dtype_bytes(dtype));
        memcpy(l0, l, (size_t)w * attn_dtype_bytes(dtype));
        kernel->softmax(vecs, n, p, m, l, alpha);
        for (int64_t i = 0; i < w; i++) {
            check_lane(w, n, i, s, p, get(m0, i), get(l0, i), get(m, i),
                       get(l, i), get(alpha, i));
        }
    }
}

static void softmax_everywhere(void)
{
    for (int vecs = 1; vecs <= KERNEL_VECS; vecs++) {
        softmax_once(vecs, 128);
        softmax_once(vecs, 5);
    }
}

START_TEST(softmax_runs_over_tiles)
{
    everywhere(softmax_everywhere);
}
END_TEST

static void spoiled_everywhere(void)
{
    int64_t w = 2 * kernel->lanes, n = 7;
    void *m = constant(w, -INFINITY), *l = constant(w, 0), *alpha = numbers(w);
    void *s = numbers(n * w);

    set_odd_nan(s, 3 * w + 1);
    tensor_set(s, dtype, 4 * w, INFINITY);
    for (int64_t j = 0; j < n; j++) {
        tensor_set(s, dtype, j * w + 2, -INFINITY);
        set_odd_nan(s, j * w + 3);
    }
    kernel->softmax(2, n, s, m, l, alpha);
    ck_assert(isnan(get(s, 3 * w + 1)));
    ck_assert(isnan(get(l, 0)) && isnan(get(l, 1)) && isnan(get(l, 3)));
    ck_assert(get(l, 2) == 0 && get(m, 2) == -INFINITY);
    for (int64_t j = 0; j < n; j++) {
        ck_assert(get(s, j * w + 2) == 0);
    }
    for (int64_t i = 4; i < w; i++) {
        ck_assert(get(l, i) >= 1);
    }
}

START_TEST(nan_and_infinity_spoil_their_own_lane_alone)
{
    everywhere(spoiled_everywhere);
}
END_TEST

static void hide_everywhere(void)
{
    int vecs = 2;
    int64_t w = vecs * kernel->lanes, n = 9;
    int64_t low[32], high[32];
    void *s = constant(n * w, NAN);

    for (int64_t i = 0; i < w; i++) {
        low[i] = i - 5;
        high[i] = i == 3 ? INT64_MAX : i - 1;
    }
    kernel->hide(vecs, n, low, high, s);
    for (int64_t j = 0; j < n; j++) {
        for (int64_t i = 0; i < w; i++) {
            bool seen = j >= low[i] && j < high[i];
            near(get(s, j * w + i), seen ? NAN : -INFINITY, 0);
        }
    }
}

START_TEST(hide_leaves_the_keys_from_low_to_high)
{
    everywhere(hide_everywhere);
}
END_TEST

/* --- a block of queries -------------------------------------------------- */

struct sizes {
    int64_t n_k, d, tile;
};

/* Attention of some rows of Q: out [rows, d], lse [rows]. */
static void attend(const struct sizes *size, int vecs, int64_t rows,
                   const void *q, const void *k, const void *v, void *out,
                   double *lse)
{
    int64_t w = vecs * kernel->lanes, d = size->d;
    int64_t row_bytes = d * (int64_t)attn_dtype_bytes(dtype);
    void *turned = numbers(d * w), *o = constant(d * w, 0);
    void *s = numbers(size->tile * w), *alpha = numbers(w);
    void *m = constant(w, -INFINITY), *l = constant(w, 0);

    kernel->columns(vecs, rows, d, q, d, turned);
    for (int64_t j = 0; j < size->n_k; j += size->tile) {
        int64_t rest = size->n_k - j, n = rest < size->tile ? rest : size->tile;
        const char *k_tile = (const char *)k + j * row_bytes;
        const char *v_tile = (const char *)v + j * row_bytes;
        kernel->scores(vecs, n, d, turned, k_tile, d, 0.125, s);
        kernel->softmax(vecs, n, s, m, l, alpha);
        kernel->mix(vecs, n, d, s, v_tile, d, alpha, o);
    }
    for (int64_t i = 0; i < w; i++) {
        lse[i] = get(m, i) + log(get(l, i));
        tensor_set(l, dtype, i, 1 / get(l, i));
    }
    kernel->rows(vecs, rows, d, o, l, out, d);
}

static void same_bits_everywhere(void)
{
    const struct sizes size = {77, 19, 32};
    int64_t most = KERNEL_VECS * kernel->lanes, n = most * size.d;
    size_t row = (size_t)size.d * attn_dtype_bytes(dtype);
    void *q = numbers(n), *k = numbers(77 * 19), *v = numbers(77 * 19);
    void *whole = numbers(n), *part = numbers(n);
    double lse[48];

    attend(&size, KERNEL_VECS, most, q, k, v, whole, lse);
    for (int vecs = 1; vecs <= KERNEL_VECS; vecs++) {
        for (int64_t first = 0; first < most; first += 5) {
            int64_t left = most - first, w = vecs * kernel->lanes;
            int64_t rows = left < w ? left : w;
            size_t skip = (size_t)first * row;
            attend(&size, vecs, rows, (char *)q + skip, k, v, part, lse);
            ck_assert_mem_eq(part, (char *)whole + skip, (size_t)rows * row);
        }
    }
}

START_TEST(a_query_has_the_same_bits_in_any_lane_of_any_block)
{
    everywhere(same_bits_everywhere);
}
END_TEST

/* The formula for row i: out [d]; returns lse. */
static double formula(const struct sizes *size, const void *q, const void *k,
                      const void *v, int64_t i, double *out)
{
    int64_t n = size->n_k, d = size->d;
    double *s = constant(2 * n, 0), top = -INFINITY, sum = 0;

    for (int64_t j = 0; j < n; j++) {
        s[j] = 0;
        for (int64_t c = 0; c < d; c++) {
            s[j] += 0.125 * get(q, i * d + c) * get(k, j * d + c);
        }
        top = fmax(top, s[j]);
    }
    for (int64_t c = 0; c < d; c++) {
        out[c] = 0;
    }
    for (int64_t j = 0; j < n; j++) {
        double e = exp(s[j] - top);
        sum += e;
        for (int64_t c = 0; c < d; c++) {
            out[c] += e * get(v, j * d + c);
        }
    }
    for (int64_t c = 0; c < d; c++) {
        out[c] /= sum;
    }
    return top + log(sum);
}

static void accurate_everywhere(void)
{
    const struct sizes size = {4096, 64, 128};
    int64_t w = kernel->lanes, d = size.d, n = size.n_k * d;
    void *q = numbers(w * d), *k = numbers(n), *v = numbers(n);
    void *out = numbers(w * d);
    double least = dtype == ATTN_FLOAT32 ? 1e-6 : 1e-13;
    double share = dtype == ATTN_FLOAT32 ? 1e-5 : 0;
    double lse[16], expected[64];

    attend(&size, 1, w, q, k, v, out, lse);
    for (int64_t i = 0; i < w; i++) {
        double x = formula(&size, q, k, v, i, expected);
        near(lse[i], x, least + share * fabs(x));
        for (int64_t c = 0; c < d; c++) {
            near(get(out, i * d + c), expected[c],
                 least + share * fabs(expected[c]));
        }
    }
}

START_TEST(attention_to_4096_keys_is_accurate)
{
    everywhere(accurate_everywhere);
}
END_TEST

/* --- levels -------------------------------------------------------------- */

START_TEST(init_takes_the_best_level)
{
    const char *best = NULL, *level;

    for (size_t i = 0; (level = attn_kernel_force(i)); i++) {
        best = level;
    }
    ck_assert_ptr_nonnull(attn_kernel_force(0));
    attn_kernel_init();
    ck_assert_str_eq(attn_kernel(ATTN_FLOAT32)->level, best);
    ck_assert_str_eq(attn_kernel(ATTN_FLOAT64)->level, best);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        columns_turns_rows_into_lanes_and_pads_with_zeros,
        rows_turns_lanes_into_rows_and_writes_nothing_else,
        scores_are_scaled_products_of_keys_and_queries,
        mix_shrinks_what_was_there_and_adds_weighted_values,
        exp_is_right_to_4_ulp_down_to_the_last_subnormal,
        exp_of_0_is_1_and_of_minus_infinity_0,
        softmax_runs_over_tiles,
        nan_and_infinity_spoil_their_own_lane_alone,
        hide_leaves_the_keys_from_low_to_high,
        a_query_has_the_same_bits_in_any_lane_of_any_block,
        attention_to_4096_keys_is_accurate,
        init_takes_the_best_level,
        NULL,
    };
    return suite_run("kernel", tests, NULL, NULL, 60);
}
