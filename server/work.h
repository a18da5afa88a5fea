/* SPDX-License-Identifier: MIT */
/*
 * work - the workers: take one task of one request, do it, next. The three
 * stages decode -> compute -> encode stand in one table.
 *
 * A stage is a sequence of batches. next() is called by one thread, with no
 * task of the request running: it prepares the next batch and returns its
 * number of tasks, or 0 when the stage is over. It alone says so, and r->fault
 * counts only then: a decoder that refused may go on to find out why. The
 * tasks of a batch are independent; where decoding has several, others may do
 * them anew. task() does one, in at most about 2 ms; false says that it
 * stopped on the way and wants to be called again with the same lane. lane
 * (0 ... lanes-1) numbers those who work on this request at the same time, for
 * their workspaces. A task that cannot go on calls work_stop_request();
 * r->fault is next()'s alone.
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

/* Runs the stages here and now, on the calling I/O thread. True: the walk is
 * over. False: it turned out to be dear, and the ring should have it, with
 * *tasks prepared. */
bool work_inline(struct request *r, int64_t *tasks);

/* The next batch with tasks, of this stage or a later one; 0: the walk is
 * over, since none is left or the last stage set r->fault. */
int64_t work_prepare(struct request *r);

/* Stops a request from within a task: the first problem stays. */
void work_stop_request(struct request *r, enum problem problem);

/* As many workers as this work on one request at most. */
int work_lanes(void);

/* Starts and ends the workers. 0, or an errno. */
int work_start(int threads);
void work_stop(void);

#endif
