/* SPDX-License-Identifier: MIT */
/*
 * listen - libmicrohttpd: the listening socket, connections, the callback in
 * which every request begins, drain.
 */
#ifndef LISTEN_H
#define LISTEN_H

#include "request.h"

/* Opens the socket; 0, or an exit status with one line in `error`. */
int listen_open(char *error, size_t size);

/* The address it is open on: "http://127.0.0.1:8080"; that of the second
 * port, for health and metrics, or "". */
const char *listen_url(void);
const char *listen_admin_url(void);

int listen_start(char *error, size_t size);

/* Name and version of what speaks HTTP. */
const char *listen_library(void);

/* No more connections; those in the backlog are still served. */
void listen_quiesce(void);

/* Ends all connections; none may be suspended. */
void listen_stop(void);

/* Most connections that everybody may open. */
int64_t listen_limit(void);

/* Requests that are not answered yet, and all since the start. */
int64_t listen_in_flight(void);
int64_t listen_requests(void);

/* The walk is over, or a piece of a streamed reply is ready: back to the
 * I/O thread. From any thread. */
void listen_resume(struct request *r);

#endif
