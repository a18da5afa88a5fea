/* SPDX-License-Identifier: MIT */
/*
 * view.h - where a row of some head lies, whatever the layout.
 */
#ifndef VIEW_H
#define VIEW_H

#include "plan.h"
#include "real.h"

struct view {
    char *data;
    int64_t batch, head, row; /* elements from one to the next */
    int64_t size;             /* bytes of an element */
};

/* [B, heads, n, width] or, packed, [B, n, heads * width]. */
struct view view_of(void *data, int64_t size, int64_t heads, int64_t n,
                    int64_t width, bool packed);

static inline void *view_at(const struct view *v, int64_t b, int64_t h,
                            int64_t row)
{
    return real_at(v->data, b * v->batch + h * v->head + row * v->row,
                   v->size);
}

/* PLAN_Q, PLAN_K or PLAN_V as given or projected; K and V the new rows. */
struct view view_operand(const struct attn_call *call, enum plan_job which);

/* The same after rotation, if there is one: what is compared. */
struct view view_turned(const struct attn_call *call, enum plan_job which);

/* The new rows of PLAN_K or PLAN_V as tiles read them: turned, and copied
 * where heads lay packed and many blocks go over them. */
struct view view_apart(const struct attn_call *call, enum plan_job which);

/* The cached rows of PLAN_K or PLAN_V. */
struct view view_past(const struct attn_call *call, enum plan_job which);

/* Where the mixtures of the heads go: output, or what W_O multiplies. */
struct view view_mixed(const struct attn_call *call);

/* mask or bias as if it were [B, H, n_q, n_k]: axes of one size stand. */
struct grid {
    const char *data; /* NULL: not given */
    int64_t batch, head, query, key; /* elements from one to the next */
    int64_t size;
};

struct grid view_grid(const struct attn_input *in, enum attn_in name);

static inline const void *grid_at(const struct grid *g, int64_t b, int64_t h,
                                  int64_t i, int64_t j)
{
    return g->data +
           (b * g->batch + h * g->head + i * g->query + j * g->key) * g->size;
}

#endif
