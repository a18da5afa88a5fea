/* SPDX-License-Identifier: MIT */
/*
 * linger - see linger.h. New ones come through a pipe, so that the list
 * belongs to the watch alone.
 */
#include "linger.h"

#include <fcntl.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include "request.h"

#define MOST_NS INT64_C(30000000000)    /* all in all */
#define SILENT_NS INT64_C(2000000000)   /* without a byte */
#define READS_A_ROUND 64

static struct lingering {
    int fd;
    int64_t since_ns, heard_ns;
} list[LINGER_MAX];
static int count;
static int inbox[2] = { -1, -1 };

bool linger_open(void)
{
    return pipe2(inbox, O_CLOEXEC | O_NONBLOCK) == 0;
}

void linger_add(int fd)
{
    if (fd >= 0 && write(inbox[1], &fd, sizeof fd) != sizeof fd)
        close(fd);
}

static void drop(int i)
{
    close(list[i].fd);
    list[i] = list[--count];
}

static void admit_new(void)
{
    int64_t now = request_now_ns();
    int fd;

    while (read(inbox[0], &fd, sizeof fd) == sizeof fd) {
        if (count == LINGER_MAX)
            drop(0);
        list[count++] = (struct lingering){ fd, now, now };
    }
}

int linger_look(struct pollfd *at)
{
    int64_t now = request_now_ns();

    admit_new();
    for (int i = count - 1; i >= 0; i--)
        if (now - list[i].since_ns > MOST_NS
            || now - list[i].heard_ns > SILENT_NS)
            drop(i);
    for (int i = 0; i < count; i++)
        at[i] = (struct pollfd){ .fd = list[i].fd, .events = POLLIN };
    return count;
}

/* True: the peer has closed, too. */
static bool drain(struct lingering *l)
{
    static char waste[65536];
    ssize_t n = 1;

    for (int i = 0; i < READS_A_ROUND && n > 0; i++)
        n = recv(l->fd, waste, sizeof waste, MSG_DONTWAIT);
    l->heard_ns = request_now_ns();
    return n == 0;
}

void linger_act(const struct pollfd *at, int n)
{
    for (int i = n - 1; i >= 0; i--)
        if (at[i].revents & (POLLERR | POLLHUP | POLLNVAL)
            || (at[i].revents & POLLIN && drain(&list[i])))
            drop(i);
}
