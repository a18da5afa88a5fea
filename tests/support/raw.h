/* SPDX-License-Identifier: MIT */
/*
 * raw.h - a client that does what no library would: bytes as they are, in
 * pieces, half closed, reset. Every wait is bounded.
 */
#ifndef RAW_H
#define RAW_H

#include <stdbool.h>
#include <stddef.h>

/* A connection to 127.0.0.1; from another address, such as 127.1.2.3. */
int raw_open(int port);
int raw_open_from(const char *address, int port);

/* Sends all; false if the peer would not take it. */
bool raw_send(int fd, const void *bytes, size_t n);
bool raw_say(int fd, const char *text);

/* POST /attention with Content-Length and these header lines ("A: b\r\n",
 * or ""). */
bool raw_post(int fd, const char *headers, const char *body);

/* Closes the sending side only; closes with a reset. */
void raw_half_close(int fd);
void raw_reset(int fd);

/* Reads one reply, interim ones (100) skipped: by its length, its chunks, or
 * up to the end; its status, or 0 if none came whole within `seconds`. `text`
 * gets headers and body, up to size - 1 bytes. */
int raw_reply(int fd, char *text, size_t size, double seconds);

/* Has the peer closed within `seconds`? Drops what comes before. */
bool raw_closed(int fd, double seconds);

#endif
