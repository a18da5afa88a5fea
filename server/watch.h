/* SPDX-License-Identifier: MIT */
/*
 * watch - the main thread, which looks after what nobody else sees: clients
 * that leave while their request is in the queue or in work, deadlines,
 * signals, connections that linger after an early refusal, slow peers, memory
 * that rests. Knows requests by their list only; a request is taken off the
 * list before it goes back to its I/O thread.
 */
#ifndef WATCH_H
#define WATCH_H

#include "request.h"

/* What a life consists of; read by health, admission and reply. While it
 * drains, it is not ready but accepts; when it closes, it takes no work that
 * would have to queue. */
enum life { LIFE_STARTING, LIFE_SERVING, LIFE_DRAINING, LIFE_CLOSING };
enum life watch_life(void);

/* From the moment r is suspended until it is resumed; and again while its
 * reply is streamed. */
void watch_add(struct request *r);

/* When it returns, the watch has no eye on r any more. */
void watch_remove(struct request *r);

/* Somebody came while nobody was here: the watch may be resting. */
void watch_wake(void);

/* Reads and drops what comes on fd, its own copy, for a bounded time. */
void watch_linger(int fd);

/* Blocks the signals for this thread and those it starts: the first thing
 * that main() does. False: no descriptors. */
bool watch_open(void);

/* Serves until a signal comes, then drains; returns the exit status. On the
 * main thread, which is the watch from then on. */
int watch_serve(void);

#endif
