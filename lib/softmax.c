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

/* The statistics' own sums, of exp(S - m) and exp(S - m) (S - m). */
static void turn_entropy(struct block *blk, int64_t r, double m)
{
    double alpha = exp(blk->m[r] - reference_of(m));
    if (blk->sum[r] == 0)
        return;
    blk->weighted[r] = alpha * (blk->weighted[r] +
                                blk->sum[r] * (blk->m[r] - m));
    blk->sum[r] *= alpha;
}

static void softmax_row(const struct forward *f, struct block *blk, int64_t r,
                        const struct tile *t)
{
    void *s = real_at(blk->s, r * t->columns, f->size);
    double m = fmax(blk->m[r], f->row->max(s, t->columns));
    double base = reference_of(m);
    blk->alpha[r] = exp(blk->m[r] - base);
    if (f->wants_stats) {
        turn_entropy(blk, r, m);
        f->row->entropy(s, t->columns,
                        t->kind == TILE_MIXED ? blk->map + r * t->columns
                                              : NULL,
                        base, &blk->sum[r], &blk->weighted[r]);
    }
    blk->l[r] = blk->l[r] * blk->alpha[r] +
                f->row->exp_sum(s, t->columns, base);
    blk->m[r] = m;
}

void softmax_tile(const struct forward *f, struct block *blk,
                  const struct tile *t)
{
    for (int64_t r = 0; r < blk->rows; r++)
        softmax_row(f, blk, r, t);
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

/* Returns lse and leaves in `factor` what makes O to output. */
static double close_row(const struct forward *f, struct block *blk, int64_t r)
{
    const struct attn_tensor *sinks = &f->in->tensor[ATTN_SINKS];
    double m_keys = blk->m[r], m = m_keys, sink = 0, l = blk->l[r];
    if (blk->seen[r] == 0) {
        blk->tally->empty_rows++;
        blk->factor[r] = 0;
        return -INFINITY;
    }
    if (sinks->rank) {
        sink = real_get(sinks->data, block_head(blk, r), f->size);
        m = fmax(m, sink);
    }
    double base = reference_of(m);
    l *= exp(m_keys - base);
    if (sinks->rank)
        l += exp(sink - base);
    if (f->wants_stats) {
        turn_entropy(blk, r, m);
        tally_row(blk, r, base, sinks->rank ? blk->sum[r] + exp(sink - base)
                                            : blk->sum[r], m_keys);
    }
    blk->factor[r] = exp(m_keys - base) / l;
    return l == 0 ? (double)NAN : m + log(l);
}

void softmax_close(const struct forward *f, struct block *blk)
{
    void *lse = f->call->out->data[ATTN_OUT_LSE];
    for (int64_t r = 0; r < blk->rows; r++) {
        double value = close_row(f, blk, r);
        if (f->in->returns & ATTN_RETURN(ATTN_OUT_LSE))
            real_put(lse, block_row_index(f, blk, r), f->size, value);
    }
}

/* m' = max(m, m2), and what belongs to each is brought to it. */
void softmax_merge(const struct forward *f, struct block *blk, int64_t r,
                   const struct partial *p)
{
    double m = fmax(blk->m[r], p->m[r]);
    double base = reference_of(m);
    double mine = exp(blk->m[r] - base), its = exp(p->m[r] - base);
    int64_t d_v = f->plan->d_v;
    if (p->seen[r] == 0)
        return;
    turn_entropy(blk, r, m);
    if (p->sum[r] != 0)
        blk->weighted[r] += its * (p->weighted[r] +
                                   p->sum[r] * (p->m[r] - m));
    blk->sum[r] += its * p->sum[r];
    blk->seen[r] += p->seen[r];
    blk->l[r] = blk->l[r] * mine + p->l[r] * its;
    blk->m[r] = m;
    f->row->combine(real_at(blk->o, r * d_v, f->size), mine,
                    real_at(p->o, r * d_v, f->size), its, d_v);
}
