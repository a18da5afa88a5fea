/* SPDX-License-Identifier: MIT */
/*
 * receive - pieces of the body into r->body, under its ceiling. The body of a
 * request that is refused already is swallowed up to RECEIVE_SWALLOW_BYTES,
 * so that the client reads the reason and keeps its connection.
 */
#ifndef RECEIVE_H
#define RECEIVE_H

#include "request.h"

#define RECEIVE_SWALLOW_BYTES (1 << 20)

/* Before the first piece. Memory is taken for what comes, never for what the
 * headers promise. */
void receive_begin(struct request *r);

/* One piece. False: refused, and more than is swallowed has come. */
bool receive(struct request *r, const char *data, size_t length);

/* Will it probably run on its I/O thread? By its length; see config.h. */
bool receive_is_small(const struct request *r);

/* May the body of a refused request be swallowed, by its headers? */
bool receive_swallows(const struct request *r);

#endif
