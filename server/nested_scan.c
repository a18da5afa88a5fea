/* SPDX-License-Identifier: MIT */
/*
 * nested_scan - the shape of nested lists, their end, and where ranges begin:
 * nested_scan() of nested.h. It hops from one closing bracket to the next; a
 * row is an innermost list.
 */
#include <string.h>

#include "nested.h"

/* Rows in a slice, and bytes if rows are long. */
enum { SLICE_ROWS = 1 << 15, SLICE_BYTES = 1 << 20 };

static int64_t *width_of(const struct nested_scan *s)
{
    return &s->found->dim[s->found->rank - 1];
}

static const char *near_end(const struct nested_scan *s)
{
    return syntax_within(s->p, s->end, NESTED_GAP_BYTES);
}

/* --------------------------------------------------------------- ranges */

/* The range in hand, which has no end yet. */
static struct nested_range *in_hand(const struct nested_scan *s)
{
    return &s->ranges[*s->n_ranges];
}

static void begin_range(struct nested_scan *s)
{
    *in_hand(s) = (struct nested_range){.tensor = s->id, .text = s->p,
                                        .first = s->at};
}

/* The range in hand ends at p. */
static void end_range(struct nested_scan *s)
{
    struct nested_range *range = in_hand(s);
    range->end = s->p;
    range->count = s->at - range->first;
    ++*s->n_ranges;
}

/* ----------------------------------------------------------------- rows */

/* A part of a row whose end is not near: a range of its own. Refused if the
 * row has more elements than the first one: nothing may be written there. */
static enum walk part_of_row(struct nested_scan *s, const char *limit)
{
    const char *half = s->p + NESTED_RANGE_BYTES;
    const char *comma = limit - s->p == NESTED_GAP_BYTES
                      ? memchr(half, ',', NESTED_RANGE_BYTES) : NULL;
    if (!comma)
        return WALK_REFUSED;
    int64_t n = syntax_count(s->p, comma, ',') + 1, width = *width_of(s);

    s->at += n;
    s->column += n;
    if (width > 0 && s->column >= width)
        return WALK_REFUSED;
    s->p = comma + 1;
    end_range(s);
    begin_range(s);
    return WALK_MORE;
}

/* Behind a row. Closes the lists that end here and takes the comma: *depth is
 * then that of the list which goes on, or 0 at the end of the tensor. False:
 * something else is there. */
static bool close_lists(struct nested_scan *s, int *depth)
{
    struct nested *t = s->found;
    const char *end = near_end(s);

    for (*depth = t->rank - 1; *depth > 0; s->p++, --*depth) {
        int64_t *dim = &t->dim[*depth - 1];
        int64_t n = ++s->count[*depth];

        s->p = syntax_after_space(s->p, end);
        if (s->p == end)
            return false;
        if (*s->p == ',') {
            s->p = syntax_after_space(s->p + 1, end);
            return true;
        }
        if (*s->p != ']' || (*dim != 0 && *dim != n))
            return false;
        *dim = n;
        s->count[*depth] = 0;
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

static enum walk end_of_tensor(struct nested_scan *s)
{
    end_range(s);
    s->found->end = s->p;
    return has_room(s->found) ? WALK_DONE : WALK_REFUSED;
}

/* One row and the brackets behind it, or a part of a long one. */
static enum walk row(struct nested_scan *s)
{
    const char *limit = near_end(s);
    const char *close = memchr(s->p, ']', (size_t)(limit - s->p));
    int64_t *width = width_of(s);
    int depth;

    if (!close)
        return part_of_row(s, limit);
    if (*width == 0)
        *width = s->column + syntax_count(s->p, close, ',') + 1;
    s->at += *width - s->column;
    s->column = 0;
    s->p = close + 1;
    if (!close_lists(s, &depth))
        return WALK_REFUSED;
    if (depth == 0)
        return end_of_tensor(s);
    if (s->p - in_hand(s)->text >= NESTED_RANGE_BYTES) {
        end_range(s);
        begin_range(s);
    }
    s->p = nested_open(s->p, near_end(s), s->found->rank - depth);
    return s->p ? WALK_MORE : WALK_REFUSED;
}

static bool open_tensor(struct nested_scan *s)
{
    const char *end = near_end(s);

    *s->found = (struct nested){.text = s->p};
    begin_range(s);
    for (; s->p < end && *s->p == '[';
         s->p = syntax_after_space(s->p + 1, end)) {
        if (++s->found->rank > ATTN_MAX_RANK)
            return false;
    }
    return true;
}

enum walk nested_scan(struct nested_scan *s)
{
    if (s->found->rank == 0 && !open_tensor(s))
        return WALK_REFUSED;

    const char *start = s->p;
    enum walk walk = WALK_MORE;
    for (int rows = 0; walk == WALK_MORE && rows < SLICE_ROWS &&
                       s->p - start < SLICE_BYTES; rows++)
        walk = row(s);
    return walk;
}
