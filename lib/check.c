/* SPDX-License-Identifier: MIT */
/*
 * check.c - one question per function; the first "no" wins and says where.
 *
 * In comes an input as somebody wrote it, out go the dimensions of the plan
 * or an error that names the place. First whether the right members are
 * there at all, then whether they fit (check_shape.c), then the options'
 * values. Reads no data but key_lengths and offset.
 */
#include "check.h"

#include <math.h>

#include "check_shape.h"
#include "complain.h"
#include "size.h"

const char *const attn_in_name[ATTN_N_IN] = {
    [ATTN_Q] = "Q",           [ATTN_K] = "K",
    [ATTN_V] = "V",           [ATTN_X] = "X",
    [ATTN_CONTEXT] = "context",
    [ATTN_W_Q] = "W_Q",       [ATTN_W_K] = "W_K",
    [ATTN_W_V] = "W_V",       [ATTN_W_O] = "W_O",
    [ATTN_B_Q] = "b_Q",       [ATTN_B_K] = "b_K",
    [ATTN_B_V] = "b_V",       [ATTN_B_O] = "b_O",
    [ATTN_MASK] = "mask",     [ATTN_BIAS] = "bias",
    [ATTN_ALIBI] = "alibi",   [ATTN_SINKS] = "sinks",
    [ATTN_PAST_K] = "past_K", [ATTN_PAST_V] = "past_V",
    [ATTN_KEY_LENGTHS] = "key_lengths",
    [ATTN_OFFSET] = "offset",
    [ATTN_W_A] = "W_a",       [ATTN_U_A] = "U_a",
    [ATTN_V_A] = "v_a",
};

const char *const attn_out_name[ATTN_N_OUT] = {
    [ATTN_OUT_OUTPUT] = "output",
    [ATTN_OUT_A] = "A",
    [ATTN_OUT_A_MEAN] = "A_mean",
    [ATTN_OUT_LSE] = "lse",
    [ATTN_OUT_Q] = "Q",
    [ATTN_OUT_K] = "K",
    [ATTN_OUT_V] = "V",
    [ATTN_OUT_S] = "S",
    [ATTN_OUT_S_SCALED] = "S_scaled",
    [ATTN_OUT_S_SOFTCAPPED] = "S_softcapped",
    [ATTN_OUT_S_MASKED] = "S_masked",
    [ATTN_OUT_PRESENT_K] = "present_K",
    [ATTN_OUT_PRESENT_V] = "present_V",
    [ATTN_OUT_STATS] = "stats",
};

static bool has(const struct check *c, enum attn_in name)
{
    return c->in->tensor[name].rank != 0;
}

/* ---------------------------------------------------------- presence */

static enum attn_status missing(struct check *c, const char *name,
                                const char *other)
{
    struct attn_error what = {.status = ATTN_MISSING, .name = name,
                              .other = other, .axis = -1, .index = -1};
    return complain(c->error, what, "$n is missing: $o needs it");
}

static enum attn_status excludes(struct check *c, const char *name,
                                 const char *other, const char *why)
{
    struct attn_error what = {.status = ATTN_EXCLUDES, .name = name,
                              .other = other, .axis = -1, .index = -1};
    return complain(c->error, what, why);
}

static const enum attn_in only_with_x[] = {
    ATTN_W_Q, ATTN_W_K, ATTN_W_V, ATTN_CONTEXT, ATTN_B_Q,
    ATTN_B_K, ATTN_B_V, ATTN_W_O, ATTN_B_O,
};
enum { N_ONLY_WITH_X = sizeof only_with_x / sizeof *only_with_x };

/* The first member of the form X, W_Q, W_K, W_V; or ATTN_N_IN. */
static enum attn_in projection_member(const struct check *c)
{
    if (has(c, ATTN_X))
        return ATTN_X;
    for (int i = 0; i < N_ONLY_WITH_X; i++)
        if (has(c, only_with_x[i]))
            return only_with_x[i];
    return ATTN_N_IN;
}

static enum attn_status operands_are_of_one_form(struct check *c)
{
    enum attn_in x = projection_member(c);
    if (x == ATTN_N_IN)
        return ATTN_OK;
    for (int i = ATTN_Q; i <= ATTN_V; i++)
        if (has(c, (enum attn_in)i))
            return excludes(c, attn_in_name[x], attn_in_name[i],
                            "$n and $o exclude each other: operands are "
                            "either Q, K, V or X, W_Q, W_K, W_V");
    return ATTN_OK;
}

/* Names all that are missing, so that one try is enough. */
static enum attn_status operands_missing(struct check *c,
                                         struct attn_error what,
                                         const enum attn_in *missing, int n)
{
    bool qkv = missing[0] <= ATTN_V;
    complain(c->error, what, "");
    for (int i = 0; i < n; i++) {
        complain_more(c->error, i == 0 ? "" : i < n - 1 ? ", " : " and ");
        complain_more(c->error, attn_in_name[missing[i]]);
    }
    complain_more(c->error, n == 1 ? " is missing" : " are missing");
    complain_more(c->error, qkv ? ": give Q, K and V"
                                : ": give X, W_Q, W_K and W_V");
    return c->error->status;
}

static enum attn_status operands_are_complete(struct check *c)
{
    static const enum attn_in form[2][4] = {
        {ATTN_Q, ATTN_K, ATTN_V},
        {ATTN_X, ATTN_W_Q, ATTN_W_K, ATTN_W_V},
    };
    enum attn_in x = projection_member(c), missing[4];
    const enum attn_in *needed = form[x != ATTN_N_IN];
    int count = x == ATTN_N_IN ? 3 : 4, n = 0;
    struct attn_error what = {.status = ATTN_MISSING, .name = "Q",
                              .axis = -1, .index = -1};
    if (x != ATTN_N_IN)
        what.other = attn_in_name[x];
    for (int i = count - 1; i >= 0; i--)
        if (has(c, needed[i]))
            what.other = attn_in_name[needed[i]];
    if (!what.other)
        return complain(c->error, what,
                        "There are no operands: give Q, K, V or X, W_Q, W_K, "
                        "W_V");
    for (int i = 0; i < count; i++)
        if (!has(c, needed[i]))
            missing[n++] = needed[i];
    if (n == 0)
        return ATTN_OK;
    what.name = attn_in_name[missing[0]];
    return operands_missing(c, what, missing, n);
}

static enum attn_status companions_are_there(struct check *c)
{
    static const enum attn_in pair[][2] = {
        /* given, needs */
        {ATTN_PAST_K, ATTN_PAST_V}, {ATTN_PAST_V, ATTN_PAST_K},
        {ATTN_B_O, ATTN_W_O},       {ATTN_W_A, ATTN_U_A},
        {ATTN_W_A, ATTN_V_A},       {ATTN_U_A, ATTN_W_A},
        {ATTN_V_A, ATTN_W_A},
    };
    for (size_t i = 0; i < sizeof pair / sizeof *pair; i++)
        if (has(c, pair[i][0]) && !has(c, pair[i][1]))
            return missing(c, attn_in_name[pair[i][1]],
                           attn_in_name[pair[i][0]]);
    if (c->in->num_kv_heads && !c->in->num_heads)
        return missing(c, "num_heads", "num_kv_heads");
    return ATTN_OK;
}

static enum attn_status options_agree(struct check *c)
{
    if (has(c, ATTN_PAST_K) && has(c, ATTN_KEY_LENGTHS))
        return excludes(c, "key_lengths", "past_K",
                        "$n and $o exclude each other: cached keys are "
                        "all valid");
    if (has(c, ATTN_OFFSET) && c->in->offset_end)
        return excludes(c, "offset", "offset",
                        "offset is either \"end\" or a number");
    return ATTN_OK;
}

/* ------------------------------------------------------------ values */

static enum attn_status out_of_range(struct check *c, const char *name,
                                     int64_t index, int64_t got,
                                     const char *pattern)
{
    struct attn_error what = {.status = ATTN_RANGE, .name = name,
                              .axis = -1, .index = index, .got = got};
    return complain(c->error, what, pattern);
}

static enum attn_status something_is_returned(struct check *c)
{
    unsigned all = ATTN_RETURN(ATTN_N_OUT) - 1;
    if (c->in->returns == 0 || (c->in->returns & ~all))
        return out_of_range(c, "return", -1, 0,
                            "return names nothing that can be returned");
    return ATTN_OK;
}

static double in_dtype(const struct check *c, double value)
{
    return c->in->dtype == ATTN_FLOAT32 ? (double)(float)value : value;
}

static enum attn_status numbers_are_in_range(struct check *c)
{
    const struct attn_input *in = c->in;
    if (in->dtype != ATTN_FLOAT32 && in->dtype != ATTN_FLOAT64)
        return out_of_range(c, "dtype", -1, 0,
                            "dtype is neither float32 nor float64");
    if (in->num_heads < 0)
        return out_of_range(c, "num_heads", -1, in->num_heads,
                            "num_heads is $g, expected at least 1");
    if (in->num_kv_heads < 0)
        return out_of_range(c, "num_kv_heads", -1, in->num_kv_heads,
                            "num_kv_heads is $g, expected at least 1");
    if (in->has_scale && !isfinite(in_dtype(c, in->scale)))
        return out_of_range(c, "scale", -1, 0,
                            "scale is not finite in the call's dtype");
    if (!(in->softcap >= 0) || !isfinite(in_dtype(c, in->softcap)) ||
        (in->softcap > 0) != (in_dtype(c, in->softcap) > 0))
        return out_of_range(c, "softcap", -1, 0, "softcap is not a finite "
                            "number above 0 in the call's dtype");
    if (in->window_left < ATTN_OPEN || in->window_right < ATTN_OPEN)
        return out_of_range(c, "window", -1,
                            size_min(in->window_left, in->window_right),
                            "a side of window is $g, expected at least 0");
    return ATTN_OK;
}

static enum attn_status rotation_is_possible(struct check *c)
{
    const struct attn_input *in = c->in;
    int64_t d_k = c->plan->d_k;
    int64_t dim = in->rope_dim ? in->rope_dim : d_k;
    if (!in->rope)
        return ATTN_OK;
    if (!(in->rope_base > 0) || !isfinite(in->rope_base))
        return out_of_range(c, "rope", -1, 0,
                            "base of rope is not a finite number above 0");
    if (dim % 2 == 0 && dim <= d_k && (dim >= 2 || (dim == 0 && d_k == 0)))
        return ATTN_OK;
    struct attn_error what = {.status = ATTN_RANGE, .name = "rope",
                              .axis = -1, .index = -1, .expected = d_k,
                              .got = dim};
    return complain(c->error, what,
                    "dim of rope is $g, expected an even number from 2 to "
                    "d_k = $e");
}

static enum attn_status key_lengths_are_in_range(struct check *c)
{
    const int64_t *length = c->in->tensor[ATTN_KEY_LENGTHS].data;
    if (!has(c, ATTN_KEY_LENGTHS))
        return ATTN_OK;
    for (int64_t b = 0; b < c->plan->B; b++) {
        if (length[b] >= 0 && length[b] <= c->plan->n_k)
            continue;
        struct attn_error what = {.status = ATTN_RANGE, .name = "key_lengths",
                                  .axis = -1, .index = b,
                                  .expected = c->plan->n_k, .got = length[b]};
        return complain(c->error, what,
                        "key_lengths[$i] is $g, expected 0 to n_k = $e");
    }
    return ATTN_OK;
}

/* ------------------------------------------------------------- order */

enum attn_status check_input(const struct attn_input *in,
                             struct attn_plan *plan,
                             struct attn_error *error)
{
    static enum attn_status (*const question[])(struct check *) = {
        operands_are_of_one_form,
        operands_are_complete,
        companions_are_there,
        options_agree,
        something_is_returned,
        numbers_are_in_range,
        check_ranks,
        check_operands,
        check_past,
        check_widths,
        check_broadcasts,
        rotation_is_possible,
        key_lengths_are_in_range,
        check_sizes,
    };
    struct check c = {.in = in, .plan = plan, .error = error};
    for (size_t i = 0; i < sizeof question / sizeof *question; i++) {
        enum attn_status status = question[i](&c);
        if (status != ATTN_OK)
            return status;
    }
    return ATTN_OK;
}
