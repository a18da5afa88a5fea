/* SPDX-License-Identifier: MIT */
/*
 * request - all that one request owns, in walking order: a step writes its
 * own section only and reads earlier ones, so this definition is the map.
 *
 *           I/O thread                       workers            I/O thread
 *  listen > route > admit > receive > queue | decode > compute > encode | reply
 *
 * A request has one owner at a time: its I/O thread until queue_push(), the
 * ring and its workers until request_done(), its I/O thread again.
 */
#ifndef REQUEST_H
#define REQUEST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "attention.h"
#include "buffer.h"
#include "problem.h"

struct MHD_Connection;
struct route;
struct form;

/* The steps; step_name[] gives Server-Timing entries, metric labels, log
 * fields. A stamp is taken when a step ends. */
enum step {
    STEP_RECEIVE,   /* headers seen ... body complete */
    STEP_QUEUE,     /* waiting for a worker, all waits together */
    STEP_DECODE,
    STEP_COMPUTE,
    STEP_ENCODE,
    STEP_REPLY,     /* handed to the socket */
    STEP_COUNT
};
extern const char *const step_name[STEP_COUNT];

#define REQUEST_ID_MAX 128
#define REQUEST_LANES_MAX 64   /* as many workers at most */

/* One piece of a reply's body, in order. */
struct piece {
    char *data;
    size_t length;
};

struct request {
    /* listen: the connection */
    struct MHD_Connection *connection;
    int fd;
    char peer[64];                  /* address text, for log and limits */
    int64_t start_ns;               /* CLOCK_MONOTONIC */
    int64_t step_ns[STEP_COUNT];    /* time spent in each step */

    /* route */
    const struct route *route;      /* NULL: none matched */
    char method[16];
    char path[256];
    char id[REQUEST_ID_MAX + 1];    /* X-Request-Id */
    char traceparent[64];           /* "" if absent or malformed */

    /* admit: what the headers say */
    bool http_1_0;
    bool has_length;
    int64_t content_length;
    bool gzip;                      /* Content-Encoding: gzip */
    const struct form *form_declared; /* by Content-Type; NULL: look inside */
    const struct form *form_reply;  /* by Accept */
    int64_t deadline_ns;            /* monotonic; INT64_MAX: none */

    /* receive */
    struct buffer body;             /* whole, unpacked */

    /* queue and work: see queue.h for who may touch these */
    enum step stage;                /* DECODE, COMPUTE or ENCODE */
    struct request *ring_next;
    struct work *work;              /* scheduling state, in the arena */
    atomic_int stop;                /* enum problem: CANCELLED, DEADLINE,
                                       DRAINING; looked at between tasks */

    /* decode: arena memory */
    struct arena arena;
    struct attn_input input;
    struct decoding *decoding;      /* private to the decoder in use */

    /* compute */
    struct attn_plan plan;
    struct attn_output output;
    struct attn_call call;
    int phase;
    void **lane_memory;             /* one workspace a lane */
    char warnings[4][FAULT_DETAIL_MAX];
    int n_warnings;

    /* encode */
    struct encoding *encoding;      /* private to the encoder in use */
    struct piece *pieces;           /* n_pieces, whole replies only */
    int64_t n_pieces;
    bool streamed;

    /* reply: the back door */
    struct fault fault;             /* problem NONE: answer with pieces */
    int status;
    const char *content_type;
    int64_t reply_bytes;
};

#endif
