/* SPDX-License-Identifier: MIT */
/*
 * request - all that one request owns, in walking order: a step writes its
 * own section only and reads earlier ones, so this definition is the map.
 *
 *           I/O thread                       workers            I/O thread
 *  listen > route > admit > receive > queue | decode > compute > encode | reply
 *
 * A request has one owner at a time: its I/O thread until queue_push(), the
 * ring and its workers until listen_resume(), its I/O thread again.
 */
#ifndef REQUEST_H
#define REQUEST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "address.h"
#include "answer.h"
#include "arena.h"
#include "attention.h"
#include "buffer.h"
#include "header.h"
#include "problem.h"

struct MHD_Connection;
struct client;
struct form;
struct guest;
struct route;

/* The steps; step_name[] gives Server-Timing entries, metric labels, log
 * fields. Each has the time spent in it, or -1. */
enum step {
    STEP_RECEIVE,   /* headers seen ... body complete */
    STEP_QUEUE,     /* waiting for a first worker */
    STEP_DECODE,
    STEP_COMPUTE,
    STEP_ENCODE,
    STEP_REPLY,     /* handed to the socket */
    STEP_COUNT
};
extern const char *const step_name[STEP_COUNT];

#define REQUEST_ID_MAX 128
#define REQUEST_LANES_MAX 64   /* as many workers at most */
#define REQUEST_WARNINGS_MAX 4

/* Where a request is, for those who look at it from outside. */
enum phase {
    PHASE_UPLOAD,   /* its I/O thread has it */
    PHASE_QUEUE,    /* in the ring, no worker has seen it yet */
    PHASE_WORK,
    PHASE_REPLY
};

/* One piece of a reply's body, in order. */
struct piece {
    char *data;
    size_t length;
};

/* Workspace of one worker on one request. */
struct lane {
    void *memory;
    size_t bytes;
    int64_t resume;
};

/* Scheduling state; queue.c alone touches it, under its lock. */
struct work {
    bool queued;            /* counted in the bound of the queue */
    bool in_ring;
    bool prepare;           /* the next batch is to be prepared */
    bool ended;
    bool left;              /* its connection is gone: last one frees it */
    bool waiting;           /* its reader is suspended, see reply.c */
    int running;            /* workers in next() or in a task */
    int64_t batch;          /* tasks of the batch in hand */
    int64_t taken;          /* tasks below it have been taken */
    int64_t unfinished;     /* tasks of the batch not finished */
    int64_t window;         /* 0, or so many tasks from `first` at most */
    int64_t first;          /* first task that the reader has not got */
    uint64_t written;       /* bit task % 64: finished, in the window */
    uint64_t free_lanes;
    uint64_t parked_lanes;  /* hold a task that wants to go on */
    int64_t lane_task[REQUEST_LANES_MAX];
    struct request *next, *previous;  /* in the ring */
};

struct request {
    /* listen: the connection */
    struct MHD_Connection *connection;
    struct guest *guest;
    bool admin;                     /* came in by the second port */
    int fd;
    const char *peer;               /* address text, for the log */
    struct client *client;          /* a reference; limits for one address */
    char forwarded[ADDRESS_TEXT_MAX];   /* that address, if a proxy told it */
    int64_t time_ns;                /* CLOCK_REALTIME, when it came */
    int64_t start_ns;               /* CLOCK_MONOTONIC */
    int64_t mark_ns;                /* when the step in hand began */
    int64_t step_ns[STEP_COUNT];    /* time spent in each step, or -1 */
    _Atomic int where;              /* enum phase */

    /* route */
    const struct route *route;      /* NULL: none matched */
    bool head;                      /* HEAD: the reply has no body */
    const char *method, *path;
    const char *id;                 /* X-Request-Id: the client's, or ours */
    const char *traceparent;        /* NULL if absent or malformed */
    struct {                        /* their copies: the library writes its
                                       own refusals over the headers */
        char method[24], path[512]; /* longer ones are cut */
        char id[REQUEST_ID_MAX + 1], traceparent[56];
    } copy;

    /* admit: what the headers say */
    struct headers headers;
    bool http_1_0;
    bool expects_continue;
    bool has_length;
    bool chunked;
    bool must_close;                /* framing unclear: close after reply */
    int64_t content_length;
    bool gzip;                      /* Content-Encoding: gzip */
    const struct form *form_declared; /* by Content-Type; NULL: look inside */
    const struct form *form_reply;  /* by Accept */
    int64_t deadline_ns;            /* monotonic; INT64_MAX: none */

    /* receive */
    struct buffer body;             /* whole; decode.c unpacks gzip */
    int64_t received_bytes;
    int64_t swallowed_bytes;        /* of them, after a refusal */

    /* queue and work */
    enum step stage;                /* DECODE, COMPUTE or ENCODE */
    struct work work;
    atomic_int stop;                /* enum problem: CANCELLED, DEADLINE,
                                       DRAINING ...; looked at between tasks */
    struct request *watch_next, *watch_previous;
    bool watched;
    int asked;                      /* how often, whether it is there */
    int64_t asked_ns;
    bool cut;                       /* by the watch */
    int64_t watch_number;
    bool done;                      /* the walk is over: reply */

    /* decode: arena memory */
    struct arena arena;
    struct gzip *unpacking;         /* while a gzip body is unpacked */
    int unpack_status;              /* enum gzip_status */
    struct buffer plain;            /* ... into this, r->body in the end */
    const struct form *form;        /* of the body */
    struct attn_input input;
    struct decoding *decoding;      /* private to the decoder in use */

    /* compute */
    struct attn_plan plan;
    struct attn_output output;
    struct attn_call call;
    bool planned;                   /* plan is valid */
    int phase;
    struct lane *lanes;             /* one workspace a lane */
    const char *warnings[REQUEST_WARNINGS_MAX];
    int n_warnings;

    /* encode */
    size_t room, room_of_piece;     /* bytes of the text at most, by the plan;
                                       of its largest piece */
    struct encoding *encoding;      /* private to the encoder in use */
    struct piece *pieces;           /* all of them, or the window's slots */
    int64_t n_pieces;
    bool encode_planned;
    bool streamed;

    /* reply: the back door */
    struct fault fault;             /* problem NONE: answer with the body */
    int status;
    struct answer answer;           /* a side room's, or the error's text */
    const char *content_type;
    const char *reply;              /* the whole body */
    int64_t reply_bytes;
    atomic_bool begun;              /* streamed: its headers are sent */
    int64_t stream_next;            /* the piece in hand, streamed */
    size_t stream_offset;
};

/* NULL without memory. */
struct request *request_new(void);

/* All that it owns. */
void request_free(struct request *r);

/* Gives it its method and path, its id, the one that it brought or one of
 * ours, and its trace. */
void request_identify(struct request *r, const char *method, const char *path);

/* A trusted proxy asks for somebody else: from then on that is the peer. */
void request_find_client(struct request *r);

/* Adds the time since the last mark to a step. */
void request_mark(struct request *r, enum step step);

/* CLOCK_MONOTONIC in ns. */
int64_t request_now_ns(void);

#endif
