/* SPDX-License-Identifier: MIT */
/*
 * guest - the open connections, each at the place of its descriptor: who it
 * is, what it is doing and since when. Its I/O thread writes that down; the
 * watch looks through them and ends those that are too slow. Knows no room.
 *
 * Thread rule: a guest belongs to who lets it in, then to its I/O thread. The
 * watch looks at one at a time and holds it meanwhile, for a system call or
 * two; leaving waits for that.
 */
#ifndef GUEST_H
#define GUEST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "address.h"
#include "idle.h"
#include "problem.h"

struct capacity;
struct client;
struct request;
struct sockaddr;

enum guest_doing {
    GUEST_ABSENT,
    GUEST_ENTERS,     /* given to the HTTP library, which has not begun yet */
    GUEST_NEW,        /* connected, no request yet */
    GUEST_KEPT,       /* between two requests */
    GUEST_UPLOADS,    /* a body is coming */
    GUEST_WAITS,      /* for its reply */
    GUEST_READS       /* its reply */
};

struct guest {
    char address[ADDRESS_TEXT_MAX];
    int fd;
    uint64_t inode;         /* of its socket: tells it from a later one */
    struct request *request;    /* its I/O thread's own; NULL: none */
    bool admin;             /* by the second port: in no limit */
    bool trusted;           /* a proxy that tells who asks */
    bool reserved;          /* above the limits: only probes are answered */
    atomic_bool ended;      /* for another to have its place */
    bool lingers;           /* drain after the close */
    bool nagles;            /* waits for acknowledgements, so send them */
    struct client *client;
    atomic_bool held;
    atomic_int doing;
    atomic_int verdict;     /* enum problem: why the watch ended it */
    atomic_llong since_ns;
    atomic_llong bytes;     /* of the upload */
    atomic_llong deadline_ns;   /* of the upload; INT64_MAX: none */
    /* the watch's own: the window in which the rate is measured */
    int64_t window_ns;
    int64_t window_bytes;
    bool begun;             /* a kept one, with its next request */
    /* idle.c's own */
    atomic_int idle;        /* enum idle: its list */
    struct guest *idle_before, *idle_behind;
};

/* descriptors: no fd is above it. */
bool guest_open(int64_t descriptors, const struct capacity *capacity);

/* fd was accepted; admin: at the second port. At the limit another may have to
 * go for it. NULL: no such place, or no memory. */
struct guest *guest_enter(int fd, const struct sockaddr *peer, bool admin,
                          int64_t now_ns);
void guest_leave(struct guest *g, int64_t now_ns);

/* The one that entered with this descriptor: the library has begun with it,
 * and will say when it closes it. If it cannot even begin, it closes without a
 * word; the watch looks for that, and acts on nobody before. */
struct guest *guest_begins(int fd);

/* False: the connection was broken off. */
bool guest_is_connected(const struct guest *g);

void guest_does(struct guest *g, enum guest_doing doing, int64_t now_ns);

/* All that are open; those of them that were ended for another. */
int64_t guest_count(void);
int64_t guest_leaving(void);

/* Bytes that have come from it, read or not; -1: unknown. */
int64_t guest_received_bytes(const struct guest *g);

/* The watch: ends whoever is too slow or has left in the middle of a request;
 * everybody that still uploads. */
void guest_look(int64_t now_ns);
void guest_end_uploads(enum problem verdict);

#endif
