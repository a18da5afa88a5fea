/* SPDX-License-Identifier: MIT */
/*
 * reference.c - the formula in plain loops and double.
 *
 * The oracle of the tests, and what computes when both engines fail their
 * tests. It shares no line with the fast path, so that a fault has to
 * be made twice to stay hidden. In comes an input with its plan. Here the
 * operands are laid out - projected, rotated, put behind the cache - and the
 * mixtures projected; reference_row.c does what lies between.
 */
#include "reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "size.h"

/* Element [row, column] of a weight matrix [rows, columns]. */
static double weight(const struct reference *r, enum attn_in name,
                     int64_t row, int64_t column)
{
    const int64_t *dim = r->in->tensor[name].dim;
    if (r->in->weights_out_in) /* stored as [columns, rows] */
        return number(r, name, column * dim[1] + row);
    return number(r, name, row * dim[1] + column);
}

/* ------------------------------------------------------- the operands */

static double *row_at(const struct reference_rows *t, int64_t b, int64_t h,
                      int64_t i)
{
    return t->all + ((b * t->heads + h) * t->n + t->first + i) * t->d;
}

/* to = the given tensor [B, heads, count, d], or packed [B, count, heads*d] */
static void copy_rows(const struct reference *r,
                      const struct reference_rows *to, enum attn_in name,
                      bool packed)
{
    int64_t inner = packed ? to->heads : to->count;
    int64_t outer = packed ? to->count : to->heads;
    int64_t index = 0;
    for (int64_t b = 0; b < r->plan->B; b++)
        for (int64_t x = 0; x < outer; x++)
            for (int64_t y = 0; y < inner; y++)
                for (int64_t c = 0; c < to->d; c++)
                    row_at(to, b, packed ? y : x, packed ? x : y)[c] =
                        number(r, name, index++);
}

/* Row `row` of to = from W + bias; head h is the column block h.
 * from: [B, count, e] */
static void project_row(const struct reference *r,
                        const struct reference_rows *to, enum attn_in from,
                        enum attn_in w, enum attn_in bias, int64_t row)
{
    const struct attn_tensor *t = &r->in->tensor[from];
    int64_t width = t->dim[t->rank - 1];
    int64_t columns = to->heads * to->d;
    for (int64_t column = 0; column < columns; column++) {
        double sum = given(r, bias) ? number(r, bias, column) : 0;
        for (int64_t e = 0; e < width; e++)
            sum += number(r, from, row * width + e) * weight(r, w, e, column);
        row_at(to, row / to->count, column / to->d,
               row % to->count)[column % to->d] = sum;
    }
}

static void put_rows(const struct reference *r,
                     const struct reference_rows *from, enum attn_out name)
{
    int64_t index = 0;
    for (int64_t b = 0; b < r->plan->B; b++)
        for (int64_t h = 0; h < from->heads; h++)
            for (int64_t i = 0; i < from->count; i++)
                for (int64_t c = 0; c < from->d; c++)
                    put(r, name, index++, row_at(from, b, h, i)[c]);
}

/* Fills the cached rows. Packed, they lack the head axis of the stage K. */
static void take_past(const struct reference *r, struct reference_rows to,
                      enum attn_in name)
{
    if (!given(r, name))
        return;
    const struct attn_tensor *t = r->in->tensor;
    int rank = given(r, ATTN_X) ? t[ATTN_X].rank : t[ATTN_Q].rank;
    to.first = 0;
    to.count = r->plan->n_past;
    copy_rows(r, &to, name, r->in->num_heads > 0 && t[name].rank == rank);
}

/* ------------------------------------------------------------ rotation */

/*
 * At position p pair t turns by the angle p * base^(-2t/dim):
 * (x, y) -> (x cos - y sin, x sin + y cos).
 */
static void rotate(const struct reference *r, double *row, int64_t p)
{
    int64_t dim = r->in->rope_dim ? r->in->rope_dim : r->plan->d_k;
    for (int64_t t = 0; t < dim / 2; t++) {
        long double power = -2.0L * (long double)t / (long double)dim;
        long double angle = (long double)p * powl(r->in->rope_base, power);
        double *x = row + (r->in->rope_interleaved ? 2 * t : t);
        double *y = r->in->rope_interleaved ? x + 1 : x + dim / 2;
        double cosine = (double)cosl(angle), sine = (double)sinl(angle);
        double turned_x = *x * cosine - *y * sine;
        double turned_y = *x * sine + *y * cosine;
        *x = turned_x;
        *y = turned_y;
    }
}

/* Row `row` of output = heads W_O + b_O, or the heads in the layout of Q. */
static void put_output(struct reference *r, int64_t row)
{
    const struct attn_plan *p = r->plan;
    bool packed = given(r, ATTN_X) || r->in->num_heads > 0;
    int64_t width = p->H * p->d_v, b = row / p->n_q, i = row % p->n_q;
    const double *from = r->heads + row * width;
    for (int64_t e = 0; e < width && !given(r, ATTN_W_O); e++) {
        int64_t apart = (b * p->H + e / p->d_v) * p->n_q + i;
        put(r, ATTN_OUT_OUTPUT, packed ? row * width + e
                                       : apart * p->d_v + e % p->d_v,
            from[e]);
    }
    for (int64_t o = 0; o < p->d_out && given(r, ATTN_W_O); o++) {
        double sum = given(r, ATTN_B_O) ? number(r, ATTN_B_O, o) : 0;
        for (int64_t e = 0; e < width; e++)
            sum += from[e] * weight(r, ATTN_W_O, e, o);
        put(r, ATTN_OUT_OUTPUT, row * p->d_out + o, sum);
    }
}

/* ---------------------------------------------------------- the passes */

static int64_t once(const struct reference *r)
{
    (void)r;
    return 1;
}

static int64_t for_each_query(const struct reference *r)
{
    return r->plan->B * r->plan->n_q;
}

static int64_t for_each_key(const struct reference *r)
{
    return r->plan->B * (r->plan->n_k - r->plan->n_past);
}

static void copy_operands(struct reference *r, int64_t unit)
{
    bool packed = r->in->num_heads > 0;
    (void)unit;
    if (given(r, ATTN_X))
        return;
    copy_rows(r, &r->new_q, ATTN_Q, packed);
    copy_rows(r, &r->new_k, ATTN_K, packed);
    copy_rows(r, &r->new_v, ATTN_V, packed);
}

static void project_query(struct reference *r, int64_t row)
{
    if (given(r, ATTN_X))
        project_row(r, &r->new_q, ATTN_X, ATTN_W_Q, ATTN_B_Q, row);
}

static void project_key(struct reference *r, int64_t row)
{
    enum attn_in c = given(r, ATTN_CONTEXT) ? ATTN_CONTEXT : ATTN_X;
    if (!given(r, ATTN_X))
        return;
    project_row(r, &r->new_k, c, ATTN_W_K, ATTN_B_K, row);
    project_row(r, &r->new_v, c, ATTN_W_V, ATTN_B_V, row);
}

static void put_operands(struct reference *r, int64_t unit)
{
    (void)unit;
    put_rows(r, &r->new_q, ATTN_OUT_Q);
    put_rows(r, &r->new_k, ATTN_OUT_K);
    put_rows(r, &r->new_v, ATTN_OUT_V);
}

static void rotate_query(struct reference *r, int64_t row)
{
    int64_t b = row / r->plan->n_q, i = row % r->plan->n_q;
    for (int64_t h = 0; r->in->rope && h < r->new_q.heads; h++)
        rotate(r, row_at(&r->new_q, b, h, i), reference_position(r, b, i));
}

static void rotate_key(struct reference *r, int64_t row)
{
    int64_t b = row / r->new_k.count, j = row % r->new_k.count;
    for (int64_t g = 0; r->in->rope && g < r->new_k.heads; g++)
        rotate(r, row_at(&r->new_k, b, g, j), r->new_k.first + j);
}

static void join_cache(struct reference *r, int64_t unit)
{
    struct reference_rows k = r->new_k, v = r->new_v;
    (void)unit;
    take_past(r, k, ATTN_PAST_K);
    take_past(r, v, ATTN_PAST_V);
    k.first = v.first = 0;
    k.count = v.count = r->plan->n_k;
    put_rows(r, &k, ATTN_OUT_PRESENT_K);
    put_rows(r, &v, ATTN_OUT_PRESENT_V);
    reference_attend_begin(r);
}

static void attend_query(struct reference *r, int64_t row)
{
    reference_attend(r, row / r->plan->n_q, row % r->plan->n_q);
}

static void end_attend(struct reference *r, int64_t unit)
{
    (void)unit;
    reference_attend_end(r);
}

static const struct {
    int64_t (*units)(const struct reference *r);
    void (*run)(struct reference *r, int64_t unit);
} passes[] = {
    {once, copy_operands},
    {for_each_query, project_query},
    {for_each_key, project_key},
    {once, put_operands},
    {for_each_query, rotate_query},
    {for_each_key, rotate_key},
    {once, join_cache},
    {for_each_query, attend_query},
    {once, end_attend},
    {for_each_query, put_output},
};

bool reference_step(struct reference *r)
{
    int n = (int)(sizeof passes / sizeof *passes);
    while (r->pass < n && r->unit == passes[r->pass].units(r)) {
        r->pass++;
        r->unit = 0;
    }
    if (r->pass < n)
        passes[r->pass].run(r, r->unit++);
    return r->pass == n;
}

/* ---------------------------------------------------------- the memory */

static int64_t doubles(const struct attn_plan *p)
{
    int64_t queries = size_mul(size_mul(p->B, p->H), p->n_q);
    int64_t keys = size_mul(size_mul(p->B, p->G), p->n_k);
    return size_add(size_mul(size_add(queries, keys),
                             size_add(p->d_k, p->d_v)),
                    size_mul(4, p->n_k));
}

int64_t reference_bytes(const struct attn_plan *plan)
{
    return size_add(size_mul(doubles(plan), sizeof(double)),
                    sizeof(struct reference));
}

static double *carve(double **memory, int64_t count)
{
    *memory += count;
    return *memory - count;
}

struct reference *reference_open(void *memory, const struct attn_input *in,
                                 const struct attn_plan *plan,
                                 struct attn_output *out)
{
    const struct attn_plan *p = plan;
    struct reference *r = memory;
    double *rest = (double *)(r + 1);
    int64_t n_q = p->B * p->H * p->n_q, n_k = p->B * p->G * p->n_k;
    int64_t n_past = p->n_past, n_new = p->n_k - p->n_past;
    memset(memory, 0, (size_t)reference_bytes(plan));
    r->in = in;
    r->plan = plan;
    r->out = out;
    r->q = carve(&rest, n_q * p->d_k);
    r->k = carve(&rest, n_k * p->d_k);
    r->v = carve(&rest, n_k * p->d_v);
    r->heads = carve(&rest, n_q * p->d_v);
    r->s = carve(&rest, p->n_k);
    r->a = carve(&rest, p->n_k);
    r->a_mean = carve(&rest, p->n_k);
    r->visible = (bool *)carve(&rest, p->n_k);
    r->new_q = (struct reference_rows){r->q, p->H, p->n_q, p->d_k, 0, p->n_q};
    r->new_k = (struct reference_rows){r->k, p->G, p->n_k, p->d_k, n_past,
                                       n_new};
    r->new_v = (struct reference_rows){r->v, p->G, p->n_k, p->d_v, n_past,
                                       n_new};
    return r;
}

bool attn_reference(const struct attn_input *in, const struct attn_plan *plan,
                    struct attn_output *out)
{
    void *memory = malloc((size_t)reference_bytes(plan));
    if (!memory)
        return false;
    struct reference *r = reference_open(memory, in, plan, out);
    while (!reference_step(r))
        continue;
    free(memory);
    return true;
}
