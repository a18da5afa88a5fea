/* SPDX-License-Identifier: MIT */
/*
 * test_guest.c - slow and silent peers.
 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
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

static void begin_upload(int fd)
{
    ck_assert(raw_say(fd, "POST /attention HTTP/1.1\r\nHost: x\r\n"
                      "Content-Length: 100000\r\n\r\n{\"Q\":"));
}

static void check_stopped_body(const char *const *arguments, double least_s)
{
    char text[4096];

    start(arguments);
    int fd = raw_open(d.port);
    double from = daemon_clock();

    begin_upload(fd);
    ck_assert_int_eq(raw_reply(fd, text, sizeof text, 5), 408);
    ck_assert_ptr_nonnull(strstr(text, "body_stalled"));
    ck_assert_double_ge(daemon_clock() - from, least_s);
    ck_assert(raw_closed(fd, 5));
    close(fd);
    daemon_stop(&d);
}

START_TEST(body_that_stops_is_408)
{
    const char *arguments[] = { "--min-rate-after", "0.5", NULL };

    check_stopped_body(arguments, 0.45);
}
END_TEST

START_TEST(body_that_stops_is_408_with_no_least_rate_too)
{
    const char *arguments[] = { "--min-rate", "0", "--idle-timeout", "1",
                                NULL };

    check_stopped_body(arguments, 0.95);
}
END_TEST

/* It goes on after all; its bytes are taken, and it reads why. */
START_TEST(body_that_stopped_for_too_long_is_told)
{
    const char *arguments[] = { "--min-rate-after", "0.3", NULL };
    char text[4096];

    start(arguments);
    int fd = raw_open(d.port);

    begin_upload(fd);
    ck_assert(metric_reaches(d.port, "attention_rejected_total{"
                             "reason=\"body_stalled\"}", 1, 10));
    memset(text, ' ', 100);
    for (int i = 0; i < 100; i++) {
        ck_assert_msg(raw_send(fd, text, 100), "block %d", i);
        daemon_rest(0.005);
    }
    ck_assert_int_eq(raw_reply(fd, text, sizeof text, 5), 408);
    close(fd);
    daemon_stop(&d);
}
END_TEST

START_TEST(body_that_trickles_is_408)
{
    const char *arguments[] = { "--min-rate-after", "0.5", NULL };
    char text[4096];

    start(arguments);
    int fd = raw_open(d.port);

    begin_upload(fd);
    for (int i = 0; i < 10 && raw_say(fd, " "); i++)
        daemon_rest(0.1);
    ck_assert_int_eq(raw_reply(fd, text, sizeof text, 5), 408);
    close(fd);
    daemon_stop(&d);
}
END_TEST

START_TEST(body_at_the_least_rate_is_read)
{
    const char *arguments[] = { "--min-rate-after", "1", "--min-rate",
                                "15", NULL };
    char text[4096];

    start(arguments);
    int fd = raw_open(d.port);

    snprintf(text, sizeof text, "POST /attention HTTP/1.1\r\nHost: x\r\n"
             "Content-Length: %zu\r\n\r\n", strlen(CALL_EXAMPLE));
    ck_assert(raw_say(fd, text));
    for (const char *c = CALL_EXAMPLE; *c != '\0'; c++) {
        ck_assert(raw_send(fd, c, 1));
        daemon_rest(0.015);
    }
    ck_assert_int_eq(raw_reply(fd, text, sizeof text, 5), 200);
    close(fd);
    daemon_stop(&d);
}
END_TEST

START_TEST(silent_connection_is_closed_after_the_header_timeout)
{
    const char *arguments[] = { "--header-timeout", "0.5", NULL };

    start(arguments);
    int silent = raw_open(d.port), slow = raw_open(d.port);

    ck_assert(raw_say(slow, "POST /attention HTTP/1.1\r\nHo"));
    ck_assert(raw_closed(silent, 8));
    ck_assert(raw_closed(slow, 8));
    close(silent);
    close(slow);
    daemon_stop(&d);
}
END_TEST

START_TEST(kept_connection_is_closed_after_the_idle_timeout_only)
{
    const char *arguments[] = { "--header-timeout", "0.3", "--idle-timeout",
                                "4", NULL };
    char text[4096];

    start(arguments);
    int fd = raw_open(d.port);

    ck_assert(raw_post(fd, "", CALL_EXAMPLE));
    ck_assert_int_eq(raw_reply(fd, text, sizeof text, 5), 200);
    daemon_rest(1.0);
    ck_assert(raw_post(fd, "", CALL_EXAMPLE));
    ck_assert_int_eq(raw_reply(fd, text, sizeof text, 5), 200);
    ck_assert(raw_closed(fd, 15));
    close(fd);
    daemon_stop(&d);
}
END_TEST

/* Byte by byte, within the idle time-out; silence would be allowed longer. */
START_TEST(next_headers_that_trickle_end_a_kept_connection)
{
    const char *arguments[] = { "--header-timeout", "0.4", NULL };
    char text[4096];

    start(arguments);
    int fd = raw_open(d.port), quick = raw_open(d.port);

    for (int i = 0; i < 2; i++) {
        ck_assert(raw_post(i == 0 ? fd : quick, "", CALL_EXAMPLE));
        ck_assert_int_eq(raw_reply(i == 0 ? fd : quick, text, sizeof text, 5),
                         200);
    }
    double from = daemon_clock();
    while (raw_say(fd, "G") && daemon_clock() < from + 4 * daemon_slack()) {
        ck_assert(raw_say(quick, "GET /livez HT"));
        daemon_rest(0.1);
        ck_assert(raw_say(quick, "TP/1.1\r\nHost: x\r\n\r\n"));
        ck_assert_int_eq(raw_reply(quick, text, sizeof text, 5), 200);
    }
    ck_assert_double_lt(daemon_clock(), from + 4 * daemon_slack());
    ck_assert_double_ge(daemon_clock(), from + 0.4);
    close(fd);
    close(quick);
    daemon_stop(&d);
}
END_TEST

/* Reads `pieces` at some pace, then no more. */
static void check_reader_is_cut(const char *const *arguments, int pieces)
{
    char *large = call_json(2500, 8, ""), text[65536];

    start(arguments);
    int fd = raw_open(d.port);

    ck_assert(raw_post(fd, "", large));
    for (int i = 0; i < pieces; i++) {
        ck_assert_int_ge(recv(fd, text, sizeof text, MSG_WAITALL), 0);
        daemon_rest(0.01);
    }
    ck_assert(metric_reaches(d.port, "attention_cancelled_total{"
                             "reason=\"gone_in_reply\"}", 1, 10));
    ck_assert_double_eq(metric(d.port, "attention_queue_depth"), 0);
    ck_assert_int_eq(raw_reply(fd, text, sizeof text, 5), 0);
    close(fd);
    free(large);
    daemon_stop(&d);
}

START_TEST(reader_that_stops_is_cut)
{
    const char *arguments[] = { "--min-rate-after", "0.7", "--min-rate",
                                "256KiB", NULL };

    check_reader_is_cut(arguments, 0);
}
END_TEST

START_TEST(reader_that_stops_is_cut_with_no_least_rate_too)
{
    const char *arguments[] = { "--min-rate", "0", "--idle-timeout", "1",
                                NULL };

    check_reader_is_cut(arguments, 0);
}
END_TEST

/* Megabytes a second at first buy no time later. */
START_TEST(fast_reader_that_stops_is_cut)
{
    const char *arguments[] = { "--min-rate-after", "0.7", "--min-rate",
                                "256KiB", NULL };

    check_reader_is_cut(arguments, 60);
}
END_TEST

/* Some 48 KiB a second, and the kernel tells the daemon of it in steps of 64
 * KiB or more, which take longer than the time of the least rate. */
START_TEST(reader_above_the_least_rate_gets_its_reply_whole)
{
    const char *arguments[] = { "--min-rate-after", "0.5", "--min-rate",
                                "16KiB", NULL };
    char *large = call_json(1500, 8, ""), *text = malloc(64 << 20);

    start(arguments);
    int fd = raw_open(d.port);

    ck_assert(raw_post(fd, "", large));
    for (int i = 0; i < 80; i++) {
        ck_assert_int_eq(recv(fd, text, 4915, MSG_WAITALL), 4915);
        daemon_rest(0.1);
    }
    ck_assert(raw_closed(fd, 0.0) == false);
    ck_assert_double_eq(metric(d.port, "attention_cancelled_total{"
                               "reason=\"gone_in_reply\"}"), 0);
    close(fd);
    free(text);
    free(large);
    daemon_stop(&d);
}
END_TEST

/* All of it lay in the kernel, and nobody else is to blame that it was not
 * read in time. */
START_TEST(frozen_daemon_accuses_nobody)
{
    const char *arguments[] = { "--min-rate-after", "0.5", "--header-timeout",
                                "0.5", NULL };
    char *body = call_json(400, 32, "\"return\":[\"lse\"]"), text[65536];
    char head[128];
    int fd[8];

    start(arguments);
    snprintf(head, sizeof head, "POST /attention HTTP/1.1\r\nHost: x\r\n"
             "Content-Length: %zu\r\n\r\n", strlen(body));
    for (int i = 0; i < 8; i++) {
        fd[i] = raw_open(d.port);
        ck_assert(i % 2 == 0 ? raw_say(fd[i], head)
                             : raw_send(fd[i], head, 30));
    }
    daemon_rest(0.2);
    kill(d.pid, SIGSTOP);
    for (int i = 0; i < 8; i++) {
        ck_assert(i % 2 == 0 || raw_say(fd[i], head + 30));
        ck_assert(raw_send(fd[i], body, 50000));
    }
    daemon_rest(1.5);
    kill(d.pid, SIGCONT);
    daemon_rest(0.3);
    for (int i = 0; i < 8; i++)
        ck_assert(raw_say(fd[i], body + 50000));
    for (int i = 0; i < 8; i++) {
        ck_assert_int_eq(raw_reply(fd[i], text, sizeof text, 20), 200);
        close(fd[i]);
    }
    free(body);
    daemon_stop(&d);
}
END_TEST

/* Headers and body in two writes, under Nagle's rule: unless the daemon
 * sends its acknowledgements at once, every request but the first waits for
 * one, 40 ms. */
START_TEST(headers_and_body_in_two_writes_do_not_wait)
{
    char text[4096], head[128];
    int waited = 0;

    start(NULL);
    int fd = raw_open(d.port);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 0 }, sizeof(int));
    snprintf(head, sizeof head, "POST /attention HTTP/1.1\r\nHost: x\r\n"
             "Content-Length: %zu\r\n\r\n", strlen(CALL_EXAMPLE));
    for (int i = 0; i < 40; i++) {
        double from = daemon_clock();
        ck_assert(raw_say(fd, head) && raw_say(fd, CALL_EXAMPLE));
        ck_assert_int_eq(raw_reply(fd, text, sizeof text, 5), 200);
        waited += daemon_clock() - from > 0.035;
    }
    ck_assert_int_lt(waited, 35);
    close(fd);
    daemon_stop(&d);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        body_that_stops_is_408,
        body_that_stops_is_408_with_no_least_rate_too,
        body_that_stopped_for_too_long_is_told,
        body_that_trickles_is_408,
        body_at_the_least_rate_is_read,
        silent_connection_is_closed_after_the_header_timeout,
        kept_connection_is_closed_after_the_idle_timeout_only,
        next_headers_that_trickle_end_a_kept_connection,
        reader_that_stops_is_cut,
        reader_that_stops_is_cut_with_no_least_rate_too,
        fast_reader_that_stops_is_cut,
        reader_above_the_least_rate_gets_its_reply_whole,
        frozen_daemon_accuses_nobody,
        headers_and_body_in_two_writes_do_not_wait,
        NULL
    };

    return suite_run("guest", tests, NULL, NULL, 60);
}
