/* SPDX-License-Identifier: MIT */
/*
 * score.c - the scores of a tile, in exactly this order:
 *
 *     S_scaled     = scale * S
 *     S_softcapped = softcap * tanh(S_scaled / softcap)   with softcap > 0
 *     S_masked     = S_softcapped + bias + alibi          hidden: -Infinity
 *
 * Each is shown where it was asked for, at hidden places too.
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

static void *row_of(const struct forward *f, const struct block *blk,
                    const struct tile *t, int64_t r)
{
    return real_at(blk->s, r * t->columns, f->size);
}

static void show(const struct forward *f, const struct block *blk,
                 const struct tile *t, enum attn_out stage)
{
    if (!(f->in->returns & ATTN_RETURN(stage)))
        return;
    for (int64_t r = 0; r < blk->rows; r++) {
        char *to = block_row(f, blk, f->call->out->data[stage], r);
        memcpy(to + t->key * f->size, row_of(f, blk, t, r),
               (size_t)(t->columns * f->size));
    }
}

static void count(const struct forward *f, const struct block *blk,
                  const struct tile *t, struct moments *sum)
{
    if (!f->wants_stats || t->kind == TILE_HIDDEN)
        return;
    for (int64_t r = 0; r < blk->rows; r++)
        f->row->moments(row_of(f, blk, t, r), t->columns, map_of(blk, t, r),
                        sum);
}

static void add_bias(const struct forward *f, const struct block *blk,
                     const struct tile *t, int64_t r)
{
    if (f->bias.data)
        f->row->add(row_of(f, blk, t, r), t->columns,
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
    f->row->alibi(row_of(f, blk, t, r), t->columns,
                  real_get(slopes->data, block_head(blk, r), f->size),
                  (double)p - (double)t->key);
}

static void hide(const struct forward *f, const struct block *blk,
                 const struct tile *t, int64_t r)
{
    void *s = row_of(f, blk, t, r);
    if (t->kind == TILE_MIXED)
        f->row->hide(s, t->columns, map_of(blk, t, r));
    if (t->kind == TILE_HIDDEN)
        f->row->fill(s, t->columns, -INFINITY);
}

void score_tile(const struct forward *f, struct block *blk,
                const struct tile *t)
{
    show(f, blk, t, ATTN_OUT_S);
    count(f, blk, t, &blk->tally->s);

    for (int64_t r = 0; r < blk->rows && f->scale != 1; r++)
        f->row->scale(row_of(f, blk, t, r), t->columns, f->scale);
    show(f, blk, t, ATTN_OUT_S_SCALED);
    count(f, blk, t, &blk->tally->s_scaled);

    for (int64_t r = 0; r < blk->rows && f->in->softcap > 0; r++)
        f->row->softcap(row_of(f, blk, t, r), t->columns, f->in->softcap);
    show(f, blk, t, ATTN_OUT_S_SOFTCAPPED);

    for (int64_t r = 0; r < blk->rows; r++) {
        add_bias(f, blk, t, r);
        add_alibi(f, blk, t, r);
        hide(f, blk, t, r);
    }
    show(f, blk, t, ATTN_OUT_S_MASKED);
}
