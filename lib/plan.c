/* SPDX-License-Identifier: MIT */
/*
 * plan.c - from dimensions to phases, tasks, borders and bytes.
 *
 * In comes an input that was checked and a plan with its dimensions; out goes
 * the plan with all else. Everything is sized with saturating sums, and asked
 * once at the end whether it fits.
 */
#include "plan.h"

#include "check.h"
#include "complain.h"
#include "engine.h"
#include "forward.h"
#include "project.h"
#include "reference.h"
#include "size.h"

struct making {
    const struct attn_input *in;
    struct attn_plan *plan;
    struct plan_layout *layout;
    int64_t size;         /* bytes of a number */
    int64_t shared_bytes; /* so far */
};

static bool has(const struct making *m, enum attn_in name)
{
    return m->in->tensor[name].rank != 0;
}

static bool returns(const struct making *m, enum attn_out out)
{
    return (m->in->returns & ATTN_RETURN(out)) != 0;
}

static int64_t product(int64_t a, int64_t b, int64_t c, int64_t d)
{
    return size_mul(size_mul(a, b), size_mul(c, d));
}

/* ------------------------------------------------------------- results */

static void shape(struct making *m, enum attn_out out, int rank,
                  const int64_t *dim)
{
    struct attn_tensor *t = &m->plan->output[out];
    int64_t elements = 1;
    t->rank = rank;
    for (int axis = 0; axis < rank; axis++) {
        t->dim[axis] = dim[axis];
        elements = size_mul(elements, dim[axis]);
    }
    m->plan->output_bytes[out] = (size_t)size_mul(elements, m->size);
}

/* [B, heads, x, y] less the axes that Q does not have; y < 0: no last. */
static void shape_apart(struct making *m, enum attn_out out, int64_t heads,
                        int64_t x, int64_t y)
{
    int64_t dim[4];
    int rank = 0;
    if (!returns(m, out))
        return;
    if (check_has_batch(m->in))
        dim[rank++] = m->plan->B;
    if (check_has_heads(m->in) && heads >= 0)
        dim[rank++] = heads;
    dim[rank++] = x;
    if (y >= 0)
        dim[rank++] = y;
    shape(m, out, rank, dim);
}

static void shape_results(struct making *m)
{
    const struct attn_plan *p = m->plan;
    int64_t n_new = p->n_k - p->n_past;
    if (has(m, ATTN_X) || m->in->num_heads)
        shape_apart(m, ATTN_OUT_OUTPUT, -1, p->n_q,
                    has(m, ATTN_X) ? p->d_out : size_mul(p->H, p->d_v));
    else
        shape_apart(m, ATTN_OUT_OUTPUT, p->H, p->n_q, p->d_v);
    shape_apart(m, ATTN_OUT_A, p->H, p->n_q, p->n_k);
    shape_apart(m, ATTN_OUT_A_MEAN, -1, p->n_q, p->n_k);
    shape_apart(m, ATTN_OUT_LSE, p->H, p->n_q, -1);
    shape_apart(m, ATTN_OUT_Q, p->H, p->n_q, p->d_k);
    shape_apart(m, ATTN_OUT_K, p->G, n_new, p->d_k);
    shape_apart(m, ATTN_OUT_V, p->G, n_new, p->d_v);
    for (int s = ATTN_OUT_S; s <= ATTN_OUT_S_MASKED; s++)
        shape_apart(m, (enum attn_out)s, p->H, p->n_q, p->n_k);
    shape_apart(m, ATTN_OUT_PRESENT_K, p->G, p->n_k, p->d_k);
    shape_apart(m, ATTN_OUT_PRESENT_V, p->G, p->n_k, p->d_v);
}

/* ----------------------------------------------------- phases and tasks */

static void add_phase(struct making *m, enum plan_phase phase, int64_t tasks)
{
    struct attn_plan *p = m->plan;
    if (tasks == 0)
        return;
    m->layout->phase[p->n_phases] = phase;
    p->tasks[p->n_phases++] = tasks;
}

static int64_t share(struct making *m, int64_t bytes)
{
    int64_t at = m->shared_bytes;
    m->shared_bytes = size_add(at, size_add(bytes, 63) / 64 * 64);
    return at;
}

static void plan_projection(struct making *m)
{
    const struct attn_plan *p = m->plan;
    struct plan_layout *l = m->layout;
    int64_t q = size_mul(p->H, p->d_k), k = size_mul(p->G, p->d_k);
    int64_t v = size_mul(p->G, p->d_v), tasks = 0;
    enum attn_dtype dtype = m->in->dtype;
    if (!has(m, ATTN_X))
        return;
    m->plan->worker_bytes = (size_t)project_bytes(dtype);
    l->q_at = share(m, product(p->B, p->n_q, project_row(dtype, q), m->size));
    l->k_at = share(m, product(p->B, p->m, project_row(dtype, k), m->size));
    l->v_at = share(m, product(p->B, p->m, project_row(dtype, v), m->size));
    l->project_tasks[PLAN_Q] = p->B * project_tiles(dtype, p->n_q, q);
    l->project_tasks[PLAN_K] = p->B * project_tiles(dtype, p->m, k);
    l->project_tasks[PLAN_V] = p->B * project_tiles(dtype, p->m, v);
    for (int job = PLAN_Q; job <= PLAN_V; job++)
        tasks += l->project_tasks[job];
    add_phase(m, PLAN_PROJECT, tasks);
}

/* From how many queries on packed K and V are copied. */
enum { APART_QUERIES = 512 };

/* Rows of a task that does `work` for each: enough, not too many. */
static int64_t task_rows(int64_t work)
{
    return size_max(1, size_min(4096, 1000000 / size_max(work, 1)));
}

static void plan_rotation(struct making *m)
{
    const struct attn_plan *p = m->plan;
    struct plan_layout *l = m->layout;
    int64_t n_new = p->n_k - p->n_past;
    if (!m->in->rope || p->d_k == 0)
        return;
    l->turned_q_at = share(m, size_mul(size_mul(p->B, p->H),
                                       product(p->n_q, p->d_k, m->size, 1)));
    l->turned_k_at = share(m, size_mul(size_mul(p->B, p->G),
                                       product(n_new, p->d_k, m->size, 1)));
    int64_t angles = 50 * p->d_k;
    l->rotate_rows[PLAN_Q] = task_rows(angles + p->H * p->d_k);
    l->rotate_rows[PLAN_K] = task_rows(angles + p->G * p->d_k);
    l->rotate_tasks[PLAN_Q] =
        p->H ? p->B * size_ceil(p->n_q, l->rotate_rows[PLAN_Q]) : 0;
    l->rotate_tasks[PLAN_K] =
        p->G ? p->B * size_ceil(n_new, l->rotate_rows[PLAN_K]) : 0;
    add_phase(m, PLAN_ROTATE,
              l->rotate_tasks[PLAN_Q] + l->rotate_tasks[PLAN_K]);
}

static void add_job(struct making *m, enum plan_job job, int64_t heads,
                    int64_t n, int64_t work)
{
    struct plan_layout *l = m->layout;
    l->prepare_rows[job] = task_rows(work);
    l->prepare_tasks[job] =
        m->plan->B * heads * size_ceil(n, l->prepare_rows[job]);
}

/* Rows of a head that lie far apart meet in few places of the caches: where
 * many blocks of queries go over K and V, a copy is soon paid for. */
static void plan_apart(struct making *m)
{
    const struct attn_plan *p = m->plan;
    struct plan_layout *l = m->layout;
    int64_t n_new = p->n_k - p->n_past, heads = size_mul(p->B, p->G);
    if (!m->in->num_heads || has(m, ATTN_X) || p->G == 1 ||
        p->n_q < APART_QUERIES)
        return;
    if (!m->in->rope && !has(m, ATTN_V_A)) {
        l->apart_k_at = share(m, product(heads, n_new, p->d_k, m->size));
        add_job(m, PLAN_APART_K, p->G, n_new, p->d_k);
    }
    l->apart_v_at = share(m, product(heads, n_new, p->d_v, m->size));
    add_job(m, PLAN_APART_V, p->G, n_new, p->d_v);
}

static void plan_preparation(struct making *m)
{
    static const enum attn_out out[] = {
        [PLAN_Q] = ATTN_OUT_Q, [PLAN_K] = ATTN_OUT_K, [PLAN_V] = ATTN_OUT_V,
        [PLAN_PRESENT_K] = ATTN_OUT_PRESENT_K,
        [PLAN_PRESENT_V] = ATTN_OUT_PRESENT_V};
    const struct attn_plan *p = m->plan;
    struct plan_layout *l = m->layout;
    int64_t n_new = p->n_k - p->n_past, tasks = 0;
    const int64_t n[] = {p->n_q, n_new, n_new, p->n_k, p->n_k};
    for (int job = PLAN_Q; job <= PLAN_PRESENT_V; job++)
        if (returns(m, out[job]))
            add_job(m, (enum plan_job)job, job == PLAN_Q ? p->H : p->G,
                    n[job], size_max(p->d_k, p->d_v));
    plan_apart(m);
    if (has(m, ATTN_V_A)) {
        int64_t a = m->in->tensor[ATTN_V_A].dim[0];
        int64_t work = size_mul(p->d_k, a) / 16;
        l->term_q_at = share(m, size_mul(product(p->B, p->H, p->n_q, a),
                                         m->size));
        l->term_k_at = share(m, size_mul(product(p->B, p->G, p->n_k, a),
                                         m->size));
        add_job(m, PLAN_TERM_Q, p->H, p->n_q, work);
        add_job(m, PLAN_TERM_K, p->G, p->n_k, work);
    }
    for (int job = 0; job < PLAN_N_JOBS; job++)
        tasks += l->prepare_tasks[job];
    add_phase(m, PLAN_PREPARE, tasks);
}

/* -------------------------------------------------------------- tiles */

enum {
    COLUMNS = 128,       /* of a tile: with its S it fits the first cache */
    RANGE_KEYS = 8192,   /* of a task, where there are few blocks of rows */
    FEW_BLOCKS = 16,
    FEW_ROWS = 4,        /* lines pay for up to a quarter of a vector's */
    LINE_COLUMNS = 2048, /* of a tile in lines, which is read only once... */
    LINE_ELEMENTS = 1 << 18, /* ... and its K or V */
    MOST_WORK = 20000000 /* operations of a tile, half a millisecond */
};

/* Long tiles: where K and V take turns less, they come faster. */
static int64_t line_columns(const struct attn_plan *p)
{
    int64_t columns = LINE_COLUMNS;
    while (columns > COLUMNS &&
           (columns / 2 >= p->n_k ||
            size_mul(columns, size_max(p->d_k, p->d_v)) > LINE_ELEMENTS))
        columns /= 2;
    return columns;
}

/* Few queries go together with those of the other heads of their group, so
 * that K and V are read once. */
static void choose_blocks(struct making *m)
{
    const struct attn_plan *p = m->plan;
    struct plan_layout *l = m->layout;
    int64_t lanes = attn_kernel(m->in->dtype)->lanes, vecs = KERNEL_VECS;
    while (vecs > 1 && size_mul(vecs * lanes * 16, l->pair_cost) > MOST_WORK)
        vecs--;
    l->lanes = vecs * lanes;
    l->stack = 1;
    l->groups = p->H;
    if (size_mul(p->n_q, p->H / p->G) <= l->lanes) {
        l->stack = p->H / p->G;
        l->groups = p->G;
    }
    l->vectors = size_ceil(p->n_q * l->stack, lanes);
    l->row_blocks = size_ceil(l->vectors, vecs);
    l->lanes = size_min(l->lanes, l->vectors * lanes);
    if (p->n_q * l->stack <= size_max(lanes / FEW_ROWS, 1)) {
        l->lines = 1;
        l->lanes = p->n_q * l->stack;
    }
    l->columns = l->lines ? line_columns(p) : COLUMNS;
    while (l->columns > 1 &&
           size_mul(l->lanes * l->columns, l->pair_cost) > MOST_WORK)
        l->columns /= 2;
}

static void plan_tiles(struct making *m)
{
    struct attn_plan *p = m->plan;
    struct plan_layout *l = m->layout;
    int64_t additive = has(m, ATTN_V_A) ? m->in->tensor[ATTN_V_A].dim[0] : 0;
    int64_t blocks;
    l->pair_cost = 2 * size_add(p->d_k, p->d_v) + 32 +
                   (m->in->softcap > 0 ? 64 : 0) + size_mul(additive, 48);
    l->step_cost = l->pair_cost + (returns(m, ATTN_OUT_STATS) ? 512 : 0);
    l->ranges = 1;
    if (product(p->B, p->H, p->n_q, 1) == 0)
        return;
    choose_blocks(m);
    l->range_keys = size_max(p->n_k, 1);
    if (p->n_k > RANGE_KEYS &&
        (l->stack > 1 || l->groups * l->row_blocks < FEW_BLOCKS)) {
        l->range_keys = RANGE_KEYS;
        l->ranges = size_ceil(p->n_k, RANGE_KEYS);
    }
    if (returns(m, ATTN_OUT_A_MEAN) && !returns(m, ATTN_OUT_A))
        l->a_at = share(m, size_mul(product(p->B, p->H, p->n_q, p->n_k),
                                    m->size));
    if (has(m, ATTN_W_O))
        l->mixed_at = share(m, size_mul(product(p->B, p->n_q, p->H, p->d_v),
                                        m->size));
    blocks = p->B * l->groups * l->row_blocks;
    add_phase(m, PLAN_ATTEND, blocks * l->ranges);
    l->tallies = blocks * l->ranges;
    if (l->ranges > 1) {
        struct partial partial;
        l->partial_bytes = partial_lay_out(&partial, m->in, p, NULL);
        l->partial_at = share(m, size_mul(blocks * l->ranges,
                                          l->partial_bytes));
        add_phase(m, PLAN_MERGE, blocks);
        l->tallies += blocks;
    }
    l->tally_at = share(m, size_mul(l->tallies, sizeof(struct tally)));
    struct block block;
    l->workspace_bytes = block_lay_out(&block, m->in, p, NULL);
    p->worker_bytes = (size_t)size_max((int64_t)p->worker_bytes,
                                       l->workspace_bytes);
}

static void plan_results(struct making *m)
{
    const struct attn_plan *p = m->plan;
    struct plan_layout *l = m->layout;
    if (returns(m, ATTN_OUT_A_MEAN)) {
        l->mean_elements = size_max(1000000 / size_max(p->H, 1), 4096);
        add_phase(m, PLAN_MEAN,
                  size_mul(p->B, size_ceil(size_mul(p->n_q, p->n_k),
                                           l->mean_elements)));
    }
    if (has(m, ATTN_W_O) && returns(m, ATTN_OUT_OUTPUT))
        add_phase(m, PLAN_OUTPUT,
                  p->B * project_tiles(m->in->dtype, p->n_q, p->d_out));
}

/* ------------------------------------------------------------ estimates */

/* Pairs of query and key in tiles that are not skipped as a whole. */
static double pairs_of_item(const struct making *m, int64_t b)
{
    const struct attn_plan *p = m->plan;
    int64_t step = size_max(size_max(m->layout->lanes, 1), p->n_q / 64);
    double pairs = 0;
    for (int64_t i = 0; i < p->n_q; i += step) {
        int64_t rows = size_min(step, p->n_q - i);
        struct interval keys = visible_hull(m->in, p, b, i, rows);
        pairs += (double)rows * (double)(keys.end - keys.begin);
    }
    return pairs;
}

static void estimate(struct making *m)
{
    struct attn_plan *p = m->plan;
    double b = (double)p->B, h = (double)p->H, g = (double)p->G;
    double n_q = (double)p->n_q, n_k = (double)p->n_k;
    double d_k = (double)p->d_k, d_v = (double)p->d_v;
    p->operations = 2 * b * h * n_q * n_k * (d_k + d_v);
    /* items differ only by lists: a sample of them is enough */
    int64_t step = size_max(p->B / 64, 1), items = 0;
    for (int64_t item = 0; item < p->B; item += step, items++)
        p->work += pairs_of_item(m, item);
    double reading = (d_k + d_v) * (double)PLAN_READ_COST /
                     (double)size_max(m->layout->lanes, 1);
    p->work *= b / (double)size_max(items, 1) * h *
               ((double)m->layout->step_cost + reading);
    p->work += b * (h * n_q + g * n_k) * (d_k + d_v);
    if (has(m, ATTN_X))
        p->work += 2 * b * (n_q * (double)p->d * h * d_k +
                            (double)p->m * (double)p->d_c * g * (d_k + d_v));
    if (has(m, ATTN_W_O))
        p->work += 2 * b * n_q * h * d_v * (double)p->d_out;
    p->assumed_offset_0 =
        (m->in->causal || has(m, ATTN_ALIBI) ||
         m->in->window_left != ATTN_OPEN || m->in->window_right != ATTN_OPEN) &&
        p->n_q != p->n_k && !has(m, ATTN_PAST_K) && !has(m, ATTN_OFFSET) &&
        !m->in->offset_end;
}

static enum attn_status fits(const struct making *m, struct attn_error *error)
{
    const struct attn_plan *p = m->plan;
    struct attn_error what = {.status = ATTN_OVERFLOW, .axis = -1,
                              .index = -1};
    for (int out = 0; out < ATTN_N_OUT && !what.name; out++)
        if (!size_fits((int64_t)p->output_bytes[out]))
            what.name = attn_out_name[out];
    if (!what.name && (!size_fits(m->shared_bytes) ||
                       !size_fits((int64_t)p->worker_bytes)))
        what.name = has(m, ATTN_X) ? "X" : "Q";
    if (!what.name)
        return ATTN_OK;
    return complain(error, what,
                    "the size of $n is beyond what a machine can address");
}

enum attn_status plan_fill(const struct attn_input *in,
                           struct attn_plan *plan, struct attn_error *error)
{
    struct making m = {
        .in = in,
        .plan = plan,
        .layout = (struct plan_layout *)&plan->layout,
        .size = (int64_t)attn_dtype_bytes(in->dtype),
    };
    shape_results(&m);
    if (engine_in_use() != ATTN_ENGINE_REFERENCE) {
        plan_projection(&m);
        plan_rotation(&m);
        plan_preparation(&m);
        plan_tiles(&m);
        plan_results(&m);
    } else {
        share(&m, reference_bytes(plan));
        add_phase(&m, PLAN_REFERENCE, 1);
    }
    estimate(&m);
    plan->shared_bytes = (size_t)m.shared_bytes;
    return fits(&m, error);
}
