/* SPDX-License-Identifier: MIT */
/*
 * posted.h - the body of a POST /attention on its way through the rooms, with
 * no daemon and no socket.
 */
#ifndef POSTED_H
#define POSTED_H

#include "request.h"

struct posted {
    struct request *r;
    void *pages;             /* the body lies at their end, */
    size_t pages_bytes;      /* before one that cannot be read */
    int64_t calls;           /* of tasks, to decode it */
};

/* Decodes the body as JSON; all that was found is in p->r. */
void posted_decode(struct posted *p, const char *text, size_t n);

/* Then plans, computes and encodes, if there is no fault on the way. The
 * reply's text is allocated; NULL if there was a fault. */
char *posted_answer(struct posted *p, const char *text, size_t n);

/* The reply to output that is there already, pieces written last to first,
 * each in a place of exactly its bound. */
char *posted_encode(struct posted *p);

void posted_close(struct posted *p);

#endif
