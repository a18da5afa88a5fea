/* SPDX-License-Identifier: MIT */
/*
 * project.h - the linear layers around attention: X W + b.
 */
#ifndef PROJECT_H
#define PROJECT_H

#include "plan.h"

/* Tiles of this many rows, counted from the item's first, and as many columns
 * as the kernels take at once (few rows: more); the depth is cut in slices that
 * are added in order. A slice of a tile is some 0.1 ms. */
enum { PROJECT_ROWS = 256, PROJECT_DEPTH = 512 };

/* Tiles of a product [n, columns], and the workspace of one. */
int64_t project_tiles(enum attn_dtype dtype, int64_t n, int64_t columns);
int64_t project_bytes(enum attn_dtype dtype);

/* Steps of a task of PROJECT (Q, K, V) and of OUTPUT (W_O). */
bool project_operand(const struct attn_call *call, int64_t task,
                     void *workspace, int64_t *resume);
bool project_output(const struct attn_call *call, int64_t task,
                    void *workspace, int64_t *resume);

#endif
