/* SPDX-License-Identifier: MIT */
/*
 * reference.c - the formula in plain loops and double.
 *
 * The oracle of the tests, and what computes when the self-test finds the
 * BLAS wrong. It shares no line with the fast path: reading of tensors,
 * positions and visibility are its own, so that a fault has to be made twice
 * to stay hidden. Every value is rounded to the dtype when it is stored and
 * never before. In comes an input with its plan; speed is of no concern.
 */
#include "attention.h"

#include <math.h>
#include <stdlib.h>

struct variance {
    double count;
    double mean;
    double squares; /* sum of squared distances from the mean */
};

struct reference {
    const struct attn_input *in;
    const struct attn_plan *plan;
    struct attn_output *out;

    double *q;     /* [B, H, n_q, d_k] */
    double *k;     /* [B, G, n_k, d_k], cached keys first */
    double *v;     /* [B, G, n_k, d_v] */
    double *heads; /* [B, n_q, H, d_v]: the mixtures, before W_O */

    double *s;      /* [n_k] one row of scores, stage after stage */
    double *a;      /* [n_k] the same row's weights */
    double *a_mean; /* [n_k] their mean over the heads */
    bool *visible;  /* [n_k] */

    struct variance s_variance, s_scaled_variance;
    double rows; /* that see a key */
};

/* ------------------------------------------------- reading and writing */

static bool present(const struct reference *r, enum attn_in name)
{
    return r->in->tensor[name].rank > 0;
}

static double number(const struct reference *r, enum attn_in name,
                     int64_t index)
{
    const void *data = r->in->tensor[name].data;
    if (r->in->dtype == ATTN_FLOAT64)
        return ((const double *)data)[index];
    return (double)((const float *)data)[index];
}

static bool wanted(const struct reference *r, enum attn_out name)
{
    return (r->in->returns & ATTN_RETURN(name)) != 0;
}

static void put(const struct reference *r, enum attn_out name, int64_t index,
                double value)
{
    if (!wanted(r, name))
        return;
    if (r->in->dtype == ATTN_FLOAT64)
        ((double *)r->out->data[name])[index] = value;
    else
        ((float *)r->out->data[name])[index] = (float)value;
}

static void put_row(const struct reference *r, enum attn_out name,
                    int64_t row, const double *values)
{
    for (int64_t j = 0; j < r->plan->n_k; j++)
        put(r, name, row * r->plan->n_k + j, values[j]);
}

/* Where element [b,h,i,j] lies in a tensor that broadcasts to that shape. */
static int64_t broadcast(const struct attn_tensor *t, int64_t b, int64_t h,
                         int64_t i, int64_t j)
{
    const int64_t place[4] = {b, h, i, j};
    int64_t index = 0;
    for (int axis = 0; axis < t->rank; axis++) {
        int64_t here = t->dim[axis] == 1 ? 0 : place[4 - t->rank + axis];
        index = index * t->dim[axis] + here;
    }
    return index;
}

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
            double sum = present(r, bias) ? number(r, bias, column) : 0;
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
    if (!present(r, ATTN_X)) {
        bool packed = r->in->num_heads > 0;
        copy_rows(r, q, ATTN_Q, packed);
        copy_rows(r, k, ATTN_K, packed);
        copy_rows(r, v, ATTN_V, packed);
        return;
    }
    enum attn_in c = present(r, ATTN_CONTEXT) ? ATTN_CONTEXT : ATTN_X;
    project_rows(r, q, ATTN_X, ATTN_W_Q, ATTN_B_Q);
    project_rows(r, k, c, ATTN_W_K, ATTN_B_K);
    project_rows(r, v, c, ATTN_W_V, ATTN_B_V);
}

/* Fills the cached rows. Packed, they lack the head axis of the stage K. */
static void take_past(const struct reference *r, struct rows to,
                      enum attn_in name)
{
    if (!present(r, name))
        return;
    const struct attn_tensor *t = r->in->tensor;
    int rank = present(r, ATTN_X) ? t[ATTN_X].rank : t[ATTN_Q].rank;
    to.first = 0;
    to.count = r->plan->n_past;
    copy_rows(r, &to, name, r->in->num_heads > 0 && t[name].rank == rank);
}

/* -------------------------------------------------------- visibility */

static int64_t valid_keys(const struct reference *r, int64_t b)
{
    const int64_t *lengths = r->in->tensor[ATTN_KEY_LENGTHS].data;
    return present(r, ATTN_KEY_LENGTHS) ? lengths[b] : r->plan->n_k;
}

static int64_t add_saturated(int64_t x, int64_t y)
{
    int64_t sum;
    if (__builtin_add_overflow(x, y, &sum))
        return y > 0 ? INT64_MAX : INT64_MIN;
    return sum;
}

/* Where query i of item b stands among the keys. */
static int64_t position(const struct reference *r, int64_t b, int64_t i)
{
    const struct attn_tensor *offset = &r->in->tensor[ATTN_OFFSET];
    if (r->in->offset_end)
        return i + valid_keys(r, b) - r->plan->n_q;
    if (!offset->rank)
        return i + r->plan->n_past;
    const int64_t *given = offset->data;
    return add_saturated(i, given[offset->dim[0] == 1 ? 0 : b]);
}

static bool may_see(const struct reference *r, int64_t b, int64_t h,
                    int64_t i, int64_t j)
{
    const struct attn_input *in = r->in;
    const struct attn_tensor *mask = &in->tensor[ATTN_MASK];
    const struct attn_tensor *bias = &in->tensor[ATTN_BIAS];
    int64_t p = position(r, b, i);
    if (j >= valid_keys(r, b))
        return false;
    if (in->causal && j > p)
        return false;
    if (in->window_left != ATTN_OPEN && j < add_saturated(p, -in->window_left))
        return false;
    if (in->window_right != ATTN_OPEN && j > add_saturated(p, in->window_right))
        return false;
    if (mask->rank &&
        !((const unsigned char *)mask->data)[broadcast(mask, b, h, i, j)])
        return false;
    return !bias->rank ||
           number(r, ATTN_BIAS, broadcast(bias, b, h, i, j)) != -INFINITY;
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
        double angle = (double)p *
                       pow(r->in->rope_base, -2.0 * (double)t / (double)dim);
        double *x = row + (r->in->rope_interleaved ? 2 * t : t);
        double *y = r->in->rope_interleaved ? x + 1 : x + dim / 2;
        double turned_x = *x * cos(angle) - *y * sin(angle);
        double turned_y = *x * sin(angle) + *y * cos(angle);
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
                rotate(r, row_at(q, b, h, i), position(r, b, i));
        for (int64_t g = 0; g < k->heads; g++)
            for (int64_t j = 0; j < k->count; j++)
                rotate(r, row_at(k, b, g, j), k->first + j);
    }
}

/* -------------------------------------------------------------- scores */

static double dot_score(const struct reference *r, const double *q,
                        const double *k)
{
    double sum = 0;
    for (int64_t c = 0; c < r->plan->d_k; c++)
        sum += q[c] * k[c];
    return sum;
}

/* v_a . tanh(q W_a + k U_a) */
static double additive_score(const struct reference *r, const double *q,
                             const double *k)
{
    int64_t width = r->in->tensor[ATTN_V_A].dim[0];
    double score = 0;
    for (int64_t e = 0; e < width; e++) {
        double sum = 0;
        for (int64_t c = 0; c < r->plan->d_k; c++)
            sum += q[c] * number(r, ATTN_W_A, c * width + e) +
                   k[c] * number(r, ATTN_U_A, c * width + e);
        score += number(r, ATTN_V_A, e) * tanh(sum);
    }
    return score;
}

static double scale_of(const struct reference *r)
{
    if (r->in->has_scale)
        return r->in->scale;
    if (present(r, ATTN_V_A) || r->plan->d_k == 0)
        return 1;
    return 1 / sqrt((double)r->plan->d_k);
}

/* Welford: mean and sum of squares after each score that is seen. */
static void count_scores(const struct reference *r, struct variance *v)
{
    for (int64_t j = 0; j < r->plan->n_k; j++) {
        if (!r->visible[j])
            continue;
        double distance = r->s[j] - v->mean;
        v->count++;
        v->mean += distance / v->count;
        v->squares += distance * (r->s[j] - v->mean);
    }
}

/* s = the scores of query i of head h, each stage stored as it passes. */
static void score_row(struct reference *r, int64_t b, int64_t h, int64_t i)
{
    const struct attn_plan *p = r->plan;
    const struct attn_tensor *bias = &r->in->tensor[ATTN_BIAS];
    int64_t row = (b * p->H + h) * p->n_q + i;
    int64_t g = h * p->G / p->H;
    double scale = scale_of(r), softcap = r->in->softcap;

    for (int64_t j = 0; j < p->n_k; j++) {
        const double *q = r->q + row * p->d_k;
        const double *k = r->k + ((b * p->G + g) * p->n_k + j) * p->d_k;
        r->visible[j] = may_see(r, b, h, i, j);
        r->s[j] = present(r, ATTN_V_A) ? additive_score(r, q, k)
                                       : dot_score(r, q, k);
    }
    put_row(r, ATTN_OUT_S, row, r->s);
    count_scores(r, &r->s_variance);

    for (int64_t j = 0; j < p->n_k; j++)
        r->s[j] *= scale;
    put_row(r, ATTN_OUT_S_SCALED, row, r->s);
    count_scores(r, &r->s_scaled_variance);

    for (int64_t j = 0; j < p->n_k && softcap > 0; j++)
        r->s[j] = softcap * tanh(r->s[j] / softcap);
    put_row(r, ATTN_OUT_S_SOFTCAPPED, row, r->s);

    for (int64_t j = 0; j < p->n_k; j++) {
        if (bias->rank)
            r->s[j] += number(r, ATTN_BIAS, broadcast(bias, b, h, i, j));
        if (present(r, ATTN_ALIBI))
            r->s[j] -= number(r, ATTN_ALIBI, h) *
                       fabs((double)position(r, b, i) - (double)j);
        if (!r->visible[j])
            r->s[j] = -INFINITY;
    }
    put_row(r, ATTN_OUT_S_MASKED, row, r->s);
}

/* ------------------------------------------------------------- softmax */

/* A NaN is never lost. */
static double larger(double x, double y)
{
    return isnan(x) || x > y ? x : y;
}

/*
 * a = exp(s - max) / sum over the visible keys, a = 0 elsewhere. A sink is
 * one more score in the maximum and the sum, with no value behind it.
 * Returns lse = max + log(sum).
 */
static double softmax_row(struct reference *r, int64_t h)
{
    int64_t n_k = r->plan->n_k;
    double sink = present(r, ATTN_SINKS) ? number(r, ATTN_SINKS, h) : 0;
    double max = present(r, ATTN_SINKS) ? sink : -INFINITY;
    for (int64_t j = 0; j < n_k; j++)
        if (r->visible[j])
            max = larger(max, r->s[j]);

    double sum = present(r, ATTN_SINKS) ? exp(sink - max) : 0;
    for (int64_t j = 0; j < n_k; j++) {
        r->a[j] = r->visible[j] ? exp(r->s[j] - max) : 0;
        sum += r->a[j];
    }
    for (int64_t j = 0; j < n_k; j++)
        if (r->visible[j])
            r->a[j] /= sum;
    return max + log(sum);
}

/* A row that sees no key: zeros, lse = -Infinity, sink or not. */
static double empty_row(struct reference *r)
{
    for (int64_t j = 0; j < r->plan->n_k; j++)
        r->a[j] = 0;
    r->out->empty_rows++;
    return -INFINITY;
}

static void count_weights(struct reference *r)
{
    struct attn_stats *stats = &r->out->stats;
    double max = 0, entropy = 0, sum = 0;
    for (int64_t j = 0; j < r->plan->n_k; j++) {
        max = larger(max, r->a[j]);
        sum += r->a[j];
        if (r->a[j] != 0) /* x log x -> 0 */
            entropy -= r->a[j] * log(r->a[j]);
    }
    stats->empty = false;
    stats->a_max_mean += max;
    stats->a_entropy_mean += entropy;
    stats->a_row_sum_min = -larger(-stats->a_row_sum_min, -sum);
    stats->a_row_sum_max = larger(stats->a_row_sum_max, sum);
    r->rows++;
}

/* ---------------------------------------------------------- the passes */

/* heads[b,i,h] = sum over the visible keys of a[j] V[b,g,j] */
static void mix_row(struct reference *r, int64_t b, int64_t h, int64_t i)
{
    const struct attn_plan *p = r->plan;
    const double *v = r->v + (b * p->G + h * p->G / p->H) * p->n_k * p->d_v;
    double *to = r->heads + ((b * p->n_q + i) * p->H + h) * p->d_v;
    for (int64_t c = 0; c < p->d_v; c++) {
        to[c] = 0;
        for (int64_t j = 0; j < p->n_k; j++)
            if (r->visible[j])
                to[c] += r->a[j] * v[j * p->d_v + c];
    }
}

static void attend_row(struct reference *r, int64_t b, int64_t h, int64_t i)
{
    const struct attn_plan *p = r->plan;
    int64_t row = (b * p->H + h) * p->n_q + i;
    bool sees = false;
    score_row(r, b, h, i);
    for (int64_t j = 0; j < p->n_k; j++)
        sees = sees || r->visible[j];

    put(r, ATTN_OUT_LSE, row, sees ? softmax_row(r, h) : empty_row(r));
    put_row(r, ATTN_OUT_A, row, r->a);
    if (sees)
        count_weights(r);
    mix_row(r, b, h, i);
    for (int64_t j = 0; j < p->n_k; j++)
        r->a_mean[j] = (h ? r->a_mean[j] : 0) + r->a[j] / (double)p->H;
}

static void attend(struct reference *r)
{
    const struct attn_plan *p = r->plan;
    struct attn_stats *stats = &r->out->stats;
    *stats = (struct attn_stats){.empty = true,
                                 .a_row_sum_min = INFINITY,
                                 .a_row_sum_max = -INFINITY};
    r->out->empty_rows = 0;
    for (int64_t b = 0; b < p->B; b++)
        for (int64_t i = 0; i < p->n_q; i++) {
            for (int64_t h = 0; h < p->H; h++)
                attend_row(r, b, h, i);
            put_row(r, ATTN_OUT_A_MEAN, b * p->n_q + i, r->a_mean);
        }
    if (stats->empty) {
        *stats = (struct attn_stats){.empty = true};
        return;
    }
    stats->s_variance = r->s_variance.squares / r->s_variance.count;
    stats->s_scaled_variance =
        r->s_scaled_variance.squares / r->s_scaled_variance.count;
    stats->a_max_mean /= r->rows;
    stats->a_entropy_mean /= r->rows;
}

/* output = heads W_O + b_O, or the heads in the layout of Q. */
static void put_output(const struct reference *r)
{
    const struct attn_plan *p = r->plan;
    bool packed = present(r, ATTN_X) || r->in->num_heads > 0;
    int64_t width = p->H * p->d_v;
    for (int64_t row = 0; row < p->B * p->n_q; row++) {
        const double *from = r->heads + row * width;
        int64_t b = row / p->n_q, i = row % p->n_q;
        for (int64_t e = 0; e < width && !present(r, ATTN_W_O); e++) {
            int64_t apart = (b * p->H + e / p->d_v) * p->n_q + i;
            put(r, ATTN_OUT_OUTPUT, packed ? row * width + e
                                           : apart * p->d_v + e % p->d_v,
                from[e]);
        }
        for (int64_t o = 0; o < p->d_out && present(r, ATTN_W_O); o++) {
            double sum = present(r, ATTN_B_O) ? number(r, ATTN_B_O, o) : 0;
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

    attend(r);
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
