/* SPDX-License-Identifier: MIT */
/*
 * raw.c - see raw.h.
 */
#include "raw.h"

#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon.h"

int raw_open(int port)
{
    return raw_open_from(NULL, port);
}

int raw_open_from(const char *address, int port)
{
    struct sockaddr_in from = { .sin_family = AF_INET };
    struct sockaddr_in to = { .sin_family = AF_INET,
                              .sin_port = htons((uint16_t)port),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int yes = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    ck_assert_int_ge(fd, 0);
    if (address != NULL) {
        ck_assert_int_eq(inet_pton(AF_INET, address, &from.sin_addr), 1);
        ck_assert_int_eq(bind(fd, (struct sockaddr *)&from, sizeof from), 0);
    }
    ck_assert_msg(connect(fd, (struct sockaddr *)&to, sizeof to) == 0,
                  "no connection: %s", strerror(errno));
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    return fd;
}

bool raw_send(int fd, const void *bytes, size_t n)
{
    const char *at = bytes;

    while (n > 0) {
        ssize_t sent = send(fd, at, n, MSG_NOSIGNAL);

        if (sent <= 0)
            return false;
        at += sent;
        n -= (size_t)sent;
    }
    return true;
}

bool raw_say(int fd, const char *text)
{
    return raw_send(fd, text, strlen(text));
}

bool raw_post(int fd, const char *headers, const char *body)
{
    char head[1024];
    size_t n = strlen(body);
    char *all = malloc(sizeof head + n);
    int length = snprintf(head, sizeof head, "POST /attention HTTP/1.1\r\n"
                          "Host: x\r\n%sContent-Length: %zu\r\n\r\n", headers,
                          n);

    ck_assert_ptr_nonnull(all);
    memcpy(all, head, (size_t)length);
    memcpy(all + length, body, n);
    bool sent = raw_send(fd, all, (size_t)length + n);
    free(all);
    return sent;
}

void raw_half_close(int fd)
{
    shutdown(fd, SHUT_WR);
}

void raw_reset(int fd)
{
    struct linger now = { 1, 0 };

    setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    close(fd);
}

/* At most n bytes; 0 at the end, -1 if nothing came in time or on a reset. */
static ssize_t read_some(int fd, char *to, size_t n, double until)
{
    struct pollfd p = { .fd = fd, .events = POLLIN };
    double left = until - daemon_clock();

    if (left <= 0 || poll(&p, 1, (int)(left * 1e3) + 1) <= 0)
        return -1;
    return recv(fd, to, n, 0);
}

/* Up to and with the blank line, byte by byte: what follows may belong to
 * another reply. */
static bool read_head(int fd, char *text, size_t size, double until)
{
    size_t n = 0;

    while (n < size - 1 && read_some(fd, text + n, 1, until) == 1) {
        text[++n] = '\0';
        if (n >= 4 && memcmp(text + n - 4, "\r\n\r\n", 4) == 0)
            return true;
    }
    return false;
}

static bool read_exactly(int fd, char *to, size_t room, size_t n, double until)
{
    char waste[4096];

    while (n > 0) {
        bool kept = room > 0;
        size_t most = kept ? room : sizeof waste;
        ssize_t got = read_some(fd, kept ? to : waste, n < most ? n : most,
                                until);

        if (got <= 0)
            return false;
        n -= (size_t)got;
        if (kept) {
            to += got;
            room -= (size_t)got;
        }
    }
    return true;
}

static bool read_chunks(int fd, char *to, size_t room, double until)
{
    char line[64];

    for (;;) {
        size_t n = 0;

        while (n < sizeof line - 1
               && (n == 0 || line[n - 1] != '\n'))
            if (read_some(fd, line + n++, 1, until) != 1)
                return false;
        size_t size = strtoul(line, NULL, 16);
        size_t kept = size < room ? size : room;

        if (!read_exactly(fd, to, kept, size, until)
            || !read_exactly(fd, line, 2, 2, until))
            return false;
        to += kept;
        room -= kept;
        if (size == 0)
            return true;
    }
}

int raw_reply(int fd, char *text, size_t size, double seconds)
{
    double until = daemon_clock() + seconds * daemon_slack();
    int status = 0;
    bool whole;

    memset(text, 0, size);
    do {
        if (!read_head(fd, text, size, until)
            || sscanf(text, "HTTP/1.%*d %d", &status) != 1)
            return 0;
    } while (status == 100);
    char *body = text + strlen(text);
    size_t room = size - 1 - (size_t)(body - text);
    const char *length = strcasestr(text, "\r\nContent-Length:");

    if (strcasestr(text, "\r\nTransfer-Encoding: chunked") != NULL)
        whole = read_chunks(fd, body, room, until);
    else if (length != NULL)
        whole = read_exactly(fd, body, room, strtoul(length + 17, NULL, 10),
                             until);
    else
        whole = status == 204 || !read_exactly(fd, body, room, SIZE_MAX,
                                               until);
    return whole ? status : 0;
}

bool raw_closed(int fd, double seconds)
{
    double until = daemon_clock() + seconds * daemon_slack();
    char waste[4096];
    ssize_t n;

    while ((n = read_some(fd, waste, sizeof waste, until)) > 0)
        continue;
    return n == 0 || daemon_clock() < until;
}
