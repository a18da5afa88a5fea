/* SPDX-License-Identifier: MIT */
/*
 * project.c - the linear layers: rows of one item times a weight, plus bias.
 *
 *     Y = X W + b        X [n, depth]  W [depth, columns]  Y [n, columns]
 *
 * or W [columns, depth] where weights are stored as "out_in". A task makes
 * one tile of Y; it may stop between two slices of the depth. A panel of W,
 * as wide as a tile of queries, is laid together once a task; then rows of X
 * go by it as keys do. So the bits of a row do not depend on n at all.
 */
#include "project.h"

#include "kernel.h"
#include "real.h"
#include "size.h"

enum { CHUNK = 64 }; /* rows whose sums stay in the first cache */

struct layer {
    const char *x;
    char *y;
    enum attn_in weight, bias;
    int64_t n, depth, columns;
};

/* One slice of a tile, at work in a workspace. W are the most columns. */
struct slab {
    const struct kernel *kernel;
    int64_t size;           /* bytes of a number */
    int64_t row, rows;      /* of the item's X and Y */
    int64_t column, columns;
    int64_t depth, slice;   /* where the slice begins, and how deep it is */
    int vecs;
    char *panel;            /* [slice, W] of the weight */
    char *sums;             /* [CHUNK, W] of X W */
};

static int64_t most_columns(enum attn_dtype dtype)
{
    return KERNEL_VECS * attn_kernel(dtype)->lanes;
}

int64_t project_tiles(enum attn_dtype dtype, int64_t n, int64_t columns)
{
    return size_ceil(n, PROJECT_ROWS) *
           size_ceil(columns, most_columns(dtype));
}

int64_t project_bytes(enum attn_dtype dtype)
{
    return (PROJECT_DEPTH + CHUNK) * most_columns(dtype) *
           (int64_t)attn_dtype_bytes(dtype);
}

static struct slab open_slab(const struct layer *layer, enum attn_dtype dtype,
                             int64_t tile, int64_t step, char *workspace)
{
    int64_t most = most_columns(dtype);
    int64_t across = size_ceil(layer->columns, most);
    struct slab t = {
        .kernel = attn_kernel(dtype),
        .size = (int64_t)attn_dtype_bytes(dtype),
        .row = tile / across * PROJECT_ROWS,
        .column = tile % across * most,
        .depth = step * PROJECT_DEPTH,
        .panel = workspace,
    };
    t.rows = size_min(PROJECT_ROWS, layer->n - t.row);
    t.columns = size_min(most, layer->columns - t.column);
    t.slice = size_min(PROJECT_DEPTH, layer->depth - t.depth);
    t.vecs = (int)size_ceil(t.columns, t.kernel->lanes);
    t.sums = t.panel + PROJECT_DEPTH * most * t.size;
    return t;
}

/* panel[c][i] = W[depth + c][column + i], or W[column + i][depth + c] */
static void fill_panel(const struct attn_call *call,
                       const struct layer *layer, const struct slab *t)
{
    const char *w = call->in->tensor[layer->weight].data;
    if (call->in->weights_out_in)
        t->kernel->columns(t->vecs, t->columns, t->slice,
                           real_at(w, t->column * layer->depth + t->depth,
                                   t->size),
                           layer->depth, t->panel);
    else
        t->kernel->gather(t->vecs, t->columns, t->slice,
                          real_at(w, t->depth * layer->columns + t->column,
                                  t->size),
                          layer->columns, t->panel);
}

/* Y = X panel + bias in the first slice, Y = X panel + Y in the later ones */
static void multiply(const struct attn_call *call, const struct layer *layer,
                     int64_t b, const struct slab *t)
{
    const void *bias = call->in->tensor[layer->bias].data;
    for (int64_t i = 0; i < t->rows; i += CHUNK) {
        int64_t rows = size_min(CHUNK, t->rows - i);
        int64_t row = b * layer->n + t->row + i;
        void *y = real_at(layer->y, row * layer->columns + t->column, t->size);
        t->kernel->scores(t->vecs, rows, t->slice, t->panel,
                          real_at(layer->x, row * layer->depth + t->depth,
                                  t->size),
                          layer->depth, 1, t->sums);
        if (t->depth)
            t->kernel->add(t->vecs, t->columns, rows, t->sums, y,
                           layer->columns, y, layer->columns);
        else
            t->kernel->add(t->vecs, t->columns, rows, t->sums,
                           real_at(bias, t->column, t->size), 0, y,
                           layer->columns);
    }
}

/* One slice of tile `tile` of item b; true when it was the last. */
static bool run_layer(const struct attn_call *call, const struct layer *layer,
                      int64_t b, int64_t tile, void *workspace,
                      int64_t *resume)
{
    struct slab t = open_slab(layer, call->in->dtype, tile, *resume,
                              workspace);
    fill_panel(call, layer, &t);
    multiply(call, layer, b, &t);
    ++*resume;
    return t.depth + t.slice >= layer->depth;
}

static struct layer operand_layer(const struct attn_call *call,
                                  enum plan_job job)
{
    static const enum attn_in weight[] = {ATTN_W_Q, ATTN_W_K, ATTN_W_V};
    static const enum attn_in bias[] = {ATTN_B_Q, ATTN_B_K, ATTN_B_V};
    const struct attn_plan *p = call->plan;
    const struct plan_layout *l = plan_layout(p);
    const struct attn_tensor *t = call->in->tensor;
    const int64_t at[] = {l->q_at, l->k_at, l->v_at};
    bool of_x = job == PLAN_Q || !t[ATTN_CONTEXT].rank;
    return (struct layer){
        .x = t[of_x ? ATTN_X : ATTN_CONTEXT].data,
        .y = (char *)call->shared + at[job],
        .weight = weight[job],
        .bias = bias[job],
        .n = job == PLAN_Q ? p->n_q : p->m,
        .depth = job == PLAN_Q ? p->d : p->d_c,
        .columns = job == PLAN_Q ? p->H * p->d_k
                                 : p->G * (job == PLAN_K ? p->d_k : p->d_v),
    };
}

bool project_operand(const struct attn_call *call, int64_t task,
                     void *workspace, int64_t *resume)
{
    const int64_t *tasks = plan_layout(call->plan)->project_tasks;
    int job = PLAN_Q;
    while (task >= tasks[job])
        task -= tasks[job++];
    struct layer layer = operand_layer(call, (enum plan_job)job);
    int64_t tiles = project_tiles(call->in->dtype, layer.n, layer.columns);
    return run_layer(call, &layer, task / tiles, task % tiles, workspace,
                     resume);
}

bool project_output(const struct attn_call *call, int64_t task,
                    void *workspace, int64_t *resume)
{
    const struct attn_plan *p = call->plan;
    const struct layer layer = {
        .x = (char *)call->shared + plan_layout(p)->mixed_at,
        .y = call->out->data[ATTN_OUT_OUTPUT],
        .weight = ATTN_W_O,
        .bias = ATTN_B_O,
        .n = p->n_q,
        .depth = p->H * p->d_v,
        .columns = p->d_out,
    };
    int64_t tiles = project_tiles(call->in->dtype, layer.n, layer.columns);
    return run_layer(call, &layer, task / tiles, task % tiles, workspace,
                     resume);
}
