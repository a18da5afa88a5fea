/* SPDX-License-Identifier: MIT */
/*
 * nested_explain - the exact reader of a tensor's text: nested_explain() of
 * nested.h. It walks from token to token with the place in mind and sets
 * the fault that a person would point to.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "nested.h"
#include "number.h"

/* Where the walk is. Depth 1 is inside the outermost list. */
struct walk {
    struct syntax *text;
    struct fault *fault;
    enum attn_in id;
    enum attn_dtype dtype;
    int depth;
    int rank;                           /* 0 until a value was seen */
    int64_t at[ATTN_MAX_RANK + 1];      /* at[d]: element in hand at depth d */
    int64_t dim[ATTN_MAX_RANK + 1];     /* of the first list of that depth */
};

/* The place of the element in hand in the list at `depth`, or, with depth
 * 0, of the tensor. */
static const char *place(const struct walk *w, int depth,
                         char out[FAULT_POINTER_MAX])
{
    field_pointer((enum field_id)w->id, out);
    for (int d = 1; d <= depth; d++) {
        size_t n = strlen(out);
        snprintf(out + n, FAULT_POINTER_MAX - n, "/%lld",
                 (long long)w->at[d]);
    }
    return out;
}

static bool is_400(const struct walk *w)
{
    return w->fault->problem != PROBLEM_NONE &&
           problem_row(w->fault->problem)->status == 400;
}

/* ------------------------------------------------------------ one value */

static const char *expected(const struct walk *w)
{
    switch (fields[w->id].type) {
    case FIELD_BOOLEANS: return "true or false";
    case FIELD_REALS: return "a number";
    default: return "an integer";
    }
}

/* What else the found value might be good for. */
static const char *advice(const struct walk *w, char first)
{
    bool boolean = first == 't' || first == 'f';
    if (fields[w->id].type == FIELD_BOOLEANS && !boolean && first != '"' &&
        first != 'n' && first != '{')
        return " Numbers to be added to the scores are `bias`.";
    if (w->id == ATTN_BIAS && boolean)
        return " Booleans that say which keys are visible are `mask`.";
    if (fields[w->id].type == FIELD_REALS && first == '"')
        return " The only strings here are \"NaN\", \"Infinity\" and "
               "\"-Infinity\".";
    return "";
}

static void wrong_type(struct walk *w, const char *pointer, const char *found,
                       char first)
{
    fault_set(w->fault, PROBLEM_WRONG_TYPE, pointer,
              "\"%s\" is %s, expected %s.%s", pointer, found, expected(w),
              advice(w, first));
}

static void check_number(struct walk *w, const char *pointer, double value,
                         bool overflow, const char *p)
{
    bool integer = fields[w->id].type != FIELD_REALS;
    int shown = (int)(w->text->p - p < 40 ? w->text->p - p : 40);

    overflow = overflow || (!integer && w->dtype == ATTN_FLOAT32 &&
                            isinf((float)value));
    if (overflow)
        fault_set(w->fault, PROBLEM_NUMBER_OVERFLOW, pointer,
                  "\"%s\" is %.*s, more than %s can hold.", pointer, shown, p,
                  w->dtype == ATTN_FLOAT32 && !integer ? "float32"
                                                       : "float64");
    else if (integer && value != trunc(value))
        fault_set(w->fault, PROBLEM_WRONG_TYPE, pointer,
                  "\"%s\" is %.*s, expected an integer.", pointer, shown, p);
    else if (integer && fabs(value) > FIELD_INTEGER_MAX)
        fault_set(w->fault, PROBLEM_OUT_OF_RANGE, pointer,
                  "\"%s\" is %.*s, expected at most %.0f in magnitude.",
                  pointer, shown, p, FIELD_INTEGER_MAX);
}

static bool is_special(const char *p, const char *end)
{
    static const char *const words[] = {"\"NaN\"", "\"Infinity\"",
                                        "\"-Infinity\""};
    size_t n = (size_t)(end - p);
    for (int i = 0; i < 3; i++) {
        if (n == strlen(words[i]) && memcmp(p, words[i], n) == 0)
            return true;
    }
    return false;
}

/* A value that is no list: its type, its depth. p is then behind it. */
static bool scalar(struct walk *w)
{
    struct syntax *t = w->text;
    const char *p = t->p, *kind = syntax_kind(t);
    char pointer[FAULT_POINTER_MAX];
    enum field_type type = fields[w->id].type;
    bool boolean, number;

    if (!syntax_skip(t))
        return false;
    place(w, w->depth, pointer);
    boolean = *p == 't' || *p == 'f';
    number = *p == '-' || (*p >= '0' && *p <= '9');
    if (type == FIELD_BOOLEANS ? !boolean
                               : !number && !(type == FIELD_REALS &&
                                              is_special(p, t->p)))
        wrong_type(w, pointer, kind, *p);
    if (number) {
        double value = 0;
        const char *next;
        bool over = number_read(p, t->end, &value, &next) == NUMBER_OVERFLOW;
        check_number(w, pointer, value, over, p);
    }
    if (w->rank == 0)
        w->rank = w->depth;
    if (w->depth != w->rank)
        fault_set(w->fault, PROBLEM_RAGGED, pointer,
                  "\"%s\" is %s, expected a list like those before it.",
                  pointer, kind);
    return !is_400(w);
}

/* ---------------------------------------------------------------- lists */

/* At a bracket: in. A list that is too deep, empty or among numbers is
 * complained about and, where nothing in it can be placed, skipped. */
static bool open_list(struct walk *w, bool *skipped)
{
    struct syntax *t = w->text;
    char pointer[FAULT_POINTER_MAX];
    const char *after = syntax_after_space(t->p + 1, t->end);

    bool deep = w->depth == ATTN_MAX_RANK;
    bool empty = after < t->end && *after == ']';

    place(w, w->depth, pointer);
    if (deep)
        fault_set(w->fault, PROBLEM_RANK, pointer,
                  "\"%s\" is a list, but a tensor has at most %d axes.",
                  pointer, ATTN_MAX_RANK);
    else if (empty)
        fault_set(w->fault, PROBLEM_RAGGED, pointer,
                  "\"%s\" is an empty list, whose shape JSON cannot say: at "
                  "least one element is needed (the binary forms can say a "
                  "size of 0).", pointer);
    else if (w->rank > 0 && w->depth >= w->rank)
        fault_set(w->fault, PROBLEM_RAGGED, pointer,
                  "\"%s\" is a list, expected %s like those before it.",
                  pointer, expected(w));
    *skipped = deep || empty;
    if (*skipped)
        return syntax_skip(t);
    w->at[++w->depth] = 0;
    t->p = after;
    return true;
}

static const char *elements(const struct walk *w, int64_t n)
{
    if (w->depth < w->rank)
        return n == 1 ? "list" : "lists";
    if (fields[w->id].type == FIELD_BOOLEANS)
        return n == 1 ? "boolean" : "booleans";
    return n == 1 ? "number" : "numbers";
}

/* At the closing bracket: out, if the list is as long as the first one. */
static void close_list(struct walk *w)
{
    char pointer[FAULT_POINTER_MAX];
    int64_t n = w->at[w->depth] + 1, *dim = &w->dim[w->depth];

    if (*dim == 0)
        *dim = n;
    if (n != *dim && fault_takes(w->fault, PROBLEM_RAGGED)) {
        place(w, w->depth - 1, pointer);
        fault_set(w->fault, PROBLEM_RAGGED, pointer,
                  "\"%s\" has %lld %s, expected %lld.", pointer, (long long)n,
                  elements(w, n), (long long)*dim);
        w->fault->has_got = w->fault->has_expected = true;
        w->fault->got = (double)n;
        w->fault->expected = (double)*dim;
    }
    w->depth--;
    w->text->p++;
}

/* Behind a value: closes lists, takes the comma. */
static bool next_value(struct walk *w)
{
    struct syntax *t = w->text;
    while (w->depth > 0) {
        t->p = syntax_after_space(t->p, t->end);
        if (t->p < t->end && *t->p == ',') {
            t->p = syntax_after_space(t->p + 1, t->end);
            w->at[w->depth]++;
            return true;
        }
        if (t->p == t->end || *t->p != ']') {
            t->bad = t->p;
            return false;
        }
        close_list(w);
    }
    return true;
}

bool nested_explain(struct syntax *text, enum attn_in id,
                    enum attn_dtype dtype, struct fault *fault)
{
    struct walk w = {.text = text, .fault = fault, .id = id, .dtype = dtype};
    do {
        bool complete = true;
        if (text->p < text->end && *text->p == '[') {
            if (!open_list(&w, &complete))
                return false;
        } else if (!scalar(&w)) {
            return false;
        }
        if (complete && !next_value(&w))
            return false;
    } while (w.depth > 0);
    return true;
}
