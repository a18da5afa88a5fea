/* SPDX-License-Identifier: MIT */
/*
 * prepare.h - what lies between the operands and the tiles: rotation, the
 * copies that were asked for, the terms of an additive score.
 */
#ifndef PREPARE_H
#define PREPARE_H

#include "plan.h"

/* A task of ROTATE: some rows of Q or of the new K, all their heads. */
void rotate_rows(const struct attn_call *call, int64_t task);

/* A task of PREPARE: some rows of one head for one job. */
void prepare_rows(const struct attn_call *call, int64_t task);

/* A task of MEAN: some elements of A_mean of one item. */
void prepare_mean(const struct attn_call *call, int64_t task);

#endif
