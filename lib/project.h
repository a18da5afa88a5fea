/* SPDX-License-Identifier: MIT */
/*
 * project.h - the linear layers around attention: X W + b.
 */
#ifndef PROJECT_H
#define PROJECT_H

#include "plan.h"

/* Tiles of a product: rows count from the item's first, columns from the
 * layer's first, the depth is cut in slices that are added in order. */
enum { PROJECT_ROWS = 128, PROJECT_COLUMNS = 128, PROJECT_DEPTH = 1024 };

int64_t project_tiles(int64_t n, int64_t columns);

/* Steps of a task of PROJECT (Q, K, V) and of OUTPUT (W_O). */
bool project_operand(const struct attn_call *call, int64_t task,
                     int64_t *resume);
bool project_output(const struct attn_call *call, int64_t task,
                    int64_t *resume);

#endif
