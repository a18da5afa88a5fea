/* SPDX-License-Identifier: MIT */
/*
 * score.c - the scores of a tile, in exactly this order:
 *
 *     S_scaled     = scale * S
 *     S_softcapped = softcap * tanh(S_scaled / softcap)   with softcap > 0
 *     S_masked     = S_softcapped + bias + alibi          hidden: -Infinity
 *
 * Each is shown where it was asked for, at hidden places too. Where nothing
 * but intervals of keys is hidden and no stage is asked for, the tile stays as
 * the kernels hold it.
 */
#include <math.h>
#include <string.h>

#include "forward.h"
#include "real.h"

static const unsigned char *map_of(const struct block *blk,
                                   const struct tile *t, int64_t r)
{
    return t->kind == TILE_MIXED ? blk->map + r * t->columns : NULL;
}

static void *row_of(const struct forward *f, const struct tile *t, int64_t r)
{
    return real_at(t->rows, r * t->row, f->size);
}

static void show(const struct forward *f, const struct block *blk,
                 const struct tile *t, enum attn_out stage)
{
    void *all = f->call->out->data[stage];
    if (!(f->in->returns & ATTN_RETURN(stage)))
        return;
    for (int64_t r = 0; r < blk->rows; r++)
        memcpy(block_row(f, blk, all, r, t->key), row_of(f, t, r),
               (size_t)(t->columns * f->size));
}

static void count(const struct forward *f, const struct block *blk,
                  const struct tile *t, struct moments *sum)
{
    if (!f->wants_stats || t->kind == TILE_HIDDEN)
        return;
    for (int64_t r = 0; r < blk->rows; r++)
        f->row->moments(row_of(f, t, r), t->columns, map_of(blk, t, r),
                        sum);
}

static void add_bias(const struct forward *f, const struct block *blk,
                     const struct tile *t, int64_t r)
{
    if (f->bias.data)
        f->row->add(row_of(f, t, r), t->columns,
                    grid_at(&f->bias, blk->b, block_head(blk, r),
                            block_query(blk, r), t->key),
                    f->bias.key);
}

static void add_alibi(const struct forward *f, const struct block *blk,
                      const struct tile *t, int64_t r)
{
    const struct attn_tensor *slopes = &f->in->tensor[ATTN_ALIBI];
    if (!slopes->rank)
        return;
    int64_t p = visible_position(f->in, f->plan, blk->b, block_query(blk, r));
    f->row->alibi(row_of(f, t, r), t->columns,
                  real_get(slopes->data, block_head(blk, r), f->size),
                  (double)p - (double)t->key);
}

static void hide(const struct forward *f, const struct block *blk,
                 const struct tile *t, int64_t r)
{
    void *s = row_of(f, t, r);
    if (t->kind == TILE_MIXED)
        f->row->hide(s, t->columns, map_of(blk, t, r));
    if (t->kind == TILE_HIDDEN)
        f->row->fill(s, t->columns, -INFINITY);
}

/* All stages on rows, where something must see or change them there. */
static void score_rows(const struct forward *f, struct block *blk,
                       const struct tile *t)
{
    show(f, blk, t, ATTN_OUT_S);
    count(f, blk, t, &blk->tally->s);

    for (int64_t r = 0; r < blk->rows; r++)
        f->row->scale(row_of(f, t, r), t->columns, f->scale);
    show(f, blk, t, ATTN_OUT_S_SCALED);
    count(f, blk, t, &blk->tally->s_scaled);

    for (int64_t r = 0; r < blk->rows && f->in->softcap > 0; r++)
        f->row->softcap(row_of(f, t, r), t->columns, f->in->softcap);
    show(f, blk, t, ATTN_OUT_S_SOFTCAPPED);

    for (int64_t r = 0; r < blk->rows; r++) {
        add_bias(f, blk, t, r);
        add_alibi(f, blk, t, r);
        hide(f, blk, t, r);
    }
    show(f, blk, t, ATTN_OUT_S_MASKED);
}

/* S = v_a . tanh(Q W_a + K U_a), made in rows */
static void additive_scores(const struct forward *f, struct block *blk,
                            const struct tile *t, const void *k, int64_t k_row)
{
    const void *v_a = f->in->tensor[ATTN_V_A].data;
    for (int64_t r = 0; r < blk->rows; r++)
        f->row->additive(row_of(f, t, r), t->columns,
                         view_at(&f->q, blk->b, block_head(blk, r),
                                 block_query(blk, r)),
                         k, k_row, v_a, f->width);
}

void score_tile(const struct forward *f, struct block *blk,
                const struct tile *t)
{
    int64_t k_row;
    const void *k = block_key(f, blk, f->k, t->key, &k_row);
    if (!f->by_rows) {
        f->hold->scores(f, blk, t, k, k_row, f->scale);
        if (t->kind == TILE_MIXED)
            f->hold->hide(f, blk, t);
        return;
    }
    if (f->in->tensor[ATTN_V_A].rank) {
        additive_scores(f, blk, t, k, k_row);
    } else {
        f->hold->scores(f, blk, t, k, k_row, 1);
        f->hold->to_rows(f, blk, t);
    }
    score_rows(f, blk, t);
    f->hold->from_rows(f, blk, t);
}
