/* SPDX-License-Identifier: MIT */
/*
 * fields - see fields.h.
 */
#include "fields.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const char *const dtypes[] = {"float32", "float64", NULL};
static const char *const layouts[] = {"in_out", "out_in", NULL};
static const char *const scores[] = {"dot", "additive", NULL};

#define TENSOR(id, name, type, group, help, expected) \
    [id] = {name, group, type, FIELD_CALL, -INFINITY, INFINITY, false, NULL, \
            help, expected}
#define REALS(id, name, help) \
    TENSOR(id, name, FIELD_REALS, FIELD_CALL, help, NULL)
#define VECTOR(id, name, help, expected) \
    TENSOR(id, name, FIELD_REALS, FIELD_CALL, help, expected)
#define WHOLE(id, name, group, type, min, help) \
    [id] = {name, group, type, FIELD_CALL, min, FIELD_INTEGER_MAX, false, \
            NULL, help, NULL}
#define OTHER(id, name, group, type, members, words, help, expected) \
    [id] = {name, group, type, members, -INFINITY, INFINITY, false, words, \
            help, expected}

#define LIST "a list of numbers"
#define LIST_A_HEAD "a list of numbers, one for each query head"

const struct field fields[FIELD_COUNT] = {
    REALS(ATTN_Q, "Q", "queries"),
    REALS(ATTN_K, "K", "keys"),
    REALS(ATTN_V, "V", "values"),
    REALS(ATTN_X, "X", "rows to be projected, instead of Q, K, V"),
    REALS(ATTN_CONTEXT, "context", "rows that K and V are made of, not X"),
    REALS(ATTN_W_Q, "W_Q", "weights of Q = X W_Q + b_Q"),
    REALS(ATTN_W_K, "W_K", "weights of K"),
    REALS(ATTN_W_V, "W_V", "weights of V"),
    REALS(ATTN_W_O, "W_O", "weights of the output projection"),
    VECTOR(ATTN_B_Q, "b_Q", "added to each row of X W_Q", LIST),
    VECTOR(ATTN_B_K, "b_K", "added to each row of K", LIST),
    VECTOR(ATTN_B_V, "b_V", "added to each row of V", LIST),
    VECTOR(ATTN_B_O, "b_O", "added to each row of the output, with W_O", LIST),
    TENSOR(ATTN_MASK, "mask", FIELD_BOOLEANS, FIELD_CALL,
           "true: this query may attend to this key", NULL),
    REALS(ATTN_BIAS, "bias", "added to the scores; -Infinity hides"),
    VECTOR(ATTN_ALIBI, "alibi", "one slope m a head: adds -m |p - j|",
           LIST_A_HEAD),
    VECTOR(ATTN_SINKS, "sinks", "one logit a head, in the denominator only",
           LIST_A_HEAD),
    REALS(ATTN_PAST_K, "past_K", "cached keys, before the new ones"),
    REALS(ATTN_PAST_V, "past_V", "cached values"),
    TENSOR(ATTN_KEY_LENGTHS, "key_lengths", FIELD_INTEGERS, FIELD_CALL,
           "for each batch item, how many keys count",
           "a list of integers, one for each batch item"),
    TENSOR(ATTN_OFFSET, "offset", FIELD_OFFSETS, FIELD_CALL,
           "position of query 0 among the keys, or \"end\"",
           "an integer, a list of integers or \"end\" (the queries are the "
           "last positions)"),
    TENSOR(ATTN_W_A, "W_a", FIELD_REALS, FIELD_SCORE,
           "of S = v_a . tanh(Q W_a + K U_a)", NULL),
    TENSOR(ATTN_U_A, "U_a", FIELD_REALS, FIELD_SCORE, "the same for keys",
           NULL),
    TENSOR(ATTN_V_A, "v_a", FIELD_REALS, FIELD_SCORE, "the same, a vector",
           LIST),

    WHOLE(FIELD_NUM_HEADS, "num_heads", FIELD_CALL, FIELD_INTEGER, 1,
          "H; with Q, K, V it says that heads are packed"),
    WHOLE(FIELD_NUM_KV_HEADS, "num_kv_heads", FIELD_CALL, FIELD_INTEGER, 1,
          "G, a divisor of H; H by default"),
    OTHER(FIELD_WEIGHT_LAYOUT, "weight_layout", FIELD_CALL, FIELD_WORD,
          FIELD_CALL, layouts, "out_in: weights are stored transposed",
          "`in_out` or `out_in` (PyTorch's Linear)"),
    OTHER(FIELD_SCALE, "scale", FIELD_CALL, FIELD_NUMBER, FIELD_CALL, NULL,
          "factor of S; 1/sqrt(d_k) by default", NULL),
    OTHER(FIELD_CAUSAL, "causal", FIELD_CALL, FIELD_BOOLEAN, FIELD_CALL, NULL,
          "key j is visible to the query at p if j <= p", NULL),
    OTHER(FIELD_WINDOW_OBJECT, "window", FIELD_CALL, FIELD_OBJECT,
          FIELD_WINDOW, NULL, "keys visible to the left and to the right",
          "an object such as {\"left\": 2, \"right\": 0}"),
    [FIELD_SOFTCAP] = {"softcap", FIELD_CALL, FIELD_NUMBER, FIELD_CALL, 0,
                       INFINITY, true, NULL,
                       "scores become softcap * tanh(score / softcap)", NULL},
    OTHER(FIELD_ROPE_OBJECT, "rope", FIELD_CALL, FIELD_OBJECT, FIELD_ROPE,
          NULL, "rotary positions for Q and new K",
          "an object such as {} or {\"base\": 10000}"),
    OTHER(FIELD_SCORE_OBJECT, "score", FIELD_CALL, FIELD_OBJECT, FIELD_SCORE,
          NULL, "where S comes from: dot product or additive",
          "an object, {\"type\": \"dot\"} or {\"type\": \"additive\", "
          "\"W_a\": ..., \"U_a\": ..., \"v_a\": ...}"),
    OTHER(FIELD_DTYPE, "dtype", FIELD_CALL, FIELD_WORD, FIELD_CALL, dtypes,
          "in what the arithmetic is done; float32 by default",
          "`float32` or `float64`"),
    OTHER(FIELD_RETURN, "return", FIELD_CALL, FIELD_NAMES, FIELD_CALL, NULL,
          "what the reply holds; output and A by default",
          "a list of names such as [\"output\", \"A\"]"),
    WHOLE(FIELD_WINDOW_LEFT, "left", FIELD_WINDOW, FIELD_SIDE, 0,
          "keys before p that are visible; null: all"),
    WHOLE(FIELD_WINDOW_RIGHT, "right", FIELD_WINDOW, FIELD_SIDE, 0,
          "keys after p that are visible; null: all"),
    [FIELD_ROPE_BASE] = {"base", FIELD_ROPE, FIELD_NUMBER, FIELD_CALL, 0,
                         INFINITY, true, NULL, "10000 by default", NULL},
    WHOLE(FIELD_ROPE_DIM, "dim", FIELD_ROPE, FIELD_INTEGER, 2,
          "columns that turn, an even number; d_k by default"),
    OTHER(FIELD_ROPE_INTERLEAVED, "interleaved", FIELD_ROPE, FIELD_BOOLEAN,
          FIELD_CALL, NULL, "pairs are columns (2t, 2t+1)", NULL),
    OTHER(FIELD_SCORE_TYPE, "type", FIELD_SCORE, FIELD_WORD, FIELD_CALL,
          scores, "dot by default", "`dot` or `additive`"),
};

static bool same(const char *name, const char *text, size_t length)
{
    return strlen(name) == length && memcmp(name, text, length) == 0;
}

/* By its first letter, the fields that begin with it: a bit for each. */
static uint64_t beginning[128];

__attribute__((constructor)) static void sort_by_letter(void)
{
    _Static_assert(FIELD_COUNT <= 64, "a bit for each field");
    for (int id = 0; id < FIELD_COUNT; id++)
        beginning[(unsigned char)fields[id].name[0]] |= UINT64_C(1) << id;
}

enum field_id field_find(enum field_group group, const char *name,
                         size_t length)
{
    uint64_t left = length > 0 ? beginning[name[0] & 127] : 0;

    for (; left != 0; left &= left - 1) {
        int id = __builtin_ctzll(left);
        if (fields[id].group == group && same(fields[id].name, name, length))
            return (enum field_id)id;
    }
    return FIELD_COUNT;
}

const char *field_nearest(const char *name, size_t length)
{
    const char *names[FIELD_COUNT];
    size_t n = 0;

    for (int id = 0; id < FIELD_COUNT; id++) {
        if (fields[id].group == FIELD_CALL)
            names[n++] = fields[id].name;
    }
    return problem_nearest(name, length, names, n);
}

const char *field_expected(enum field_id id)
{
    static const char *const of_type[] = {
        [FIELD_REALS] = "nested lists of numbers",
        [FIELD_BOOLEANS] = "nested lists of true and false",
        [FIELD_INTEGERS] = "a list of integers",
        [FIELD_NUMBER] = "a number",
        [FIELD_INTEGER] = "an integer",
        [FIELD_SIDE] = "an integer or null",
        [FIELD_BOOLEAN] = "true or false",
    };
    return fields[id].expected ? fields[id].expected
                               : of_type[fields[id].type];
}

enum attn_out field_find_out(const char *name, size_t length)
{
    for (int out = 0; out < ATTN_N_OUT; out++) {
        if (same(attn_out_name[out], name, length))
            return (enum attn_out)out;
    }
    return ATTN_N_OUT;
}

bool field_within(enum field_id id, double value, char *text, size_t size)
{
    const struct field *f = &fields[id];
    bool even = id == FIELD_ROPE_DIM;

    if (f->above && value <= f->min)
        snprintf(text, size, "above %g", f->min);
    else if (value < f->min || (even && fmod(value, 2) != 0))
        snprintf(text, size, "at least %g%s", f->min, even ? " and even" : "");
    else if (value > f->max)
        snprintf(text, size, "at most %.0f", f->max);
    else
        return true;
    return false;
}

void field_store(enum field_id id, struct attn_input *in, double value)
{
    switch (id) {
    case FIELD_NUM_HEADS: in->num_heads = (int64_t)value; break;
    case FIELD_NUM_KV_HEADS: in->num_kv_heads = (int64_t)value; break;
    case FIELD_WEIGHT_LAYOUT: in->weights_out_in = value != 0; break;
    case FIELD_SCALE: in->has_scale = true; in->scale = value; break;
    case FIELD_CAUSAL: in->causal = value != 0; break;
    case FIELD_SOFTCAP: in->softcap = value; break;
    case FIELD_DTYPE: in->dtype = (enum attn_dtype)value; break;
    case FIELD_WINDOW_LEFT: in->window_left = (int64_t)value; break;
    case FIELD_WINDOW_RIGHT: in->window_right = (int64_t)value; break;
    case FIELD_ROPE_OBJECT: in->rope = true; break;
    case FIELD_ROPE_BASE: in->rope_base = value; break;
    case FIELD_ROPE_DIM: in->rope_dim = (int64_t)value; break;
    case FIELD_ROPE_INTERLEAVED: in->rope_interleaved = value != 0; break;
    default: break;
    }
}

const char *field_pointer(enum field_id id, char out[FAULT_POINTER_MAX])
{
    static const char *const prefix[] = {"", "/window", "/rope", "/score"};
    char *end = stpcpy(out, prefix[fields[id].group]);
    *end++ = '/';
    strcpy(end, fields[id].name);
    return out;
}

/* ---------------------------------------------- what the library found */

static enum problem problem_of(const struct attn_error *error)
{
    switch (error->status) {
    case ATTN_MISSING: return PROBLEM_MISSING_COMPANION;
    case ATTN_EXCLUDES: return PROBLEM_EXCLUSIVE;
    case ATTN_RANK: return PROBLEM_RANK;
    case ATTN_SHAPE: return PROBLEM_SHAPE;
    case ATTN_BROADCAST: return PROBLEM_BROADCAST;
    case ATTN_HEADS: return PROBLEM_HEADS;
    case ATTN_RANGE: return PROBLEM_OUT_OF_RANGE;
    case ATTN_OVERFLOW: return PROBLEM_TOO_MUCH_MEMORY;
    default: return PROBLEM_INTERNAL;
    }
}

static bool is_operand(const char *name)
{
    static const enum attn_in operands[] = {
        ATTN_Q, ATTN_K, ATTN_V, ATTN_X, ATTN_W_Q, ATTN_W_K, ATTN_W_V};
    for (size_t i = 0; i < sizeof operands / sizeof *operands; i++) {
        if (strcmp(name, attn_in_name[operands[i]]) == 0)
            return true;
    }
    return false;
}

/* Members of window, rope and score have the call's names in the library. */
static void point_to(const struct attn_error *error,
                     char out[FAULT_POINTER_MAX])
{
    snprintf(out, FAULT_POINTER_MAX, "/%s", error->name);
    for (int id = 0; id < FIELD_COUNT; id++) {
        if (strcmp(fields[id].name, error->name) == 0)
            field_pointer((enum field_id)id, out);
    }
    size_t n = strlen(out);
    if (error->index >= 0)
        snprintf(out + n, FAULT_POINTER_MAX - n, "/%lld",
                 (long long)error->index);
}

enum problem field_fault(struct fault *fault, const struct attn_error *error)
{
    char pointer[FAULT_POINTER_MAX];
    enum problem problem = problem_of(error);

    point_to(error, pointer);
    if (problem == PROBLEM_MISSING_COMPANION && is_operand(error->name))
        problem = PROBLEM_MISSING_OPERAND;
    if (!fault_takes(fault, problem))
        return fault->problem;
    fault_set(fault, problem, pointer, "%s.", error->text);
    if (error->got != error->expected) {
        fault->has_got = fault->has_expected = true;
        fault->got = (double)error->got;
        fault->expected = (double)error->expected;
    }
    return problem;
}
