/* SPDX-License-Identifier: MIT */
/*
 * project.c - the linear layers: rows of one item times a weight, plus bias.
 *
 *     Y = X W + b        X [n, depth]  W [depth, columns]  Y [n, columns]
 *
 * or W [columns, depth] where weights are stored as "out_in". A task makes
 * one tile of Y; it may stop between two slices of the depth.
 */
#include "project.h"

#include "blas.h"
#include "real.h"
#include "row.h"
#include "size.h"

struct layer {
    const char *x;
    char *y;
    enum attn_in weight, bias;
    int64_t n, depth, columns;
};

int64_t project_tiles(int64_t n, int64_t columns)
{
    return size_ceil(n, PROJECT_ROWS) * size_ceil(columns, PROJECT_COLUMNS);
}

static void add_bias(const struct attn_call *call, const struct layer *layer,
                     void *y, int64_t rows, int64_t column, int64_t columns)
{
    const struct attn_tensor *bias = &call->in->tensor[layer->bias];
    int64_t size = (int64_t)attn_dtype_bytes(call->in->dtype);
    for (int64_t i = 0; i < rows && bias->rank; i++)
        row_ops(call->in->dtype)->add(real_at(y, i * layer->columns, size),
                                      columns,
                                      real_at(bias->data, column, size), 1);
}

/* One slice of tile `tile` of item b; true when it was the last. */
static bool run_layer(const struct attn_call *call, const struct layer *layer,
                      int64_t b, int64_t tile, int64_t *resume)
{
    const struct attn_input *in = call->in;
    int64_t size = (int64_t)attn_dtype_bytes(in->dtype);
    int64_t across = size_ceil(layer->columns, PROJECT_COLUMNS);
    int64_t row = tile / across * PROJECT_ROWS;
    int64_t column = tile % across * PROJECT_COLUMNS;
    int64_t depth = *resume * PROJECT_DEPTH;
    bool out_in = in->weights_out_in;
    int64_t w_row = out_in ? layer->depth : layer->columns;
    struct blas_product p = {
        .dtype = in->dtype,
        .transpose_b = out_in,
        .m = size_min(PROJECT_ROWS, layer->n - row),
        .n = size_min(PROJECT_COLUMNS, layer->columns - column),
        .k = size_min(PROJECT_DEPTH, layer->depth - depth),
        .a = real_at(layer->x, (b * layer->n + row) * layer->depth + depth,
                     size),
        .b = real_at(in->tensor[layer->weight].data,
                     out_in ? column * w_row + depth : depth * w_row + column,
                     size),
        .c = real_at(layer->y, (b * layer->n + row) * layer->columns + column,
                     size),
        .a_row = layer->depth,
        .b_row = w_row,
        .c_row = layer->columns,
        .beta = depth > 0,
    };
    blas_multiply(&p);
    ++*resume;
    if (depth + PROJECT_DEPTH < layer->depth)
        return false;
    add_bias(call, layer, p.c, p.m, column, p.n);
    return true;
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
                     int64_t *resume)
{
    const int64_t *tasks = plan_layout(call->plan)->project_tasks;
    int job = PLAN_Q;
    while (task >= tasks[job])
        task -= tasks[job++];
    struct layer layer = operand_layer(call, (enum plan_job)job);
    int64_t tiles = project_tiles(layer.n, layer.columns);
    return run_layer(call, &layer, task / tiles, task % tiles, resume);
}

bool project_output(const struct attn_call *call, int64_t task,
                    int64_t *resume)
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
    int64_t tiles = project_tiles(layer.n, layer.columns);
    return run_layer(call, &layer, task / tiles, task % tiles, resume);
}
