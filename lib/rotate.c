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
    struct view from, to;
    int64_t heads, dim;
};

/* Pairs first ... first + count - 1 of one row of all heads. */
static void turn_pairs(const struct rotation *r, int64_t b, int64_t row,
                       int64_t p, int64_t first, int64_t count)
{
    const struct attn_input *in = r->call->in;
    double cosine[PAIRS], sine[PAIRS];
    for (int64_t t = 0; t < count; t++) {
        double power = -2.0 * (double)(first + t) / (double)r->dim;
        double angle = (double)p * pow(in->rope_base, power);
        cosine[t] = cos(angle);
        sine[t] = sin(angle);
    }
    for (int64_t h = 0; h < r->heads; h++) {
        const struct row_turn turn = {
            .first = first, .count = count, .dim = r->dim,
            .width = r->call->plan->d_k, .cos = cosine, .sin = sine,
            .interleaved = in->rope_interleaved,
        };
        row_ops(in->dtype)->rotate(view_at(&r->to, b, h, row),
                                   view_at(&r->from, b, h, row), &turn);
    }
}

void rotate_rows(const struct attn_call *call, int64_t task)
{
    const struct attn_plan *p = call->plan;
    const struct attn_input *in = call->in;
    const struct plan_layout *l = plan_layout(p);
    enum plan_job job = task < l->rotate_tasks[PLAN_Q] ? PLAN_Q : PLAN_K;
    if (job == PLAN_K)
        task -= l->rotate_tasks[PLAN_Q];
    int64_t n = job == PLAN_Q ? p->n_q : p->n_k - p->n_past;
    int64_t blocks = size_ceil(n, l->rotate_rows[job]);
    int64_t b = task / blocks, first = task % blocks * l->rotate_rows[job];
    const struct rotation r = {
        .call = call,
        .from = view_operand(call, job),
        .to = view_turned(call, job),
        .heads = job == PLAN_Q ? p->H : p->G,
        .dim = in->rope_dim ? in->rope_dim : p->d_k,
    };
    int64_t end = size_min(first + l->rotate_rows[job], n);
    for (int64_t i = first; i < end; i++) {
        int64_t at = job == PLAN_Q ? visible_position(in, p, b, i)
                                   : p->n_past + i;
        for (int64_t t = 0; t < r.dim / 2; t += PAIRS)
            turn_pairs(&r, b, i, at, t, size_min(PAIRS, r.dim / 2 - t));
    }
}
