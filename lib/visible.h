/* SPDX-License-Identifier: MIT */
/*
 * visible.h - may query i see key j?
 *
 * causal, window and key_lengths leave a row one interval of keys; mask and
 * bias make holes in it.
 */
#ifndef VISIBLE_H
#define VISIBLE_H

#include "view.h"

/* Where query i of item b stands among the keys: p = i + offset. */
int64_t visible_position(const struct attn_input *in,
                         const struct attn_plan *plan, int64_t b, int64_t i);

struct interval {
    int64_t begin, end; /* keys begin ... end - 1; empty: begin == end */
};

/* Keys that any of the queries i ... i + count - 1 may see, no more asked
 * than causal, window and key_lengths. */
struct interval visible_hull(const struct attn_input *in,
                             const struct attn_plan *plan, int64_t b,
                             int64_t i, int64_t count);

#endif
