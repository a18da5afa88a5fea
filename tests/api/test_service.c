/* SPDX-License-Identifier: MIT */
/*
 * test_service.c - what service managers see: the second port, notifications,
 * a watchdog, a socket that is handed over.
 */
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "call.h"
#include "daemon.h"
#include "http.h"
#include "metric.h"
#include "raw.h"
#include "suite.h"

static struct daemon d;

START_TEST(second_port_answers_health_and_metrics_only)
{
    static const struct { const char *path; int status; } table[] = {
        { "/livez", 200 }, { "/readyz", 200 }, { "/healthz", 200 },
        { "/metrics", 200 }, { "/info", 404 }, { "/", 404 },
    };
    const char *arguments[] = { "--admin-port", "0", NULL };
    struct http_reply r;

    daemon_start(&d, arguments);
    ck_assert_int_gt(d.admin_port, 0);
    ck_assert_int_ne(d.admin_port, d.port);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        r = http_get(d.admin_port, table[i].path);
        ck_assert_msg(r.status == table[i].status, "%s: %d", table[i].path,
                      r.status);
        http_free(&r);
    }
    r = http_post(d.admin_port, CALL_EXAMPLE);
    ck_assert_int_eq(r.status, 404);
    http_free(&r);
    r = http_post(d.port, CALL_EXAMPLE);
    ck_assert_int_eq(r.status, 200);
    http_free(&r);
    daemon_stop(&d);
}
END_TEST

/* The next datagram within twenty seconds; "" if none comes. */
static const char *next_state(int fd, char text[64])
{
    struct pollfd p = { .fd = fd, .events = POLLIN };
    ssize_t n = poll(&p, 1, 20000) == 1 ? recv(fd, text, 63, 0) : 0;

    text[n > 0 ? n : 0] = '\0';
    return text;
}

START_TEST(service_manager_is_told_of_ready_watchdog_and_stopping)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    char state[64];
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    snprintf(at.sun_path, sizeof at.sun_path, "/tmp/attentiond-notify-%d",
             (int)getpid());
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
    setenv("NOTIFY_SOCKET", at.sun_path, 1);
    setenv("WATCHDOG_USEC", "200000", 1);
    daemon_start(&d, NULL);
    ck_assert_str_eq(next_state(fd, state), "READY=1");
    ck_assert_str_eq(next_state(fd, state), "WATCHDOG=1");
    ck_assert_str_eq(next_state(fd, state), "WATCHDOG=1");
    kill(d.pid, SIGTERM);
    while (strcmp(next_state(fd, state), "WATCHDOG=1") == 0)
        continue;
    ck_assert_str_eq(state, "STOPPING=1");
    ck_assert_int_eq(daemon_wait(&d, 10), 0);
    daemon_forget(&d);
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
    unlink(at.sun_path);
    close(fd);
}
END_TEST

static int listening_socket(int *port)
{
    struct sockaddr_in at = { .sin_family = AF_INET,
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t length = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    ck_assert_int_eq(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
    ck_assert_int_eq(listen(fd, 16), 0);
    getsockname(fd, (struct sockaddr *)&at, &length);
    *port = ntohs(at.sin_port);
    return fd;
}

/* What systemd does for a socket unit. */
static pid_t hand_over(int fd)
{
    char pid[16], *arguments[] = { getenv("ATTENTIOND"), NULL };
    pid_t child = fork();
    int null = open("/dev/null", O_WRONLY);

    if (child != 0) {
        close(null);
        return child;
    }
    dup2(null, 1);
    dup2(null, 2);
    dup2(fd, 3);
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    setenv("LISTEN_PID", pid, 1);
    setenv("LISTEN_FDS", "1", 1);
    execv(arguments[0], arguments);
    _exit(127);
}

static void wait_for_end(pid_t child, int expected)
{
    int status;

    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == expected,
                  "%x", status);
}

/* By one daemon after the other. */
START_TEST(socket_that_is_handed_over_is_served)
{
    int port, fd = listening_socket(&port);

    for (int i = 0; i < 2; i++) {
        pid_t child = hand_over(fd);
        struct http_reply r = http_post(port, CALL_EXAMPLE);

        ck_assert_int_eq(r.status, 200);
        http_free(&r);
        kill(child, SIGTERM);
        wait_for_end(child, 0);
    }
    close(fd);
}
END_TEST

/* Seconds of CPU time of a child, so far. */
static double cpu_seconds(pid_t child)
{
    struct timespec t;
    clockid_t clock;

    ck_assert_int_eq(clock_getcpuclockid(child, &clock), 0);
    ck_assert_int_eq(clock_gettime(clock, &t), 0);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

START_TEST(what_is_handed_over_and_does_not_listen_is_no_port)
{
    int file = open("/dev/null", O_RDWR);
    int silent = socket(AF_INET, SOCK_STREAM, 0);

    wait_for_end(hand_over(file), 3);
    wait_for_end(hand_over(silent), 3);
    close(file);
    close(silent);
}
END_TEST

/* The first has an upload in hand; whoever comes meanwhile waits for the
 * second, and costs the first nothing. */
START_TEST(who_comes_while_one_daemon_ends_is_served_by_the_next)
{
    int port, fd = listening_socket(&port), late[8];
    char text[4096], head[128];
    pid_t first = hand_over(fd);
    int early = raw_open(port);

    snprintf(head, sizeof head, "POST /attention HTTP/1.1\r\nHost: x\r\n"
             "Content-Length: %zu\r\n\r\n", strlen(CALL_EXAMPLE));
    ck_assert(raw_say(early, head));
    ck_assert(metric_reaches(port, "attention_inflight_requests", 1, 20));
    kill(first, SIGTERM);
    daemon_rest(1.0);
    double before = cpu_seconds(first);
    for (int i = 0; i < 8; i++) {
        late[i] = raw_open(port);
        ck_assert(raw_post(late[i], "", CALL_EXAMPLE));
    }
    daemon_rest(1.0);
    ck_assert_double_lt(cpu_seconds(first) - before, 0.3);
    ck_assert(raw_say(early, CALL_EXAMPLE));
    ck_assert_int_eq(raw_reply(early, text, sizeof text, 5), 200);
    wait_for_end(first, 0);
    pid_t second = hand_over(fd);
    for (int i = 0; i < 8; i++) {
        ck_assert_int_eq(raw_reply(late[i], text, sizeof text, 20), 200);
        close(late[i]);
    }
    kill(second, SIGTERM);
    wait_for_end(second, 0);
    close(early);
    close(fd);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        second_port_answers_health_and_metrics_only,
        service_manager_is_told_of_ready_watchdog_and_stopping,
        socket_that_is_handed_over_is_served,
        what_is_handed_over_and_does_not_listen_is_no_port,
        who_comes_while_one_daemon_ends_is_served_by_the_next,
        NULL
    };

    return suite_run("service", tests, NULL, NULL, 30);
}
