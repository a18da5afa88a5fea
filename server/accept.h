/* SPDX-License-Identifier: MIT */
/*
 * accept - lets in who connects. The HTTP library would do that, too, but on
 * whichever of its threads wakes up first, which takes all that wait: so eight
 * connections that were opened at once shared one thread. Knows no room.
 *
 * Thread rule: the watch's, but for accept_at(), which comes before it.
 */
#ifndef ACCEPT_H
#define ACCEPT_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

struct sockaddr_storage;

enum { ACCEPT_DOORS = 2 };

/* Who connects to the listening socket fd is let in while there are fewer than
 * `most` guests, and waits in the backlog else. enter takes the descriptor of
 * the connection, for good. */
void accept_at(int fd, int64_t most,
               void (*enter)(int fd, const struct sockaddr_storage *peer));

/* Fills ACCEPT_DOORS places, and shortens the wait. */
void accept_look(struct pollfd *at, int *wait_ms);
void accept_act(const struct pollfd *at);

/* Nobody more is let in at fd, which stays as it is. */
void accept_leave(int fd);

/* The same, after those whom the kernel greets already, for a closed listening
 * socket would reset them; and closes fd. */
void accept_shut(int fd);

#endif
