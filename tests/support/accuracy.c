/* SPDX-License-Identifier: MIT */
/*
 * accuracy.c - how far a result may lie from the formula.
 *
 * SPEC bounds A, A_mean, output and lse by 1e-6 + 1e-5 |x| in float32 and
 * by 1e-13 in float64, and products by the same, relative to the sum of the
 * absolute values of what was added up. That sum is the formula itself on
 * absolute operands, so the reference computes it.
 *
 * The bound on A holds for ordinary inputs. A score of size s is rounded by
 * up to s * epsilon, which moves exp(s) by as much relatively; where scores
 * are beyond ORDINARY this is allowed on top. So is, for additive scores,
 * the rounding of what tanh is taken of.
 */
#include "accuracy.h"

#include <check.h>
#include <float.h>
#include <math.h>

#define ORDINARY 16.0

struct accuracy {
    double absolute, relative; /* SPEC's two figures */
    double wild;               /* relative, for scores beyond ordinary */
    double inner[2];           /* in additive scores: of S, of S_scaled */
    double value;              /* the largest |V| */
    double projected;          /* the largest |V| |W_O| + |b_O| */
    struct attn_output size;   /* sums of absolute values */
};

static double size_at(const struct accuracy *a, enum attn_out name,
                      int64_t index)
{
    return tensor_get(a->size.data[name], ATTN_FLOAT64, index);
}

static double largest(const struct accuracy *a, enum attn_out name,
                      int64_t count)
{
    double max = 0;
    for (int64_t i = 0; i < count; i++)
        if (isfinite(size_at(a, name, i)))
            max = fmax(max, size_at(a, name, i));
    return max;
}

/* The same operand in float64, each element its absolute value. */
static struct attn_tensor absolute(struct trial *t, enum attn_in name)
{
    struct attn_tensor to = t->in.tensor[name];
    int64_t count = attn_tensor_elements(&to);
    if (!to.rank)
        return to;
    to.data = trial_block(t, (size_t)count * sizeof(double));
    for (int64_t i = 0; i < count; i++) {
        double x = fabs(trial_get(t, name, i));
        tensor_set(to.data, ATTN_FLOAT64, i, isfinite(x) ? x : 0);
    }
    return to;
}

/* Nothing is hidden, capped or turned; alibi adds its distance. */
static struct attn_input absolute_input(struct trial *t)
{
    struct attn_input in = t->in;
    in.dtype = ATTN_FLOAT64;
    for (enum attn_in name = 0; name < ATTN_N_IN; name++)
        if (name != ATTN_MASK && name != ATTN_KEY_LENGTHS &&
            name != ATTN_OFFSET)
            in.tensor[name] = absolute(t, name);
    for (int64_t h = 0; h < t->plan.H && in.tensor[ATTN_ALIBI].rank; h++)
        ((double *)in.tensor[ATTN_ALIBI].data)[h] *= -1;
    in.tensor[ATTN_MASK].rank = 0;
    in.scale = fabs(in.scale);
    in.causal = in.rope = false;
    in.softcap = 0;
    in.window_left = in.window_right = ATTN_OPEN;
    return in;
}

static double projected_size(const struct trial *t,
                             const struct attn_input *in, double value)
{
    const struct attn_plan *p = &t->plan;
    const double *w = in->tensor[ATTN_W_O].data;
    const double *bias = in->tensor[ATTN_B_O].data;
    double max = 0;
    for (int64_t o = 0; o < p->d_out && in->tensor[ATTN_W_O].rank; o++) {
        double sum = in->tensor[ATTN_B_O].rank ? bias[o] : 0;
        for (int64_t e = 0; e < p->H * p->d_v; e++)
            sum += value * w[in->weights_out_in ? o * p->H * p->d_v + e
                                                : e * p->d_out + o];
        max = fmax(max, sum);
    }
    return max;
}

/* A bound of sum_e |v_e| |q W + k U|_e, with the largest q and k for each. */
static double inner_size(const struct attn_input *in, double q, double k)
{
    const struct attn_tensor *t = in->tensor;
    int64_t width = t[ATTN_V_A].rank ? t[ATTN_V_A].dim[0] : 0;
    double total = 0;
    for (int64_t e = 0; e < width; e++) {
        double sum = 0;
        for (int64_t c = 0; c < t[ATTN_W_A].dim[0]; c++)
            sum += q * tensor_get(t[ATTN_W_A].data, in->dtype, c * width + e) +
                   k * tensor_get(t[ATTN_U_A].data, in->dtype, c * width + e);
        total += sum * tensor_get(t[ATTN_V_A].data, in->dtype, e);
    }
    return total;
}

static void measure(struct trial *t, struct accuracy *a)
{
    const struct attn_plan *p = &t->plan;
    struct attn_input in = absolute_input(t);
    int64_t scores = p->B * p->H * p->n_q * p->n_k;
    int64_t keys = p->B * p->G * p->n_k;
    int64_t count[ATTN_N_OUT] = {[ATTN_OUT_Q] = p->B * p->H * p->n_q * p->d_k,
                                 [ATTN_OUT_K] = keys * p->d_k,
                                 [ATTN_OUT_V] = keys * p->d_v,
                                 [ATTN_OUT_PRESENT_K] = keys * p->d_k,
                                 [ATTN_OUT_PRESENT_V] = keys * p->d_v,
                                 [ATTN_OUT_S] = scores,
                                 [ATTN_OUT_S_SCALED] = scores,
                                 [ATTN_OUT_S_MASKED] = scores};
    in.returns = 0;
    for (int name = 0; name < ATTN_N_OUT; name++)
        if (count[name]) {
            in.returns |= ATTN_RETURN(name);
            a->size.data[name] =
                trial_block(t, (size_t)count[name] * sizeof(double));
        }
    ck_assert(attn_reference(&in, p, &a->size));
    a->size.data[ATTN_OUT_S_SOFTCAPPED] = a->size.data[ATTN_OUT_S_SCALED];
    a->value = largest(a, ATTN_OUT_PRESENT_V, count[ATTN_OUT_PRESENT_V]);
    a->projected = projected_size(t, &in, a->value);

    bool single = t->in.dtype == ATTN_FLOAT32;
    double epsilon = single ? FLT_EPSILON : DBL_EPSILON;
    double score = largest(a, ATTN_OUT_S_MASKED, scores);
    double inner = inner_size(&in, largest(a, ATTN_OUT_Q, count[ATTN_OUT_Q]),
                              largest(a, ATTN_OUT_PRESENT_K, keys * p->d_k));
    a->absolute = single ? 1e-6 : 1e-13;
    a->relative = single ? 1e-5 : 1e-13;
    a->inner[0] = inner > ORDINARY ? 8 * inner * epsilon : 0;
    a->inner[1] = a->inner[0] * (in.has_scale ? in.scale : 1);
    a->wild = (score > ORDINARY ? 8 * score * epsilon : 0) + a->inner[1];
}

static double formula(const struct trial *t, enum attn_out name,
                      int64_t index)
{
    return tensor_get(t->expected.data[name], t->in.dtype, index);
}

static double allowed_at(const struct trial *t, const struct accuracy *a,
                         enum attn_out name, int64_t index)
{
    double x = fabs(formula(t, name, index));
    switch (name) {
    case ATTN_OUT_OUTPUT:
        if (t->in.tensor[ATTN_W_O].rank)
            return a->absolute + (a->relative + a->wild) * a->projected;
        return a->absolute + a->relative * x + a->wild * a->value;
    case ATTN_OUT_A:
    case ATTN_OUT_A_MEAN:
        return a->absolute + (a->relative + a->wild) * x;
    case ATTN_OUT_LSE:
        return a->absolute + a->relative * x + a->wild;
    case ATTN_OUT_S:
    case ATTN_OUT_S_SCALED:
    case ATTN_OUT_S_SOFTCAPPED:
    case ATTN_OUT_S_MASKED:
        return a->absolute + a->relative * size_at(a, name, index) +
               a->inner[name != ATTN_OUT_S];
    default:
        return a->absolute + a->relative * size_at(a, name, index);
    }
}

static void check_tensor(const struct trial *t, const struct accuracy *a,
                         enum attn_out name)
{
    int64_t count = trial_out_count(t, name);
    for (int64_t i = 0; i < count; i++) {
        double got = trial_out(t, name, i);
        double x = formula(t, name, i);
        double allowed = allowed_at(t, a, name, i);
        char place[ATTN_TEXT_MAX];
        if (!number_near(got, x, allowed))
            ck_abort_msg("%s%s is %.17g, the formula says %.17g (+- %.2g)",
                         t->label,
                         tensor_place(place, attn_out_name[name],
                                      &t->plan.output[name], i),
                         got, x, allowed);
    }
}

/* A variance errs by twice its root times the error of one score. */
static void check_stats(const struct trial *t, const struct accuracy *a)
{
    const struct attn_stats *got = &t->out.stats, *x = &t->expected.stats;
    int64_t scores = t->plan.B * t->plan.H * t->plan.n_q * t->plan.n_k;
    double size[] = {largest(a, ATTN_OUT_S, scores),
                     largest(a, ATTN_OUT_S_SCALED, scores), 0, 0, 0, 0};
    const double *pair[2][6] = {
        {&got->s_variance, &got->s_scaled_variance, &got->a_max_mean,
         &got->a_entropy_mean, &got->a_row_sum_min, &got->a_row_sum_max},
        {&x->s_variance, &x->s_scaled_variance, &x->a_max_mean,
         &x->a_entropy_mean, &x->a_row_sum_min, &x->a_row_sum_max}};
    ck_assert_msg(got->empty == x->empty, "%sstats: empty is %d", t->label,
                  got->empty);
    for (int i = 0; i < 6 && !x->empty; i++) {
        double y = *pair[1][i];
        double allowed = 10 * (a->absolute + (a->relative + a->wild) *
                                                 (y + sqrt(y) * size[i]));
        if (!number_near(*pair[0][i], y, allowed))
            ck_abort_msg("%sstats number %d is %.17g, the formula says %.17g",
                         t->label, i, *pair[0][i], y);
    }
}

void accuracy_check(struct trial *t)
{
    struct accuracy a = {0};
    measure(t, &a);
    for (enum attn_out name = 0; name < ATTN_OUT_STATS; name++)
        if (t->in.returns & ATTN_RETURN(name))
            check_tensor(t, &a, name);
    if (t->in.returns & ATTN_RETURN(ATTN_OUT_STATS))
        check_stats(t, &a);
    ck_assert_msg(t->out.empty_rows == t->expected.empty_rows,
                  "%s%lld empty rows, the formula says %lld", t->label,
                  (long long)t->out.empty_rows,
                  (long long)t->expected.empty_rows);
}
