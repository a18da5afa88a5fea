/* SPDX-License-Identifier: MIT */
/*
 * compute - struct attn_input -> struct attn_output: plan, limits, memory
 * budget, then the plan's tasks phase by phase. Knows no form.
 */
#ifndef COMPUTE_H
#define COMPUTE_H

#include "request.h"

/* What requests and connections together may hold; before the first request.
 * The last sixteenth is for answers that are no work. 0: no limit. */
void compute_set_budget(size_t bytes);
size_t compute_budget(void);

/* Of it, what one request may hold that is alone; and how to raise that. */
size_t compute_alone(void);
#define COMPUTE_ALONE "--memory-bytes less a sixteenth and its connection"

/* What a planned request takes at most beside what it has: outputs,
 * workspaces, the reply's text. */
double compute_memory(const struct request *r);

/* Sets the fault of r, which would hold so many bytes in all and cannot: 413
 * where that is above the budget, else 503. */
enum problem compute_refuse_memory(struct request *r, size_t bytes);

int64_t compute_next(struct request *r);
bool compute_task(struct request *r, int64_t task, int lane);

/* Gives workspaces back. */
void compute_free(struct request *r);

#endif
