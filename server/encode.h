/* SPDX-License-Identifier: MIT */
/*
 * encode - struct attn_output -> bytes. The reply is a sequence of pieces
 * (blocks of rows) that can be written side by side and in any order; their
 * concatenation is the body. The form is chosen by what the client accepts.
 *
 * A reply of up to ENCODE_WHOLE_BYTES is written as a whole, with its length.
 * A larger one is streamed: its pieces are written into a window of a few
 * slots while the client reads; the window moves when reply.c has handed
 * over its first piece.
 */
#ifndef ENCODE_H
#define ENCODE_H

#include "form.h"
#include "request.h"

#define ENCODE_WHOLE_BYTES ((size_t)1 << 20)
#define ENCODE_WINDOW 8

/* The stage functions: encode_next plans, then hands out pieces. */
int64_t encode_next(struct request *r);
bool encode_task(struct request *r, int64_t task, int lane);

/* Once the plan is there; the next two tell of it. */
void encode_size(struct request *r);

/* The memory that the reply's text will take at most. */
size_t encode_memory(const struct request *r);

/* May the reply have to be streamed? Only from the queue it can be. */
bool encode_streams(const struct request *r);

/* About how long the reply will be. */
double encode_estimate(const struct request *r);

#endif
