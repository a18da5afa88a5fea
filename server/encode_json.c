/* SPDX-License-Identifier: MIT */
/*
 * encode_json - struct attn_output -> JSON. All numbers of the reply form one
 * sequence, in the order of its members; a piece is a range of it, with the
 * names and brackets that stand before and behind its numbers. So pieces are
 * of one size whatever the shapes, and the last one has stats and warnings.
 */
#include <stdio.h>
#include <string.h>

#include "form_json.h"
#include "number.h"
#include "problem.h"

enum {
    PIECE_BYTES = 256 << 10,    /* bound of a piece's numbers */
    NAME_BYTES = 32,            /* {"S_softcapped": and the like */
    STATS_BYTES = 400
};

/* A member of the reply. A tensor without elements counts as one unit. */
struct member {
    const char *name;
    const struct attn_tensor *shape;
    const void *data;
    int64_t first, end;         /* its units in the sequence */
};

struct encoding {
    struct member member[ATTN_N_OUT];
    int n_members;
    bool wide;                  /* float64 */
    int64_t units, piece_units;
};

static size_t number_bytes(const struct encoding *e)
{
    return 1 + (e->wide ? NUMBER_F64_MAX : NUMBER_F32_MAX);
}

static void lay_out(struct encoding *e, const struct request *r)
{
    e->n_members = 0;
    e->units = 0;
    e->wide = r->input.dtype == ATTN_FLOAT64;
    e->piece_units = PIECE_BYTES / (int64_t)number_bytes(e);
    for (int o = 0; o < ATTN_N_OUT; o++) {
        const struct attn_tensor *shape = &r->plan.output[o];
        if (shape->rank == 0)
            continue;
        int64_t units = attn_tensor_elements(shape);
        struct member *m = &e->member[e->n_members++];
        *m = (struct member){attn_out_name[o], shape, r->output.data[o],
                             e->units, e->units + (units ? units : 1)};
        e->units = m->end;
    }
}

static int64_t pieces(const struct encoding *e)
{
    return e->units == 0 ? 1 : (e->units - 1) / e->piece_units + 1;
}

int64_t encode_json_plan(struct request *r)
{
    r->encoding = arena_alloc(&r->arena, sizeof *r->encoding);
    if (!r->encoding) {
        fault_set(&r->fault, PROBLEM_MEMORY_BUDGET, NULL,
                  "There is no memory for the reply now.");
        return -1;
    }
    lay_out(r->encoding, r);
    return pieces(r->encoding);
}

/* ---------------------------------------------------------------- bounds */

/* Rows that [from, to) of a member touches; of an empty tensor, all its
 * empty lists. */
static size_t rows_touched(const struct member *m, int64_t from, int64_t to)
{
    int64_t n = m->shape->dim[m->shape->rank - 1];
    int64_t rows = 1;
    if (attn_tensor_elements(m->shape) > 0)
        return (size_t)((to - from) / n + 2);
    for (int i = 0; i < m->shape->rank && m->shape->dim[i] > 0; i++)
        rows *= m->shape->dim[i];
    return (size_t)rows;
}

static void piece_range(const struct encoding *e, int64_t k, int64_t *from,
                        int64_t *to)
{
    *from = k * e->piece_units;
    *to = *from + e->piece_units;
    if (*to > e->units)
        *to = e->units;
}

/* The units of the member that lie in [from, to); true if there are any. */
static bool clip(const struct member *m, int64_t *from, int64_t *to)
{
    *from = *from > m->first ? *from - m->first : 0;
    *to = (*to < m->end ? *to : m->end) - m->first;
    return *from < *to;
}

static size_t bound(const struct encoding *e, int64_t k, int n_warnings)
{
    int64_t from, to;
    size_t bytes = 2;

    piece_range(e, k, &from, &to);
    for (int i = 0; i < e->n_members; i++) {
        const struct member *m = &e->member[i];
        int64_t a = from, b = to;
        if (clip(m, &a, &b))
            bytes += NAME_BYTES + (size_t)(b - a) * number_bytes(e) +
                     rows_touched(m, a, b) * (2 * ATTN_MAX_RANK + 1);
    }
    if (to == e->units)
        bytes += STATS_BYTES +
                 (size_t)n_warnings * (6 * FAULT_DETAIL_MAX + 3) + 16;
    return bytes;
}

size_t encode_json_bound(const struct request *r, int64_t k)
{
    return bound(r->encoding, k, r->n_warnings);
}

size_t encode_json_room(const struct request *r, size_t *largest)
{
    struct encoding e;
    size_t sum = 0;

    lay_out(&e, r);
    *largest = 0;
    for (int64_t k = 0; k < pieces(&e); k++) {
        size_t bytes = bound(&e, k, REQUEST_WARNINGS_MAX);
        sum += bytes;
        *largest = bytes > *largest ? bytes : *largest;
    }
    return sum;
}

/* --------------------------------------------------------------- tensors */

/* Lists that begin in front of element `at`, or end behind the one before. */
static int lists_at(const struct attn_tensor *t, int64_t at)
{
    int lists = 0;
    while (lists < t->rank && at % t->dim[t->rank - 1 - lists] == 0)
        at /= t->dim[t->rank - 1 - lists++];
    return lists;
}

static char *put(char *out, char c, int n)
{
    while (n-- > 0)
        *out++ = c;
    return out;
}

static char *put_text(char *out, const char *text)
{
    size_t n = strlen(text);
    memcpy(out, text, n);
    return out + n;
}

/* n elements of a matrix. */
static char *put_numbers(char *out, const struct encoding *e,
                         const void *data, int64_t at, int64_t n,
                         int64_t width)
{
    struct number_rows rows = {(size_t)n, (size_t)(width - at % width),
                               (size_t)width};
    if (e->wide)
        return out + number_write_rows_f64(out, (const double *)data + at,
                                           rows);
    return out + number_write_rows_f32(out, (const float *)data + at, rows);
}

/* Elements [from, to), with the comma in front of the first: matrix by matrix,
 * of which there may be a part. */
static char *put_elements(char *out, const struct encoding *e,
                          const struct member *m, int64_t from, int64_t to)
{
    const struct attn_tensor *t = m->shape;
    const int64_t width = t->dim[t->rank - 1];
    const int64_t matrix = t->rank > 1 ? t->dim[t->rank - 2] * width : width;

    while (from < to) {
        int64_t n = matrix - from % matrix;
        if (n > to - from)
            n = to - from;
        if (from > 0)
            *out++ = ',';
        out = put(out, '[', lists_at(t, from));
        out = put_numbers(out, e, m->data, from, n, width);
        from += n;
        out = put(out, ']', lists_at(t, from));
    }
    return out;
}

/* A tensor with an axis of size 0, which ends the nesting. */
static char *put_empty(char *out, const struct attn_tensor *t)
{
    struct attn_tensor lists = {.rank = 1};

    for (; t->dim[lists.rank - 1] > 0; lists.rank++)
        lists.dim[lists.rank - 1] = t->dim[lists.rank - 1];
    lists.dim[lists.rank - 1] = 1;
    int64_t rows = attn_tensor_elements(&lists);
    for (int64_t row = 0; row < rows; row++) {
        if (row > 0)
            *out++ = ',';
        out = put(out, '[', lists_at(&lists, row));
        out = put(out, ']', lists_at(&lists, row + 1));
    }
    return out;
}

static char *put_member(char *out, const struct encoding *e,
                        const struct member *m, int64_t from, int64_t to)
{
    if (from == 0) {
        if (m->first > 0)
            *out++ = ',';
        *out++ = '"';
        out = put_text(out, m->name);
        out = put_text(out, "\":");
    }
    if (attn_tensor_elements(m->shape) == 0)
        return put_empty(out, m->shape);
    return put_elements(out, e, m, from, to);
}

/* ------------------------------------------------------ behind the tensors */

static char *put_stats(char *out, const struct request *r)
{
    const struct attn_stats *s = &r->output.stats;
    const struct {
        const char *name;
        double value;
    } rows[] = {
        {"S_variance", s->s_variance},
        {"S_scaled_variance", s->s_scaled_variance},
        {"A_max_mean", s->a_max_mean},
        {"A_entropy_mean", s->a_entropy_mean},
        {"A_row_sum_min", s->a_row_sum_min},
        {"A_row_sum_max", s->a_row_sum_max},
    };

    out = put_text(out, "\"stats\":{");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        *out++ = '"';
        out = put_text(out, rows[i].name);
        out = put_text(out, "\":");
        if (s->empty)
            out = put_text(out, "null");
        else
            out += number_write_f64(out, rows[i].value);
        *out++ = ',';
    }
    return out + sprintf(out, "\"empty_rows\":%lld}",
                         (long long)r->output.empty_rows);
}

static char *put_warnings(char *out, const struct request *r)
{
    out = put_text(out, "\"warnings\":[");
    for (int i = 0; i < r->n_warnings; i++) {
        out = put_text(out, i > 0 ? ",\"" : "\"");
        out += problem_escape(out, 6 * FAULT_DETAIL_MAX, r->warnings[i]);
        *out++ = '"';
    }
    *out++ = ']';
    return out;
}

size_t encode_json_piece(const struct request *r, int64_t k, char *out)
{
    const struct encoding *e = r->encoding;
    bool stats = r->input.returns & ATTN_RETURN(ATTN_OUT_STATS);
    char *start = out;
    int64_t from, to;

    piece_range(e, k, &from, &to);
    if (from == 0)
        *out++ = '{';
    for (int i = 0; i < e->n_members; i++) {
        int64_t a = from, b = to;
        if (clip(&e->member[i], &a, &b))
            out = put_member(out, e, &e->member[i], a, b);
    }
    if (to < e->units)
        return (size_t)(out - start);

    if (stats && e->units > 0)
        *out++ = ',';
    if (stats)
        out = put_stats(out, r);
    if (r->n_warnings > 0) {
        *out++ = ',';
        out = put_warnings(out, r);
    }
    return (size_t)(put_text(out, "}\n") - start);
}
