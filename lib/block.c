/* SPDX-License-Identifier: MIT */
/*
 * block.c - a block of rows: which it is, and where its numbers lie in the
 * workspace. One function lays it out for both the plan, which only wants
 * the size, and the task.
 */
#include "forward.h"

#include <math.h>
#include <string.h>

#include "real.h"
#include "size.h"

static bool returns(const struct attn_input *in, unsigned outs)
{
    return (in->returns & outs) != 0;
}

static bool writes_a(const struct attn_input *in)
{
    return returns(in, ATTN_RETURN(ATTN_OUT_A) | ATTN_RETURN(ATTN_OUT_A_MEAN));
}

static double scale_of(const struct attn_input *in,
                       const struct attn_plan *plan)
{
    if (in->has_scale)
        return in->scale;
    if (in->tensor[ATTN_V_A].rank || plan->d_k == 0)
        return 1;
    return 1 / sqrt((double)plan->d_k);
}

/* What S compares: Q and K, or the terms of an additive score. */
static void open_operands(struct forward *f)
{
    const struct attn_plan *p = f->plan;
    char *shared = f->call->shared;
    f->v[0] = view_past(f->call, PLAN_V);
    f->v[1] = view_apart(f->call, PLAN_V);
    f->width = p->d_k;
    if (!f->in->tensor[ATTN_V_A].rank) {
        f->q = view_turned(f->call, PLAN_Q);
        f->k[0] = view_past(f->call, PLAN_K);
        f->k[1] = view_apart(f->call, PLAN_K);
        return;
    }
    f->width = f->in->tensor[ATTN_V_A].dim[0];
    f->q = view_of(shared + f->layout->term_q_at, f->size, p->H, p->n_q,
                   f->width, false);
    f->k[0] = view_of(shared + f->layout->term_k_at, f->size, p->G, p->n_k,
                      f->width, false);
    f->k[1] = f->k[0];
    f->k[1].data += p->n_past * f->width * f->size;
}

void forward_open(struct forward *f, const struct attn_call *call)
{
    const struct attn_input *in = call->in;
    *f = (struct forward){
        .call = call,
        .in = in,
        .plan = call->plan,
        .layout = plan_layout(call->plan),
        .kernel = attn_kernel(in->dtype),
        .hold = plan_layout(call->plan)->lines ? &hold_lines : &hold_lanes,
        .row = row_ops(in->dtype),
        .size = (int64_t)attn_dtype_bytes(in->dtype),
        .scale = scale_of(in, call->plan),
        .mixed = view_mixed(call),
        .mask = view_grid(in, ATTN_MASK),
        .bias = view_grid(in, ATTN_BIAS),
        .wants_stages = returns(in, ATTN_RETURN(ATTN_OUT_S) |
                                    ATTN_RETURN(ATTN_OUT_S_SCALED) |
                                    ATTN_RETURN(ATTN_OUT_S_SOFTCAPPED) |
                                    ATTN_RETURN(ATTN_OUT_S_MASKED)),
        .wants_stats = returns(in, ATTN_RETURN(ATTN_OUT_STATS)),
        .wants_output = returns(in, ATTN_RETURN(ATTN_OUT_OUTPUT)),
    };
    f->by_rows = f->wants_stages || f->wants_stats || f->mask.data ||
                 f->bias.data || in->softcap > 0 ||
                 in->tensor[ATTN_ALIBI].rank || in->tensor[ATTN_V_A].rank;
    open_operands(f);
    if (returns(in, ATTN_RETURN(ATTN_OUT_A)))
        f->a = call->out->data[ATTN_OUT_A];
    else if (writes_a(in))
        f->a = (char *)call->shared + f->layout->a_at;
}

/* ---------------------------------------------------------- workspace */

struct carver {
    char *memory; /* NULL: only measure */
    int64_t used;
};

static void *carve(struct carver *c, int64_t count, int64_t size)
{
    void *at = c->memory ? c->memory + c->used : NULL;
    int64_t bytes = size_add(size_mul(count, size), 63) / 64 * 64;
    c->used = size_add(c->used, bytes);
    return at;
}

/* The kernels of a line write whole vectors from where a tile begins, and with
 * a cache of any length that may be any key; the next row begins behind. */
static int64_t line_of(const struct attn_input *in, int64_t keys)
{
    int64_t lanes = attn_kernel(in->dtype)->lanes;
    return size_mul(size_ceil(size_add(keys, lanes - 1), lanes), lanes);
}

int64_t block_lay_out(struct block *blk, const struct attn_input *in,
                      const struct attn_plan *plan, char *memory)
{
    const struct plan_layout *l = plan_layout(plan);
    int64_t size = (int64_t)attn_dtype_bytes(in->dtype), w = l->lanes;
    int64_t width = in->tensor[ATTN_V_A].rank ? in->tensor[ATTN_V_A].dim[0]
                                              : plan->d_k;
    int64_t longest = size_max(l->columns, size_max(width, plan->d_v));
    struct carver c = {memory, 0};

    carve(&c, 1, sizeof(struct block));
    blk->m = carve(&c, w, size);
    blk->l = carve(&c, w, size);
    blk->alpha = carve(&c, w, size);
    blk->factor = carve(&c, w, size);
    blk->turned = carve(&c, w, size);
    blk->seen = carve(&c, w, sizeof(int64_t));
    blk->low = carve(&c, w, sizeof(int64_t));
    blk->high = carve(&c, w, sizeof(int64_t));
    blk->sum = carve(&c, w, sizeof(double));
    blk->weighted = carve(&c, w, sizeof(double));
    blk->q = carve(&c, size_mul(width, w), size);
    blk->o = carve(&c, size_mul(plan->d_v, w), size);
    blk->spare = carve(&c, size_mul(longest, w), size);
    blk->v = carve(&c, size_mul(l->columns, plan->d_v), size);
    blk->map = carve(&c, l->columns * w, 1);
    if (!writes_a(in)) {
        blk->line = line_of(in, l->columns);
        blk->s = carve(&c, blk->line * w, size);
        return c.used;
    }
    /* the hull and the cache may end within a tile */
    int64_t pieces = l->range_keys / l->columns + 5 + l->ranges;
    blk->piece_key = carve(&c, pieces, sizeof(int64_t));
    blk->piece_columns = carve(&c, pieces, sizeof(int64_t));
    blk->piece_m = carve(&c, size_mul(pieces, w), size);
    blk->line = line_of(in, l->range_keys);
    blk->s = carve(&c, size_mul(blk->line, w), size);
    return c.used;
}

int64_t partial_lay_out(struct partial *p, const struct attn_input *in,
                        const struct attn_plan *plan, char *memory)
{
    int64_t size = (int64_t)attn_dtype_bytes(in->dtype);
    int64_t w = plan_layout(plan)->lanes;
    struct carver c = {memory, 0};
    p->seen = carve(&c, w, sizeof(int64_t));
    p->m = carve(&c, w, sizeof(double));
    p->l = carve(&c, w, sizeof(double));
    p->sum = carve(&c, w, sizeof(double));
    p->weighted = carve(&c, w, sizeof(double));
    p->o = carve(&c, size_mul(plan->d_v, w), size);
    return c.used;
}

/* --------------------------------------------------------------- rows */

/* Vectors of queries before block `k` of the item: evenly shared out. */
static int64_t vectors_before(const struct plan_layout *l, int64_t k)
{
    return l->vectors * k / l->row_blocks;
}

/* rows = ((b * groups + group) * row_blocks + block) */
void block_open_rows(const struct forward *f, struct block *blk, int64_t rows)
{
    const struct attn_plan *p = f->plan;
    const struct plan_layout *l = f->layout;
    int64_t group = rows / l->row_blocks % l->groups;
    int64_t k = rows % l->row_blocks;
    int64_t before = vectors_before(l, k);
    *blk = (struct block){.b = rows / l->row_blocks / l->groups};
    block_lay_out(blk, f->in, p, (char *)blk);
    blk->vecs = (int)(vectors_before(l, k + 1) - before);
    blk->lanes = l->lines ? l->lanes : blk->vecs * f->kernel->lanes;
    blk->h = group * l->stack;
    blk->g = blk->h / (p->H / p->G);
    blk->i = before * f->kernel->lanes;
    blk->queries = p->n_q;
    if (l->stack == 1)
        blk->queries = size_min(blk->lanes, p->n_q - blk->i);
    blk->rows = blk->queries * l->stack;
    blk->range = (struct interval){0, p->n_k};
    for (int64_t r = 0; r < blk->lanes; r++) {
        blk->seen[r] = 0;
        blk->sum[r] = blk->weighted[r] = 0;
    }
    f->row->fill(blk->m, blk->lanes, -INFINITY);
    f->row->fill(blk->l, blk->lanes, 0);
    f->row->fill(blk->o, blk->lanes * p->d_v, 0);
}

void block_open(const struct forward *f, struct block *blk, int64_t task)
{
    const struct plan_layout *l = f->layout;
    int64_t range = task % l->ranges;
    block_open_rows(f, blk, task / l->ranges);
    blk->task = task;
    blk->range.begin = range * l->range_keys;
    blk->range.end = size_min(blk->range.begin + l->range_keys, f->plan->n_k);
    blk->key = blk->range.begin;
    blk->hull = visible_hull(f->in, f->plan, blk->b, blk->i, blk->queries);
    if (!f->in->tensor[ATTN_V_A].rank)
        f->hold->take(f, blk);
}

void *block_key(const struct forward *f, const struct block *blk,
                const struct view v[2], int64_t key, int64_t *row)
{
    int64_t past = f->plan->n_past;
    const struct view *part = &v[key >= past];
    *row = part->row;
    return view_at(part, blk->b, blk->g, key >= past ? key - past : key);
}

int64_t block_row_index(const struct forward *f, const struct block *blk,
                        int64_t r)
{
    return (blk->b * f->plan->H + block_head(blk, r)) * f->plan->n_q +
           block_query(blk, r);
}

void *block_row(const struct forward *f, const struct block *blk, void *tensor,
                int64_t r, int64_t key)
{
    return real_at(tensor, block_row_index(f, blk, r) * f->plan->n_k + key,
                   f->size);
}
