/* SPDX-License-Identifier: MIT */
/*
 * queue - the scheduler: a bounded ring of the requests that have work to be
 * taken. Each round takes one task from every request in it, so a large one
 * never delays a small one by more than a task. Whoever finishes the last
 * task of a batch prepares the next. One lock, held for a few instructions;
 * never during a task.
 *
 * Ends of a request: all its work is done, or it was stopped (r->stop) and
 * nobody works on it any more. Then queue_end is called, once, by the thread
 * that found out; the request is no longer the queue's.
 */
#ifndef QUEUE_H
#define QUEUE_H

#include "request.h"

/* What a worker has in hand. Zero-initialised: nothing. */
struct job {
    struct request *request;
    bool prepare;        /* the next batch is to be prepared, or ... */
    int64_t task;        /* ... this task is to be done */
    int lane;
    int64_t tasks;       /* result of preparing: 0: no more */
    bool finished;       /* result of the task; false: wants to go on */
};

/* Begins anew, empty. end: hands a request back. */
void queue_open(int64_t bound, int lanes, void (*end)(struct request *r));

/* Puts r in; tasks: of a batch that is prepared already, else 0. False: full
 * or closed, r is still the caller's. */
bool queue_push(struct request *r, int64_t tasks);

/* Hands in what *job holds, waits, and takes the next. False: closed. */
bool queue_next(struct job *job);

/* Stops r, wherever in the queue it is; does nothing if it has ended. */
void queue_abort(struct request *r, enum problem problem);

/* Its connection is gone. True: the caller frees it; false: the last worker
 * on it will, with request_free(). Only for streamed requests. */
bool queue_leave(struct request *r);

/* --- streamed replies: tasks are pieces, taken in order by a reader --- */

/* From now on at most `window` (up to 64) tasks ahead of the reader, who is
 * called by queue_end; by work_prepare() on the batch that it is about to
 * return. */
void queue_window(struct request *r, int64_t window);

enum queue_piece { QUEUE_READY, QUEUE_PENDING, QUEUE_STOPPED };

/* How the reader's first piece is. With wait: if it is pending, queue_end is
 * called again when it is ready or when r was stopped. */
enum queue_piece queue_look(struct request *r, bool wait);

/* The reader has got its first piece. */
void queue_advance(struct request *r);

/* --- numbers --- */

/* Requests in the queue and in work, and its bound. */
int64_t queue_length(void);
bool queue_full(void);

/* Seconds until a new request would probably be served, from 1 to 60: what is
 * here by the mean time that one takes, and as long again as the one in hand
 * has taken already. */
int queue_retry_after_s(void);

/* Sets r's fault to the full queue. */
enum problem queue_refuse(struct request *r);

/* No more are taken in; queue_next() returns false when the ring is empty. */
void queue_close(void);

#endif
