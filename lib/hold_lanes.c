/* SPDX-License-Identifier: MIT */
/*
 * hold_lanes.c - tiles on their side, a row in each lane: [keys][W]. What
 * crosses over between lanes and rows is turned by the kernels.
 */
#include <string.h>

#include "forward.h"
#include "real.h"

static void take(const struct forward *f, struct block *blk)
{
    const void *from = view_at(&f->q, blk->b, blk->h, blk->i);
    int64_t row = f->q.row;
    if (f->layout->stack > 1) { /* of several heads: first together */
        from = blk->spare;
        row = f->width;
        for (int64_t r = 0; r < blk->rows && f->width; r++)
            memcpy(real_at(blk->spare, r * row, f->size),
                   view_at(&f->q, blk->b, block_head(blk, r),
                           block_query(blk, r)),
                   (size_t)(f->width * f->size));
    }
    f->kernel->columns(blk->vecs, blk->rows, f->width, from, row, blk->q);
}

static void scores(const struct forward *f, struct block *blk,
                   const struct tile *t, const void *k, int64_t k_row,
                   double scale)
{
    f->kernel->scores(blk->vecs, t->columns, f->width, blk->q, k, k_row, scale,
                      t->s);
}

static void hide(const struct forward *f, struct block *blk,
                 const struct tile *t)
{
    f->kernel->hide(blk->vecs, t->columns, blk->low, blk->high, t->s);
}

static void to_rows(const struct forward *f, struct block *blk,
                    const struct tile *t)
{
    f->row->fill(blk->turned, blk->lanes, 1);
    f->kernel->rows(blk->vecs, blk->rows, t->columns, t->s, blk->turned,
                    t->rows, t->row);
}

static void from_rows(const struct forward *f, struct block *blk,
                      const struct tile *t)
{
    f->kernel->columns(blk->vecs, blk->rows, t->columns, t->rows, t->row,
                       t->s);
}

static void softmax(const struct forward *f, struct block *blk,
                    const struct tile *t)
{
    f->kernel->softmax(blk->vecs, t->columns, t->s, blk->m, blk->l,
                       blk->alpha);
}

static void mix(const struct forward *f, struct block *blk,
                const struct tile *t, const void *v, int64_t v_row)
{
    f->kernel->mix(blk->vecs, t->columns, f->plan->d_v, t->s, v, v_row,
                   blk->alpha, blk->o);
}

static void mix_spoilt(const struct forward *f, struct block *blk,
                       const struct tile *t, int64_t r, int64_t j,
                       const void *v)
{
    f->row->add_spoilt(real_at(blk->o, r, f->size), blk->lanes,
                       real_get(t->s, j * blk->lanes + r, f->size), v,
                       f->plan->d_v);
}

static void merge(const struct forward *f, struct block *blk, const void *o)
{
    for (int64_t c = 0; c < f->plan->d_v; c++)
        f->row->combine_lanes(real_at(blk->o, c * blk->lanes, f->size),
                              blk->alpha,
                              real_at(o, c * blk->lanes, f->size),
                              blk->turned, blk->lanes);
}

static void output(const struct forward *f, struct block *blk)
{
    int64_t d_v = f->plan->d_v;
    if (f->layout->stack == 1) {
        f->kernel->rows(blk->vecs, blk->rows, d_v, blk->o, blk->factor,
                        view_at(&f->mixed, blk->b, blk->h, blk->i),
                        f->mixed.row);
        return;
    }
    f->kernel->rows(blk->vecs, blk->rows, d_v, blk->o, blk->factor,
                    blk->spare, d_v);
    for (int64_t r = 0; r < blk->rows && d_v; r++)
        memcpy(view_at(&f->mixed, blk->b, block_head(blk, r),
                       block_query(blk, r)),
               real_at(blk->spare, r * d_v, f->size),
               (size_t)(d_v * f->size));
}

static void weights(const struct forward *f, struct block *blk,
                    const struct tile *t)
{
    f->kernel->rows(blk->vecs, blk->rows, t->columns, t->s, blk->turned,
                    block_row(f, blk, f->a, 0, t->key), f->plan->n_k);
}

const struct hold hold_lanes = {
    .take = take,
    .scores = scores,
    .hide = hide,
    .to_rows = to_rows,
    .from_rows = from_rows,
    .softmax = softmax,
    .mix = mix,
    .mix_spoilt = mix_spoilt,
    .merge = merge,
    .output = output,
    .weights = weights,
};
