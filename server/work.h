/* SPDX-License-Identifier: MIT */
/*
 * work - the workers: take one task of one request, do it, next. The three
 * stages decode -> compute -> encode stand in one table.
 *
 * A stage is a sequence of batches. next() is called by one thread, with no
 * task of the request running: it prepares the next batch and returns its
 * number of tasks, or 0 when the stage is complete or r->fault is set. The
 * tasks of a batch are independent. task() does one, in at most about 2 ms;
 * false says that it stopped on the way and wants to be called again with
 * the same lane. lane (0 ... lanes-1) numbers those who work on this request
 * at the same time, for their workspaces.
 */
#ifndef WORK_H
#define WORK_H

#include "request.h"

struct stage {
    enum step step;
    int64_t (*next)(struct request *r);
    bool (*task)(struct request *r, int64_t task, int lane);
};

#define STAGE_COUNT 3
extern const struct stage stages[STAGE_COUNT];

/* Runs all stages here and now, on the calling I/O thread. */
void work_inline(struct request *r);

/* Starts and ends the workers. */
int work_start(int threads);
void work_stop(void);

#endif
