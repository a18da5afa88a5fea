/* SPDX-License-Identifier: MIT */
/*
 * forward.c - the tile loop: the tasks of ATTEND and of MERGE, in steps.
 *
 * A task goes twice over its keys: first tile by tile through scores,
 * softmax and mixture; then, if A is wanted, over the pieces of P that were
 * left there, to set them right. Between two tiles or pieces it may stop.
 */
#include "forward.h"

#include <math.h>
#include <string.h>

#include "real.h"
#include "size.h"

/* Operations of one call of attn_run_task(), about a millisecond. */
#define STEP ((int64_t)30000000)

/* Tiles begin at multiples of `columns`; the hull ends at multiples of this,
 * so that a narrow window does not pay for the whole of its tiles. */
#define GRAIN 64

/* ---------------------------------------------------------------- tiles */

static int64_t border(int64_t best, int64_t key, int64_t candidate)
{
    return candidate > key && candidate < best ? candidate : best;
}

/* The next tile, or false. Borders: multiples of columns, the hull, the end
 * of the cache. What is beyond the hull is visited only to be shown. */
static bool next_tile(const struct forward *f, struct block *blk,
                      struct tile *t)
{
    int64_t begin = blk->hull.begin / GRAIN * GRAIN;
    int64_t end = size_ceil(blk->hull.end, GRAIN) * GRAIN;
    int64_t columns = f->layout->columns;
    if (!f->a && !f->wants_stages) {
        blk->key = size_max(blk->key, begin);
        blk->range.end = size_min(blk->range.end, end);
    }
    if (blk->key >= blk->range.end)
        return false;
    int64_t next = blk->range.end;
    next = border(next, blk->key, (blk->key / columns + 1) * columns);
    next = border(next, blk->key, begin);
    next = border(next, blk->key, end);
    next = border(next, blk->key, f->plan->n_past);
    t->key = blk->key;
    t->columns = next - blk->key;
    blk->key = next;
    return true;
}

/* P as it is now; the m it was made with is kept beside it. */
static void keep_piece(const struct forward *f, struct block *blk,
                       const struct tile *t)
{
    int64_t piece = blk->n_pieces++;
    blk->piece_key[piece] = t->key;
    blk->piece_columns[piece] = t->columns;
    for (int64_t r = 0; r < blk->rows; r++) {
        char *to = block_row(f, blk, f->a, r);
        blk->piece_m[piece * blk->rows + r] = blk->m[r];
        memcpy(to + t->key * f->size,
               real_at(blk->s, r * t->columns, f->size),
               (size_t)(t->columns * f->size));
    }
}

static void zero_piece(const struct forward *f, struct block *blk,
                       const struct tile *t)
{
    for (int64_t r = 0; r < blk->rows; r++) {
        char *to = block_row(f, blk, f->a, r);
        memset(to + t->key * f->size, 0, (size_t)(t->columns * f->size));
    }
}

static void run_tile(const struct forward *f, struct block *blk,
                     struct tile *t)
{
    t->kind = visible_tile(f, blk, t);
    if (t->kind != TILE_HIDDEN || f->wants_stages) {
        product_scores(f, blk, t);
        score_tile(f, blk, t);
    }
    if (t->kind == TILE_HIDDEN) {
        if (f->a)
            zero_piece(f, blk, t);
        return;
    }
    softmax_tile(f, blk, t);
    if (f->a)
        keep_piece(f, blk, t);
    if (f->wants_output)
        product_mix(f, blk, t);
}

/* ------------------------------------------------------------------ end */

static void write_output(const struct forward *f, struct block *blk)
{
    int64_t d_v = f->plan->d_v;
    for (int64_t r = 0; r < blk->rows && f->wants_output; r++) {
        void *o = real_at(blk->o, r * d_v, f->size);
        if (blk->seen[r])
            f->row->scale(o, d_v, blk->factor[r]);
        else
            f->row->fill(o, d_v, 0);
        memcpy(view_at(&f->mixed, blk->b, block_head(blk, r),
                       block_query(blk, r)),
               o, (size_t)(d_v * f->size));
    }
}

static void leave_partial(const struct forward *f, struct block *blk)
{
    struct partial p;
    int64_t rows = blk->rows;
    char *memory = f->call->shared;
    partial_lay_out(&p, f->in, f->plan,
                    memory + f->layout->partial_at +
                        blk->task * f->layout->partial_bytes);
    memcpy(p.o, blk->o, (size_t)(rows * f->plan->d_v * f->size));
    for (int64_t r = 0; r < rows; r++) {
        p.seen[r] = blk->seen[r];
        p.m[r] = blk->m[r];
        p.l[r] = blk->l[r];
        p.sum[r] = blk->sum[r];
        p.weighted[r] = blk->weighted[r];
        blk->factor[r] = 1; /* MERGE will divide */
    }
}

static void close_tiles(const struct forward *f, struct block *blk)
{
    blk->stage = BLOCK_RESCALE;
    if (f->layout->ranges > 1) {
        leave_partial(f, blk);
        return;
    }
    softmax_close(f, blk);
    write_output(f, blk);
}

/* A factor that is no number is for visible keys only. */
static void spoil_visible(const struct forward *f, struct block *blk,
                          int64_t r, char *a, struct tile t, double factor)
{
    int64_t end = t.key + t.columns;
    for (; t.key < end; t.key += t.columns) {
        t.columns = size_min(f->layout->columns, end - t.key);
        visible_row(f, blk, r, &t, blk->map);
        f->row->scale_visible(a + t.key * f->size, t.columns, factor,
                              blk->map);
    }
}

/* A = P exp(m_then - m) / l, over the rows of one piece. */
static void rescale_piece(const struct forward *f, struct block *blk,
                          int64_t piece)
{
    const struct tile t = {blk->piece_key[piece], blk->piece_columns[piece],
                           TILE_MIXED};
    for (int64_t r = 0; r < blk->rows; r++) {
        char *a = block_row(f, blk, f->a, r);
        double m = blk->m[r] == -INFINITY ? 0 : blk->m[r];
        double then = blk->piece_m[piece * blk->rows + r];
        double factor = exp(then - m) * blk->factor[r];
        if (isfinite(factor))
            f->row->scale(a + t.key * f->size, t.columns, factor);
        else
            spoil_visible(f, blk, r, a, t, factor);
    }
}

static bool rescale_next(const struct forward *f, struct block *blk)
{
    if (blk->piece >= blk->n_pieces)
        return false;
    rescale_piece(f, blk, blk->piece++);
    return true;
}

/* ---------------------------------------------------------------- tasks */

static struct tally *fresh_tally(const struct forward *f, int64_t index)
{
    char *shared = f->call->shared;
    struct tally *tally = (struct tally *)(shared + f->layout->tally_at);
    tally[index] = (struct tally){.sum_min = INFINITY, .sum_max = -INFINITY};
    return &tally[index];
}

bool forward_attend(const struct attn_call *call, int64_t task,
                    void *workspace, int64_t *resume)
{
    struct forward f;
    struct block *blk = workspace;
    struct tile t;
    forward_open(&f, call);
    if (*resume == 0) {
        block_open(&f, blk, task);
        blk->tally = fresh_tally(&f, task);
        *resume = 1;
    }
    for (int64_t left = STEP; left > 0;) {
        if (blk->stage == BLOCK_TILES && next_tile(&f, blk, &t)) {
            run_tile(&f, blk, &t);
            left -= blk->rows * (t.columns + 8) * f.layout->pair_cost;
        } else if (blk->stage == BLOCK_TILES) {
            close_tiles(&f, blk);
        } else if (rescale_next(&f, blk)) {
            left -= blk->rows * f.layout->columns * 16;
        } else {
            return true;
        }
    }
    return false;
}

/* The ranges of the same rows, in the order of their keys; they are then the
 * pieces of A. */
static void merge_ranges(const struct forward *f, struct block *blk,
                         int64_t task)
{
    const struct plan_layout *l = f->layout;
    char *shared = f->call->shared;
    struct partial p;
    for (int64_t range = 0; range < l->ranges; range++) {
        partial_lay_out(&p, f->in, f->plan,
                        shared + l->partial_at +
                            (task * l->ranges + range) * l->partial_bytes);
        for (int64_t r = 0; r < blk->rows; r++)
            softmax_merge(f, blk, r, &p);
        if (!f->a)
            continue;
        blk->piece_key[range] = range * l->range_keys;
        blk->piece_columns[range] = size_min(l->range_keys, f->plan->n_k -
                                             range * l->range_keys);
        memcpy(blk->piece_m + range * blk->rows, p.m,
               (size_t)blk->rows * sizeof(double));
        blk->n_pieces = range + 1;
    }
}

bool forward_merge(const struct attn_call *call, int64_t task,
                   void *workspace, int64_t *resume)
{
    struct forward f;
    struct block *blk = workspace;
    forward_open(&f, call);
    if (*resume == 0) {
        block_open_rows(&f, blk, task);
        blk->tally = fresh_tally(&f, task + f.plan->B * f.layout->groups *
                                            f.layout->row_blocks *
                                            f.layout->ranges);
        merge_ranges(&f, blk, task);
        softmax_close(&f, blk);
        write_output(&f, blk);
        *resume = 1;
    }
    for (int64_t left = STEP; left > 0;) {
        if (!rescale_next(&f, blk))
            return true;
        left -= blk->rows * f.layout->range_keys * 16;
    }
    return false;
}
