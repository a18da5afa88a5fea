/* SPDX-License-Identifier: MIT */
/*
 * mix.c - the mixture of a tile's values.
 *
 *     O = O alpha + P V      O [rows, d_v], P [rows, columns], V [columns, d_v]
 *
 * P is 0 at hidden places, but 0 times NaN is NaN. So where a tile hides
 * something and V is not all finite, the spoilt numbers of V are taken out of
 * the product and added pair by pair where they are seen.
 */
#include "forward.h"
#include "real.h"

/* V with 0 for what is not finite; false if all is. */
static bool leave_out_spoilt(const struct forward *f, struct block *blk,
                             const struct tile *t)
{
    int64_t row, d_v = f->plan->d_v, spoilt = 0;
    for (int64_t j = 0; j < t->columns; j++)
        spoilt += !f->row->finite(block_key(f, blk, f->v, t->key + j, &row),
                                  d_v);
    for (int64_t j = 0; j < t->columns && spoilt; j++)
        f->row->make_finite(real_at(blk->v, j * d_v, f->size),
                            block_key(f, blk, f->v, t->key + j, &row), d_v);
    return spoilt > 0;
}

/* What was left out, to the rows that see it. */
static void add_spoilt(const struct forward *f, struct block *blk,
                       const struct tile *t)
{
    int64_t row;
    for (int64_t r = 0; r < blk->rows; r++) {
        visible_row(f, blk, r, t, blk->map);
        for (int64_t j = 0; j < t->columns; j++)
            if (blk->map[j])
                f->hold->mix_spoilt(f, blk, t, r, j,
                                    block_key(f, blk, f->v, t->key + j,
                                              &row));
    }
}

void mix_tile(const struct forward *f, struct block *blk,
              const struct tile *t)
{
    int64_t row;
    const void *v = block_key(f, blk, f->v, t->key, &row);
    if (t->kind == TILE_MIXED && leave_out_spoilt(f, blk, t)) {
        f->hold->mix(f, blk, t, blk->v, f->plan->d_v);
        add_spoilt(f, blk, t);
        return;
    }
    f->hold->mix(f, blk, t, v, row);
}
