/* SPDX-License-Identifier: MIT */
/*
 * nested - reads ranges of nested lists into arrays: nested_read() of nested.h.
 * A row is an innermost list.
 */
#include "nested.h"

#include <math.h>
#include <string.h>

#include "number.h"

size_t nested_width(enum attn_in id, enum attn_dtype dtype)
{
    switch (fields[id].type) {
    case FIELD_BOOLEANS: return 1;
    case FIELD_REALS: return attn_dtype_bytes(dtype);
    default: return sizeof(int64_t);
    }
}

const char *nested_special(const char *p, const char *end, double *value)
{
    static const struct {
        const char *text;
        double value;
    } words[] = {{"NaN", NAN}, {"Infinity", INFINITY},
                 {"-Infinity", -INFINITY}};

    for (int i = 0; p < end && *p == '"' && i < 3; i++) {
        const char *next = syntax_after_word(p, end, words[i].text);
        if (next) {
            *value = words[i].value;
            return next;
        }
    }
    return NULL;
}

/* What a row consists of, and how a run of it is read: values as of
 * number_read_rows_f32(), into element `at` of data. Returns how many. */
struct element {
    size_t (*run)(const char *p, const char *end, void *data, int64_t at,
                  struct number_rows rows, const char **next);
    void (*special)(void *data, int64_t at, double value); /* or NULL */
};

static size_t run_f32(const char *p, const char *end, void *data, int64_t at,
                      struct number_rows rows, const char **next)
{
    return number_read_rows_f32(p, end, (float *)data + at, rows, next);
}

static void special_f32(void *data, int64_t at, double value)
{
    ((float *)data)[at] = (float)value;
}

static size_t run_f64(const char *p, const char *end, void *data, int64_t at,
                      struct number_rows rows, const char **next)
{
    return number_read_rows_f64(p, end, (double *)data + at, rows, next);
}

static void special_f64(void *data, int64_t at, double value)
{
    ((double *)data)[at] = value;
}

/* One that is none refuses the whole run. */
static size_t run_integer(const char *p, const char *end, void *data,
                          int64_t at, struct number_rows rows,
                          const char **next)
{
    double values[64];
    int64_t *out = (int64_t *)data + at;
    rows.n = rows.n < 64 ? rows.n : 64;
    size_t n = number_read_rows_f64(p, end, values, rows, next);

    for (size_t i = 0; i < n; i++) {
        if (values[i] != trunc(values[i]) ||
            fabs(values[i]) > FIELD_INTEGER_MAX)
            return 0;
        out[i] = (int64_t)values[i];
    }
    return n;
}

/* Length of the true or false at p, or 0. By arithmetic: in a mask nobody can
 * guess which comes next, and a branch would be wrong half the time. */
static size_t boolean_at(const char *p, const char *end, unsigned char *value)
{
    uint32_t found, yes, no;
    uint32_t is_true = *p == 't';

    *value = (unsigned char)is_true;
    if (end - p < 5)
        return end - p == 4 && memcmp(p, "true", 4) == 0 ? 4 : 0;
    memcpy(&found, p, 4);
    memcpy(&yes, "true", 4);
    memcpy(&no, "fals", 4);
    if (found != (no ^ ((yes ^ no) & (0 - is_true))) || p[4 - is_true] != 'e')
        return 0;
    return 5 - is_true;
}

static size_t run_boolean(const char *p, const char *end, void *data,
                          int64_t at, struct number_rows rows,
                          const char **next)
{
    unsigned char *out = (unsigned char *)data + at;
    size_t n = 0, max = rows.n < rows.left ? rows.n : rows.left;

    *next = p;
    while (n < max && (p = syntax_after_space(p, end)) < end) {
        unsigned char value;
        size_t length = boolean_at(p, end, &value);
        if (length == 0)
            break;
        out[n++] = value;
        p += length;
        *next = p;
        p = syntax_after_space(p, end);
        if (p == end || *p != ',')
            break;
        p++;
    }
    return n;
}

static const struct element *element_of(enum attn_in id, enum attn_dtype dtype)
{
    static const struct element f32 = {run_f32, special_f32};
    static const struct element f64 = {run_f64, special_f64};
    static const struct element boolean = {run_boolean, NULL};
    static const struct element integer = {run_integer, NULL};

    switch (fields[id].type) {
    case FIELD_BOOLEANS: return &boolean;
    case FIELD_REALS: return dtype == ATTN_FLOAT32 ? &f32 : &f64;
    default: return &integer;
    }
}

/* Behind c and white space, or NULL; p may be NULL. */
static const char *pass(const char *p, const char *end, char c)
{
    return p && p < end && *p == c ? syntax_after_space(p + 1, end) : NULL;
}

/* Exactly n values, into element `at` and on, from p on, in rows; returns
 * behind the last, and white space. */
static const char *read_values(const struct element *e, const char *p,
                               const char *end, void *data, int64_t at,
                               int64_t n, int64_t width)
{
    for (const int64_t stop = at + n;;) {
        struct number_rows rows = {(size_t)(stop - at),
                                   (size_t)(width - at % width),
                                   (size_t)width};
        double value;
        size_t got = e->run(p, end, data, at, rows, &p);

        at += (int64_t)got;
        p = syntax_after_space(p, end);
        if (got == 0) {
            p = e->special ? nested_special(p, end, &value) : NULL;
            if (!p)
                return NULL;
            e->special(data, at++, value);
            p = syntax_after_space(p, end);
        }
        if (at == stop)
            return p;
        bool row_ends = at % width == 0;
        p = row_ends ? pass(p, end, ']') : p;
        p = pass(p, end, ',');
        p = row_ends ? pass(p, end, '[') : p;
        if (!p)
            return NULL;
    }
}

/* How many lists begin in front of element `at`, or end behind the one before
 * it. */
static int lists_at(const struct nested *t, int64_t at)
{
    int lists = 0;
    while (lists < t->rank && at % t->dim[t->rank - 1 - lists] == 0)
        at /= t->dim[t->rank - 1 - lists++];
    return lists;
}

/* Matrix by matrix, of which a range may have a part. */
bool nested_read(const struct nested *t, const struct nested_range *r,
                 enum attn_dtype dtype, void *data)
{
    const struct element *e = element_of(r->tensor, dtype);
    const int64_t width = t->dim[t->rank - 1], stop = r->first + r->count;
    const int64_t matrix = t->rank > 1 ? t->dim[t->rank - 2] * width : width;
    const char *p = r->text;

    for (int64_t at = r->first; p && at < stop;) {
        int64_t n = matrix - at % matrix;

        if (n > stop - at)
            n = stop - at;
        p = nested_open(p, r->end, lists_at(t, at));
        if (p)
            p = read_values(e, p, r->end, data, at, n, width);
        at += n;
        int lists = lists_at(t, at);
        for (int i = 0; i < lists; i++)
            p = pass(p, r->end, ']');
        if (lists < t->rank)
            p = pass(p, r->end, ',');
    }
    return p == r->end;
}
