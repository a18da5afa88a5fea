/* SPDX-License-Identifier: MIT */
/*
 * linger - connections that were answered before all of their request had
 * come. If they were just closed, the kernel would throw away the answer
 * together with the bytes that nobody read; so they are read for a while.
 */
#ifndef LINGER_H
#define LINGER_H

#include <poll.h>
#include <stdbool.h>

#define LINGER_MAX 64

/* Before all others. */
bool linger_open(void);

/* fd is owned from here on. Any thread. */
void linger_add(int fd);

/* How many linger. */
int linger_count(void);

/* The watch's thread: fills at most LINGER_MAX places; returns how many. */
int linger_look(struct pollfd *at);
void linger_act(const struct pollfd *at, int n);

#endif
