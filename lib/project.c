/* SPDX-License-Identifier: MIT */
/*
 * project.c - the linear layers: rows of one item times a weight, plus bias.
 *
 *     Y = X W + b        X [n, depth]  W [depth, columns]  Y [n, columns]
 *
 * or W [columns, depth] where weights are stored as "out_in". A task makes one
 * tile of Y and may stop between two slices of the depth, which are added in
 * order. Which of three ways a layer goes follows from its own shape:
 *
 *     lines    up to KERNEL_LINES rows: W is read once, where it lies
 *     panels   up to PANEL_ROWS: a panel of W is packed, rows of X go by it
 *     BLAS     more: a product of matrices for each slice of a tile
 *
 * The BLAS gives a row bits that depend on how many rows the product has, so
 * tiles are counted from the item's first row, whatever else the call holds.
 */
#include "project.h"

#include <string.h>

#include "blas.h"
#include "kernel.h"
#include "real.h"
#include "size.h"
#include "view.h"

enum {
    PANEL_ROWS = 80,    /* beyond, the BLAS is as fast */
    CHUNK = 64,         /* rows whose sums stay in the first cache */
    DEPTH = 512,        /* of a slice; the highest tiles: half of it */
    LINE_COLUMNS = 512, /* of a tile by lines, for which W is not packed */
    BLAS_COLUMNS = 512  /* of a tile of float32; half as many of float64 */
};

enum way { BY_LINES, BY_PANELS, BY_BLAS };

struct layer {
    const char *x;
    struct view y;
    enum attn_in weight, bias;
    int64_t n, depth, columns;
};

/* One slice of a tile, at work in a workspace. W are the most columns. */
struct slab {
    const struct kernel *kernel;
    enum attn_dtype dtype;
    int64_t size;           /* bytes of a number */
    int64_t b, row, rows;   /* of the item's X and Y */
    int64_t column, columns;
    int64_t depth, slice;   /* where the slice begins, and how deep it is */
    int vecs;
    char *panel;            /* [slice, W] of the weight; lines: X's rows */
    char *sums;             /* [CHUNK, W] of X W; lines: a row each */
};

static enum way way_of(int64_t n)
{
    if (n <= KERNEL_LINES)
        return BY_LINES;
    return n <= PANEL_ROWS || !blas_trusted() ? BY_PANELS : BY_BLAS;
}

/* High tiles read the weight less often; but there should be some tiles for
 * each core, and a slice of one takes some 1 ms. */
static int64_t most_rows(int64_t n)
{
    return n < 1024 ? 256 : n < 2048 ? 512 : 1024;
}

static int64_t most_depth(int64_t n)
{
    return n < 2048 ? DEPTH : DEPTH / 2;
}

static int64_t most_columns(enum attn_dtype dtype, int64_t n)
{
    switch (way_of(n)) {
    case BY_LINES:
        return LINE_COLUMNS;
    case BY_PANELS:
        return KERNEL_VECS * attn_kernel(dtype)->lanes;
    default:
        return dtype == ATTN_FLOAT64 ? BLAS_COLUMNS / 2 : BLAS_COLUMNS;
    }
}

int64_t project_row(enum attn_dtype dtype, int64_t columns)
{
    return size_add(columns, 64 / (int64_t)attn_dtype_bytes(dtype));
}

int64_t project_tiles(enum attn_dtype dtype, int64_t n, int64_t columns)
{
    return size_ceil(n, most_rows(n)) *
           size_ceil(columns, most_columns(dtype, n));
}

/* Of the panel; it holds X, and there are sums behind it, by lines as well. */
static int64_t panel_elements(enum attn_dtype dtype)
{
    return DEPTH * size_max(most_columns(dtype, PANEL_ROWS),
                                    KERNEL_LINES);
}

int64_t project_bytes(enum attn_dtype dtype)
{
    int64_t sums = size_max(CHUNK * most_columns(dtype, PANEL_ROWS),
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
        .dtype = dtype,
        .size = (int64_t)attn_dtype_bytes(dtype),
        .b = b,
        .row = tile / across * most_rows(layer->n),
        .column = tile % across * most,
        .depth = step * most_depth(layer->n),
        .panel = workspace,
    };
    t.rows = size_min(most_rows(layer->n), layer->n - t.row);
    t.columns = size_min(most, layer->columns - t.column);
    t.slice = size_min(most_depth(layer->n), layer->depth - t.depth);
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

static void *y_of(const struct layer *layer, const struct slab *t, int64_t row)
{
    return real_at(view_at(&layer->y, t->b, 0, row), t->column, t->size);
}

static const void *bias_of(const struct attn_call *call,
                           const struct layer *layer, const struct slab *t)
{
    return real_at(call->in->tensor[layer->bias].data, t->column, t->size);
}

/* Y = sums + bias in the first slice, Y = sums + Y in the later ones */
static void finish(const struct attn_call *call, const struct layer *layer,
                   const struct slab *t, int64_t row, int64_t rows,
                   const char *sums)
{
    void *y = y_of(layer, t, row);
    t->kernel->add(t->vecs, t->columns, rows, sums,
                   t->depth ? y : bias_of(call, layer, t),
                   t->depth ? layer->y.row : 0, y, layer->y.row);
}

/* Y = X W + Y, where the first slice finds the bias in Y, or nothing */
static void multiply_by_blas(const struct attn_call *call,
                             const struct layer *layer, const struct slab *t)
{
    bool out_in = call->in->weights_out_in;
    const void *bias = bias_of(call, layer, t);
    for (int64_t i = 0; i < t->rows && bias && !t->depth; i++)
        memcpy(y_of(layer, t, t->row + i), bias,
               (size_t)(t->columns * t->size));
    blas_multiply(&(struct blas_product){
        .dtype = t->dtype,
        .transpose_b = out_in,
        .m = t->rows,
        .n = t->columns,
        .k = t->slice,
        .a = x_of(layer, t, t->row),
        .a_row = layer->depth,
        .b = weight_of(call, layer, t),
        .b_row = out_in ? layer->depth : layer->columns,
        .c = y_of(layer, t, t->row),
        .c_row = layer->y.row,
        .alpha = 1,
        .beta = bias || t->depth ? 1 : 0,
    });
}

/* A panel of W: panel[c][i] = W[depth + c][column + i], then rows by it */
static void multiply_by_panels(const struct attn_call *call,
                               const struct layer *layer, const struct slab *t)
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
static void multiply_by_lines(const struct attn_call *call,
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
    switch (way_of(layer->n)) {
    case BY_LINES:
        multiply_by_lines(call, layer, &t);
        break;
    case BY_PANELS:
        multiply_by_panels(call, layer, &t);
        break;
    case BY_BLAS:
        multiply_by_blas(call, layer, &t);
        break;
    }
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
    };
    int64_t tiles = project_tiles(call->in->dtype, layer.n, layer.columns);
    return run_layer(call, &layer, task / tiles, task % tiles, workspace,
                     resume);
}
