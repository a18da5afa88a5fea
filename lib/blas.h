/* SPDX-License-Identifier: MIT */
/*
 * blas.h - one product, of either type, through the BLAS.
 *
 * OpenBLAS chooses its kernels by the shape of a call, so the bits of a row
 * depend on how many rows the call has. Who wants the same bits makes the
 * same calls.
 */
#ifndef BLAS_H
#define BLAS_H

#include "attention.h"

/* C = alpha A B + beta C;  A: m x k or transposed, B: k x n or transposed.
 * alpha = 0 is no way to multiply by 0: the BLAS then reads neither A nor B. */
struct blas_product {
    enum attn_dtype dtype;
    bool transpose_a, transpose_b;
    int64_t m, n, k;
    const void *a, *b;
    void *c;
    int64_t a_row, b_row, c_row; /* elements from one stored row to the next */
    double alpha;
    double beta;                 /* 0: C is written without being read */
};

/* By plain loops where the BLAS failed its test. */
void blas_multiply(const struct blas_product *p);

/* Known matrices through `multiply`: odd sizes, transposed, NaN below beta 0.
 * True if all products are right. */
bool blas_self_test(void (*multiply)(const struct blas_product *));

/* One thread a call; then the self-test, whose answer is kept. */
bool blas_init(void);

/* May calls use the BLAS? The tests may force the answer. */
bool blas_trusted(void);
void blas_trust(bool trusted);

const char *blas_name(void);

#endif
