/* SPDX-License-Identifier: MIT */
/*
 * check_shape.c - ranks and axes: which tensor has how many of what.
 *
 * Each size has one owner (d_k belongs to Q, n_k to K, ...); every other
 * tensor is held against the owner, and the complaint names both.
 */
#include "check_shape.h"

#include "check.h"
#include "complain.h"
#include "size.h"

static const struct attn_tensor *get(const struct check *c, enum attn_in name)
{
    return &c->in->tensor[name];
}

static bool has(const struct check *c, enum attn_in name)
{
    return get(c, name)->rank != 0;
}

/* The size of an axis counted from the last, 1 being the last. */
static int64_t from_last(const struct attn_tensor *t, int back)
{
    return back > t->rank ? 1 : t->dim[t->rank - back];
}

bool check_has_batch(const struct attn_input *in)
{
    if (in->tensor[ATTN_X].rank)
        return in->tensor[ATTN_X].rank == 3;
    return in->tensor[ATTN_Q].rank == (in->num_heads ? 3 : 4);
}

bool check_has_heads(const struct attn_input *in)
{
    return in->num_heads || in->tensor[ATTN_Q].rank >= 3;
}

bool check_past_is_packed(const struct attn_input *in, enum attn_in name)
{
    int packed_rank = check_has_batch(in) ? 3 : 2;
    return in->num_heads && in->tensor[name].rank == packed_rank;
}

/* -------------------------------------------------------------- ranks */

static enum attn_status bad_rank(struct check *c, enum attn_in name,
                                 const char *other, int64_t expected,
                                 const char *pattern)
{
    struct attn_error what = {.status = ATTN_RANK,
                              .name = attn_in_name[name], .other = other,
                              .axis = -1, .index = -1, .expected = expected,
                              .got = get(c, name)->rank};
    return complain(c->error, what, pattern);
}

static enum attn_status same_rank(struct check *c, enum attn_in name,
                                  enum attn_in owner)
{
    if (!has(c, name) || get(c, name)->rank == get(c, owner)->rank)
        return ATTN_OK;
    return bad_rank(c, name, attn_in_name[owner], get(c, owner)->rank,
                    "$n has $g ax$x, expected $e (like $o)");
}

static enum attn_status operand_ranks(struct check *c)
{
    enum attn_in owner = has(c, ATTN_X) ? ATTN_X : ATTN_Q;
    int rank = get(c, owner)->rank;
    bool packed = c->in->num_heads != 0;
    enum attn_status status = ATTN_OK;
    if (owner == ATTN_X && (rank < 2 || rank > 3))
        return bad_rank(c, owner, NULL, 2, "$n has $g ax$x, expected 2 or 3");
    if (packed && (rank < 2 || rank > 3))
        return bad_rank(c, owner, "num_heads", 2,
                        "$n has $g ax$x, expected 2 or 3 since num_heads "
                        "says that heads are packed in the last");
    if (rank < 2 || rank > 4)
        return bad_rank(c, owner, NULL, 2, "$n has $g ax$x, expected 2 to 4");
    for (int i = ATTN_Q; i <= ATTN_CONTEXT && !status; i++)
        status = same_rank(c, (enum attn_in)i, owner);
    return status;
}

static enum attn_status past_rank(struct check *c, enum attn_in name)
{
    int apart = 2 + check_has_batch(c->in) + check_has_heads(c->in);
    if (!has(c, name) || get(c, name)->rank == apart ||
        check_past_is_packed(c->in, name))
        return ATTN_OK;
    return bad_rank(c, name, NULL, apart, "$n has $g ax$x, expected $e");
}

enum attn_status check_ranks(struct check *c)
{
    static const signed char fixed[ATTN_N_IN] = {
        [ATTN_W_Q] = 2, [ATTN_W_K] = 2, [ATTN_W_V] = 2, [ATTN_W_O] = 2,
        [ATTN_B_Q] = 1, [ATTN_B_K] = 1, [ATTN_B_V] = 1, [ATTN_B_O] = 1,
        [ATTN_ALIBI] = 1, [ATTN_SINKS] = 1, [ATTN_KEY_LENGTHS] = 1,
        [ATTN_OFFSET] = 1, [ATTN_W_A] = 2, [ATTN_U_A] = 2, [ATTN_V_A] = 1,
    };
    for (int i = 0; i < ATTN_N_IN; i++) {
        int rank = c->in->tensor[i].rank;
        if (rank < 0 || rank > ATTN_MAX_RANK)
            return bad_rank(c, (enum attn_in)i, NULL, ATTN_MAX_RANK,
                            "$n has $g ax$x, expected at most $e");
        if (rank && fixed[i] && rank != fixed[i])
            return bad_rank(c, (enum attn_in)i, NULL, fixed[i],
                            "$n has $g ax$x, expected $e");
    }
    enum attn_status status = operand_ranks(c);
    if (!status)
        status = past_rank(c, ATTN_PAST_K);
    return status ? status : past_rank(c, ATTN_PAST_V);
}

/* --------------------------------------------------------------- axes */

/* Axis `back` from the last of `name` must have the owner's size. */
struct same {
    enum attn_in name;
    int back;
    int64_t expected;
    const char *owner;
    const char *pattern;
};

static enum attn_status same_size(struct check *c, struct same s)
{
    const struct attn_tensor *t = get(c, s.name);
    int64_t got = from_last(t, s.back);
    if (!t->rank || got == s.expected)
        return ATTN_OK;
    struct attn_error what = {.status = ATTN_SHAPE,
                              .name = attn_in_name[s.name],
                              .other = s.owner, .axis = t->rank - s.back,
                              .index = -1, .expected = s.expected,
                              .got = got};
    return complain(c->error, what, s.pattern);
}

static enum attn_status all_same(struct check *c, const struct same *list,
                                 size_t count)
{
    enum attn_status status = ATTN_OK;
    for (size_t i = 0; i < count && !status; i++)
        status = same_size(c, list[i]);
    return status;
}

#define ALL_SAME(c, list) all_same(c, list, sizeof(list) / sizeof *(list))

static enum attn_status heads_divide(struct check *c)
{
    const struct attn_plan *p = c->plan;
    if (p->H == 0 || (p->G > 0 && p->H % p->G == 0))
        return ATTN_OK;
    bool named = c->in->num_heads != 0;
    struct attn_error what = {.status = ATTN_HEADS,
                              .name = named ? "num_kv_heads" : "K",
                              .other = named ? "num_heads" : "Q",
                              .axis = named ? -1 : get(c, ATTN_K)->rank - 3,
                              .index = -1, .expected = p->H, .got = p->G};
    return complain(c->error, what,
                    "$g key/value head$s do not divide $e query head$s");
}

/* Sets *width to the columns of one of `heads` packed heads. */
static enum attn_status split(struct check *c, enum attn_in name, int axis,
                              int64_t heads, int64_t *width)
{
    int64_t got = get(c, name)->dim[axis];
    *width = got / heads;
    if (got % heads == 0)
        return ATTN_OK;
    struct attn_error what = {.status = ATTN_HEADS,
                              .name = attn_in_name[name], .axis = axis,
                              .index = -1, .expected = heads, .got = got};
    return complain(c->error, what, axis == get(c, name)->rank - 1
                    ? "$n has $g column$s, expected a multiple of "
                      "its $e heads"
                    : "$n has $g row$s, expected a multiple of its $e "
                      "heads");
}

static void take_head_counts(struct check *c)
{
    const struct attn_input *in = c->in;
    struct attn_plan *p = c->plan;
    p->H = in->num_heads ? in->num_heads : 1;
    p->G = in->num_kv_heads ? in->num_kv_heads : p->H;
    if (!in->num_heads && !has(c, ATTN_X)) {
        p->H = from_last(get(c, ATTN_Q), 3);
        p->G = from_last(get(c, ATTN_K), 3);
    }
}

#define BATCH "$n has $g batch item$s, expected $e (like $o)"

static enum attn_status keys_fit(struct check *c)
{
    const struct attn_plan *p = c->plan;
    bool packed = c->in->num_heads != 0;
    const struct same list[] = {
        {ATTN_K, 1, packed ? size_mul(p->G, p->d_k) : p->d_k, "Q",
         packed ? "$n has $g column$s, expected $e (key/value heads times d_k "
                  "of $o)"
                : "$n has $g column$s, expected $e (d_k of $o)"},
        {ATTN_K, packed ? 3 : 4, p->B, "Q", BATCH},
    };
    return ALL_SAME(c, list);
}

static enum attn_status values_fit(struct check *c)
{
    const struct attn_plan *p = c->plan;
    bool packed = c->in->num_heads != 0;
    const struct same list[] = {
        {ATTN_V, 3, packed ? p->B : p->G, packed ? "Q" : "K",
         packed ? BATCH : "$n has $g head$s, expected $e (like $o)"},
        {ATTN_V, 4, packed ? 1 : p->B, "Q", BATCH},
        {ATTN_V, 2, p->n_k, "K", "$n has $g row$s, expected $e (n_k of $o)"},
    };
    return ALL_SAME(c, list);
}

/* Operand by operand: what is wrong with several is told of the first. */
static enum attn_status qkv_operands(struct check *c)
{
    struct attn_plan *p = c->plan;
    bool packed = c->in->num_heads != 0;
    int last = get(c, ATTN_Q)->rank - 1;

    p->B = from_last(get(c, ATTN_Q), packed ? 3 : 4);
    p->n_q = from_last(get(c, ATTN_Q), 2);
    p->n_k = from_last(get(c, ATTN_K), 2);
    enum attn_status status = split(c, ATTN_Q, last, packed ? p->H : 1,
                                    &p->d_k);
    if (!status)
        status = keys_fit(c);
    if (!status)
        status = split(c, ATTN_V, last, packed ? p->G : 1, &p->d_v);
    return status ? status : values_fit(c);
}

/* What goes into a weight stands in its rows, or in its columns if weights
 * are stored out_in. */
#define INTO(out_in, what)                                                    \
    ((out_in) ? "$n has $g column$s, expected $e (" what ")"         \
              : "$n has $g row$s, expected $e (" what ")")
#define OUT_OF(out_in, what) INTO(!(out_in), what)

static enum attn_status projected_operands(struct check *c)
{
    struct attn_plan *p = c->plan;
    enum attn_in source = has(c, ATTN_CONTEXT) ? ATTN_CONTEXT : ATTN_X;
    const char *of = attn_in_name[source];
    bool out_in = c->in->weights_out_in;
    int in_back = out_in ? 1 : 2, out_axis = out_in ? 0 : 1;

    p->B = from_last(get(c, ATTN_X), 3);
    p->n_q = from_last(get(c, ATTN_X), 2);
    p->d = from_last(get(c, ATTN_X), 1);
    p->m = p->n_k = from_last(get(c, source), 2);
    p->d_c = from_last(get(c, source), 1);

    const struct same queries[] = {
        {ATTN_CONTEXT, 3, p->B, "X", BATCH},
        {ATTN_W_Q, in_back, p->d, "X", INTO(out_in, "columns of $o")},
    };
    enum attn_status status = ALL_SAME(c, queries);
    if (!status)
        status = split(c, ATTN_W_Q, out_axis, p->H, &p->d_k);
    const struct same keys[] = {
        {ATTN_W_K, in_back, p->d_c, of, INTO(out_in, "columns of $o")},
        {ATTN_W_K, 3 - in_back, size_mul(p->G, p->d_k), "W_Q",
         OUT_OF(out_in, "key/value heads times d_k of $o")},
        {ATTN_W_V, in_back, p->d_c, of, INTO(out_in, "columns of $o")},
    };
    if (!status)
        status = ALL_SAME(c, keys);
    if (!status)
        status = split(c, ATTN_W_V, out_axis, p->G, &p->d_v);
    p->d_out = size_mul(p->H, p->d_v);
    const struct same output[] = {
        {ATTN_W_O, in_back, p->d_out, "W_V",
         INTO(out_in, "heads times d_v of $o")},
    };
    if (!status)
        status = ALL_SAME(c, output);
    if (has(c, ATTN_W_O))
        p->d_out = get(c, ATTN_W_O)->dim[out_axis];
    return status;
}

enum attn_status check_operands(struct check *c)
{
    take_head_counts(c);
    enum attn_status status = heads_divide(c);
    if (status)
        return status;
    return has(c, ATTN_X) ? projected_operands(c) : qkv_operands(c);
}

/* ------------------------------------------------- the other tensors */

enum attn_status check_past(struct check *c)
{
    struct attn_plan *p = c->plan;
    if (!has(c, ATTN_PAST_K))
        return ATTN_OK;
    p->n_past = from_last(get(c, ATTN_PAST_K), 2);
    p->n_k = size_add(p->n_k, p->n_past);
    for (int v = 0; v < 2; v++) {
        enum attn_in name = v ? ATTN_PAST_V : ATTN_PAST_K;
        const char *of = v ? "V" : "K";
        bool packed = check_past_is_packed(c->in, name);
        bool apart = check_has_heads(c->in) && !packed;
        int64_t width = v ? p->d_v : p->d_k;
        const struct same list[] = {
            {name, 2, p->n_past, "past_K",
             "$n has $g row$s, expected $e (like $o)"},
            {name, 1, packed ? size_mul(p->G, width) : width, of,
             "$n has $g column$s, expected $e (like $o)"},
            {name, 3, apart ? p->G : p->B, of,
             apart ? "$n has $g head$s, expected $e (like $o)"
                   : "$n has $g batch item$s, expected $e (like $o)"},
            {name, 4, apart ? p->B : 1, of,
             "$n has $g batch item$s, expected $e (like $o)"},
        };
        enum attn_status status = ALL_SAME(c, list);
        if (status)
            return status;
    }
    return ATTN_OK;
}

/* Three axes without num_heads are heads, which those who think of a batch
 * learn here. */
static bool three_axes_are_heads(const struct check *c)
{
    return !c->in->num_heads && get(c, ATTN_Q)->rank == 3;
}

static void hint_of_batch(const struct check *c)
{
    complain_more(c->error, "; three axes of Q are [H, n, d]: for [B, n, d] "
                            "give num_heads: 1");
}

/* One element for each batch item, or, of offset, for all. */
static enum attn_status items_length(struct check *c, enum attn_in name)
{
    const struct attn_tensor *t = get(c, name);
    bool for_all = name == ATTN_OFFSET;
    const struct same each = {name, 1, c->plan->B, NULL, for_all
                              ? "$n has $g element$s, expected $b "
                                "(one for each batch item)"
                              : "$n has $g element$s, expected $e "
                                "(one for each batch item)"};
    if (t->rank && t->dim[0] == 1 && for_all)
        return ATTN_OK;
    enum attn_status status = same_size(c, each);
    if (status && three_axes_are_heads(c))
        hint_of_batch(c);
    return status;
}

enum attn_status check_widths(struct check *c)
{
    const struct attn_plan *p = c->plan;
    int64_t a = from_last(get(c, ATTN_V_A), 1);
    const struct same list[] = {
        {ATTN_B_Q, 1, size_mul(p->H, p->d_k), "W_Q",
         "$n has $g element$s, expected $e (what comes out of $o)"},
        {ATTN_B_K, 1, size_mul(p->G, p->d_k), "W_K",
         "$n has $g element$s, expected $e (what comes out of $o)"},
        {ATTN_B_V, 1, size_mul(p->G, p->d_v), "W_V",
         "$n has $g element$s, expected $e (what comes out of $o)"},
        {ATTN_B_O, 1, p->d_out, "W_O",
         "$n has $g element$s, expected $e (what comes out of $o)"},
        {ATTN_ALIBI, 1, p->H, NULL,
         "$n has $g element$s, expected $e (one for each query head)"},
        {ATTN_SINKS, 1, p->H, NULL,
         "$n has $g element$s, expected $e (one for each query head)"},
        {ATTN_W_A, 2, p->d_k, "Q", "$n has $g row$s, expected $e (d_k of $o)"},
        {ATTN_W_A, 1, a, "v_a",
         "$n has $g column$s, expected $e (elements of $o)"},
        {ATTN_U_A, 2, p->d_k, "K", "$n has $g row$s, expected $e (d_k of $o)"},
        {ATTN_U_A, 1, a, "v_a",
         "$n has $g column$s, expected $e (elements of $o)"},
    };
    enum attn_status status = ALL_SAME(c, list);
    if (!status)
        status = items_length(c, ATTN_KEY_LENGTHS);
    return status ? status : items_length(c, ATTN_OFFSET);
}

/* Behind a complaint about the first axis of a mask or bias, which a batch is
 * often taken for. */
static void hint_of_mask(const struct check *c, const struct attn_tensor *t)
{
    const struct attn_plan *p = c->plan;
    bool batch = p->B > 1 && t->dim[0] == p->B;
    if (three_axes_are_heads(c) && (t->rank > 2 || t->dim[0] == p->H))
        hint_of_batch(c);
    else if (t->rank == 2 && batch)
        complain_more(c->error, "; for one per batch item: "
                                "[B, 1, 1, n_k]");
    else if (t->rank == 3 && batch)
        complain_more(c->error, "; three axes are [H, n_q, n_k]: for one per "
                                "batch item, [B, 1, n_q, n_k]");
    else if (t->rank == 3 && p->B > 1 && t->dim[0] == size_mul(p->B, p->H))
        complain_more(c->error, "; [B*H, n_q, n_k] goes as "
                                "[B, H, n_q, n_k]");
}

static enum attn_status broadcasts(struct check *c, enum attn_in name)
{
    const struct attn_plan *p = c->plan;
    const int64_t target[] = {p->B, p->H, p->n_q, p->n_k};
    static const char *const text[] = {
        "Axis $a of $n is $g, expected $b (batch items)",
        "Axis $a of $n is $g, expected $b (query heads)",
        "Axis $a of $n is $g, expected $b (queries)",
        "Axis $a of $n is $g, expected $b (keys)",
    };
    const struct attn_tensor *t = get(c, name);
    for (int axis = 0; axis < t->rank; axis++) {
        int place = 4 - t->rank + axis;
        if (t->dim[axis] == 1 || t->dim[axis] == target[place])
            continue;
        struct attn_error what = {.status = ATTN_BROADCAST,
                                  .name = attn_in_name[name], .axis = axis,
                                  .index = -1, .expected = target[place],
                                  .got = t->dim[axis]};
        complain(c->error, what, text[place]);
        if (axis == 0)
            hint_of_mask(c, t);
        return c->error->status;
    }
    return ATTN_OK;
}

enum attn_status check_broadcasts(struct check *c)
{
    enum attn_status status = broadcasts(c, ATTN_MASK);
    return status ? status : broadcasts(c, ATTN_BIAS);
}

/* -------------------------------------------------------------- sizes */

static enum attn_status too_large(struct check *c, const char *name)
{
    struct attn_error what = {.status = ATTN_OVERFLOW, .name = name,
                              .axis = -1, .index = -1};
    return complain(c->error, what,
                    "the size of $n is beyond what a machine can address");
}

/* Rows that hold nothing cost no memory but time, so they are bounded too;
 * the elements of one row of packed heads go to the BLAS as an int. */
enum attn_status check_sizes(struct check *c)
{
    const struct attn_plan *p = c->plan;
    const int64_t most_rows = (int64_t)1 << 40;
    for (int i = 0; i < ATTN_N_IN; i++)
        if (attn_tensor_elements(get(c, (enum attn_in)i)) < 0)
            return too_large(c, attn_in_name[i]);
    int64_t B = size_max(p->B, 1), H = size_max(p->H, 1);
    int64_t G = size_max(p->G, 1);
    int64_t queries = size_mul(size_mul(B, H), size_add(p->n_q, 1));
    int64_t keys = size_mul(size_mul(B, G), size_add(p->n_k, 1));
    int64_t width = size_max(size_max(p->d, p->d_c),
                             size_max(p->d_out,
                                      size_mul(size_max(H, G),
                                               size_max(p->d_k, p->d_v))));
    bool from_x = has(c, ATTN_X);
    if (queries > most_rows || width > INT32_MAX)
        return too_large(c, from_x ? "X" : "Q");
    if (keys > most_rows)
        return too_large(c, from_x ? "X" : "K");
    return ATTN_OK;
}
