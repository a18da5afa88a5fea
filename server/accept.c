/* SPDX-License-Identifier: MIT */
/*
 * accept - see accept.h. Where descriptors are wanting, or there are as many
 * guests as there may be, a door rests for a moment; a shorter one, if some of
 * them have been told to leave.
 */
#include "accept.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "guest.h"
#include "request.h"
#include "socket.h"

#define MOST_AT_ONCE 64     /* then others have their turn */
#define REST_MS 50
#define REST_FOR_LEAVING_MS 1
#define GREETING_MS 50      /* for the packets of one to come */

static struct door {
    int fd;
    int64_t most, rests_until_ms;
    void (*enter)(int fd, const struct sockaddr_storage *peer);
} doors[ACCEPT_DOORS] = { { .fd = -1 }, { .fd = -1 } };

static int64_t now_ms(void)
{
    return request_now_ns() / 1000000;
}

static struct door *door_of(int fd)
{
    return &doors[doors[0].fd != fd];
}

void accept_at(int fd, int64_t most,
               void (*enter)(int fd, const struct sockaddr_storage *peer))
{
    *door_of(-1) = (struct door){ fd, most, 0, enter };
}

/* One that waits, or comes within wait_ms. False: none, with errno. */
static bool let_in(const struct door *d, int wait_ms)
{
    struct sockaddr_storage peer;
    int fd = -1;

    errno = ENOBUFS;
    if (guest_count() < d->most)
        fd = socket_accept(d->fd, &peer, wait_ms);
    if (fd >= 0)
        d->enter(fd, &peer);
    return fd >= 0;
}

void accept_look(struct pollfd *at, int *wait_ms)
{
    int64_t now = now_ms();

    for (int i = 0; i < ACCEPT_DOORS; i++) {
        bool rests = now < doors[i].rests_until_ms;

        at[i] = (struct pollfd){ .fd = rests ? -1 : doors[i].fd,
                                 .events = POLLIN };
        if (rests && *wait_ms > doors[i].rests_until_ms - now)
            *wait_ms = (int)(doors[i].rests_until_ms - now);
    }
}

static void open_up(struct door *d)
{
    int n = 0;

    while (n < MOST_AT_ONCE && let_in(d, 0))
        n++;
    if (n < MOST_AT_ONCE && errno != EAGAIN && errno != ECONNABORTED)
        d->rests_until_ms = now_ms() + (errno == ENOBUFS && guest_leaving() > 0
                                        ? REST_FOR_LEAVING_MS : REST_MS);
}

void accept_act(const struct pollfd *at)
{
    for (int i = 0; i < ACCEPT_DOORS; i++)
        if (at[i].revents != 0)
            open_up(&doors[i]);
}

void accept_leave(int fd)
{
    door_of(fd)->fd = -1;
}

void accept_shut(int fd)
{
    struct door *d = door_of(fd);

    socket_refuse_more(fd);
    while (let_in(d, GREETING_MS))
        continue;
    accept_leave(fd);
    close(fd);
}
