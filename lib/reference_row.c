/* SPDX-License-Identifier: MIT */
/*
 * reference_row.c - one row of scores through every stage, in plain loops.
 *
 *     S -> S_scaled -> S_softcapped -> S_masked -> A, lse -> a row of A V
 *
 * Visibility and positions are derived here anew: nothing is shared with
 * the fast path. A hidden key is left out of each sum, never punished.
 */
#include "reference.h"

#include <math.h>

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

/* -------------------------------------------------------- visibility */

static int64_t valid_keys(const struct reference *r, int64_t b)
{
    const int64_t *lengths = r->in->tensor[ATTN_KEY_LENGTHS].data;
    return given(r, ATTN_KEY_LENGTHS) ? lengths[b] : r->plan->n_k;
}

static int64_t add_saturated(int64_t x, int64_t y)
{
    int64_t sum;
    if (__builtin_add_overflow(x, y, &sum))
        return y > 0 ? INT64_MAX : INT64_MIN;
    return sum;
}

/* Where query i of item b stands among the keys. */
int64_t reference_position(const struct reference *r, int64_t b, int64_t i)
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
    int64_t p = reference_position(r, b, i);
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
    if (given(r, ATTN_V_A) || r->plan->d_k == 0)
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
        r->s[j] = given(r, ATTN_V_A) ? additive_score(r, q, k)
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
        if (given(r, ATTN_ALIBI))
            r->s[j] -= number(r, ATTN_ALIBI, h) *
                       fabs((double)reference_position(r, b, i) - (double)j);
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
    double sink = given(r, ATTN_SINKS) ? number(r, ATTN_SINKS, h) : 0;
    double max = given(r, ATTN_SINKS) ? sink : -INFINITY;
    for (int64_t j = 0; j < n_k; j++)
        if (r->visible[j])
            max = larger(max, r->s[j]);

    double sum = given(r, ATTN_SINKS) ? exp(sink - max) : 0;
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

void reference_attend_begin(struct reference *r)
{
    r->out->stats = (struct attn_stats){.empty = true,
                                        .a_row_sum_min = INFINITY,
                                        .a_row_sum_max = -INFINITY};
    r->out->empty_rows = 0;
}

void reference_attend(struct reference *r, int64_t b, int64_t i)
{
    for (int64_t h = 0; h < r->plan->H; h++)
        attend_row(r, b, h, i);
    put_row(r, ATTN_OUT_A_MEAN, b * r->plan->n_q + i, r->a_mean);
}

void reference_attend_end(struct reference *r)
{
    struct attn_stats *stats = &r->out->stats;
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
