/* SPDX-License-Identifier: MIT */
/*
 * notify - see notify.h.
 */
#include "notify.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define FIRST_HANDED_OVER 3

void notify_send(const char *state)
{
    const char *name = getenv("NOTIFY_SOCKET");
    struct sockaddr_un to = { .sun_family = AF_UNIX };
    size_t n = name != NULL ? strlen(name) : 0;
    int fd;

    if (n == 0 || n >= sizeof to.sun_path)
        return;
    memcpy(to.sun_path, name, n);
    if (name[0] == '@')
        to.sun_path[0] = '\0';     /* an abstract name */
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    sendto(fd, state, strlen(state), MSG_NOSIGNAL | MSG_DONTWAIT,
           (struct sockaddr *)&to,
           (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n));
    close(fd);
}

/* Is the variable `pid` absent, or our own process? */
static int is_for_us(const char *pid)
{
    const char *text = getenv(pid);

    return text == NULL || strtol(text, NULL, 10) == (long)getpid();
}

int64_t notify_watchdog_ms(void)
{
    const char *text = getenv("WATCHDOG_USEC");

    if (text == NULL || !is_for_us("WATCHDOG_PID"))
        return 0;
    return strtoll(text, NULL, 10) / 1000 / 2;
}

int notify_socket(void)
{
    const char *count = getenv("LISTEN_FDS");
    int fd = FIRST_HANDED_OVER;

    if (count == NULL || getenv("LISTEN_PID") == NULL
        || !is_for_us("LISTEN_PID") || strtol(count, NULL, 10) < 1)
        return -1;
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) != 0
        || fcntl(fd, F_SETFL, O_NONBLOCK) != 0)
        return -1;
    return fd;
}
