/* SPDX-License-Identifier: MIT */
/*
 * stats.c - from the tallies of the tasks to the numbers of the call.
 *
 *     S_variance       sum of squared distances / number of visible pairs
 *     A_max_mean, A_entropy_mean      sums over rows / number of rows
 *     A_row_sum_min, A_row_sum_max    over the rows; NaN if one is
 */
#include "stats.h"

#include <math.h>

#include "forward.h"

static double larger(double a, double b)
{
    return isnan(a) || a > b ? a : b;
}

static void join(struct tally *all, const struct tally *one)
{
    all->rows += one->rows;
    all->empty_rows += one->empty_rows;
    all->a_max += one->a_max;
    all->entropy += one->entropy;
    all->sum_min = -larger(-one->sum_min, -all->sum_min);
    all->sum_max = larger(one->sum_max, all->sum_max);
    moments_merge(&all->s, &one->s);
    moments_merge(&all->s_scaled, &one->s_scaled);
}

void stats_join(struct attn_call *call)
{
    const struct plan_layout *l = plan_layout(call->plan);
    const struct tally *tally =
        (const struct tally *)((char *)call->shared + l->tally_at);
    struct tally all = {.sum_min = INFINITY, .sum_max = -INFINITY};
    for (int64_t i = 0; i < l->tallies; i++)
        join(&all, &tally[i]);
    call->out->empty_rows = all.empty_rows;
    if (!(call->in->returns & ATTN_RETURN(ATTN_OUT_STATS)))
        return;
    call->out->stats = (struct attn_stats){.empty = true};
    if (all.rows == 0)
        return;
    double rows = (double)all.rows;
    call->out->stats = (struct attn_stats){
        .s_variance = all.s.squares / all.s.count,
        .s_scaled_variance = all.s_scaled.squares / all.s_scaled.count,
        .a_max_mean = all.a_max / rows,
        .a_entropy_mean = all.entropy / rows,
        .a_row_sum_min = all.sum_min,
        .a_row_sum_max = all.sum_max,
    };
}
