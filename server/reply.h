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

/* The same for what the HTTP library refused by itself, before there was a
 * request: only who sent it and with which status is known. 0: it has found
 * no room for that reply, and closed (499). */
void reply_record_foreign(const char *peer, int status);

#endif
