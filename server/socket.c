/* SPDX-License-Identifier: MIT */
/*
 * socket - see socket.h.
 */
#include "socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "config.h"

#define BACKLOG 4096
#define MOST_DESCRIPTORS 1048576

/* NULL: none, with one line of why. */
static struct addrinfo *resolve(const char *host, int port, int flags,
                                char *error, size_t size)
{
    struct addrinfo hints = { .ai_family = AF_UNSPEC,
                              .ai_socktype = SOCK_STREAM,
                              .ai_flags = flags | AI_NUMERICSERV };
    struct addrinfo *list = NULL;
    char service[16];

    snprintf(service, sizeof service, "%d", port);
    int failed = getaddrinfo(host, service, &hints, &list);
    if (failed == 0)
        return list;
    snprintf(error, size, "--host: cannot resolve \"%s\": %s", host,
             failed == EAI_SYSTEM ? strerror(errno) : gai_strerror(failed));
    return NULL;
}

/* A socket that listens on one address, or -1 with errno. */
static int listen_on(const struct addrinfo *a)
{
    int yes = 1, no = 0, saved;
    int fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC
                    | SOCK_NONBLOCK, a->ai_protocol);

    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (a->ai_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
    if (bind(fd, a->ai_addr, a->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    saved = errno;
    close(fd);
    errno = saved;
    return -1;
}

int socket_listen(const char *host, int port, int *fd, char *error,
                  size_t size)
{
    struct addrinfo *list = resolve(host, port, AI_PASSIVE, error, size);

    if (list == NULL)
        return EXIT_USAGE;
    *fd = -1;
    for (struct addrinfo *a = list; a != NULL && *fd < 0; a = a->ai_next)
        *fd = listen_on(a);
    freeaddrinfo(list);
    if (*fd >= 0)
        return 0;
    if (errno == EADDRINUSE)
        snprintf(error, size, "port %d on %s is taken; choose another with "
                 "--port, or 0 for any that is free", port, host);
    else
        snprintf(error, size, "cannot listen on %s port %d: %s", host, port,
                 strerror(errno));
    return EXIT_PORT;
}

void socket_address_text(const struct sockaddr *address, char *text,
                         size_t size)
{
    const struct sockaddr_in *v4 = (const void *)address;
    const struct sockaddr_in6 *v6 = (const void *)address;

    text[0] = '\0';
    if (address->sa_family == AF_INET)
        inet_ntop(AF_INET, &v4->sin_addr, text, (socklen_t)size);
    else if (address->sa_family == AF_INET6)
        inet_ntop(AF_INET6, &v6->sin6_addr, text, (socklen_t)size);
}

void socket_url(int fd, char *url, size_t size)
{
    struct sockaddr_in6 address = { .sin6_port = 0 };
    socklen_t length = sizeof address;
    char text[INET6_ADDRSTRLEN];
    bool v6;

    getsockname(fd, (struct sockaddr *)&address, &length);
    socket_address_text((struct sockaddr *)&address, text, sizeof text);
    v6 = address.sin6_family == AF_INET6;
    /* the port stands at the same place in both families */
    snprintf(url, size, "http://%s%s%s:%d", v6 ? "[" : "", text, v6 ? "]" : "",
             ntohs(address.sin6_port));
}

int socket_adopt(int fd, char *error, size_t size)
{
    int listens = 0;
    socklen_t length = sizeof listens;

    getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length);
    if (listens != 0)
        return 0;
    snprintf(error, size, "the descriptor that was handed over (LISTEN_FDS) "
             "is no listening socket");
    return EXIT_PORT;
}

/* What the kernel looks at begins with the header of TCP, whose byte 13 has
 * the flags: the first packet of a connection has SYN (2) without ACK (16). */
void socket_refuse_more(int fd)
{
    struct sock_filter drop_first[] = {
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 13),
        BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 2 | 16),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 2, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, 0),
        BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
    };
    struct sock_fprog program = {
        sizeof drop_first / sizeof *drop_first, drop_first
    };

    setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
}

int socket_accept(int fd, struct sockaddr_storage *peer, int wait_ms)
{
    struct pollfd knocks = { .fd = fd, .events = POLLIN };
    socklen_t length = sizeof *peer;

    errno = EAGAIN;
    if (poll(&knocks, 1, wait_ms) != 1)
        return -1;
    return accept4(fd, (struct sockaddr *)peer, &length,
                   SOCK_CLOEXEC | SOCK_NONBLOCK);
}

int64_t socket_raise_descriptors(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 1024;
    limit.rlim_cur = limit.rlim_max < MOST_DESCRIPTORS ? limit.rlim_max
                                                       : MOST_DESCRIPTORS;
    setrlimit(RLIMIT_NOFILE, &limit);
    getrlimit(RLIMIT_NOFILE, &limit);
    return (int64_t)limit.rlim_cur;
}

/* ---------------------------------------------------------- asking others */

/* -1: not within that time, with errno. */
static int connect_to(const struct addrinfo *to, int timeout_ms)
{
    struct timeval patience = { timeout_ms / 1000,
                                timeout_ms % 1000 * 1000 };
    int saved, fd = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (fd < 0 || connect(fd, to->ai_addr, to->ai_addrlen) == 0)
        return fd;
    saved = errno;
    close(fd);
    errno = saved;
    return -1;
}

void socket_cut(int fd, bool by_reset)
{
    struct sockaddr nobody = { .sa_family = AF_UNSPEC };

    if (!by_reset || connect(fd, &nobody, sizeof nobody) != 0)
        shutdown(fd, SHUT_RDWR);
}

int socket_unread(int fd)
{
    int bytes = 0;

    return ioctl(fd, FIONREAD, &bytes) == 0 ? bytes : 0;
}

void socket_acknowledge(int fd)
{
    setsockopt(fd, IPPROTO_TCP, TCP_QUICKACK, &(int){ 1 }, sizeof(int));
}

static const char *reason(void)
{
    return errno == EINPROGRESS || errno == EAGAIN ? "no answer in time"
        : errno == 0 ? "the answer is not HTTP" : strerror(errno);
}

/* The status, or -1 with errno, which is 0 if it was no HTTP. */
static int ask(int fd, const char *path)
{
    char text[256];
    ssize_t n = snprintf(text, sizeof text, "GET %s HTTP/1.1\r\n"
                         "Host: localhost\r\nConnection: close\r\n\r\n", path);

    if (send(fd, text, (size_t)n, MSG_NOSIGNAL) != n)
        return -1;
    n = recv(fd, text, sizeof text - 1, MSG_WAITALL);
    if (n < 0)
        return -1;
    text[n] = '\0';
    errno = 0;
    return strncmp(text, "HTTP/1.1 ", 9) == 0 ? atoi(text + 9) : -1;
}

int socket_ask(const char *host, int port, const char *path, int timeout_ms,
               char *error, size_t size)
{
    bool v6 = strchr(host, ':') != NULL;
    struct addrinfo *list = resolve(host, port, 0, error, size);
    int status = -1, fd = -1;

    if (list == NULL)
        return -1;
    for (struct addrinfo *a = list; a != NULL && fd < 0; a = a->ai_next)
        fd = connect_to(a, timeout_ms);
    freeaddrinfo(list);
    if (fd >= 0)
        status = ask(fd, path);
    if (status < 0)
        snprintf(error, size, "http://%s%s%s:%d%s: %s", v6 ? "[" : "", host,
                 v6 ? "]" : "", port, path, reason());
    else if (status != 200)
        snprintf(error, size, "http://%s%s%s:%d%s answers %d", v6 ? "[" : "",
                 host, v6 ? "]" : "", port, path, status);
    if (fd >= 0)
        close(fd);
    return status;
}
