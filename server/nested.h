/* SPDX-License-Identifier: MIT */
/*
 * nested - nested lists of numbers, booleans or integers -> an array.
 * Three passes, none of which copies anything but the values:
 *   scan     hops from one closing bracket to the next: shape, end, and where
 *            ranges begin. It looks at brackets, and at commas in long rows.
 *            What it does not understand, or finds too long, it refuses.
 *   read     one range straight to its place in the array; every byte
 *            of the range is checked. Ranges can be read side by side.
 *   explain  where scan or read said no: the exact reader, slow, which stores
 *            nothing and says what is wrong at which place.
 * A text that scan and read accept is one that explain finds no fault in.
 * Scan and explain go on in slices, ranges are short: no call takes more than
 * about a millisecond, whatever the text is.
 */
#ifndef NESTED_H
#define NESTED_H

#include "attention.h"
#include "fields.h"
#include "syntax.h"
#include "problem.h"

struct nested {
    const char *text;      /* its first bracket; NULL: absent */
    const char *end;       /* behind its last */
    int rank;
    int64_t dim[ATTN_MAX_RANK];
};

struct nested_range {
    enum attn_in tensor;
    const char *text;      /* the first bracket or value that belongs to it */
    const char *end;       /* where the next range begins */
    int64_t first, count;  /* elements of the tensor */
};

/* A range is at least so much text, if the tensor has it, and at most five
 * times as much. */
enum { NESTED_RANGE_BYTES = 128 << 10 };

/* Ranges that a text of n bytes can have at most, all tensors together. */
#define NESTED_RANGES_MAX(n) ((n) / NESTED_RANGE_BYTES + ATTN_N_IN)

/* Brackets, and in long rows commas, that are further apart are not looked
 * for: such a text has to be squeezed first. */
enum { NESTED_GAP_BYTES = 2 * NESTED_RANGE_BYTES };

/* A scan under way. */
struct nested_scan {
    const char *p, *end;        /* p at the first bracket of the tensor `id` */
    enum attn_in id;
    struct nested *found;
    struct nested_range *ranges;    /* to add to */
    int64_t *n_ranges;
    /* private, zero at first */
    int64_t count[ATTN_MAX_RANK];   /* lists complete in the list in hand */
    int64_t at;                 /* elements in front of p */
    int64_t column;             /* those of them in the row in hand */
};

/* A slice. Done: *found is set, p behind the tensor. */
enum walk nested_scan(struct nested_scan *s);

/* Bytes of one element: 4 or 8, 1 for booleans, 8 for integers. */
size_t nested_width(enum attn_in id, enum attn_dtype dtype);

/* One of the strings that stand for numbers, "NaN", "Infinity", "-Infinity", at
 * p: behind it, or NULL. */
const char *nested_special(const char *p, const char *end, double *value);

/* Reads a range into data, the whole tensor's array. */
bool nested_read(const struct nested *t, const struct nested_range *r,
                 enum attn_dtype dtype, void *data);

/* An explanation under way. Depth 1 is inside the outermost list. */
struct nested_explain {
    struct syntax *text;        /* checked, squeezed; p at the first bracket */
    enum attn_in id;
    enum attn_dtype dtype;
    struct fault *fault;
    /* private, zero at first */
    int64_t below;              /* lists open in one that is too deep */
    int depth;
    int rank;                           /* 0 until a value was seen */
    int64_t at[ATTN_MAX_RANK + 1];      /* at[d]: element in hand at depth d */
    int64_t dim[ATTN_MAX_RANK + 1];     /* of the first list of that depth */
};

/* A slice. Sets fault for what is wrong and goes on behind a 422 to look for
 * a 400. Done: text->p is behind the tensor. Refused: fault is a 400. */
enum walk nested_explain(struct nested_explain *w);

/* Behind n opening brackets and white space, or NULL. */
static inline const char *nested_open(const char *p, const char *end,
                                      int n)
{
    for (; n > 0; n--) {
        if (p == end || *p != '[')
            return NULL;
        p = syntax_after_space(p + 1, end);
    }
    return p;
}

#endif
