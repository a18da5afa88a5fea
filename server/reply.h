/* SPDX-License-Identifier: MIT */
/*
 * reply - status, headers, body or problem: the back door, and the only way
 * out for refusals too. On the request's I/O thread.
 */
#ifndef REPLY_H
#define REPLY_H

#include "request.h"

/* Queues the reply on r's connection. False: close the connection. */
bool reply(struct request *r);

/* Writes r->fault to the socket past the HTTP library, where it takes no
 * reply: in the middle of a body. The connection is to be closed then. */
void reply_raw(struct request *r);

/* Access log and metrics, when the last byte is gone or the client is; that
 * moment is r->mark_ns then. */
void reply_record(struct request *r, bool complete);

#endif
