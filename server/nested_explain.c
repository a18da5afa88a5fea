/* SPDX-License-Identifier: MIT */
/*
 * nested_explain - the exact reader of a tensor's text: nested_explain() of
 * nested.h. It walks from token to token with the place in mind and sets
 * the fault that a person would point to. The text is JSON without white
 * space: behind a value there is a comma or a bracket.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "nested.h"
#include "number.h"
#include "quote.h"

/* The place of the element in hand in the list at `depth`, or, with depth
 * 0, of the tensor. */
static const char *place(const struct nested_explain *w, int depth,
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

static bool is_400(const struct nested_explain *w)
{
    return w->fault->problem != PROBLEM_NONE &&
           problem_row(w->fault->problem)->status == 400;
}

/* ------------------------------------------------------------ one value */

static const char *expected(const struct nested_explain *w)
{
    switch (fields[w->id].type) {
    case FIELD_BOOLEANS: return "true or false";
    case FIELD_REALS: return "a number";
    default: return "an integer";
    }
}

/* What else the found value might be good for. */
static const char *advice(const struct nested_explain *w, char first)
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

/* A value that is no list. */
struct value {
    const char *text, *end;
    bool boolean, number, special;
    bool overflow;
    double x;               /* of a number */
};

/* An object, which no tensor has, is taken for its bracket. */
static const char *after_value(const char *p, const char *end)
{
    if (*p == '"')
        return syntax_after_string(p, end);
    return p + (*p == 'f' ? 5 : *p == '{' ? 1 : 4);
}

static void read_value(struct nested_explain *w, struct value *v)
{
    struct syntax *t = w->text;
    char c = *t->p;
    double value;

    *v = (struct value){.text = t->p};
    v->boolean = c == 't' || c == 'f';
    v->number = c == '-' || (c >= '0' && c <= '9');
    if (v->number)
        v->overflow = number_read(t->p, t->end, &v->x, &t->p) ==
                      NUMBER_OVERFLOW;
    else
        t->p = after_value(t->p, t->end);
    v->end = t->p;
    v->special = nested_special(v->text, v->end, &value) == v->end;
}

static bool overflows(const struct nested_explain *w, const struct value *v)
{
    return v->overflow ||
           (fields[w->id].type == FIELD_REALS && w->dtype == ATTN_FLOAT32 &&
            isinf((float)v->x));
}

static bool has_type(const struct nested_explain *w, const struct value *v)
{
    switch (fields[w->id].type) {
    case FIELD_BOOLEANS: return v->boolean;
    case FIELD_REALS: return v->number || v->special;
    default: return v->number && (v->overflow || v->x == trunc(v->x));
    }
}

static bool is_far(const struct nested_explain *w, const struct value *v)
{
    return fields[w->id].type != FIELD_REALS && fabs(v->x) > FIELD_INTEGER_MAX;
}

/* Sets the fault of a value that is not as it should be. */
static void complain(struct nested_explain *w, const struct value *v)
{
    const char *kind = syntax_kind(v->text, v->end);
    char shown[QUOTE_NAME_MAX];
    char place_text[FAULT_POINTER_MAX];
    const char *pointer = place(w, w->depth, place_text);
    bool fraction = !has_type(w, v) && v->number &&
                    fields[w->id].type != FIELD_BOOLEANS;

    quote_name(shown, v->text, (size_t)(v->end - v->text));
    if (fraction)
        fault_set(w->fault, PROBLEM_WRONG_TYPE, pointer,
                  "\"%s\" is %s, expected an integer.", pointer, shown);
    else if (!has_type(w, v))
        fault_set(w->fault, PROBLEM_WRONG_TYPE, pointer,
                  "\"%s\" %s %s, expected %s.%s", pointer,
                  w->below > 0 ? "holds" : "is", kind, expected(w),
                  advice(w, *v->text));
    if (v->number && overflows(w, v))
        fault_set(w->fault, PROBLEM_NUMBER_OVERFLOW, pointer,
                  "\"%s\" is %s, more than %s can hold.", pointer, shown,
                  v->overflow ? "float64" : "float32");
    else if (v->number && is_far(w, v))
        fault_set(w->fault, PROBLEM_OUT_OF_RANGE, pointer,
                  "\"%s\" is %s, expected at most %.0f in magnitude.",
                  pointer, shown, FIELD_INTEGER_MAX);
    if (w->depth != w->rank)
        fault_set(w->fault, PROBLEM_RAGGED, pointer,
                  "\"%s\" is %s, expected a list like those before it.",
                  pointer, kind);
}

static void scalar(struct nested_explain *w)
{
    struct value v;

    read_value(w, &v);
    if (w->below > 0) {
        if (!has_type(w, &v))
            complain(w, &v);
        return;
    }
    if (w->rank == 0)
        w->rank = w->depth;
    if (w->depth != w->rank || !has_type(w, &v) || overflows(w, &v) ||
        is_far(w, &v))
        complain(w, &v);
}

/* ---------------------------------------------------------------- lists */

static void complain_of_list(struct nested_explain *w, bool empty)
{
    char pointer[FAULT_POINTER_MAX];

    place(w, w->depth, pointer);
    if (w->depth == ATTN_MAX_RANK)
        fault_set(w->fault, PROBLEM_RANK, pointer,
                  "\"%s\" is a list, but a tensor has at most %d axes.",
                  pointer, ATTN_MAX_RANK);
    else if (empty)
        fault_set(w->fault, PROBLEM_RAGGED, pointer,
                  "\"%s\" is an empty list, expected at least one element: "
                  "JSON cannot say the shape of an empty tensor.", pointer);
    else
        fault_set(w->fault, PROBLEM_RAGGED, pointer,
                  "\"%s\" is a list, expected %s like those before it.",
                  pointer, expected(w));
}

/* At a bracket: in. A list that is too deep, empty or among numbers is
 * complained about; what is in one that is too deep has no place. True: it is
 * empty, and behind. */
static bool open_list(struct nested_explain *w)
{
    bool empty = w->text->p[1] == ']', deep = w->depth == ATTN_MAX_RANK;

    if (empty || deep || (w->rank > 0 && w->depth >= w->rank))
        complain_of_list(w, empty);
    w->text->p += empty ? 2 : 1;
    if (!empty && deep)
        w->below = 1;
    else if (!empty)
        w->at[++w->depth] = 0;
    return empty;
}

/* Within a list that is too deep: only types are looked at. True: behind it. */
static bool go_below(struct nested_explain *w)
{
    char c = *w->text->p;

    if (c != '[' && c != ']' && c != ',') {
        scalar(w);
        return false;
    }
    w->text->p++;
    w->below += (c == '[') - (c == ']');
    return w->below == 0;
}

static const char *elements(const struct nested_explain *w, int64_t n)
{
    if (w->depth < w->rank)
        return n == 1 ? "list" : "lists";
    if (fields[w->id].type == FIELD_BOOLEANS)
        return n == 1 ? "boolean" : "booleans";
    return n == 1 ? "number" : "numbers";
}

/* At the closing bracket: out, if the list is as long as the first one. */
static void close_list(struct nested_explain *w)
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
static void next_value(struct nested_explain *w)
{
    struct syntax *t = w->text;

    for (; w->depth > 0; close_list(w)) {
        if (*t->p == ',') {
            t->p++;
            w->at[w->depth]++;
            return;
        }
    }
}

/* A bracket or a value. True: behind a value of the list in hand. */
static bool one_token(struct nested_explain *w)
{
    if (w->below > 0)
        return go_below(w);
    if (*w->text->p == '[')
        return open_list(w);
    scalar(w);
    return true;
}

enum walk nested_explain(struct nested_explain *w)
{
    const char *start = w->text->p;
    do {
        bool behind = one_token(w);

        if (is_400(w))
            return WALK_REFUSED;
        if (behind)
            next_value(w);
        if (w->text->p - start > SYNTAX_SLICE_BYTES && w->depth > 0)
            return WALK_MORE;
    } while (w->depth > 0);
    return WALK_DONE;
}
