/* SPDX-License-Identifier: MIT */
/*
 * kernel.h - the compute kernels under the tile loop: attention over one block
 * of queries, a tile of keys at a time, for one type and one CPU level.
 *
 *     S = scale * K Q^T,   P = exp(S - m),   O = O alpha + V^T P
 *
 * A tile stands on its side: [keys][W], W = vecs * lanes queries next to each
 * other, a query in one lane of a vector. So K and V are read where they lie,
 * row by row with any stride, nothing but Q is packed, and no sum runs across
 * lanes. The bits of a query depend on its own row, on K and V and on where
 * the tiles of keys begin: not on its lane, on vecs, or on its neighbours.
 *
 * All pointers are to float or all to double; strides count elements; nothing
 * needs an alignment, 64 bytes is fastest. No function keeps a pointer,
 * allocates or fails; all are pure but for what they write.
 */

#ifndef ATTN_KERNEL_H
#define ATTN_KERNEL_H

#include "attention.h"

#include <stddef.h>
#include <stdint.h>

enum {
    KERNEL_VECS = 3,  /* the best vecs: more queries, less traffic */
    KERNEL_LINES = 4  /* the most rows that go over a key together */
};

struct kernel {
    const char *level; /* "v2", "v3", "v4", "base" */
    int lanes;         /* queries in a vector: 2 to 16 */

    /* --- a tile: 1 <= vecs <= KERNEL_VECS ------------------------------ */

    /* t[c][i] = x[i][c] for i < rows; lanes from rows on are zero.
       x [rows, n], t [n, W] */
    void (*columns)(int vecs, int64_t rows, int64_t n, const void *x,
                    int64_t x_row, void *t);

    /* s[j][i] = scale * sum of k[j][c] q[c][i], c upwards.
       q [d, W], k [n, d], s [n, W] */
    void (*scores)(int vecs, int64_t n, int64_t d, const void *q,
                   const void *k, int64_t k_row, double scale, void *s);

    /* s[j][i] = -Infinity unless low[i] <= j < high[i]; low, high [W] */
    void (*hide)(int vecs, int64_t n, const int64_t *low, const int64_t *high,
                 void *s);

    /* One step of the running softmax, lane by lane: m becomes the largest
       score so far, alpha = exp(m before - m), s = exp(s - m) in place,
       l = l alpha + sum of s. Start with m = -Infinity, l = 0. -Infinity
       gives exactly 0, all of them 0 as well (m stays -Infinity). NaN, and
       +Infinity as the largest, make l NaN. A sink is m = sink, l = 1 at the
       start. exp is right to 4 ulp, subnormal
       results included. s [n, W], m l alpha [W] */
    void (*softmax)(int vecs, int64_t n, void *s, void *m, void *l,
                    void *alpha);

    /* o[c][i] = o[c][i] alpha[i] + sum of v[j][c] p[j][i], j upwards. p = 0
       does not keep out a NaN or Infinity in V.
       p [n, W], v [n, d], alpha [W], o [d, W] */
    void (*mix)(int vecs, int64_t n, int64_t d, const void *p, const void *v,
                int64_t v_row, const void *alpha, void *o);

    /* x[i][c] = t[c][i] factor[i] for i < rows.
       t [n, W], factor [W], x [rows, n] */
    void (*rows)(int vecs, int64_t rows, int64_t n, const void *t,
                 const void *factor, void *x, int64_t x_row);

    /* --- a linear layer X W: `scores` of X's rows and W's columns ------- */

    /* t[c][i] = x[c][i] for i < columns; lanes from columns on are zero.
       x [n, columns], t [n, W] */
    void (*gather)(int vecs, int64_t columns, int64_t n, const void *x,
                   int64_t x_row, void *t);

    /* y[j][i] = s[j][i] + x[j][i] for i < columns; x NULL: zeros. y may be x;
       x_row may be 0.  s [n, W], or a part of its columns;
       x y [n, columns] */
    void (*add)(int vecs, int64_t columns, int64_t n, const void *s,
                const void *x, int64_t x_row, void *y, int64_t y_row);

    /* --- lines: the few queries that decoding has; not the same bits as in
       lanes, but those of a row alone. 1 <= rows <= KERNEL_LINES -------- */

    /* s[r][j] = scale * k[j] . q[r]; s_row is at least n rounded up to lanes.
       q [rows, d], k [n, d], s [rows, n] */
    void (*line_scores)(int rows, int64_t n, int64_t d, const void *q,
                        const void *k, int64_t k_row, double scale, void *s,
                        int64_t s_row);

    /* softmax of one line; m, l, alpha are one number each. Writes zeros up to
       the next multiple of lanes. */
    void (*line_softmax)(int64_t n, void *s, void *m, void *l, void *alpha);

    /* o[r][c] = o[r][c] alpha[r] + sum of p[r][j] v[j][c].
       p [rows, n], v [n, d], alpha [rows], o [rows, d] */
    void (*line_mix)(int rows, int64_t n, int64_t d, const void *p,
                     int64_t p_row, const void *v, int64_t v_row,
                     const void *alpha, void *o);
};

/* Chooses the best level of this CPU; called once, before the others. */
void attn_kernel_init(void);

/* The kernels of a type; constant after attn_init(). */
const struct kernel *attn_kernel(enum attn_dtype dtype);

/* Whose products: our own; the BLAS's for tiles, our own for lines, which are
   twice as fast; the BLAS's for both. */
enum kernel_products { KERNEL_OWN, KERNEL_BLAS_TILES, KERNEL_BLAS };

/* From now on attn_kernel() has these, at the level in use. */
void attn_kernel_products(enum kernel_products products);

/* Is there a level in this build that was tuned for CPUs like this one? */
bool attn_kernel_is_tuned(void);

/* For the tests: makes a level the chosen one, counted from 0, the best last;
   returns its name, NULL (and changes nothing) where this CPU has no more. */
const char *attn_kernel_force(size_t level);

#endif
