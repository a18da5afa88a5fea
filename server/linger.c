/* SPDX-License-Identifier: MIT */
/*
 * linger - see linger.h. New ones come through a pipe, so that the list
 * belongs to the watch alone.
 *
 * Whoever was ended by guest.c is deaf: its receiving side is shut, so it
 * always seems readable and at its end; yet what the peer sends still comes,
 * as long as our sending side is open. Such a one is asked in each round.
 */
#include "linger.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include "request.h"
#include "socket.h"

#define MOST_NS INT64_C(30000000000)    /* all in all */
#define SILENT_NS INT64_C(2000000000)   /* without a byte */
#define READS_A_ROUND 64

static struct lingering {
    int fd;
    bool deaf;
    int64_t since_ns, heard_ns;
} list[LINGER_MAX];
static int count;
static atomic_int all;                  /* in the list or on their way to it */
static int inbox[2] = { -1, -1 };

bool linger_open(void)
{
    return pipe2(inbox, O_CLOEXEC | O_NONBLOCK) == 0;
}

static void leave(int fd)
{
    close(fd);
    atomic_fetch_sub(&all, 1);
}

void linger_add(int fd)
{
    if (fd < 0)
        return;
    atomic_fetch_add(&all, 1);
    if (write(inbox[1], &fd, sizeof fd) != sizeof fd)
        leave(fd);
}

int linger_count(void)
{
    return atomic_load(&all);
}

static void drop(int i)
{
    leave(list[i].fd);
    list[i] = list[--count];
}

static void admit_new(void)
{
    int64_t now = request_now_ns();
    int fd;

    while (read(inbox[0], &fd, sizeof fd) == sizeof fd) {
        if (count == LINGER_MAX)
            drop(0);
        list[count++] = (struct lingering){ fd, false, now, now };
    }
}

int linger_look(struct pollfd *at)
{
    int64_t now = request_now_ns();

    admit_new();
    for (int i = count - 1; i >= 0; i--)
        if (now - list[i].since_ns > MOST_NS
            || (now - list[i].heard_ns > SILENT_NS
                && socket_unread(list[i].fd) == 0))
            drop(i);
    for (int i = 0; i < count; i++)
        at[i] = (struct pollfd){ .fd = list[i].fd,
                                 .events = list[i].deaf ? 0 : POLLIN };
    return count;
}

static bool is_open(int fd)
{
    struct tcp_info info = { .tcpi_state = 0 };
    socklen_t size = sizeof info;

    return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0
        && info.tcpi_state == TCP_ESTABLISHED;
}

/* True: the peer has closed, too. */
static bool drain(struct lingering *l)
{
    static char waste[65536];
    ssize_t n = 1;

    for (int i = 0; i < READS_A_ROUND && n > 0; i++) {
        n = recv(l->fd, waste, sizeof waste, MSG_DONTWAIT);
        if (n > 0)
            l->heard_ns = request_now_ns();
    }
    l->deaf = n == 0 && is_open(l->fd);
    return n == 0 && !l->deaf;
}

void linger_act(const struct pollfd *at, int n)
{
    for (int i = n - 1; i >= 0; i--)
        if (at[i].revents & (POLLERR | POLLHUP | POLLNVAL)
            || ((at[i].revents & POLLIN || list[i].deaf) && drain(&list[i])))
            drop(i);
}
