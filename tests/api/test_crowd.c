/* SPDX-License-Identifier: MIT */
/*
 * test_crowd.c - too many peers, and many at once.
 */
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "call.h"
#include "daemon.h"
#include "http.h"
#include "metric.h"
#include "raw.h"
#include "suite.h"

static struct daemon d;

static void start(const char *const *arguments)
{
    daemon_start(&d, arguments);
}

static bool is_served_within(double seconds)
{
    double until = daemon_clock() + seconds * daemon_slack();
    bool served = false;

    while (!served && daemon_clock() < until) {
        struct http_reply r = http_post(d.port, CALL_EXAMPLE);

        served = r.status == 200;
        http_free(&r);
    }
    return served;
}

static int post_on(int fd)
{
    char text[4096];

    return raw_post(fd, "", CALL_EXAMPLE)
        ? raw_reply(fd, text, sizeof text, 5) : 0;
}

/* Whoever has a request in hand does not go for others, however many come. */
START_TEST(connections_above_the_limit_get_503_but_health)
{
    const char *arguments[] = { "--connections", "5", NULL };
    char text[4096], head[128];
    int fd[5], silent[60], last;

    start(arguments);
    snprintf(head, sizeof head, "POST /attention HTTP/1.1\r\nHost: x\r\n"
             "Content-Length: %zu\r\n\r\n", strlen(CALL_EXAMPLE));
    for (int i = 0; i < 5; i++) {
        fd[i] = raw_open(d.port);
        ck_assert(raw_say(fd[i], head));
    }
    ck_assert(metric_reaches(d.port, "attention_inflight_requests", 5, 5));
    last = raw_open(d.port);
    ck_assert(raw_post(last, "", CALL_EXAMPLE));
    ck_assert_int_eq(raw_reply(last, text, sizeof text, 5), 503);
    ck_assert_ptr_nonnull(strstr(text, "too_many_connections"));
    ck_assert_ptr_nonnull(strstr(text, "than are served: 5 (--connections)"));
    ck_assert_ptr_nonnull(strcasestr(text, "Retry-After:"));
    ck_assert(raw_closed(last, 5));
    for (int i = 0; i < 60; i++)
        silent[i] = raw_open(d.port);
    struct http_reply r = http_get(d.port, "/livez");
    ck_assert_int_eq(r.status, 200);
    http_free(&r);
    for (int i = 0; i < 5; i++) {
        ck_assert(raw_say(fd[i], CALL_EXAMPLE));
        ck_assert_int_eq(raw_reply(fd[i], text, sizeof text, 5), 200);
        close(fd[i]);
    }
    for (int i = 0; i < 60; i++)
        close(silent[i]);
    close(last);
    ck_assert(is_served_within(5));
    daemon_stop(&d);
}
END_TEST

/* On a single I/O thread the order of the replies is that of the rests. */
START_TEST(longest_idle_connection_goes_for_a_new_one)
{
    const char *arguments[] = { "--connections", "3", "--io-threads", "1",
                                NULL };
    int fd[3], last;

    start(arguments);
    for (int i = 0; i < 3; i++) {
        fd[i] = raw_open(d.port);
        ck_assert_int_eq(post_on(fd[i]), 200);
    }
    ck_assert_int_eq(post_on(fd[0]), 200);
    last = raw_open(d.port);
    ck_assert_int_eq(post_on(last), 200);
    ck_assert(raw_closed(fd[1], 5));
    ck_assert_int_eq(post_on(fd[2]), 200);
    ck_assert_int_eq(post_on(fd[0]), 200);
    ck_assert_int_eq(post_on(last), 200);
    for (int i = 0; i < 3; i++)
        close(fd[i]);
    close(last);
    daemon_stop(&d);
}
END_TEST

/* A kept one first, then of the silent ones the oldest; one that has begun to
 * send stays. */
START_TEST(silent_connections_go_by_their_age)
{
    const char *arguments[] = { "--connections", "4", NULL };
    int fd[12], begun;

    start(arguments);
    begun = raw_open(d.port);
    ck_assert(raw_say(begun, "GET /livez HT"));
    daemon_rest(0.1);
    for (int i = 0; i < 12; i++)
        fd[i] = raw_open(d.port);
    for (int i = 0; i < 9; i++)
        ck_assert_msg(raw_closed(fd[i], 5), "%d stays", i);
    for (int i = 9; i < 12; i++)
        ck_assert_msg(post_on(fd[i]) == 200, "%d is gone", i);
    char text[4096];
    ck_assert(raw_say(begun, "TP/1.1\r\nHost: x\r\n\r\n"));
    ck_assert_int_eq(raw_reply(begun, text, sizeof text, 5), 200);
    for (int i = 0; i < 12; i++)
        close(fd[i]);
    close(begun);
    daemon_stop(&d);
}
END_TEST

/* Once of five times at least, for this machine may have other work to do. */
START_TEST(probe_is_answered_at_once_beside_3000_silent_connections)
{
    const char *arguments[] = { "--connections", "50", NULL };
    struct rlimit most;
    static int fd[3000];
    double best = 1e9;

    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &most), 0);
    most.rlim_cur = most.rlim_max;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &most), 0);
    start(arguments);
    for (int n = 0; n < 5 && best > 0.1 * daemon_slack(); n++) {
        for (int i = 0; i < 3000; i++)
            fd[i] = raw_open(d.port);
        struct http_reply r = http_get(d.port, "/livez");
        ck_assert_int_eq(r.status, 200);
        best = r.seconds < best ? r.seconds : best;
        http_free(&r);
        for (int i = 0; i < 3000; i++)
            close(fd[i]);
    }
    ck_assert_double_le(best, 0.1 * daemon_slack());
    daemon_stop(&d);
}
END_TEST

START_TEST(address_above_its_limit_gets_503)
{
    const char *arguments[] = { "--connections-per-address", "2", NULL };
    char text[4096];
    int fd[3];

    start(arguments);
    for (int i = 0; i < 3; i++) {
        fd[i] = raw_open(d.port);
        ck_assert(raw_post(fd[i], "", CALL_EXAMPLE));
        ck_assert_int_eq(raw_reply(fd[i], text, sizeof text, 5),
                         i < 2 ? 200 : 503);
    }
    for (int i = 0; i < 3; i++)
        close(fd[i]);
    daemon_stop(&d);
}
END_TEST

START_TEST(address_above_its_rate_gets_429)
{
    const char *arguments[] = { "--rate", "2", NULL };
    int answered = 0, refused = 0;
    char value[256];

    start(arguments);
    for (int i = 0; i < 40; i++) {
        struct http_reply r = http_post(d.port, CALL_EXAMPLE);

        answered += r.status == 200;
        refused += r.status == 429;
        if (r.status == 429)
            ck_assert_int_ge(atoi(http_header(&r, "Retry-After", value)), 1);
        http_free(&r);
    }
    ck_assert_int_ge(answered, 2);
    ck_assert_int_eq(answered + refused, 40);
    ck_assert_int_gt(refused, 0);
    struct http_reply r = http_get(d.port, "/livez");
    ck_assert_int_eq(r.status, 200);
    http_free(&r);
    daemon_stop(&d);
}
END_TEST

static int post_from(const char *address, int *fd)
{
    char text[4096];

    *fd = raw_open_from(address, d.port);
    ck_assert(raw_post(*fd, "", CALL_EXAMPLE));
    return raw_reply(*fd, text, sizeof text, 5);
}

/* Addresses that a hash of 16 bits took for one. */
START_TEST(address_is_not_limited_by_what_another_does)
{
    static const char *const pairs[][2] = {
        { "127.0.0.190", "127.0.0.213" }, { "127.0.1.236", "127.0.2.2" },
        { "127.0.0.185", "127.0.2.214" }
    };
    const char *arguments[] = { "--connections-per-address", "1",
                                "--rate", "0.01", NULL };
    int fd[3];

    start(arguments);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(post_from(pairs[i][0], &fd[0]), 200);
        ck_assert_int_eq(post_from(pairs[i][0], &fd[1]), 503);
        ck_assert_int_eq(post_from(pairs[i][1], &fd[2]), 200);
        for (int k = 0; k < 3; k++)
            close(fd[k]);
    }
    daemon_stop(&d);
}
END_TEST

static int post_for(const char *address, const char *lines)
{
    char text[4096];
    int fd = raw_open_from(address, d.port);

    ck_assert(raw_post(fd, lines, CALL_EXAMPLE));
    int status = raw_reply(fd, text, sizeof text, 5);
    close(fd);
    return status;
}

#define FOR(address) "X-Forwarded-For: " address "\r\n"

/* One request from each, for limits and log alike. */
START_TEST(trusted_proxy_tells_whose_request_it_is)
{
    const char *arguments[] = { "--rate", "0.01", "--trusted-proxy",
                                "127.0.0.8/30,127.0.1.1", NULL };

    start(arguments);
    ck_assert_int_eq(post_for("127.0.0.9", FOR("192.0.2.1")), 200);
    ck_assert_int_eq(post_for("127.0.1.1", FOR("192.0.2.1")), 429);
    ck_assert_int_eq(post_for("127.0.0.9", FOR("192.0.2.2")), 200);
    ck_assert_int_eq(post_for("127.0.0.9", FOR("192.0.2.3, 192.0.2.2")), 429);
    ck_assert_int_eq(post_for("127.0.0.9", FOR("192.0.2.3")
                              FOR("2001:db8::1, 127.0.1.1")), 200);
    ck_assert_int_eq(post_for("127.0.0.9", FOR("[2001:db8::2]:80")), 429);
    ck_assert_int_eq(post_for("127.0.0.9", FOR("nobody")), 200);
    ck_assert_int_eq(post_for("127.0.0.9", ""), 429);
    ck_assert_int_eq(post_for("127.0.0.12", FOR("192.0.2.4")), 200);
    ck_assert_int_eq(post_for("127.0.0.12", FOR("192.0.2.5")), 429);
    ck_assert(daemon_says(d.out, "peer=192.0.2.1 ", 5));
    ck_assert(daemon_says(d.out, "peer=2001:db8::1 ", 5));
    ck_assert(daemon_says(d.out, "peer=127.0.0.9 ", 5));
    ck_assert(daemon_says(d.out, "peer=127.0.0.12 ", 5));
    daemon_stop(&d);
}
END_TEST

START_TEST(trusted_proxy_may_have_any_number_of_connections)
{
    const char *arguments[] = { "--connections-per-address", "1",
                                "--trusted-proxy", "127.0.0.9", NULL };
    int fd[3];

    start(arguments);
    ck_assert_int_eq(post_from("127.0.0.9", &fd[0]), 200);
    ck_assert_int_eq(post_from("127.0.0.9", &fd[1]), 200);
    ck_assert_int_eq(post_from("127.0.0.9", &fd[2]), 200);
    for (int i = 0; i < 3; i++)
        close(fd[i]);
    daemon_stop(&d);
}
END_TEST

START_TEST(thousand_idle_connections_hold_nobody_up)
{
    static int fd[1000];
    double seconds = 0.0;

    start(NULL);
    for (int i = 0; i < 1000; i++)
        fd[i] = raw_open(d.port);
    for (int i = 0; i < 20; i++) {
        struct http_reply r = http_post(d.port, CALL_EXAMPLE);

        ck_assert_int_eq(r.status, 200);
        seconds += r.seconds;
        http_free(&r);
    }
    ck_assert_double_lt(seconds, 10.0 * daemon_slack());
    for (int i = 0; i < 1000; i++)
        close(fd[i]);
    daemon_stop(&d);
}
END_TEST

/* Seconds of CPU time of a process or a thread, by its file in /proc. */
static double cpu_seconds(const char *stat)
{
    long user = 0, system = 0;
    char *text = daemon_said(stat), *at = strrchr(text, ')');

    ck_assert_int_eq(sscanf(at, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u "
                            "%*u %ld %ld", &user, &system), 2);
    free(text);
    return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

static double cpu_seconds_of_a_while(void)
{
    char stat[64];

    snprintf(stat, sizeof stat, "/proc/%d/stat", (int)d.pid);
    double before = cpu_seconds(stat);
    daemon_rest(0.7);
    return cpu_seconds(stat) - before;
}

/* Threads of the HTTP library that have used some CPU time. */
static int io_threads_that_worked(void)
{
    char pattern[64];
    glob_t found;
    int count = 0;

    snprintf(pattern, sizeof pattern, "/proc/%d/task/*/stat", (int)d.pid);
    ck_assert_int_eq(glob(pattern, 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        char *text = daemon_said(found.gl_pathv[i]);

        count += strstr(text, "(MHD-") != NULL
            && cpu_seconds(found.gl_pathv[i]) >= 0.02;
        free(text);
    }
    globfree(&found);
    return count;
}

START_TEST(connections_are_shared_out_among_the_io_threads)
{
    char text[65536], *body = call_json(64, 16, "\"return\":[\"lse\"]");
    int fd[8];

    start(NULL);
    for (int i = 0; i < 8; i++)
        fd[i] = raw_open(d.port);
    for (int i = 0; i < 1600; i++) {
        ck_assert(raw_post(fd[i % 8], "", body));
        ck_assert_int_eq(raw_reply(fd[i % 8], text, sizeof text, 5), 200);
    }
    ck_assert_int_eq(io_threads_that_worked(), 2);
    for (int i = 0; i < 8; i++)
        close(fd[i]);
    free(body);
    daemon_stop(&d);
}
END_TEST

START_TEST(guests_beyond_all_limits_wait_without_spinning)
{
    const char *arguments[] = { "--connections", "1", NULL };
    int fd[100];

    start(arguments);
    for (int i = 0; i < 100; i++)
        fd[i] = raw_open(d.port);
    ck_assert_double_lt(cpu_seconds_of_a_while(), 0.2 * daemon_slack());
    for (int i = 0; i < 100; i++)
        close(fd[i]);
    struct http_reply r = http_get(d.port, "/livez");
    ck_assert_int_eq(r.status, 200);
    http_free(&r);
    daemon_stop(&d);
}
END_TEST

static void come_all_at_once(int guests)
{
    int fd[64];

    kill(d.pid, SIGSTOP);
    for (int i = 0; i < guests; i++)
        fd[i] = raw_open(d.port);
    kill(d.pid, SIGCONT);
    daemon_rest(0.02);
    for (int i = 0; i < guests; i++)
        close(fd[i]);
    struct http_reply r = http_get(d.port, "/livez");
    ck_assert_int_eq(r.status, 200);
    http_free(&r);
}

/* Connections are shared out by their descriptors, so their numbers on two
 * threads differ by one, and a second door shifts them. */
START_TEST(as_many_guests_as_there_may_be_can_come_at_once)
{
    const char *const arguments[][5] = {
        { "--connections", "1", NULL },
        { "--connections", "1", "--admin-port", "0", NULL }
    };

    for (int doors = 0; doors < 2; doors++) {
        start(arguments[doors]);
        for (int round = 0; round < 10; round++)
            come_all_at_once(22);
        daemon_stop(&d);
    }
}
END_TEST

START_TEST(wanting_descriptors_are_waited_for_without_spinning)
{
    struct rlimit none = { 0, 0 }, usual;
    int fd[20];

    start(NULL);
    ck_assert_int_eq(prlimit(d.pid, RLIMIT_NOFILE, NULL, &usual), 0);
    none.rlim_max = usual.rlim_max;
    ck_assert_int_eq(prlimit(d.pid, RLIMIT_NOFILE, &none, NULL), 0);
    for (int i = 0; i < 20; i++)
        fd[i] = raw_open(d.port);
    ck_assert_double_lt(cpu_seconds_of_a_while(), 0.2 * daemon_slack());
    ck_assert_int_eq(prlimit(d.pid, RLIMIT_NOFILE, &usual, NULL), 0);
    struct http_reply r = http_post(d.port, CALL_EXAMPLE);
    ck_assert_int_eq(r.status, 200);
    http_free(&r);
    for (int i = 0; i < 20; i++)
        close(fd[i]);
    daemon_stop(&d);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        connections_above_the_limit_get_503_but_health,
        longest_idle_connection_goes_for_a_new_one,
        silent_connections_go_by_their_age,
        probe_is_answered_at_once_beside_3000_silent_connections,
        address_above_its_limit_gets_503,
        address_above_its_rate_gets_429,
        address_is_not_limited_by_what_another_does,
        trusted_proxy_tells_whose_request_it_is,
        trusted_proxy_may_have_any_number_of_connections,
        thousand_idle_connections_hold_nobody_up,
        connections_are_shared_out_among_the_io_threads,
        guests_beyond_all_limits_wait_without_spinning,
        as_many_guests_as_there_may_be_can_come_at_once,
        wanting_descriptors_are_waited_for_without_spinning,
        NULL
    };

    return suite_run("crowd", tests, NULL, NULL, 60);
}
