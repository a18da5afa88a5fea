/* SPDX-License-Identifier: MIT */
/*
 * nested - nested lists of numbers, booleans or integers -> an array.
 * Three passes, none of which copies anything but the values:
 *   scan     hops from one closing bracket to the next: shape, end, and where
 *            ranges begin. It looks at brackets, and at commas in long rows.
 *   read     one range straight to its place in the array; every byte
 *            of the range is checked. Ranges can be read side by side.
 *   explain  where scan or read said no: the exact reader, slow, which stores
 *            nothing and says what is wrong at which place.
 * A text that scan and read accept is one that explain finds no fault in.
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

/* A range is at least so much text, if the tensor has it. */
enum { NESTED_RANGE_BYTES = 128 << 10 };

/* Ranges that a text of n bytes can have at most, all tensors together. */
#define NESTED_RANGES_MAX(n) ((n) / NESTED_RANGE_BYTES + ATTN_N_IN)

/* p at the first bracket of the tensor `id`. Sets *t and adds to ranges. */
bool nested_scan(const char *p, const char *end, enum attn_in id,
                 struct nested *t, struct nested_range *ranges,
                 int64_t *n_ranges);

/* Bytes of one element: 4 or 8, 1 for booleans, 8 for integers. */
size_t nested_width(enum attn_in id, enum attn_dtype dtype);

/* Reads a range into data, the whole tensor's array. */
bool nested_read(const struct nested *t, const struct nested_range *r,
                 enum attn_dtype dtype, void *data);

/* text->p at the first bracket. Sets fault for what is wrong and goes on
 * behind a 422 to look for a 400; false if the text is no JSON (text->bad)
 * or fault is a 400; else text->p is behind the tensor. */
bool nested_explain(struct syntax *text, enum attn_in id,
                    enum attn_dtype dtype, struct fault *fault);

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
