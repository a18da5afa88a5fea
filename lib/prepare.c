/* SPDX-License-Identifier: MIT */
/*
 * prepare.c - rows that are copied, joined, multiplied or averaged once.
 *
 *     Q, K, V                   as projected, heads apart
 *     K, V                      given packed: heads apart, for the tiles
 *     present_K, present_V      cached rows, then new ones
 *     Q W_a, K U_a              terms of an additive score
 *     A_mean                    A over its heads
 */
#include "prepare.h"

#include <string.h>

#include "blas.h"
#include "real.h"
#include "row.h"
#include "size.h"
#include "view.h"

/* Some rows of one head. */
struct rows {
    int64_t b, h, first, count;
};

static int64_t element(const struct attn_call *call)
{
    return (int64_t)attn_dtype_bytes(call->in->dtype);
}

static void copy(const struct view *to, const struct view *from,
                 const struct rows *r, int64_t shift, int64_t width)
{
    for (int64_t i = r->first; i < r->first + r->count && width; i++)
        memcpy(view_at(to, r->b, r->h, i + shift),
               view_at(from, r->b, r->h, i), (size_t)(width * to->size));
}

static void copy_stage(const struct attn_call *call, enum plan_job job,
                       const struct rows *r)
{
    static const enum attn_out out[] = {ATTN_OUT_Q, ATTN_OUT_K, ATTN_OUT_V};
    const struct attn_plan *p = call->plan;
    int64_t width = job == PLAN_V ? p->d_v : p->d_k;
    struct view from = view_operand(call, job);
    struct view to = view_of(call->out->data[out[job]], element(call),
                             job == PLAN_Q ? p->H : p->G,
                             job == PLAN_Q ? p->n_q : p->n_k - p->n_past,
                             width, false);
    copy(&to, &from, r, 0, width);
}

static void copy_apart(const struct attn_call *call, enum plan_job job,
                       const struct rows *r)
{
    bool of_k = job == PLAN_APART_K;
    enum plan_job operand = of_k ? PLAN_K : PLAN_V;
    struct view from = view_operand(call, operand);
    struct view to = view_apart(call, operand);
    copy(&to, &from, r, 0, of_k ? call->plan->d_k : call->plan->d_v);
}

/* The part of rows r that lies in begin ... end - 1, counted from begin. */
static struct rows part(const struct rows *r, int64_t begin, int64_t end)
{
    struct rows here = *r;
    int64_t last = size_min(r->first + r->count, end);
    here.first = size_max(r->first, begin) - begin;
    here.count = size_max(last - begin - here.first, 0);
    return here;
}

static void copy_present(const struct attn_call *call, enum plan_job job,
                         const struct rows *r)
{
    const struct attn_plan *p = call->plan;
    bool of_k = job == PLAN_PRESENT_K;
    enum plan_job operand = of_k ? PLAN_K : PLAN_V;
    int64_t width = of_k ? p->d_k : p->d_v;
    void *data = call->out->data[of_k ? ATTN_OUT_PRESENT_K
                                      : ATTN_OUT_PRESENT_V];
    struct view to = view_of(data, element(call), p->G, p->n_k, width, false);
    struct view past = view_past(call, operand);
    struct view new = view_turned(call, operand);
    struct rows here = part(r, 0, p->n_past);
    copy(&to, &past, &here, 0, width);
    here = part(r, p->n_past, p->n_k);
    copy(&to, &new, &here, p->n_past, width);
}

/* to [count, a] = from [count, d_k] times W_a or U_a */
static void multiply(const struct attn_call *call, enum attn_in weight,
                     const struct view *from, const struct view *to,
                     const struct rows *r, int64_t shift)
{
    const struct attn_tensor *w = &call->in->tensor[weight];
    struct blas_product p = {
        .dtype = call->in->dtype,
        .m = r->count,
        .n = w->dim[1],
        .k = w->dim[0],
        .b = w->data,
        .a_row = from->row,
        .b_row = w->dim[1],
        .c_row = to->row,
        .alpha = 1,
    };
    if (r->count == 0)
        return;
    p.a = view_at(from, r->b, r->h, r->first);
    p.c = view_at(to, r->b, r->h, r->first + shift);
    blas_multiply(&p);
}

static void make_term(const struct attn_call *call, enum plan_job job,
                      const struct rows *r)
{
    const struct attn_plan *p = call->plan;
    const struct plan_layout *l = plan_layout(p);
    bool of_q = job == PLAN_TERM_Q;
    int64_t a = call->in->tensor[ATTN_V_A].dim[0];
    char *data = (char *)call->shared + (of_q ? l->term_q_at : l->term_k_at);
    struct view to = view_of(data, element(call), of_q ? p->H : p->G,
                             of_q ? p->n_q : p->n_k, a, false);
    struct view new = view_turned(call, of_q ? PLAN_Q : PLAN_K);
    if (of_q) {
        multiply(call, ATTN_W_A, &new, &to, r, 0);
        return;
    }
    struct view past = view_past(call, PLAN_K);
    struct rows here = part(r, 0, p->n_past);
    multiply(call, ATTN_U_A, &past, &to, &here, 0);
    here = part(r, p->n_past, p->n_k);
    multiply(call, ATTN_U_A, &new, &to, &here, p->n_past);
}

void prepare_rows(const struct attn_call *call, int64_t task)
{
    const struct attn_plan *p = call->plan;
    const struct plan_layout *l = plan_layout(p);
    int job = 0;
    while (task >= l->prepare_tasks[job])
        task -= l->prepare_tasks[job++];
    bool of_q = job == PLAN_Q || job == PLAN_TERM_Q;
    bool of_new = job == PLAN_K || job == PLAN_V || job == PLAN_APART_K ||
                  job == PLAN_APART_V;
    int64_t heads = of_q ? p->H : p->G;
    int64_t n = of_q ? p->n_q : of_new ? p->n_k - p->n_past : p->n_k;
    int64_t blocks = size_ceil(n, l->prepare_rows[job]);
    struct rows r = {.b = task / blocks / heads,
                     .h = task / blocks % heads,
                     .first = task % blocks * l->prepare_rows[job]};
    r.count = size_min(l->prepare_rows[job], n - r.first);
    if (job <= PLAN_V)
        copy_stage(call, (enum plan_job)job, &r);
    else if (job <= PLAN_PRESENT_V)
        copy_present(call, (enum plan_job)job, &r);
    else if (job <= PLAN_APART_V)
        copy_apart(call, (enum plan_job)job, &r);
    else
        make_term(call, (enum plan_job)job, &r);
}

void prepare_mean(const struct attn_call *call, int64_t task)
{
    const struct attn_plan *p = call->plan;
    const struct plan_layout *l = plan_layout(p);
    const struct row_ops *row = row_ops(call->in->dtype);
    int64_t size = element(call), pairs = p->n_q * p->n_k;
    int64_t blocks = size_ceil(pairs, l->mean_elements);
    int64_t b = task / blocks, first = task % blocks * l->mean_elements;
    int64_t count = size_min(l->mean_elements, pairs - first);
    const char *a = (char *)call->shared + l->a_at;
    char *to = call->out->data[ATTN_OUT_A_MEAN];
    if (call->in->returns & ATTN_RETURN(ATTN_OUT_A))
        a = call->out->data[ATTN_OUT_A];
    to = real_at(to, b * pairs + first, size);
    row->fill(to, count, 0);
    for (int64_t h = 0; h < p->H; h++)
        row->combine(to, 1,
                     real_at(a, (b * p->H + h) * pairs + first, size),
                     1 / (double)p->H, count);
}
