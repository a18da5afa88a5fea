/* SPDX-License-Identifier: MIT */
/*
 * reference.c - the formula in plain loops and double.
 *
 * The oracle of the tests, and what computes when the self-test finds the
 * BLAS wrong. It shares no line with the fast path, so that a fault has to
 * be made twice to stay hidden. In comes an input with its plan. Here the
 * operands are laid out - projected, rotated, put behind the cache - and the
 * mixtures projected; reference_row.c does what lies between.
 */
#include "reference.h"

#include <math.h>
#include <stdlib.h>

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

/* Rows first ... first + count - 1 of each head of [B, heads, n, d]. */
struct rows {
    double *all;
    int64_t heads, n, d;
    int64_t first, count;
};

static double *row_at(const struct rows *t, int64_t b, int64_t h, int64_t i)
{
    return t->all + ((b * t->heads + h) * t->n + t->first + i) * t->d;
}

/* to = the given tensor [B, heads, count, d], or packed [B, count, heads*d] */
static void copy_rows(const struct reference *r, const struct rows *to,
                      enum attn_in name, bool packed)
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

/* to = from W + bias; head h is the column block h.  from: [B, count, e] */
static void project_rows(const struct reference *r, const struct rows *to,
                         enum attn_in from, enum attn_in w, enum attn_in bias)
{
    const struct attn_tensor *t = &r->in->tensor[from];
    int64_t width = t->dim[t->rank - 1];
    int64_t columns = to->heads * to->d;
    for (int64_t row = 0; row < r->plan->B * to->count; row++)
        for (int64_t column = 0; column < columns; column++) {
            double sum = has(r, bias) ? number(r, bias, column) : 0;
            for (int64_t e = 0; e < width; e++)
                sum += number(r, from, row * width + e) *
                       weight(r, w, e, column);
            row_at(to, row / to->count, column / to->d,
                   row % to->count)[column % to->d] = sum;
        }
}

static void put_rows(const struct reference *r, const struct rows *from,
                     enum attn_out name)
{
    int64_t index = 0;
    for (int64_t b = 0; b < r->plan->B; b++)
        for (int64_t h = 0; h < from->heads; h++)
            for (int64_t i = 0; i < from->count; i++)
                for (int64_t c = 0; c < from->d; c++)
                    put(r, name, index++, row_at(from, b, h, i)[c]);
}

/* Fills Q and the new rows of K and V from what the caller gave. */
static void take_operands(const struct reference *r, const struct rows *q,
                          const struct rows *k, const struct rows *v)
{
    if (!has(r, ATTN_X)) {
        bool packed = r->in->num_heads > 0;
        copy_rows(r, q, ATTN_Q, packed);
        copy_rows(r, k, ATTN_K, packed);
        copy_rows(r, v, ATTN_V, packed);
        return;
    }
    enum attn_in c = has(r, ATTN_CONTEXT) ? ATTN_CONTEXT : ATTN_X;
    project_rows(r, q, ATTN_X, ATTN_W_Q, ATTN_B_Q);
    project_rows(r, k, c, ATTN_W_K, ATTN_B_K);
    project_rows(r, v, c, ATTN_W_V, ATTN_B_V);
}

/* Fills the cached rows. Packed, they lack the head axis of the stage K. */
static void take_past(const struct reference *r, struct rows to,
                      enum attn_in name)
{
    if (!has(r, name))
        return;
    const struct attn_tensor *t = r->in->tensor;
    int rank = has(r, ATTN_X) ? t[ATTN_X].rank : t[ATTN_Q].rank;
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

static void rotate_rows(const struct reference *r, const struct rows *q,
                        const struct rows *k)
{
    for (int64_t b = 0; b < r->plan->B; b++) {
        for (int64_t h = 0; h < q->heads; h++)
            for (int64_t i = 0; i < q->count; i++)
                rotate(r, row_at(q, b, h, i), reference_position(r, b, i));
        for (int64_t g = 0; g < k->heads; g++)
            for (int64_t j = 0; j < k->count; j++)
                rotate(r, row_at(k, b, g, j), k->first + j);
    }
}

/* ---------------------------------------------------------- the passes */

/* output = heads W_O + b_O, or the heads in the layout of Q. */
static void put_output(const struct reference *r)
{
    const struct attn_plan *p = r->plan;
    bool packed = has(r, ATTN_X) || r->in->num_heads > 0;
    int64_t width = p->H * p->d_v;
    for (int64_t row = 0; row < p->B * p->n_q; row++) {
        const double *from = r->heads + row * width;
        int64_t b = row / p->n_q, i = row % p->n_q;
        for (int64_t e = 0; e < width && !has(r, ATTN_W_O); e++) {
            int64_t apart = (b * p->H + e / p->d_v) * p->n_q + i;
            put(r, ATTN_OUT_OUTPUT, packed ? row * width + e
                                           : apart * p->d_v + e % p->d_v,
                from[e]);
        }
        for (int64_t o = 0; o < p->d_out && has(r, ATTN_W_O); o++) {
            double sum = has(r, ATTN_B_O) ? number(r, ATTN_B_O, o) : 0;
            for (int64_t e = 0; e < width; e++)
                sum += from[e] * weight(r, ATTN_W_O, e, o);
            put(r, ATTN_OUT_OUTPUT, row * p->d_out + o, sum);
        }
    }
}

static void all_passes(struct reference *r)
{
    const struct attn_plan *p = r->plan;
    int64_t n_past = p->n_past, n_new = p->n_k - p->n_past;
    struct rows q = {r->q, p->H, p->n_q, p->d_k, 0, p->n_q};
    struct rows k = {r->k, p->G, p->n_k, p->d_k, n_past, n_new};
    struct rows v = {r->v, p->G, p->n_k, p->d_v, n_past, n_new};
    struct rows all_k = {r->k, p->G, p->n_k, p->d_k, 0, p->n_k};
    struct rows all_v = {r->v, p->G, p->n_k, p->d_v, 0, p->n_k};

    take_operands(r, &q, &k, &v);
    put_rows(r, &q, ATTN_OUT_Q);
    put_rows(r, &k, ATTN_OUT_K);
    put_rows(r, &v, ATTN_OUT_V);

    if (r->in->rope)
        rotate_rows(r, &q, &k);
    take_past(r, k, ATTN_PAST_K);
    take_past(r, v, ATTN_PAST_V);
    put_rows(r, &all_k, ATTN_OUT_PRESENT_K);
    put_rows(r, &all_v, ATTN_OUT_PRESENT_V);

    reference_attend(r);
    put_output(r);
}

static double *carve(double **memory, int64_t count)
{
    *memory += count;
    return *memory - count;
}

bool attn_reference(const struct attn_input *in, const struct attn_plan *plan,
                    struct attn_output *out)
{
    struct reference r = {.in = in, .plan = plan, .out = out};
    int64_t n_q = plan->B * plan->H * plan->n_q;
    int64_t n_k = plan->B * plan->G * plan->n_k;
    int64_t count = (n_q + n_k) * (plan->d_k + plan->d_v) + 4 * plan->n_k;
    double *memory = calloc((size_t)count + 1, sizeof(double));
    if (!memory)
        return false;
    double *rest = memory;
    r.q = carve(&rest, n_q * plan->d_k);
    r.k = carve(&rest, n_k * plan->d_k);
    r.v = carve(&rest, n_k * plan->d_v);
    r.heads = carve(&rest, n_q * plan->d_v);
    r.s = carve(&rest, plan->n_k);
    r.a = carve(&rest, plan->n_k);
    r.a_mean = carve(&rest, plan->n_k);
    r.visible = (bool *)carve(&rest, plan->n_k);
    all_passes(&r);
    free(memory);
    return true;
}
