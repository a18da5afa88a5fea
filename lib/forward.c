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
#define GRAIN 16

/* ---------------------------------------------------------------- tiles */

static int64_t border(int64_t best, int64_t key, int64_t candidate)
{
    return candidate > key && candidate < best ? candidate : best;
}

/* Where its S is. With A, P stays: it begins where the tile does among the
 * keys of the range. */
static void place_tile(const struct forward *f, const struct block *blk,
                       struct tile *t)
{
    int64_t before = f->a ? t->key % f->layout->range_keys : 0;
    t->rows = blk->spare;
    t->row = t->columns;
    t->s = real_at(blk->s, before * (f->layout->lines ? 1 : blk->lanes),
                   f->size);
    if (f->layout->lines) {
        t->rows = t->s;
        t->row = blk->line;
    }
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
    place_tile(f, blk, t);
    return true;
}

/* P is left where it is; the m it was made with is kept. */
static void keep_piece(const struct forward *f, struct block *blk,
                       const struct tile *t)
{
    int64_t piece = blk->n_pieces++;
    blk->piece_key[piece] = t->key;
    blk->piece_columns[piece] = t->columns;
    memcpy(real_at(blk->piece_m, piece * blk->lanes, f->size), blk->m,
           (size_t)(blk->lanes * f->size));
}

static void zero_piece(const struct forward *f, struct block *blk,
                       const struct tile *t)
{
    for (int64_t r = 0; r < blk->rows; r++)
        f->row->fill(block_row(f, blk, f->a, r, t->key), t->columns, 0);
}

static void run_tile(const struct forward *f, struct block *blk,
                     struct tile *t)
{
    t->kind = visible_tile(f, blk, t);
    if (t->kind != TILE_HIDDEN || f->wants_stages)
        score_tile(f, blk, t);
    if (t->kind == TILE_HIDDEN) {
        if (f->a)
            zero_piece(f, blk, t);
        return;
    }
    softmax_tile(f, blk, t);
    if (f->a)
        keep_piece(f, blk, t);
    if (f->wants_output)
        mix_tile(f, blk, t);
}

/* ------------------------------------------------------------------ end */

static char *partial_of(const struct forward *f, int64_t task)
{
    char *shared = f->call->shared;
    return shared + f->layout->partial_at + task * f->layout->partial_bytes;
}

static void leave_partial(const struct forward *f, struct block *blk)
{
    struct partial p;
    partial_lay_out(&p, f->in, f->plan, partial_of(f, blk->task));
    memcpy(p.o, blk->o, (size_t)(blk->lanes * f->plan->d_v * f->size));
    for (int64_t r = 0; r < blk->lanes; r++) {
        p.seen[r] = blk->seen[r];
        p.m[r] = real_get(blk->m, r, f->size);
        p.l[r] = real_get(blk->l, r, f->size);
        p.sum[r] = blk->sum[r];
        p.weighted[r] = blk->weighted[r];
    }
    f->row->fill(blk->factor, blk->lanes, 1); /* MERGE will divide */
}

static void close_tiles(const struct forward *f, struct block *blk)
{
    blk->stage = BLOCK_WEIGHTS;
    if (f->layout->ranges > 1) {
        leave_partial(f, blk);
        return;
    }
    softmax_close(f, blk);
    if (f->wants_output)
        f->hold->output(f, blk);
}

/* turned = exp(m_then - m) factor: what a piece is short of being A. */
static void turn_factor(const struct forward *f, struct block *blk, int64_t r,
                        double m_then)
{
    double m = real_get(blk->m, r, f->size);
    double alpha = m_then == m ? 1 : exp(m_then - m);
    real_put(blk->turned, r, f->size,
             alpha * real_get(blk->factor, r, f->size));
}

/* Where a factor is no number it is for visible keys only. */
static void clear_hidden(const struct forward *f, struct block *blk,
                         struct tile t)
{
    int64_t begin = t.key, end = t.key + t.columns;
    for (int64_t r = 0; r < blk->rows; r++) {
        if (isfinite(real_get(blk->turned, r, f->size)))
            continue;
        for (int64_t key = begin; key < end; key += t.columns) {
            t.key = key;
            t.columns = size_min(f->layout->columns, end - key);
            visible_row(f, blk, r, &t, blk->map);
            f->row->clear_hidden(block_row(f, blk, f->a, r, key), t.columns,
                                 blk->map);
        }
    }
}

/* A = P exp(m_then - m) / l, the next piece of it; false if there is none. */
static bool write_weights(const struct forward *f, struct block *blk)
{
    if (blk->piece >= blk->n_pieces)
        return false;
    int64_t piece = blk->piece++;
    struct tile t = {.key = blk->piece_key[piece],
                     .columns = blk->piece_columns[piece]};
    place_tile(f, blk, &t);
    for (int64_t r = 0; r < blk->lanes; r++)
        turn_factor(f, blk, r, real_get(blk->piece_m, piece * blk->lanes + r,
                                        f->size));
    f->hold->weights(f, blk, &t);
    clear_hidden(f, blk, t);
    return true;
}

/* ---------------------------------------------------------------- tasks */

/* With few rows it is the reading of K and V that takes the time. */
static int64_t tile_cost(const struct forward *f, const struct block *blk,
                         const struct tile *t)
{
    return t->columns * (blk->lanes * f->layout->step_cost +
                         (f->width + f->plan->d_v) * PLAN_READ_COST) + 1000;
}

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
            left -= tile_cost(&f, blk, &t);
        } else if (blk->stage == BLOCK_TILES) {
            close_tiles(&f, blk);
        } else if (write_weights(&f, blk)) {
            left -= blk->lanes * f.layout->columns * 16;
        } else {
            return true;
        }
    }
    return false;
}

/* Ranges of the same rows, in the order of their keys. */
static void merge_ranges(const struct forward *f, struct block *blk,
                         int64_t task)
{
    struct partial p;
    blk->task = task * f->layout->ranges; /* the first of them */
    for (int64_t range = 0; range < f->layout->ranges; range++) {
        partial_lay_out(&p, f->in, f->plan, partial_of(f, blk->task + range));
        softmax_merge(f, blk, &p);
    }
    softmax_close(f, blk);
    if (f->wants_output)
        f->hold->output(f, blk);
}

/* The ranges are to MERGE what pieces are to ATTEND, but in A already. */
static bool rescale_weights(const struct forward *f, struct block *blk)
{
    struct partial p;
    int64_t range = blk->piece++;
    if (!f->a || range >= f->layout->ranges)
        return false;
    struct tile t = {.key = range * f->layout->range_keys};
    t.columns = size_min(f->layout->range_keys, f->plan->n_k - t.key);
    partial_lay_out(&p, f->in, f->plan, partial_of(f, blk->task + range));
    for (int64_t r = 0; r < blk->rows; r++) {
        turn_factor(f, blk, r, p.m[r]);
        f->row->scale(block_row(f, blk, f->a, r, t.key), t.columns,
                      real_get(blk->turned, r, f->size));
    }
    clear_hidden(f, blk, t);
    return true;
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
        *resume = 1;
    }
    for (int64_t left = STEP; left > 0;) {
        if (!rescale_weights(&f, blk))
            return true;
        left -= blk->rows * f.layout->range_keys * 16;
    }
    return false;
}
