/* SPDX-License-Identifier: MIT */
/*
 * test_slices.c - a body that takes long to be looked at, on one worker: it
 * neither holds up others nor goes on when nobody waits for it.
 */
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

#define DEPTH "attention_queue_depth"

static struct daemon d;
static char *blanks, *digits, *string, *medium;

/* Some tenths of a second of work; under a sanitizer, seconds. */
static char *filled(const char *front, char byte)
{
    size_t n = strlen(front), bytes = 192 << 20;
    if (daemon_slack() > 1)
        bytes /= 8;
    char *text = malloc(bytes + 1);

    ck_assert_ptr_nonnull(text);
    memcpy(text, front, n);
    memset(text + n, byte, bytes - n);
    text[bytes] = '\0';
    return text;
}

static void setup(void)
{
    const char *arguments[] = { "--threads", "1", "--log", "none",
                                "--body-bytes", "250000000", NULL };

    daemon_start(&d, arguments);
    blanks = filled("{", ' ');
    digits = filled("{\"Q\":[[1", '0');
    string = filled("{\"Q\":[[\"", 'x');
    medium = call_json(200, 32, "\"return\":[\"lse\"]");
}

static void teardown(void)
{
    free(blanks);
    free(digits);
    free(string);
    free(medium);
    daemon_stop(&d);
}

/* Sends it all, and waits until the worker has it. */
static int begin(const char *body)
{
    int fd = raw_open(d.port);

    ck_assert(raw_post(fd, "", body));
    ck_assert_msg(metric_reaches(d.port, DEPTH, 1, 10), "not in the queue");
    return fd;
}

static bool is_answered(int fd)
{
    char byte;

    return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

START_TEST(another_request_is_answered_first)
{
    const char *bodies[] = { blanks, digits, string };
    char text[4096];

    for (int i = 0; i < 3; i++) {
        int fd = begin(bodies[i]);
        struct http_reply r = http_post(d.port, medium);

        ck_assert_msg(!is_answered(fd), "%.9s... was not held up", bodies[i]);
        ck_assert_int_eq(r.status, 200);
        ck_assert_int_eq(raw_reply(fd, text, sizeof text, 60), 400);
        ck_assert_ptr_nonnull(strstr(text, "the text ends too early"));
        http_free(&r);
        close(fd);
    }
}
END_TEST

START_TEST(work_ends_when_the_client_is_gone)
{
    char text[4096];
    int fd = begin(string);
    double start = daemon_clock();

    ck_assert_int_eq(raw_reply(fd, text, sizeof text, 60), 400);
    double whole = daemon_clock() - start;
    close(fd);

    fd = begin(string);
    start = daemon_clock();
    raw_reset(fd);
    while (metric(d.port, DEPTH) > 0 && daemon_clock() - start < 60)
        daemon_rest(0.002);
    ck_assert_double_lt(daemon_clock() - start, 0.7 * whole);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        another_request_is_answered_first,
        work_ends_when_the_client_is_gone,
        NULL
    };

    return suite_run("slices", tests, setup, teardown, 120);
}
