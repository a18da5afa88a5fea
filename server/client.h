/* SPDX-License-Identifier: MIT */
/*
 * client - what has a limit for one client is counted here: one entry for each
 * address that has a connection or a request (of IPv6, for its /64), found by
 * a hash with a random key. An entry lives while somebody refers to it, and
 * then until its rate allows a full burst again. Knows no room.
 *
 * Thread rule: any thread, any time.
 */
#ifndef CLIENT_H
#define CLIENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "address.h"

struct client {
    struct address address;     /* by address_client(); constant */
    atomic_llong connections;   /* open ones */
    atomic_llong due_ns;        /* its next request, by --rate */
    /* client.c's own */
    atomic_llong references;
    struct client *next;        /* in its chain of the table */
    struct client *older, *newer;   /* while it has no references */
};

/* Of those without references so many are remembered, the newest. */
enum { CLIENT_RESTING_MAX = 65536 };

/* Before all others. False: the system has no random numbers. */
bool client_open(void);

/* The client with this address, for the caller to refer to. NULL: no memory. */
struct client *client_find(const struct address *a);

/* One reference more, by somebody who has one. Returns c. */
struct client *client_refer(struct client *c);

/* One reference less. */
void client_release(struct client *c, int64_t now_ns);

/* May it make one more request now (--rate)? If not, seconds until it may;
 * else 0. */
double client_must_wait_s(struct client *c, int64_t now_ns);

/* Entries, those without references too. */
int64_t client_count(void);

#endif
