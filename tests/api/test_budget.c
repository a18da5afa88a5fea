/* SPDX-License-Identifier: MIT */
/*
 * test_budget.c - memory is taken for what came, not for what was announced,
 * connections are counted, and the last of it is kept for health, metrics and
 * facts.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "call.h"
#include "daemon.h"
#include "http.h"
#include "metric.h"
#include "raw.h"
#include "suite.h"

#define HELD "attention_memory_used_bytes"
#define BUDGET "attention_memory_budget_bytes"
#define MANY 100

static struct daemon d;
static int fd[MANY];

static void start(const char *flag, const char *value, const char *memory)
{
    const char *arguments[] = { "--log", "none", "--memory-bytes", memory,
                                flag, value, NULL };

    daemon_start(&d, arguments);
}

static int get(const char *path)
{
    struct http_reply r = http_get(d.port, path);
    int status = r.status;

    http_free(&r);
    return status;
}

static void assert_post(int status, const char *word)
{
    struct http_reply r = http_post(d.port, CALL_EXAMPLE);

    ck_assert_msg(r.status == status, "%d %.300s", r.status, r.body);
    ck_assert_ptr_nonnull(strstr(r.body, word));
    http_free(&r);
}

/* Uploads that announce so many bytes and send n of them. */
static void announce(int count, long bytes, size_t n)
{
    char head[128], *body = malloc(n + 1);

    memset(body, ' ', n);
    snprintf(head, sizeof head, "POST /attention HTTP/1.1\r\nHost: x\r\n"
             "Content-Length: %ld\r\n\r\n", bytes);
    for (int i = 0; i < count; i++) {
        fd[i] = raw_open(d.port);
        ck_assert(raw_say(fd[i], head));
        ck_assert(raw_send(fd[i], body, n));
    }
    free(body);
    daemon_rest(0.5);
}

static void leave(int count)
{
    for (int i = 0; i < count; i++)
        raw_reset(fd[i]);
    daemon_stop(&d);
}

START_TEST(promises_take_no_memory)
{
    start("--connections", "200", "16MiB");
    announce(MANY, 262000, 0);
    assert_post(200, "output");
    ck_assert_double_lt(metric(d.port, HELD), (MANY + 8) * 65536.0);
    leave(MANY);
}
END_TEST

START_TEST(memory_is_taken_for_what_came)
{
    start("--connections", "200", "64MiB");
    announce(40, 1 << 20, 100000);
    ck_assert(metric_reaches(d.port, HELD, 40 * (65536 + 100000.0), 10));
    ck_assert_double_lt(metric(d.port, HELD), 40 * (65536 + 250000.0));
    assert_post(200, "output");
    leave(40);
}
END_TEST

/* 60 connections are all that a budget of 4 MiB has for work. */
START_TEST(last_sixteenth_is_for_health_metrics_and_facts_alone)
{
    start("--connections", "200", "4MiB");
    announce(80, 1000, 0);
    for (int i = 0; i < 3; i++) {
        assert_post(503, "memory_busy");
        ck_assert_int_eq(get("/metrics"), 200);
        ck_assert_int_eq(get("/info"), 200);
        ck_assert_int_eq(get("/livez"), 200);
        ck_assert_int_eq(get("/readyz"), 200);
        ck_assert_int_eq(get("/none"), 404);
    }
    leave(80);
}
END_TEST

START_TEST(work_never_takes_the_last_sixteenth)
{
    start("--connections", "200", "16MiB");
    announce(MANY, 1 << 20, 250000);
    ck_assert_int_eq(get("/metrics"), 200);
    ck_assert_double_le(metric(d.port, HELD),
                        metric(d.port, BUDGET) * 15 / 16 + 200000);
    leave(MANY);
}
END_TEST

static void assert_limit(const char *flag, const char *value,
                         const char *memory, const char *limit)
{
    start(flag, value, memory);
    struct http_reply r = http_get(d.port, "/info");
    ck_assert_msg(strstr(r.body, limit) != NULL, "%s", r.body);
    http_free(&r);
    daemon_stop(&d);
}

START_TEST(connections_follow_from_the_memory)
{
    assert_limit("--queue", "9", "6MiB", "\"connections\":64,");
    assert_limit("--queue", "9", "12MiB", "\"connections\":128,");
    assert_limit("--connections", "500", "6MiB", "\"connections\":500,");
}
END_TEST

START_TEST(upload_that_takes_too_long_gets_408)
{
    char text[4096];

    start("--upload-timeout", "1", "16MiB");
    announce(1, 1 << 20, 1000);
    int status = 0;
    for (int i = 0; i < 100 && status == 0; i++) {
        raw_send(fd[0], "          ", 10);
        status = raw_reply(fd[0], text, sizeof text, 0.1);
    }
    ck_assert_int_eq(status, 408);
    ck_assert_ptr_nonnull(strstr(text, "upload_timeout"));
    ck_assert_ptr_nonnull(strstr(text, "--upload-timeout"));
    ck_assert_ptr_nonnull(strstr(text, "\"error\":\"The body is not here "
                                 "after 1 s"));
    leave(1);
}
END_TEST

/* One MiB has four seconds at least. */
START_TEST(upload_has_time_for_what_came)
{
    char text[4096], *body = calloc(1, (1 << 20) + 64);

    start("--upload-timeout", "0.5", "64MiB");
    memset(body, ' ', 1 << 20);
    strcpy(body + (1 << 20) - strlen(CALL_EXAMPLE), CALL_EXAMPLE);
    announce(1, 1 << 20, 0);
    ck_assert(raw_send(fd[0], body, 900000));
    daemon_rest(1.5);
    ck_assert(raw_send(fd[0], body + 900000, (1 << 20) - 900000));
    ck_assert_int_eq(raw_reply(fd[0], text, sizeof text, 10), 200);
    leave(1);
    free(body);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        promises_take_no_memory, memory_is_taken_for_what_came,
        last_sixteenth_is_for_health_metrics_and_facts_alone,
        work_never_takes_the_last_sixteenth,
        connections_follow_from_the_memory,
        upload_that_takes_too_long_gets_408, upload_has_time_for_what_came, NULL
    };

    return suite_run("budget", tests, NULL, NULL, 60);
}
