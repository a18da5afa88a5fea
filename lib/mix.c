/* SPDX-License-Identifier: MIT */
/*
 * mix.c - the mixture of a tile's values.
 *
 *     O = O alpha + V^T P      O [d_v, W], P [columns, W], V [columns, d_v]
 *
 * P is 0 at hidden places, but 0 times NaN is NaN. So where a tile hides
 * something and V is not all finite, the spoilt numbers of V are taken out of
 * the product and added pair by pair where they are seen.
 */
#include "forward.h"
#include "real.h"

void *mix_row(const struct forward *f, const struct block *blk,
              const struct view v[2], int64_t key, int64_t *row)
{
    int64_t past = f->plan->n_past;
    const struct view *part = &v[key >= past];
    *row = part->row;
    return view_at(part, blk->b, blk->g, key >= past ? key - past : key);
}

/* V with 0 for what is not finite; false if all is. */
static bool leave_out_spoilt(const struct forward *f, struct block *blk,
                             const struct tile *t)
{
    int64_t row, d_v = f->plan->d_v, spoilt = 0;
    for (int64_t j = 0; j < t->columns; j++)
        spoilt += !f->row->finite(mix_row(f, blk, f->v, t->key + j, &row),
                                  d_v);
    for (int64_t j = 0; j < t->columns && spoilt; j++)
        f->row->make_finite(real_at(blk->v, j * d_v, f->size),
                            mix_row(f, blk, f->v, t->key + j, &row), d_v);
    return spoilt > 0;
}

/* What was left out, to the rows that see it. */
static void add_spoilt(const struct forward *f, struct block *blk,
                       const struct tile *t)
{
    int64_t row;
    for (int64_t r = 0; r < blk->rows; r++) {
        visible_row(f, blk, r, t, blk->map);
        for (int64_t j = 0; j < t->columns; j++) {
            double p = real_get(t->s, j * blk->lanes + r, f->size);
            if (blk->map[j])
                f->row->add_spoilt(real_at(blk->o, r, f->size), blk->lanes, p,
                                   mix_row(f, blk, f->v, t->key + j, &row),
                                   f->plan->d_v);
        }
    }
}

void mix_tile(const struct forward *f, struct block *blk,
              const struct tile *t)
{
    int64_t d_v = f->plan->d_v, row;
    const void *v = mix_row(f, blk, f->v, t->key, &row);
    bool spoilt = t->kind == TILE_MIXED && leave_out_spoilt(f, blk, t);
    if (spoilt) {
        v = blk->v;
        row = d_v;
    }
    f->kernel->mix(blk->vecs, t->columns, d_v, t->s, v, row, blk->alpha,
                   blk->o);
    if (spoilt)
        add_spoilt(f, blk, t);
}
