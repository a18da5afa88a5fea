/* SPDX-License-Identifier: MIT */
/*
 * test_load.c - more work than there are workers: fairness, deadlines, bounds.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "call.h"
#include "daemon.h"
#include "http.h"
#include "metric.h"
#include "raw.h"
#include "suite.h"

#define DEPTH "attention_queue_depth"
#define WAITED "attention_queue_wait_seconds_count"

static struct daemon d;
static char *huge, *giant, *medium, *small;

static void setup(void)
{
    const char *arguments[] = { "--threads", "2", "--queue", "4",
                                "--log", "none", "--min-rate", "0", NULL };

    daemon_start(&d, arguments);
    huge = call_slow();
    giant = call_heads(12000, 8, 8,
                       "\"return\":[\"lse\"],\"softcap\":5");
    medium = call_json(200, 32, "\"return\":[\"lse\"]");
    small = call_json(16, 64, "");
}

static void teardown(void)
{
    free(huge);
    free(giant);
    free(medium);
    free(small);
    daemon_stop(&d);
}

static int begin(const char *headers, const char *body)
{
    int fd = raw_open(d.port);

    ck_assert(raw_post(fd, headers, body));
    return fd;
}

static void wait_for_depth(double depth)
{
    ck_assert_msg(metric_reaches(d.port, DEPTH, depth, 10),
                  "the queue stays below %.0f", depth);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Times of `count` requests of `body`, sorted. */
static void times_of(const char *body, double *seconds, int count)
{
    for (int i = 0; i < count; i++) {
        struct http_reply r = http_post(d.port, body);

        ck_assert_int_eq(r.status, 200);
        seconds[i] = r.seconds;
        http_free(&r);
    }
    qsort(seconds, (size_t)count, sizeof *seconds, by_size);
}

START_TEST(small_requests_beside_a_giant_take_milliseconds)
{
    double inline_s[40], queued_s[40];
    char text[65536];
    int fd = begin("", giant);

    wait_for_depth(1);
    times_of(small, inline_s, 40);
    times_of(medium, queued_s, 40);
    ck_assert_double_eq(metric(d.port, DEPTH), 1);
    ck_assert_double_lt(inline_s[10], 0.1 * daemon_slack());
    ck_assert_double_lt(queued_s[10], 0.4 * daemon_slack());
    ck_assert_int_eq(raw_reply(fd, text, sizeof text, 60), 200);
    close(fd);
}
END_TEST

/* Rows of one number, and at their end one without a row: 62500 of them are
 * read, checked and explained. */
START_TEST(short_text_that_takes_long_goes_to_the_workers)
{
    enum { ROWS = 62500 };
    char *body = malloc(4 * ROWS + 64), *at = body;
    struct http_reply r;

    at = stpcpy(at, "{\"Q\":[");
    for (int i = 0; i < ROWS; i++)
        at = stpcpy(at, "[1],");
    stpcpy(at, "2],\"K\":[[1]],\"V\":[[1]]}");
    r = http_post(d.port, body);
    ck_assert_int_eq(r.status, 422);
    ck_assert_double_eq(metric(d.port, WAITED), 1);
    http_free(&r);
    free(body);
}
END_TEST

START_TEST(health_answers_at_once_with_every_worker_busy)
{
    double seconds[100];
    int fd[4];

    for (int i = 0; i < 4; i++)
        fd[i] = begin("", giant);
    wait_for_depth(4);
    for (int i = 0; i < 100; i++) {
        struct http_reply r = http_get(d.port, "/livez");

        ck_assert_int_eq(r.status, 200);
        seconds[i] = r.seconds;
        http_free(&r);
    }
    qsort(seconds, 100, sizeof *seconds, by_size);
    ck_assert_double_lt(seconds[50], 0.3 * daemon_slack());
    for (int i = 0; i < 4; i++)
        raw_reset(fd[i]);
}
END_TEST

START_TEST(full_queue_is_503_with_retry_after_and_stays_ready)
{
    char value[256];
    int fd[4];
    struct http_reply r;

    for (int i = 0; i < 4; i++)
        fd[i] = begin("", giant);
    wait_for_depth(4);
    r = http_post(d.port, medium);
    ck_assert_int_eq(r.status, 503);
    ck_assert_ptr_nonnull(strstr(r.body, "\"code\":\"queue_full\""));
    ck_assert_int_ge(atoi(http_header(&r, "Retry-After", value)), 1);
    http_free(&r);
    r = http_get(d.port, "/readyz");
    ck_assert_int_eq(r.status, 200);
    http_free(&r);
    for (int i = 0; i < 4; i++)
        raw_reset(fd[i]);
}
END_TEST

START_TEST(deadline_passes_in_the_work)
{
    const char *headers[] = { "Request-Timeout: 0.2", NULL };
    struct http_reply r;

    http_request(d.port, "POST", "/attention", headers, huge, strlen(huge),
                 &r);
    ck_assert_int_eq(r.status, 504);
    ck_assert_ptr_nonnull(strstr(r.body, "deadline_exceeded"));
    ck_assert_double_ge(r.seconds, 0.19);
    ck_assert_double_lt(r.seconds, 3.0 * daemon_slack());
    http_free(&r);
    ck_assert_double_eq(metric(d.port, DEPTH), 0);
}
END_TEST

/* Both workers are busy with others, each of whose tasks is short: the 504
 * of a request that nobody works on comes on time too. */
START_TEST(deadline_passes_on_time_beside_others)
{
    int fd[3];
    char text[4096];
    double start;

    for (int i = 0; i < 2; i++)
        fd[i] = begin("", giant);
    wait_for_depth(2);
    start = daemon_clock();
    fd[2] = begin("Request-Timeout: 0.3\r\n", huge);
    ck_assert_int_eq(raw_reply(fd[2], text, sizeof text, 10), 504);
    ck_assert_double_lt(daemon_clock() - start, 3.0 * daemon_slack());
    for (int i = 0; i < 3; i++)
        raw_reset(fd[i]);
}
END_TEST

/* The body never becomes complete, and the rate would be allowed. */
START_TEST(deadline_passes_in_the_upload)
{
    char text[4096];
    int fd = raw_open(d.port);
    double start = daemon_clock();

    ck_assert(raw_say(fd, "POST /attention HTTP/1.1\r\nHost: x\r\n"
                      "Request-Timeout: 0.2\r\nContent-Length: 40000\r\n"
                      "\r\n"));
    memset(text, ' ', sizeof text);
    ck_assert(raw_send(fd, text, sizeof text));
    ck_assert_int_eq(raw_reply(fd, text, sizeof text, 5), 504);
    ck_assert_double_ge(daemon_clock() - start, 0.2);
    ck_assert_ptr_nonnull(strstr(text, "deadline_exceeded"));
    close(fd);
}
END_TEST

/* Whoever goes on sending reads why nobody listens any more. */
START_TEST(deadline_that_passes_while_the_body_comes_is_told)
{
    char text[4096];
    int fd = raw_open(d.port);

    ck_assert(raw_say(fd, "POST /attention HTTP/1.1\r\nHost: x\r\n"
                      "Request-Timeout: 0.2\r\nContent-Length: 1000000\r\n"
                      "\r\n"));
    memset(text, ' ', sizeof text);
    for (int i = 0; i < 60; i++) {
        raw_send(fd, text, sizeof text);
        daemon_rest(0.01);
    }
    ck_assert_int_eq(raw_reply(fd, text, sizeof text, 5), 504);
    close(fd);
}
END_TEST

/* Silent until it is given up, then it goes on: its bytes are taken, and it
 * reads why. */
START_TEST(deadline_of_an_upload_that_was_silent_is_told)
{
    char text[4096];
    int fd = raw_open(d.port);

    ck_assert(raw_say(fd, "POST /attention HTTP/1.1\r\nHost: x\r\n"
                      "Request-Timeout: 0.1\r\nContent-Length: 1000000\r\n"
                      "\r\n"));
    ck_assert(metric_reaches(d.port, "attention_cancelled_total{"
                             "reason=\"deadline\"}", 1, 10));
    memset(text, ' ', sizeof text);
    for (int i = 0; i < 100; i++) {
        ck_assert_msg(raw_send(fd, text, sizeof text), "block %d", i);
        daemon_rest(0.005);
    }
    ck_assert_int_eq(raw_reply(fd, text, sizeof text, 5), 504);
    ck_assert(raw_closed(fd, 5));
    close(fd);
}
END_TEST

START_TEST(deadline_that_holds_changes_nothing)
{
    const char *headers[] = { "Request-Timeout: 30", NULL };
    struct http_reply r;

    http_request(d.port, "POST", "/attention", headers, medium,
                 strlen(medium), &r);
    ck_assert_int_eq(r.status, 200);
    http_free(&r);
}
END_TEST

/* No last chunk, and no more bytes. */
START_TEST(deadline_cuts_a_streamed_reply_visibly)
{
    char *large = call_json(2500, 8, ""), text[4096], timeout[64];
    int fd;

    snprintf(timeout, sizeof timeout, "Request-Timeout: %.1f\r\n",
             2.5 * daemon_slack());
    fd = begin(timeout, large);
    ck_assert(metric_reaches(d.port, "attention_cancelled_total{"
                             "reason=\"deadline\"}", 1, 10));
    ck_assert_int_eq(raw_reply(fd, text, sizeof text, 5), 0);
    ck_assert_ptr_nonnull(strstr(text, "HTTP/1.1 200"));
    ck_assert_ptr_nonnull(strstr(text, "{\"output\":"));
    ck_assert(raw_closed(fd, 5));
    ck_assert_double_eq(metric(d.port, DEPTH), 0);
    close(fd);
    free(large);
}
END_TEST

/* In HTTP/1.0 the end of the connection is that of the reply: only a reset
 * tells a proxy that it is not whole. */
START_TEST(deadline_cuts_a_streamed_reply_of_http_1_0_by_a_reset)
{
    char *large = call_json(2500, 8, ""), text[65536];
    int fd = raw_open(d.port);
    ssize_t n;

    snprintf(text, sizeof text, "POST /attention HTTP/1.0\r\nHost: x\r\n"
             "Request-Timeout: %.1f\r\nContent-Length: %zu\r\n\r\n",
             2.5 * daemon_slack(), strlen(large));
    ck_assert(raw_say(fd, text) && raw_say(fd, large));
    ck_assert(metric_reaches(d.port, "attention_cancelled_total{"
                             "reason=\"deadline\"}", 1, 10));
    do
        n = recv(fd, text, sizeof text, 0);
    while (n > 0);
    ck_assert_int_eq((int)n, -1);
    ck_assert_int_eq(errno, ECONNRESET);
    close(fd);
    free(large);
}
END_TEST

/* Stops the daemon's I/O threads, and them alone; how many. */
static int hold_io(pid_t thread[16])
{
    char path[64], name[32];
    int n = 0;

    snprintf(path, sizeof path, "/proc/%d/task", (int)d.pid);
    DIR *tasks = opendir(path);
    for (struct dirent *e; (e = readdir(tasks)) != NULL && n < 16;) {
        snprintf(path, sizeof path, "/proc/%d/task/%.10s/comm", (int)d.pid,
                 e->d_name);
        FILE *comm = fopen(path, "r");
        bool io = comm != NULL && fgets(name, sizeof name, comm) != NULL
            && strncmp(name, "MHD", 3) == 0;

        if (comm != NULL)
            fclose(comm);
        if (!io)
            continue;
        thread[n] = atoi(e->d_name);
        ck_assert_int_eq(ptrace(PTRACE_SEIZE, thread[n], 0, 0), 0);
        ck_assert_int_eq(ptrace(PTRACE_INTERRUPT, thread[n], 0, 0), 0);
        ck_assert_int_eq(waitpid(thread[n], NULL, __WALL), thread[n]);
        n++;
    }
    closedir(tasks);
    return n;
}

/* Its first piece is ready in time, but its thread is not. */
START_TEST(deadline_that_passes_before_a_streamed_reply_begins_is_told)
{
    char *large = call_additive(2500, "A"), text[4096], timeout[64];
    pid_t thread[16];
    int fd, threads;

    snprintf(timeout, sizeof timeout, "Request-Timeout: %.1f\r\n",
             2.0 * daemon_slack());
    fd = begin(timeout, large);
    daemon_rest(0.02);
    threads = hold_io(thread);
    daemon_rest(2.5 * daemon_slack());
    while (threads-- > 0)
        ck_assert_int_eq(ptrace(PTRACE_DETACH, thread[threads], 0, 0), 0);
    ck_assert_int_eq(raw_reply(fd, text, sizeof text, 5), 504);
    ck_assert_ptr_nonnull(strstr(text, "deadline_exceeded"));
    close(fd);
    free(large);
}
END_TEST

/* The reader stops in the middle; nothing else is held up, and when it goes
 * on the reply is whole. */
START_TEST(slow_reader_costs_no_worker)
{
    char *large = call_json(1500, 8, ""), *text = malloc(64 << 20);
    double seconds = 0.0;
    int fd[3];

    for (int i = 0; i < 3; i++)
        fd[i] = begin("", large);
    daemon_rest(1.0);
    for (int i = 0; i < 5; i++) {
        struct http_reply r = http_post(d.port, medium);

        ck_assert_int_eq(r.status, 200);
        seconds += r.seconds;
        http_free(&r);
    }
    ck_assert_double_lt(seconds, 5.0 * daemon_slack());
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(raw_reply(fd[i], text, 64 << 20, 30), 200);
        ck_assert_str_eq(text + strlen(text) - 4, "]]}\n");
        close(fd[i]);
    }
    free(text);
    free(large);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        small_requests_beside_a_giant_take_milliseconds,
        short_text_that_takes_long_goes_to_the_workers,
        health_answers_at_once_with_every_worker_busy,
        full_queue_is_503_with_retry_after_and_stays_ready,
        deadline_passes_in_the_work,
        deadline_passes_on_time_beside_others,
        deadline_passes_in_the_upload,
        deadline_that_passes_while_the_body_comes_is_told,
        deadline_of_an_upload_that_was_silent_is_told,
        deadline_that_holds_changes_nothing,
        deadline_that_passes_before_a_streamed_reply_begins_is_told,
        deadline_cuts_a_streamed_reply_visibly,
        deadline_cuts_a_streamed_reply_of_http_1_0_by_a_reset,
        slow_reader_costs_no_worker,
        NULL
    };

    return suite_run("load", tests, setup, teardown, 120);
}
