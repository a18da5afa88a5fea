/* SPDX-License-Identifier: MIT */
/*
 * row.h - what is done to one row of numbers: every option is one of these.
 *
 * There is a set for each type, and each is compiled for several CPU levels.
 * x, y, s are rows of n numbers of that type. A map has a byte for each key
 * of the row: 1 if it is visible; NULL says that all are.
 */
#ifndef ROW_H
#define ROW_H

#include "attention.h"

struct moments {
    double count, mean;
    double squares; /* sum of squared distances from the mean */
};

/* Pair first + t of dim / 2 turns by cos[t], sin[t], for t < count. */
struct row_turn {
    int64_t first, count, dim, width;
    const double *cos, *sin;
    bool interleaved; /* pairs (2t, 2t+1), not (t, t + dim/2) */
};

struct row_ops {
    /* x = a x */
    void (*scale)(void *x, int64_t n, double a);
    /* y = a y + b x */
    void (*combine)(void *y, double a, const void *x, double b, int64_t n);
    /* the same with an a and b for each element */
    void (*combine_lanes)(void *y, const void *a, const void *x, const void *b,
                          int64_t n);
    /* y[r][j] = a[j] y[r][j], y [rows, n]; not touched where all a are 1 */
    void (*scale_lanes)(void *y, int64_t rows, const void *a, int64_t n);
    void (*fill)(void *x, int64_t n, double value);
    /* s = cap tanh(s / cap) */
    void (*softcap)(void *s, int64_t n, double cap);
    /* s = s + x, x's elements being `step` (0 or 1) apart */
    void (*add)(void *s, int64_t n, const void *x, int64_t step);
    /* s[j] = s[j] - slope |p - j| */
    void (*alibi)(void *s, int64_t n, double slope, double p);
    /* s[j] = v . tanh(q + k[j]), k's rows being k_row elements apart */
    void (*additive)(void *s, int64_t n, const void *q, const void *k,
                     int64_t k_row, const void *v, int64_t width);

    /* map[j] = map[j] and mask; returns how many are left */
    int64_t (*see_mask)(unsigned char *map, int64_t n,
                        const unsigned char *mask, int64_t step);
    /* map[j] = map[j] and bias is not -Infinity */
    int64_t (*see_bias)(unsigned char *map, int64_t n, const void *bias,
                        int64_t step);
    /* s = -Infinity where hidden */
    void (*hide)(void *s, int64_t n, const unsigned char *map);
    /* x = 0 where hidden */
    void (*clear_hidden)(void *x, int64_t n, const unsigned char *map);

    /* The largest; NaN is passed over, the sum will bring it. */
    double (*max)(const void *s, int64_t n);
    /* Adds up exp(s - m) and exp(s - m) (s - m) over visible keys. */
    void (*entropy)(const void *s, int64_t n, const unsigned char *map,
                    double m, double *sum, double *weighted);
    void (*moments)(const void *x, int64_t n, const unsigned char *map,
                    struct moments *sum);

    bool (*finite)(const void *x, int64_t n);
    /* y = x, but 0 for what is not finite */
    void (*make_finite)(void *y, const void *x, int64_t n);
    /* y = y + a x, only where x is not finite; y's elements are `step` apart */
    void (*add_spoilt)(void *y, int64_t step, double a, const void *x,
                       int64_t n);
    /* y = x with some pairs of columns turned; the columns from dim on are
     * copied with the first pair. */
    void (*rotate)(void *y, const void *x, const struct row_turn *turn);
};

/* Once: takes the set of a CPU level, "v2", "v3", "v4" or "base". */
void row_init(const char *level);
const struct row_ops *row_ops(enum attn_dtype dtype);

/* a = the moments of both */
void moments_merge(struct moments *a, const struct moments *b);

#endif
