/* SPDX-License-Identifier: MIT */
/*
 * visible.c - positions, and the interval of keys that a row may see.
 *
 *     causal         j <= p
 *     window         p - left <= j  and  j <= p + right
 *     key_lengths    j < key_lengths[b]
 *
 * Both ends of the interval grow with p, so the hull of a block of queries
 * goes from the begin of its first to the end of its last. mask and bias then
 * are looked at pair by pair.
 */
#include "visible.h"

#include <string.h>

#include "forward.h"
#include "size.h"

static int64_t valid_keys(const struct attn_input *in,
                          const struct attn_plan *plan, int64_t b)
{
    const struct attn_tensor *lengths = &in->tensor[ATTN_KEY_LENGTHS];
    return lengths->rank ? ((const int64_t *)lengths->data)[b] : plan->n_k;
}

int64_t visible_position(const struct attn_input *in,
                         const struct attn_plan *plan, int64_t b, int64_t i)
{
    const struct attn_tensor *offset = &in->tensor[ATTN_OFFSET];
    if (in->offset_end)
        return i + valid_keys(in, plan, b) - plan->n_q;
    if (!offset->rank)
        return i + plan->n_past;
    const int64_t *given = offset->data;
    return size_shift(i, given[offset->dim[0] == 1 ? 0 : b]);
}

struct interval visible_hull(const struct attn_input *in,
                             const struct attn_plan *plan, int64_t b,
                             int64_t i, int64_t count)
{
    int64_t first = visible_position(in, plan, b, i);
    int64_t last = visible_position(in, plan, b, i + count - 1);
    struct interval keys = {0, valid_keys(in, plan, b)};
    if (in->window_left != ATTN_OPEN)
        keys.begin = size_max(0, size_shift(first, -in->window_left));
    if (in->causal)
        keys.end = size_min(keys.end, size_shift(last, 1));
    if (in->window_right != ATTN_OPEN)
        keys.end = size_min(keys.end,
                            size_shift(size_shift(last, in->window_right), 1));
    keys.end = size_max(keys.end, 0);
    keys.begin = size_min(keys.begin, keys.end);
    return keys;
}

/* ---------------------------------------------------------------- tiles */

/* The row's interval within the tile, counted from the tile's first key. */
static struct interval row_interval(const struct forward *f,
                                    const struct block *blk, int64_t r,
                                    const struct tile *t)
{
    struct interval keys = visible_hull(f->in, f->plan, blk->b,
                                        block_query(blk, r), 1);
    keys.begin = size_min(size_max(keys.begin - t->key, 0), t->columns);
    keys.end = size_min(size_max(keys.end - t->key, keys.begin), t->columns);
    return keys;
}

static int64_t map_row(const struct forward *f, const struct block *blk,
                       int64_t r, const struct tile *t, unsigned char *map)
{
    struct interval keys = row_interval(f, blk, r, t);
    int64_t count = keys.end - keys.begin;
    int64_t h = block_head(blk, r), i = block_query(blk, r);
    int64_t first = t->key + keys.begin;
    memset(map, 0, (size_t)t->columns);
    memset(map + keys.begin, 1, (size_t)count);
    if (f->mask.data && count)
        count = f->row->see_mask(map + keys.begin, keys.end - keys.begin,
                                 grid_at(&f->mask, blk->b, h, i, first),
                                 f->mask.key);
    if (f->bias.data && count)
        count = f->row->see_bias(map + keys.begin, keys.end - keys.begin,
                                 grid_at(&f->bias, blk->b, h, i, first),
                                 f->bias.key);
    return count;
}

void visible_row(const struct forward *f, const struct block *blk, int64_t r,
                 const struct tile *t, unsigned char *map)
{
    map_row(f, blk, r, t, map);
}

/* The first query's interval ends first, the last one's begins last. */
static bool all_see_all(const struct forward *f, const struct block *blk,
                        const struct tile *t)
{
    int64_t last = blk->i + blk->queries - 1;
    return visible_hull(f->in, f->plan, blk->b, blk->i, 1).end >=
               t->key + t->columns &&
           visible_hull(f->in, f->plan, blk->b, last, 1).begin <= t->key;
}

/* low, high and the number of visible keys of each row, and of all; where
 * there is nothing to hide the number alone. */
static int64_t by_intervals(const struct forward *f, struct block *blk,
                            const struct tile *t)
{
    int64_t all = 0;
    if (all_see_all(f, blk, t)) {
        for (int64_t r = 0; r < blk->rows; r++)
            blk->seen[r] += t->columns;
        return blk->rows * t->columns;
    }
    for (int64_t r = 0; r < blk->rows; r++) {
        struct interval keys = row_interval(f, blk, r, t);
        blk->low[r] = keys.begin;
        blk->high[r] = keys.end;
        blk->seen[r] += keys.end - keys.begin;
        all += keys.end - keys.begin;
    }
    for (int64_t r = blk->rows; r < blk->lanes; r++) {
        blk->low[r] = 0;
        blk->high[r] = t->columns;
    }
    return all;
}

static int64_t by_maps(const struct forward *f, struct block *blk,
                       const struct tile *t)
{
    int64_t all = 0;
    for (int64_t r = 0; r < blk->rows; r++) {
        int64_t count = map_row(f, blk, r, t, blk->map + r * t->columns);
        blk->seen[r] += count;
        all += count;
    }
    return all;
}

enum tile_kind visible_tile(const struct forward *f, struct block *blk,
                            const struct tile *t)
{
    int64_t all;
    if (blk->hull.begin >= t->key + t->columns || blk->hull.end <= t->key)
        return TILE_HIDDEN;
    all = f->by_rows ? by_maps(f, blk, t) : by_intervals(f, blk, t);
    if (all == 0)
        return TILE_HIDDEN;
    return all == blk->rows * t->columns ? TILE_VISIBLE : TILE_MIXED;
}
