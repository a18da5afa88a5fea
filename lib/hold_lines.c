/* SPDX-License-Identifier: MIT */
/*
 * hold_lines.c - tiles line by line, for a few rows: [rows][line]. The keys
 * of a tile stay in the first cache while each row goes over them.
 */
#include <math.h>
#include <string.h>

#include "forward.h"
#include "real.h"

static void *line_of(const struct forward *f, const struct block *blk,
                     const struct tile *t, int64_t r)
{
    return real_at(t->s, r * blk->line, f->size);
}

static void take(const struct forward *f, struct block *blk)
{
    for (int64_t r = 0; r < blk->rows && f->width; r++)
        memcpy(real_at(blk->q, r * f->width, f->size),
               view_at(&f->q, blk->b, block_head(blk, r),
                       block_query(blk, r)),
               (size_t)(f->width * f->size));
}

static void scores(const struct forward *f, struct block *blk,
                   const struct tile *t, const void *k, int64_t k_row,
                   double scale)
{
    f->kernel->line_scores((int)blk->rows, t->columns, f->width, blk->q, k,
                           k_row, scale, t->s, blk->line);
}

static void hide(const struct forward *f, struct block *blk,
                 const struct tile *t)
{
    for (int64_t r = 0; r < blk->rows; r++) {
        char *s = line_of(f, blk, t, r);
        f->row->fill(s, blk->low[r], -INFINITY);
        f->row->fill(real_at(s, blk->high[r], f->size),
                     t->columns - blk->high[r], -INFINITY);
    }
}

/* They are rows. */
static void to_rows(const struct forward *f, struct block *blk,
                    const struct tile *t)
{
    (void)f, (void)blk, (void)t;
}

static void softmax(const struct forward *f, struct block *blk,
                    const struct tile *t)
{
    for (int64_t r = 0; r < blk->rows; r++)
        f->kernel->line_softmax(t->columns, line_of(f, blk, t, r),
                                real_at(blk->m, r, f->size),
                                real_at(blk->l, r, f->size),
                                real_at(blk->alpha, r, f->size));
}

static void mix(const struct forward *f, struct block *blk,
                const struct tile *t, const void *v, int64_t v_row)
{
    f->kernel->line_mix((int)blk->rows, t->columns, f->plan->d_v, t->s,
                        blk->line, v, v_row, blk->alpha, blk->o);
}

static void mix_spoilt(const struct forward *f, struct block *blk,
                       const struct tile *t, int64_t r, int64_t j,
                       const void *v)
{
    int64_t d_v = f->plan->d_v;
    f->row->add_spoilt(real_at(blk->o, r * d_v, f->size), 1,
                       real_get(line_of(f, blk, t, r), j, f->size), v, d_v);
}

static void merge(const struct forward *f, struct block *blk, const void *o)
{
    int64_t d_v = f->plan->d_v;
    for (int64_t r = 0; r < blk->rows; r++)
        f->row->combine(real_at(blk->o, r * d_v, f->size),
                        real_get(blk->alpha, r, f->size),
                        real_at(o, r * d_v, f->size),
                        real_get(blk->turned, r, f->size), d_v);
}

static void output(const struct forward *f, struct block *blk)
{
    int64_t d_v = f->plan->d_v;
    for (int64_t r = 0; r < blk->rows && d_v; r++) {
        void *to = view_at(&f->mixed, blk->b, block_head(blk, r),
                           block_query(blk, r));
        memcpy(to, real_at(blk->o, r * d_v, f->size),
               (size_t)(d_v * f->size));
        f->row->scale(to, d_v, real_get(blk->factor, r, f->size));
    }
}

static void weights(const struct forward *f, struct block *blk,
                    const struct tile *t)
{
    for (int64_t r = 0; r < blk->rows; r++) {
        void *a = block_row(f, blk, f->a, r, t->key);
        memcpy(a, line_of(f, blk, t, r), (size_t)(t->columns * f->size));
        f->row->scale(a, t->columns, real_get(blk->turned, r, f->size));
    }
}

const struct hold hold_lines = {
    .take = take,
    .scores = scores,
    .hide = hide,
    .to_rows = to_rows,
    .from_rows = to_rows,
    .softmax = softmax,
    .mix = mix,
    .mix_spoilt = mix_spoilt,
    .merge = merge,
    .output = output,
    .weights = weights,
};
