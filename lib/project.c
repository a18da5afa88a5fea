/* SPDX-License-Identifier: MIT */
/*
 * project.c - the linear layers: rows of one item times a weight, plus bias.
 *
 *     Y = X W + b        X [n, depth]  W [depth, columns]  Y [n, columns]
 *
 * or W [columns, depth] where weights are stored as "out_in". Q, K and V are
 * written heads apart: in one row of all heads, rows of a head would meet in
 * few places of the caches. A task makes
 * one tile of Y; it may stop between two slices of the depth. A panel of W,
 * as wide as a tile of queries, is laid together once a task; then rows of X
 * go by it as keys do. So the bits of a row do not depend on n, but for an n
 * of a few: that goes over W as the queries of decoding go over keys.
 */
#include "project.h"

#include <string.h>

#include "kernel.h"
#include "real.h"
#include "size.h"
#include "view.h"

enum {
    CHUNK = 64,        /* rows whose sums stay in the first cache */
    LINE_COLUMNS = 512 /* of a tile of few rows, for which W is not packed */
};

struct layer {
    const char *x;
    struct view y;
    enum attn_in weight, bias;
    int64_t n, depth, columns, width; /* of a head */
};

/* One slice of a tile, at work in a workspace. W are the most columns. */
struct slab {
    const struct kernel *kernel;
    int64_t size;           /* bytes of a number */
    int64_t b, row, rows;   /* of the item's X and Y */
    int64_t column, columns;
    int64_t depth, slice;   /* where the slice begins, and how deep it is */
    int vecs;
    char *panel;            /* [slice, W] of the weight; lines: X's rows */
    char *sums;             /* [CHUNK, W] of X W; lines: a row each */
};

static bool by_lines(int64_t n)
{
    return n <= KERNEL_LINES;
}

static int64_t most_columns(enum attn_dtype dtype, int64_t n)
{
    return by_lines(n) ? LINE_COLUMNS
                       : KERNEL_VECS * attn_kernel(dtype)->lanes;
}

int64_t project_tiles(enum attn_dtype dtype, int64_t n, int64_t columns)
{
    return size_ceil(n, PROJECT_ROWS) *
           size_ceil(columns, most_columns(dtype, n));
}

/* Of the panel; it holds X, and there are sums behind it, in lines as well. */
static int64_t panel_elements(enum attn_dtype dtype)
{
    return PROJECT_DEPTH * size_max(most_columns(dtype, PROJECT_ROWS),
                                    KERNEL_LINES);
}

int64_t project_bytes(enum attn_dtype dtype)
{
    int64_t sums = size_max(CHUNK * most_columns(dtype, PROJECT_ROWS),
                            KERNEL_LINES * LINE_COLUMNS);
    return (panel_elements(dtype) + sums) * (int64_t)attn_dtype_bytes(dtype);
}

static struct slab open_slab(const struct layer *layer, enum attn_dtype dtype,
                             int64_t b, int64_t tile, int64_t step,
                             char *workspace)
{
    int64_t most = most_columns(dtype, layer->n);
    int64_t across = size_ceil(layer->columns, most);
    struct slab t = {
        .kernel = attn_kernel(dtype),
        .size = (int64_t)attn_dtype_bytes(dtype),
        .b = b,
        .row = tile / across * PROJECT_ROWS,
        .column = tile % across * most,
        .depth = step * PROJECT_DEPTH,
        .panel = workspace,
    };
    t.rows = size_min(PROJECT_ROWS, layer->n - t.row);
    t.columns = size_min(most, layer->columns - t.column);
    t.slice = size_min(PROJECT_DEPTH, layer->depth - t.depth);
    t.vecs = (int)size_ceil(t.columns, t.kernel->lanes);
    t.sums = t.panel + panel_elements(dtype) * t.size;
    return t;
}

/* W[depth][column], stored as [columns, depth] or as [depth, columns] */
static const void *weight_of(const struct attn_call *call,
                             const struct layer *layer, const struct slab *t)
{
    return real_at(call->in->tensor[layer->weight].data,
                   call->in->weights_out_in
                       ? t->column * layer->depth + t->depth
                       : t->depth * layer->columns + t->column,
                   t->size);
}

static const void *x_of(const struct layer *layer, const struct slab *t,
                        int64_t row)
{
    return real_at(layer->x,
                   (t->b * layer->n + row) * layer->depth + t->depth, t->size);
}

/* Y = sums + bias in the first slice, Y = sums + Y in the later ones: the
 * columns from `column` on that are of one head; returns how many. */
static int64_t finish_head(const struct attn_call *call,
                           const struct layer *layer, const struct slab *t,
                           int64_t row, int64_t rows, const char *sums,
                           int64_t column)
{
    int64_t head = column / layer->width, within = column % layer->width;
    int64_t count = size_min(layer->width - within,
                             t->column + t->columns - column);
    void *y = real_at(view_at(&layer->y, t->b, head, row), within, t->size);
    const void *bias = real_at(call->in->tensor[layer->bias].data, column,
                               t->size);
    t->kernel->add(t->vecs, count, rows,
                   sums + (column - t->column) * t->size, t->depth ? y : bias,
                   t->depth ? layer->y.row : 0, y, layer->y.row);
    return count;
}

static void finish(const struct attn_call *call, const struct layer *layer,
                   const struct slab *t, int64_t row, int64_t rows,
                   const char *sums)
{
    int64_t column = t->column, end = t->column + t->columns;
    while (column < end)
        column += finish_head(call, layer, t, row, rows, sums, column);
}

/* A panel of W: panel[c][i] = W[depth + c][column + i], then rows by it */
static void multiply(const struct attn_call *call, const struct layer *layer,
                     const struct slab *t)
{
    const void *w = weight_of(call, layer, t);
    if (call->in->weights_out_in)
        t->kernel->columns(t->vecs, t->columns, t->slice, w, layer->depth,
                           t->panel);
    else
        t->kernel->gather(t->vecs, t->columns, t->slice, w, layer->columns,
                          t->panel);
    for (int64_t i = 0; i < t->rows; i += CHUNK) {
        int64_t rows = size_min(CHUNK, t->rows - i);
        t->kernel->scores(t->vecs, rows, t->slice, t->panel,
                          x_of(layer, t, t->row + i), layer->depth, 1,
                          t->sums);
        finish(call, layer, t, t->row + i, rows, t->sums);
    }
}

/* Few rows together over W, where it lies */
static void multiply_lines(const struct attn_call *call,
                           const struct layer *layer, const struct slab *t)
{
    static const double none[KERNEL_LINES];
    const void *w = weight_of(call, layer, t);
    int64_t apart = call->in->weights_out_in ? LINE_COLUMNS : t->columns;
    memset(t->sums, 0, (size_t)(t->rows * apart * t->size));
    for (int64_t r = 0; r < t->rows && t->slice; r++)
        memcpy(t->panel + r * t->slice * t->size, x_of(layer, t, t->row + r),
               (size_t)(t->slice * t->size));
    if (call->in->weights_out_in)
        t->kernel->line_scores((int)t->rows, t->columns, t->slice, t->panel,
                               w, layer->depth, 1, t->sums, apart);
    else
        t->kernel->line_mix((int)t->rows, t->slice, t->columns, t->panel,
                            t->slice, w, layer->columns, none, t->sums);
    for (int64_t r = 0; r < t->rows; r++)
        finish(call, layer, t, t->row + r, 1, t->sums + r * apart * t->size);
}

/* One slice of tile `tile` of item b; true when it was the last. */
static bool run_layer(const struct attn_call *call, const struct layer *layer,
                      int64_t b, int64_t tile, void *workspace,
                      int64_t *resume)
{
    struct slab t = open_slab(layer, call->in->dtype, b, tile, *resume,
                              workspace);
    if (by_lines(layer->n))
        multiply_lines(call, layer, &t);
    else
        multiply(call, layer, &t);
    ++*resume;
    return t.depth + t.slice >= layer->depth;
}

static struct layer operand_layer(const struct attn_call *call,
                                  enum plan_job job)
{
    static const enum attn_in weight[] = {ATTN_W_Q, ATTN_W_K, ATTN_W_V};
    static const enum attn_in bias[] = {ATTN_B_Q, ATTN_B_K, ATTN_B_V};
    const struct attn_plan *p = call->plan;
    const struct attn_tensor *t = call->in->tensor;
    int64_t width = job == PLAN_V ? p->d_v : p->d_k;
    bool of_x = job == PLAN_Q || !t[ATTN_CONTEXT].rank;
    return (struct layer){
        .x = t[of_x ? ATTN_X : ATTN_CONTEXT].data,
        .y = view_operand(call, job),
        .weight = weight[job],
        .bias = bias[job],
        .n = job == PLAN_Q ? p->n_q : p->m,
        .depth = job == PLAN_Q ? p->d : p->d_c,
        .columns = (job == PLAN_Q ? p->H : p->G) * width,
        .width = width,
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
        .y = view_of(call->out->data[ATTN_OUT_OUTPUT],
                     (int64_t)attn_dtype_bytes(call->in->dtype), 1, p->n_q,
                     p->d_out, false),
        .weight = ATTN_W_O,
        .bias = ATTN_B_O,
        .n = p->n_q,
        .depth = p->H * p->d_v,
        .columns = p->d_out,
        .width = p->d_out,
    };
    int64_t tiles = project_tiles(call->in->dtype, layer.n, layer.columns);
    return run_layer(call, &layer, task / tiles, task % tiles, workspace,
                     resume);
}
