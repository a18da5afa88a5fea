/* SPDX-License-Identifier: MIT */
/*
 * rotate.c - rotary positions (Su et al., "RoFormer", 2021).
 *
 * At position p pair t of dim / 2 turns by the angle p base^(-2t / dim):
 *
 *     (x, y) -> (x cos - y sin, x sin + y cos)
 *
 * Q stands at p = i + offset, a new key at its index among all keys. The
 * angles of a row are made once for all its heads, a few pairs at a time.
 */
#include <math.h>

#include "prepare.h"
#include "row.h"
#include "size.h"
#include "visible.h"

enum { PAIRS = 128 };

struct rotation {
    const struct attn_call *call;
    enum plan_job job; /* PLAN_Q or PLAN_K */
    struct view from, to;
    int64_t b, first, end; /* rows */
};

static int64_t position(const struct rotation *r, int64_t row)
{
    const struct attn_plan *p = r->call->plan;
    if (r->job == PLAN_K)
        return p->n_past + row;
    return visible_position(r->call->in, p, r->b, row);
}

/* Whole turns are taken off in long double: far positions have angles whose
 * fraction of a turn double has lost. */
static double angle_at(int64_t p, long double frequency)
{
    const long double turn = 6.283185307179586476925286766559005768L;
    long double angle = (long double)p * frequency;
    return (double)(angle - turn * rintl(angle / turn));
}

/* Some pairs of one row of all heads. */
static void turn_row(const struct rotation *r, int64_t row,
                     const struct row_turn *pairs, const long double *frequency)
{
    const struct attn_plan *p = r->call->plan;
    int64_t heads = r->job == PLAN_Q ? p->H : p->G;
    double cosine[PAIRS], sine[PAIRS];
    struct row_turn turn = *pairs;
    turn.cos = cosine;
    turn.sin = sine;
    for (int64_t t = 0; t < turn.count; t++) {
        double angle = angle_at(position(r, row), frequency[t]);
        cosine[t] = cos(angle);
        sine[t] = sin(angle);
    }
    for (int64_t h = 0; h < heads; h++)
        row_ops(r->call->in->dtype)->rotate(view_at(&r->to, r->b, h, row),
                                            view_at(&r->from, r->b, h, row),
                                            &turn);
}

/* Some pairs of all rows: their base^(-2t / dim) are made once. */
static void turn_pairs(const struct rotation *r, int64_t first)
{
    const struct attn_input *in = r->call->in;
    int64_t d_k = r->call->plan->d_k;
    long double frequency[PAIRS];
    struct row_turn turn = {.first = first,
                            .dim = in->rope_dim ? in->rope_dim : d_k,
                            .width = d_k,
                            .interleaved = in->rope_interleaved};
    turn.count = size_min(PAIRS, turn.dim / 2 - first);
    for (int64_t t = 0; t < turn.count; t++)
        frequency[t] = powl(in->rope_base, -2.0L * (long double)(first + t) /
                                               (long double)turn.dim);
    for (int64_t row = r->first; row < r->end; row++)
        turn_row(r, row, &turn, frequency);
}

void rotate_rows(const struct attn_call *call, int64_t task)
{
    const struct attn_plan *p = call->plan;
    const struct plan_layout *l = plan_layout(p);
    int64_t dim = call->in->rope_dim ? call->in->rope_dim : p->d_k;
    struct rotation r = {.call = call, .job = PLAN_Q};
    if (task >= l->rotate_tasks[PLAN_Q]) {
        task -= l->rotate_tasks[PLAN_Q];
        r.job = PLAN_K;
    }
    int64_t n = r.job == PLAN_Q ? p->n_q : p->n_k - p->n_past;
    int64_t blocks = size_ceil(n, l->rotate_rows[r.job]);
    r.from = view_operand(call, r.job);
    r.to = view_turned(call, r.job);
    r.b = task / blocks;
    r.first = task % blocks * l->rotate_rows[r.job];
    r.end = size_min(r.first + l->rotate_rows[r.job], n);
    for (int64_t first = 0; first < dim / 2; first += PAIRS)
        turn_pairs(&r, first);
}
