/* SPDX-License-Identifier: MIT */
/*
 * socket - what others need of the system's sockets, and the client's side
 * of --healthcheck. Knows no room.
 */
#ifndef SOCKET_H
#define SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sockaddr;
struct sockaddr_storage;

/* Listens on host:port (0: any). 0, or an exit status with one clear line. */
int socket_listen(const char *host, int port, int *fd, char *error,
                  size_t size);

/* Is fd, which somebody else made, a socket that listens? As above. */
int socket_adopt(int fd, char *error, size_t size);

/* "http://127.0.0.1:8080": what fd is bound to; brackets for IPv6. */
void socket_url(int fd, char *url, size_t size);

/* "127.0.0.1", "::1"; "" for other families. */
void socket_address_text(const struct sockaddr *address, char *text,
                         size_t size);

/* The kernel begins to greet nobody on this listening socket any more. */
void socket_refuse_more(int fd);

/* One connection that waits, or comes within wait_ms; below 0: none, with
 * errno, EAGAIN if nobody came. */
int socket_accept(int fd, struct sockaddr_storage *peer, int wait_ms);

/* Ends a connection in the middle of a reply, visibly: in HTTP/1.0, whose
 * replies end with it, by a reset, which also drops what was not sent. */
void socket_cut(int fd, bool by_reset);

/* Bytes that came and were not read: a close would be a reset. */
int socket_unread(int fd);

/* Tells the peer now what has come, not in 40 ms. By Nagle's rule one that
 * wrote its headers alone waits for that before it sends the body. */
void socket_acknowledge(int fd);

/* Raises the limit of descriptors as far as allowed, and returns it. */
int64_t socket_raise_descriptors(void);

/* GET path on host:port within timeout_ms; the status, or -1. If it is not
 * 200, one line says whom it asked and what happened. */
int socket_ask(const char *host, int port, const char *path, int timeout_ms,
               char *error, size_t size);

#endif
