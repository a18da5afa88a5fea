/* SPDX-License-Identifier: MIT */
/*
 * product.c - the two products of a tile.
 *
 *     S = Q K^T, or v_a . tanh(Q W_a + K U_a)      [rows, columns]
 *     O = O alpha + P V                            [rows, d_v]
 *
 * P is 0 at hidden places, but 0 times NaN is NaN. So where a tile hides
 * something and V is not all finite, the spoilt numbers of V are taken out of
 * the product and added pair by pair where they are seen.
 */
#include "blas.h"
#include "forward.h"
#include "real.h"

/* Row `key` of cached and new rows; tiles lie in one of them. */
static void *key_row(const struct forward *f, const struct block *blk,
                     const struct view v[2], int64_t key, int64_t *row)
{
    int64_t past = f->plan->n_past;
    const struct view *part = &v[key >= past];
    *row = part->row;
    return view_at(part, blk->b, blk->g, key >= past ? key - past : key);
}

static void additive_scores(const struct forward *f, struct block *blk,
                            const struct tile *t)
{
    const struct attn_tensor *v_a = &f->in->tensor[ATTN_V_A];
    int64_t row;
    const void *k = key_row(f, blk, f->k, t->key, &row);
    for (int64_t r = 0; r < blk->rows; r++)
        f->row->additive(real_at(blk->s, r * t->columns, f->size), t->columns,
                         real_at(blk->q, r * v_a->dim[0], f->size), k, row,
                         v_a->data, v_a->dim[0]);
}

void product_scores(const struct forward *f, struct block *blk,
                    const struct tile *t)
{
    if (f->in->tensor[ATTN_V_A].rank) {
        additive_scores(f, blk, t);
        return;
    }
    struct blas_product p = {
        .dtype = f->in->dtype,
        .transpose_b = true,
        .m = blk->rows,
        .n = t->columns,
        .k = f->plan->d_k,
        .a = blk->q,
        .a_row = f->plan->d_k,
        .c = blk->s,
        .c_row = t->columns,
    };
    p.b = key_row(f, blk, f->k, t->key, &p.b_row);
    blas_multiply(&p);
}

/* V with 0 for what is not finite; false if all is. */
static bool leave_out_spoilt(const struct forward *f, struct block *blk,
                             const struct tile *t)
{
    int64_t row, d_v = f->plan->d_v, spoilt = 0;
    for (int64_t j = 0; j < t->columns; j++)
        spoilt += !f->row->finite(key_row(f, blk, f->v, t->key + j, &row),
                                  d_v);
    for (int64_t j = 0; j < t->columns && spoilt; j++)
        f->row->make_finite(real_at(blk->v, j * d_v, f->size),
                            key_row(f, blk, f->v, t->key + j, &row), d_v);
    return spoilt > 0;
}

/* What was left out, to the rows that see it. */
static void add_spoilt(const struct forward *f, struct block *blk,
                       const struct tile *t)
{
    int64_t row, d_v = f->plan->d_v;
    for (int64_t j = 0; j < t->columns; j++) {
        const void *v = key_row(f, blk, f->v, t->key + j, &row);
        if (f->row->finite(v, d_v))
            continue;
        for (int64_t r = 0; r < blk->rows; r++)
            if (blk->map[r * t->columns + j])
                f->row->add_spoilt(real_at(blk->o, r * d_v, f->size), v,
                                   real_get(blk->s, r * t->columns + j,
                                            f->size), d_v);
    }
}

void product_mix(const struct forward *f, struct block *blk,
                 const struct tile *t)
{
    struct blas_product p = {
        .dtype = f->in->dtype,
        .m = blk->rows,
        .n = f->plan->d_v,
        .k = t->columns,
        .a = blk->s,
        .a_row = t->columns,
        .c = blk->o,
        .c_row = f->plan->d_v,
        .beta = 1,
    };
    p.b = key_row(f, blk, f->v, t->key, &p.b_row);
    bool spoilt = t->kind == TILE_MIXED && leave_out_spoilt(f, blk, t);
    if (spoilt) {
        p.b = blk->v;
        p.b_row = f->plan->d_v;
    }
    for (int64_t r = 0; r < blk->rows; r++)
        f->row->scale(real_at(blk->o, r * f->plan->d_v, f->size),
                      f->plan->d_v, blk->alpha[r]);
    blas_multiply(&p);
    if (spoilt)
        add_spoilt(f, blk, t);
}
