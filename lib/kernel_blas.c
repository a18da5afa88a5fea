/* SPDX-License-Identifier: MIT */
/*
 * kernel_blas.c - the products of a tile through the BLAS: the four kernels
 * that multiply.
 *
 *     scores       S [n, W]    = scale K Q           K [n, d]  Q [d, W]
 *     mix          O [d, W]    = O alpha + V^T P     V [n, d]  P [n, W]
 *     line_scores  S [rows, n] = scale Q K^T
 *     line_mix     O [rows, d] = O alpha + P V
 *
 * The BLAS chooses its kernels by the shape of a product, so the bits of a
 * query depend on how many queries and keys its tile has, which follows from
 * the item's shape; those of our own kernels depend on its own row alone.
 */
#include "kernel_blas.h"

#include "blas.h"
#include "real.h"
#include "row.h"

/* A product scaled by 0 is not read: there NaN comes through by another way. */
static void multiply_scaled(struct blas_product *p, double scale)
{
    p->alpha = scale == 0 ? 1 : scale;
    blas_multiply(p);
    for (int64_t i = 0; i < p->m && scale == 0; i++)
        row_ops(p->dtype)->scale(
            real_at(p->c, i * p->c_row, (int64_t)attn_dtype_bytes(p->dtype)),
            p->n, scale);
}

static void scores(enum attn_dtype dtype, int vecs, int64_t n, int64_t d,
                   const void *q, const void *k, int64_t k_row, double scale,
                   void *s)
{
    int64_t w = vecs * attn_kernel(dtype)->lanes;

    multiply_scaled(&(struct blas_product){.dtype = dtype, .m = n, .n = w,
                                           .k = d, .a = k, .a_row = k_row,
                                           .b = q, .b_row = w, .c = s,
                                           .c_row = w}, scale);
}

static void mix(enum attn_dtype dtype, int vecs, int64_t n, int64_t d,
                const void *p, const void *v, int64_t v_row,
                const void *alpha, void *o)
{
    int64_t w = vecs * attn_kernel(dtype)->lanes;

    row_ops(dtype)->scale_lanes(o, d, alpha, w);
    blas_multiply(&(struct blas_product){.dtype = dtype, .transpose_a = true,
                                         .m = d, .n = w, .k = n, .a = v,
                                         .a_row = v_row, .b = p, .b_row = w,
                                         .c = o, .c_row = w, .alpha = 1,
                                         .beta = 1});
}

static void line_scores(enum attn_dtype dtype, int rows, int64_t n, int64_t d,
                        const void *q, const void *k, int64_t k_row,
                        double scale, void *s, int64_t s_row)
{
    multiply_scaled(&(struct blas_product){.dtype = dtype, .transpose_b = true,
                                           .m = rows, .n = n, .k = d, .a = q,
                                           .a_row = d, .b = k, .b_row = k_row,
                                           .c = s, .c_row = s_row}, scale);
}

static void line_mix(enum attn_dtype dtype, int rows, int64_t n, int64_t d,
                     const void *p, int64_t p_row, const void *v,
                     int64_t v_row, const void *alpha, void *o)
{
    int64_t size = (int64_t)attn_dtype_bytes(dtype);

    for (int r = 0; r < rows; r++)
        row_ops(dtype)->scale(real_at(o, r * d, size), d,
                              real_get(alpha, r, size));
    blas_multiply(&(struct blas_product){.dtype = dtype, .m = rows, .n = d,
                                         .k = n, .a = p, .a_row = p_row,
                                         .b = v, .b_row = v_row, .c = o,
                                         .c_row = d, .alpha = 1, .beta = 1});
}

/* The four of one type, as struct kernel wants them. */
#define OF_TYPE(type, dtype) \
    static void scores_##type(int vecs, int64_t n, int64_t d, const void *q, \
                              const void *k, int64_t k_row, double scale, \
                              void *s) \
    { \
        scores(dtype, vecs, n, d, q, k, k_row, scale, s); \
    } \
    static void mix_##type(int vecs, int64_t n, int64_t d, const void *p, \
                           const void *v, int64_t v_row, const void *alpha, \
                           void *o) \
    { \
        mix(dtype, vecs, n, d, p, v, v_row, alpha, o); \
    } \
    static void line_scores_##type(int rows, int64_t n, int64_t d, \
                                   const void *q, const void *k, \
                                   int64_t k_row, double scale, void *s, \
                                   int64_t s_row) \
    { \
        line_scores(dtype, rows, n, d, q, k, k_row, scale, s, s_row); \
    } \
    static void line_mix_##type(int rows, int64_t n, int64_t d, \
                                const void *p, int64_t p_row, const void *v, \
                                int64_t v_row, const void *alpha, void *o) \
    { \
        line_mix(dtype, rows, n, d, p, p_row, v, v_row, alpha, o); \
    }

OF_TYPE(f32, ATTN_FLOAT32)
OF_TYPE(f64, ATTN_FLOAT64)

void kernel_by_blas(struct kernel *k, enum attn_dtype dtype, bool lines)
{
    bool f64 = dtype == ATTN_FLOAT64;

    k->scores = f64 ? scores_f64 : scores_f32;
    k->mix = f64 ? mix_f64 : mix_f32;
    if (!lines)
        return;
    k->line_scores = f64 ? line_scores_f64 : line_scores_f32;
    k->line_mix = f64 ? line_mix_f64 : line_mix_f32;
}
