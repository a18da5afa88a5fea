/* SPDX-License-Identifier: MIT */
/*
 * blas.c - the door to the BLAS: a product of either type, its self-test by
 * a known answer, and its name. Nothing else includes cblas.h.
 *
 * What belongs to OpenBLAS alone is declared weak, so that any library with
 * the interface of CBLAS will do.
 */
#include "blas.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

#if defined(OPENBLAS_VERSION)
#pragma weak openblas_set_num_threads
#pragma weak openblas_get_corename
#endif

static bool trusted = true;
static char name[64] = "BLAS";

static void store(enum attn_dtype dtype, void *x, int64_t index, double value)
{
    if (dtype == ATTN_FLOAT64)
        ((double *)x)[index] = value;
    else
        ((float *)x)[index] = (float)value;
}

static double load(enum attn_dtype dtype, const void *x, int64_t index)
{
    if (dtype == ATTN_FLOAT64)
        return ((const double *)x)[index];
    return (double)((const float *)x)[index];
}

static int64_t place(bool transposed, int64_t row, int64_t i, int64_t j)
{
    return transposed ? j * row + i : i * row + j;
}

static double sum_plainly(const struct blas_product *p, int64_t i, int64_t j)
{
    double sum = 0;
    for (int64_t k = 0; k < p->k; k++)
        sum += load(p->dtype, p->a, place(p->transpose_a, p->a_row, i, k)) *
               load(p->dtype, p->b, place(p->transpose_b, p->b_row, k, j));
    return sum;
}

static void multiply_plainly(const struct blas_product *p)
{
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++) {
            int64_t at = i * p->c_row + j;
            double c = p->beta == 0 ? 0 : p->beta * load(p->dtype, p->c, at);
            store(p->dtype, p->c, at, p->alpha * sum_plainly(p, i, j) + c);
        }
}

/* A leading dimension is at least 1, also where there is nothing. */
static int leading(int64_t row)
{
    return row > 0 ? (int)row : 1;
}

static void multiply_by_cblas(const struct blas_product *p)
{
    CBLAS_TRANSPOSE a = p->transpose_a ? CblasTrans : CblasNoTrans;
    CBLAS_TRANSPOSE b = p->transpose_b ? CblasTrans : CblasNoTrans;
    int m = (int)p->m, n = (int)p->n, k = (int)p->k;

    if (p->dtype == ATTN_FLOAT64)
        cblas_dgemm(CblasRowMajor, a, b, m, n, k, p->alpha, p->a,
                    leading(p->a_row), p->b, leading(p->b_row), p->beta, p->c,
                    leading(p->c_row));
    else
        cblas_sgemm(CblasRowMajor, a, b, m, n, k, (float)p->alpha, p->a,
                    leading(p->a_row), p->b, leading(p->b_row),
                    (float)p->beta, p->c, leading(p->c_row));
}

void blas_multiply(const struct blas_product *p)
{
    if (p->m == 0 || p->n == 0)
        return;
    if (trusted && p->k > 0)
        multiply_by_cblas(p);
    else
        multiply_plainly(p);
}

/* ------------------------------------------------------------ self-test */

enum { TEST_MAX = 67 }; /* beyond the register blocks of every kernel */

struct test_matrices {
    double a[TEST_MAX * TEST_MAX], b[TEST_MAX * TEST_MAX];
    double c[TEST_MAX * TEST_MAX];
};

/* Small whole numbers, whose products and sums are exact in both types. */
static double known_a(int64_t i, int64_t k)
{
    return (double)((i * 7 + k * 3) % 11 - 5);
}

static double known_b(int64_t k, int64_t j)
{
    return (double)((k * 5 + j * 2) % 13 - 6);
}

static bool product_is_right(const struct blas_product *p)
{
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++) {
            double sum = p->beta;
            for (int64_t k = 0; k < p->k; k++)
                sum += p->alpha * known_a(i, k) * known_b(k, j);
            if (load(p->dtype, p->c, i * p->c_row + j) != sum)
                return false;
        }
    return true;
}

static bool test_one(void (*multiply)(const struct blas_product *),
                     struct blas_product *p)
{
    struct test_matrices t;
    p->a = t.a;
    p->b = t.b;
    p->c = t.c;
    p->a_row = p->transpose_a ? p->m : p->k;
    p->b_row = p->transpose_b ? p->k : p->n;
    p->c_row = p->n;
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t k = 0; k < p->k; k++)
            store(p->dtype, t.a, p->transpose_a ? k * p->m + i : i * p->k + k,
                  known_a(i, k));
    for (int64_t k = 0; k < p->k; k++)
        for (int64_t j = 0; j < p->n; j++)
            store(p->dtype, t.b, p->transpose_b ? j * p->k + k : k * p->n + j,
                  known_b(k, j));
    for (int64_t i = 0; i < p->m * p->n; i++)
        store(p->dtype, t.c, i, p->beta == 0 ? (double)NAN : 1);
    multiply(p);
    return product_is_right(p);
}

bool blas_self_test(void (*multiply)(const struct blas_product *))
{
    static const int64_t shape[][3] = {{1, 1, 1},   {1, 67, 33}, {3, 5, 7},
                                       {17, 1, 65}, {33, 19, 1}, {67, 65, 66}};
    for (size_t s = 0; s < sizeof shape / sizeof *shape; s++)
        for (unsigned bits = 0; bits < 16; bits++) {
            struct blas_product p = {
                .dtype = bits & 1 ? ATTN_FLOAT64 : ATTN_FLOAT32,
                .transpose_a = bits & 2,
                .transpose_b = bits & 4,
                .alpha = bits & 2 ? 0.5 : 1,
                .beta = bits & 8 ? 1 : 0,
                .m = shape[s][0],
                .n = shape[s][1],
                .k = shape[s][2],
            };
            if (!test_one(multiply, &p))
                return false;
        }
    return true;
}

#if defined(OPENBLAS_VERSION)
static void name_core(const char *core)
{
    static const char maker[] = "OpenBLAS ";
    strcpy(name, maker);
    strncat(name, core, sizeof name - sizeof maker);
}
#endif

bool blas_init(void)
{
#if defined(OPENBLAS_VERSION)
    if (openblas_set_num_threads)
        openblas_set_num_threads(1);
    if (openblas_get_corename)
        name_core(openblas_get_corename());
#endif
    trusted = blas_self_test(multiply_by_cblas);
    return trusted;
}

bool blas_trusted(void)
{
    return trusted;
}

void blas_trust(bool yes)
{
    trusted = yes;
}

const char *blas_name(void)
{
    return name;
}
