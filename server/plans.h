/* SPDX-License-Identifier: MIT */
/*
 * plans - the plan of a call. It is a matter of shapes and options, and who
 * calls once more mostly does so with the same: each thread remembers its last.
 */
#ifndef PLANS_H
#define PLANS_H

#include "attention.h"

/* attn_plan(), or what it said when this thread asked last. */
enum attn_status plans_of(const struct attn_input *in, struct attn_plan *plan,
                          struct attn_error *error);

#endif
