/* SPDX-License-Identifier: MIT */
/*
 * reference.h - what the two halves of the reference share: one call laid
 * out in plain arrays of double, and how the caller's numbers are read and
 * written. Every value is rounded to the dtype when it is put and never
 * before.
 */
#ifndef REFERENCE_H
#define REFERENCE_H

#include "attention.h"

struct variance {
    double count;
    double mean;
    double squares; /* sum of squared distances from the mean */
};

/* Rows first ... first + count - 1 of each head of [B, heads, n, d]. */
struct reference_rows {
    double *all;
    int64_t heads, n, d;
    int64_t first, count;
};

struct reference {
    const struct attn_input *in;
    const struct attn_plan *plan;
    struct attn_output *out;

    double *q;     /* [B, H, n_q, d_k] */
    double *k;     /* [B, G, n_k, d_k], cached keys first */
    double *v;     /* [B, G, n_k, d_v] */
    double *heads; /* [B, n_q, H, d_v]: the mixtures, before W_O */

    double *s;      /* [n_k] one row of scores, stage after stage */
    double *a;      /* [n_k] the same row's weights */
    double *a_mean; /* [n_k] their mean over the heads */
    bool *visible;  /* [n_k] */

    struct variance s_variance, s_scaled_variance; /* of visible scores */
    double rows;                                   /* that see a key */

    struct reference_rows new_q, new_k, new_v; /* of this call */
    int pass;                                  /* where it stands */
    int64_t unit;
};

/* The memory of one call: the struct, then its arrays. Aligned to 64. */
int64_t reference_bytes(const struct attn_plan *plan);
struct reference *reference_open(void *memory, const struct attn_input *in,
                                 const struct attn_plan *plan,
                                 struct attn_output *out);

/* One unit of the work, a row mostly; true when it was the last. */
bool reference_step(struct reference *r);

static inline bool given(const struct reference *r, enum attn_in name)
{
    return r->in->tensor[name].rank > 0;
}

static inline double number(const struct reference *r, enum attn_in name,
                            int64_t index)
{
    const void *data = r->in->tensor[name].data;
    if (r->in->dtype == ATTN_FLOAT64)
        return ((const double *)data)[index];
    return (double)((const float *)data)[index];
}

static inline void put(const struct reference *r, enum attn_out name,
                       int64_t index, double value)
{
    if (!(r->in->returns & ATTN_RETURN(name)))
        return;
    if (r->in->dtype == ATTN_FLOAT64)
        ((double *)r->out->data[name])[index] = value;
    else
        ((float *)r->out->data[name])[index] = (float)value;
}

/* Where query i of item b stands among the keys. */
int64_t reference_position(const struct reference *r, int64_t b, int64_t i);

/* q, k, v -> heads, and on the way all that has the axes of A, and stats:
 * before the first row; query i of item b, all heads; behind the last row. */
void reference_attend_begin(struct reference *r);
void reference_attend(struct reference *r, int64_t b, int64_t i);
void reference_attend_end(struct reference *r);

#endif
