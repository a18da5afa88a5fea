/* SPDX-License-Identifier: MIT */
/*
 * project.h - the linear layers around attention: X W + b.
 */
#ifndef PROJECT_H
#define PROJECT_H

#include "plan.h"


/* Elements from one row of Q, K or V as projected to the next: a line of the
 * cache more than the columns, since the rows of a head would meet in few
 * places of the caches if they lay a power of two apart. */
int64_t project_row(enum attn_dtype dtype, int64_t columns);

/* Tiles of a product [n, columns], and the workspace of one. */
int64_t project_tiles(enum attn_dtype dtype, int64_t n, int64_t columns);
int64_t project_bytes(enum attn_dtype dtype);

/* Steps of a task of PROJECT (Q, K, V) and of OUTPUT (W_O). */
bool project_operand(const struct attn_call *call, int64_t task,
                     void *workspace, int64_t *resume);
bool project_output(const struct attn_call *call, int64_t task,
                    void *workspace, int64_t *resume);

#endif
