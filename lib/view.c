/* SPDX-License-Identifier: MIT */
/*
 * view.c - one way to reach a row, for every rank, for packed heads, for
 * what was projected or rotated into the shared memory.
 */
#include "view.h"

#include "check.h"
#include "project.h"

struct view view_of(void *data, int64_t size, int64_t heads, int64_t n,
                    int64_t width, bool packed)
{
    return (struct view){
        .data = data,
        .batch = heads * n * width,
        .head = packed ? width : n * width,
        .row = packed ? heads * width : width,
        .size = size,
    };
}

static int64_t element(const struct attn_call *call)
{
    return (int64_t)attn_dtype_bytes(call->in->dtype);
}

struct view view_operand(const struct attn_call *call, enum plan_job which)
{
    const struct attn_plan *p = call->plan;
    const struct plan_layout *l = plan_layout(p);
    const struct attn_input *in = call->in;
    static const enum attn_in given[] = {ATTN_Q, ATTN_K, ATTN_V};
    const int64_t at[] = {l->q_at, l->k_at, l->v_at};
    int64_t heads = which == PLAN_Q ? p->H : p->G;
    int64_t n = which == PLAN_Q ? p->n_q : p->n_k - p->n_past;
    int64_t width = which == PLAN_V ? p->d_v : p->d_k;
    if (in->tensor[ATTN_X].rank) {
        struct view v = view_of((char *)call->shared + at[which],
                                element(call), heads, n, width, true);
        v.row = project_row(in->dtype, heads * width);
        v.batch = n * v.row;
        return v;
    }
    return view_of(in->tensor[given[which]].data, element(call), heads, n,
                   width, in->num_heads != 0);
}

struct view view_turned(const struct attn_call *call, enum plan_job which)
{
    const struct attn_plan *p = call->plan;
    const struct plan_layout *l = plan_layout(p);
    if (!call->in->rope || which == PLAN_V)
        return view_operand(call, which);
    if (which == PLAN_Q)
        return view_of((char *)call->shared + l->turned_q_at, element(call),
                       p->H, p->n_q, p->d_k, false);
    return view_of((char *)call->shared + l->turned_k_at, element(call), p->G,
                   p->n_k - p->n_past, p->d_k, false);
}

struct view view_apart(const struct attn_call *call, enum plan_job which)
{
    const struct attn_plan *p = call->plan;
    const struct plan_layout *l = plan_layout(p);
    bool of_k = which == PLAN_K;
    if (!l->prepare_tasks[of_k ? PLAN_APART_K : PLAN_APART_V])
        return view_turned(call, which);
    return view_of((char *)call->shared +
                       (of_k ? l->apart_k_at : l->apart_v_at),
                   element(call), p->G, p->n_k - p->n_past,
                   of_k ? p->d_k : p->d_v, false);
}

struct view view_past(const struct attn_call *call, enum plan_job which)
{
    const struct attn_plan *p = call->plan;
    enum attn_in name = which == PLAN_K ? ATTN_PAST_K : ATTN_PAST_V;
    int64_t width = which == PLAN_K ? p->d_k : p->d_v;
    return view_of(call->in->tensor[name].data, element(call), p->G,
                   p->n_past, width, check_past_is_packed(call->in, name));
}

struct view view_mixed(const struct attn_call *call)
{
    const struct attn_plan *p = call->plan;
    const struct attn_input *in = call->in;
    bool packed = in->num_heads || in->tensor[ATTN_X].rank;
    void *data = call->out->data[ATTN_OUT_OUTPUT];
    if (in->tensor[ATTN_W_O].rank)
        data = (char *)call->shared + plan_layout(p)->mixed_at;
    return view_of(data, element(call), p->H, p->n_q, p->d_v, packed);
}

struct grid view_grid(const struct attn_input *in, enum attn_in name)
{
    const struct attn_tensor *t = &in->tensor[name];
    int64_t step[4] = {0, 0, 0, 0}, next = 1;
    for (int axis = t->rank - 1; axis >= 0; axis--) {
        step[4 - t->rank + axis] = t->dim[axis] == 1 ? 0 : next;
        next *= t->dim[axis];
    }
    return (struct grid){
        .data = t->rank ? t->data : NULL,
        .batch = step[0],
        .head = step[1],
        .query = step[2],
        .key = step[3],
        .size = name == ATTN_MASK ? 1
                                  : (int64_t)attn_dtype_bytes(in->dtype),
    };
}
