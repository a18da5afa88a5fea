/* SPDX-License-Identifier: MIT */
/*
 * nested_scan - the shape of nested lists, their end, and where ranges begin:
 * nested_scan() of nested.h. It hops from one closing bracket to the next; a
 * row is an innermost list.
 */
#include <string.h>

#include "nested.h"

/* In blocks that a compiler turns into a few wide instructions. */
static int64_t count_commas(const char *p, const char *end)
{
    int64_t n = 0;
    for (; end - p >= 64; p += 64) {
        unsigned char block = 0;
        for (int i = 0; i < 64; i++)
            block = (unsigned char)(block + (p[i] == ','));
        n += block;
    }
    for (; p < end; p++)
        n += *p == ',';
    return n;
}

/* p behind a row. Closes the lists that end here and takes the comma: *depth
 * is then that of the list which goes on, or 0 at the end of the tensor. */
static const char *close_lists(const char *p, const char *end,
                               struct nested *t, int64_t *count,
                               int *depth)
{
    for (*depth = t->rank - 1; *depth > 0; p++, --*depth) {
        int64_t *dim = &t->dim[*depth - 1];
        int64_t n = ++count[*depth];

        p = syntax_after_space(p, end);
        if (p == end)
            return NULL;
        if (*p == ',')
            return syntax_after_space(p + 1, end);
        if (*p != ']' || (*dim != 0 && *dim != n))
            return NULL;
        *dim = n;
        count[*depth] = 0;
    }
    return p;
}

/* The ranges found so far; the last of them has no end yet. */
struct ranges {
    struct nested_range *list;
    int64_t *n;
};

static bool is_full(const struct ranges *r, const char *p)
{
    return p - r->list[*r->n].text >= NESTED_RANGE_BYTES;
}

/* The range in hand ends at p, in front of element `at`. */
static void cut(struct ranges *r, const char *p, int64_t at)
{
    struct nested_range *range = &r->list[(*r->n)++];
    range->end = p;
    range->count = at - range->first;
}

static void begin(struct ranges *r, enum attn_in id, const char *p, int64_t at)
{
    r->list[*r->n] = (struct nested_range){.tensor = id, .text = p,
                                           .first = at};
}

/* Cuts a long row, from its first value at p, whose element is `at`. False if
 * the row has more than `width` elements: nothing may be written there. */
static bool cut_row(struct ranges *r, enum attn_in id, const char *p,
                    const char *close, int64_t at, int64_t width)
{
    const int64_t stop = at + width;
    while (close - p > 2 * NESTED_RANGE_BYTES) {
        const char *next = p + NESTED_RANGE_BYTES;
        next = memchr(next, ',', (size_t)(close - next));
        if (!next)
            break;
        at += count_commas(p, next) + 1;
        if (at >= stop)
            return false;
        p = next + 1;
        cut(r, p, at);
        begin(r, id, p, at);
    }
    return true;
}

static bool has_room(const struct nested *t)
{
    struct attn_tensor shape = {.rank = t->rank};
    memcpy(shape.dim, t->dim, sizeof shape.dim);
    int64_t elements = attn_tensor_elements(&shape);
    return elements >= 0 && elements <= t->end - t->text;
}

bool nested_scan(const char *p, const char *end, enum attn_in id,
                 struct nested *t, struct nested_range *ranges,
                 int64_t *n_ranges)
{
    struct ranges r = {ranges, n_ranges};
    int64_t count[ATTN_MAX_RANK] = {0}, at = 0;
    int depth;

    *t = (struct nested){.text = p};
    begin(&r, id, p, 0);
    for (; p < end && *p == '['; p = syntax_after_space(p + 1, end)) {
        if (++t->rank > ATTN_MAX_RANK)
            return false;
    }
    for (int64_t width = 0;; at += width) {
        const char *close = memchr(p, ']', (size_t)(end - p));
        if (!close)
            return false;
        if (width == 0)
            t->dim[t->rank - 1] = width = count_commas(p, close) + 1;
        if (!cut_row(&r, id, p, close, at, width))
            return false;
        p = close_lists(close + 1, end, t, count, &depth);
        if (!p)
            return false;
        if (depth == 0)
            break;
        if (is_full(&r, p)) {
            cut(&r, p, at + width);
            begin(&r, id, p, at + width);
        }
        p = nested_open(p, end, t->rank - depth);
        if (!p)
            return false;
    }
    cut(&r, p, at + t->dim[t->rank - 1]);
    t->end = p;
    return has_room(t);
}
