/* SPDX-License-Identifier: MIT */
/*
 * softmax.c - running maximum and sum of a block's rows, and their end.
 *
 *     m' = max(m, max S)     P = exp(S - m')     l' = l exp(m - m') + sum P
 *     A = P / l              lse = m + log l
 *
 * A maximum of -Infinity is not taken away from anything: exp(-Infinity - 0)
 * is the 0 that is meant. A sink is one more visible score with no value
 * behind it. A row that saw no key is zero, which the scores do not decide
 * but the count of visible keys. NaN needs no care: it stays in l.
 */
#include <math.h>

#include "forward.h"
#include "real.h"

static double reference_of(double m)
{
    return m == -INFINITY ? 0 : m;
}

/* The statistics' own sums, of exp(S - m) and exp(S - m) (S - m), from the
 * maximum `then` to m. */
static void turn_entropy(struct block *blk, int64_t r, double then, double m)
{
    double alpha = exp(then - reference_of(m));
    if (blk->sum[r] == 0)
        return;
    blk->weighted[r] = alpha * (blk->weighted[r] + blk->sum[r] * (then - m));
    blk->sum[r] *= alpha;
}

static void count_entropy(const struct forward *f, struct block *blk,
                          const struct tile *t)
{
    for (int64_t r = 0; r < blk->rows; r++) {
        const void *s = real_at(t->rows, r * t->row, f->size);
        double then = real_get(blk->m, r, f->size);
        double m = fmax(then, f->row->max(s, t->columns));
        turn_entropy(blk, r, then, m);
        f->row->entropy(s, t->columns,
                        t->kind == TILE_MIXED ? blk->map + r * t->columns
                                              : NULL,
                        reference_of(m), &blk->sum[r], &blk->weighted[r]);
    }
}

void softmax_tile(const struct forward *f, struct block *blk,
                  const struct tile *t)
{
    if (f->wants_stats)
        count_entropy(f, blk, t);
    f->hold->softmax(f, blk, t);
}

/* ------------------------------------------------------------- the end */

static double larger(double a, double b)
{
    return isnan(a) || a > b ? a : b;
}

static void tally_row(struct block *blk, int64_t r, double m, double l,
                      double m_keys)
{
    struct tally *tally = blk->tally;
    double sum = blk->sum[r] / l;
    tally->a_max += exp(m_keys - m) / l;
    tally->entropy += log(l) * sum - blk->weighted[r] / l;
    tally->sum_min = -larger(-tally->sum_min, -sum);
    tally->sum_max = larger(tally->sum_max, sum);
    tally->rows++;
}

static void show_lse(const struct forward *f, const struct block *blk,
                     int64_t r, double m, double l)
{
    if (f->in->returns & ATTN_RETURN(ATTN_OUT_LSE))
        real_put(f->call->out->data[ATTN_OUT_LSE], block_row_index(f, blk, r),
                 f->size, l == 0 ? (double)NAN : m + log(l));
}

/* lse, and in `factor` what makes O to output */
static void close_row(const struct forward *f, struct block *blk, int64_t r)
{
    const struct attn_tensor *sinks = &f->in->tensor[ATTN_SINKS];
    double m_keys = real_get(blk->m, r, f->size), m = m_keys, sink = 0;
    double l = real_get(blk->l, r, f->size);
    if (blk->seen[r] == 0) {
        blk->tally->empty_rows++;
        real_put(blk->factor, r, f->size, 0);
        show_lse(f, blk, r, -INFINITY, 1);
        return;
    }
    if (sinks->rank) {
        sink = real_get(sinks->data, block_head(blk, r), f->size);
        m = fmax(m, sink);
    }
    double base = reference_of(m);
    double mine = m_keys == base ? 1 : exp(m_keys - base);
    l *= mine;
    if (sinks->rank)
        l += exp(sink - base);
    if (f->wants_stats) {
        turn_entropy(blk, r, m_keys, m);
        tally_row(blk, r, base, sinks->rank ? blk->sum[r] + exp(sink - base)
                                            : blk->sum[r], m_keys);
    }
    real_put(blk->factor, r, f->size, mine / l);
    show_lse(f, blk, r, m, l);
}

void softmax_close(const struct forward *f, struct block *blk)
{
    for (int64_t r = 0; r < blk->rows; r++)
        close_row(f, blk, r);
}

/* m' = max(m, m2), and what belongs to each is brought to it. */
static void merge_row(const struct forward *f, struct block *blk, int64_t r,
                      const struct partial *p)
{
    double then = real_get(blk->m, r, f->size);
    double m = fmax(then, p->m[r]), base = reference_of(m);
    double mine = exp(then - base), its = exp(p->m[r] - base);
    turn_entropy(blk, r, then, m);
    if (p->sum[r] != 0)
        blk->weighted[r] += its * (p->weighted[r] +
                                   p->sum[r] * (p->m[r] - m));
    blk->sum[r] += its * p->sum[r];
    blk->seen[r] += p->seen[r];
    real_put(blk->l, r, f->size,
             real_get(blk->l, r, f->size) * mine + p->l[r] * its);
    real_put(blk->m, r, f->size, m);
    real_put(blk->alpha, r, f->size, mine);
    real_put(blk->turned, r, f->size, its);
}

void softmax_merge(const struct forward *f, struct block *blk,
                   const struct partial *p)
{
    for (int64_t r = 0; r < blk->lanes; r++)
        merge_row(f, blk, r, p);
    f->hold->merge(f, blk, p->o);
}
