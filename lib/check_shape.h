/* SPDX-License-Identifier: MIT */
/*
 * check_shape.h - the questions about ranks and axes, asked by check.c in
 * this order. They set the dimensions of the plan.
 */
#ifndef CHECK_SHAPE_H
#define CHECK_SHAPE_H

#include "attention.h"

struct check {
    const struct attn_input *in;
    struct attn_plan *plan;
    struct attn_error *error;
};

enum attn_status check_ranks(struct check *c);
enum attn_status check_operands(struct check *c);   /* sets B ... d_out */
enum attn_status check_past(struct check *c);       /* n_past, n_k */
enum attn_status check_widths(struct check *c);     /* all small tensors */
enum attn_status check_broadcasts(struct check *c); /* mask and bias */
enum attn_status check_sizes(struct check *c);

#endif
