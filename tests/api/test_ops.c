/* SPDX-License-Identifier: MIT */
/*
 * test_ops.c - what an operator sets and sees: limits of one request and of
 * all of them, memory that comes back, deadlines by setting, the log.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "call.h"
#include "daemon.h"
#include "http.h"
#include "metric.h"
#include "raw.h"
#include "suite.h"

#define DEPTH "attention_queue_depth"
#define HELD "attention_memory_used_bytes"
#define CANCELLED(where) "attention_cancelled_total{reason=\"" where "\"}"

static struct daemon d;

static void start(const char *flag, const char *value)
{
    const char *arguments[] = { "--threads", "1", "--log", "none", flag,
                                value, NULL };

    daemon_start(&d, arguments);
}

/* A number behind a member's name in a reply; -1 if it is not there. */
static double member(const char *text, const char *name)
{
    const char *at = strstr(text, name);

    return at != NULL ? strtod(at + strlen(name), NULL) : -1.0;
}

/* -------------------------------------------------------------- limits */

START_TEST(request_above_a_limit_is_413_with_limit_size_and_setting)
{
    static const struct { const char *flag, *value, *code; } table[] = {
        { "--elements", "5000", "too_many_elements" },
        { "--operations", "5000", "too_much_work" },
        { "--memory-bytes", "4MiB", "too_much_memory" },
    };
    char *body = call_json(1000, 4, "\"dtype\":\"float64\"");

    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        start(table[i].flag, table[i].value);
        struct http_reply r = http_post(d.port, body);

        ck_assert_msg(r.status == 413, "%s: %d %.300s", table[i].flag,
                      r.status, r.body);
        ck_assert_ptr_nonnull(strstr(r.body, table[i].code));
        ck_assert_ptr_nonnull(strstr(r.body, table[i].flag));
        ck_assert_double_gt(member(r.body, "\"limit\":"), 4999.0);
        ck_assert_double_gt(member(r.body, "\"got\":"),
                            member(r.body, "\"limit\":"));
        http_free(&r);
        daemon_stop(&d);
    }
    free(body);
}
END_TEST

/* The headers of a body of n bytes that waits for a yes; its status. */
static int expect(int fd, long n, char text[4096])
{
    snprintf(text, 4096, "POST /attention HTTP/1.1\r\nHost: x\r\n"
             "Expect: 100-continue\r\nContent-Length: %ld\r\n\r\n", n);
    ck_assert(raw_say(fd, text));
    ssize_t length = read(fd, text, 4095);
    ck_assert_int_gt((int)length, 12);
    text[length] = '\0';
    return atoi(text + strlen("HTTP/1.1 "));
}

START_TEST(body_above_the_memory_is_refused_before_it_is_sent)
{
    char text[4096];

    start("--memory-bytes", "8MiB");
    int fd = raw_open(d.port);

    ck_assert_int_eq(expect(fd, 9000000, text), 413);
    ck_assert_ptr_nonnull(strstr(text, "too_much_memory"));
    close(fd);
    daemon_stop(&d);
}
END_TEST

/* 9 MiB in chunks; the status, and the reply in text. */
static int send_chunks(char text[4096])
{
    static char block[1 << 20];
    int fd = raw_open(d.port);

    memset(block, ' ', sizeof block);
    ck_assert(raw_say(fd, "POST /attention HTTP/1.1\r\nHost: x\r\n"
                          "Transfer-Encoding: chunked\r\n\r\n"));
    for (int i = 0; i < 9; i++) {
        ck_assert(raw_say(fd, "100000\r\n"));
        ck_assert(raw_send(fd, block, sizeof block));
        ck_assert(raw_say(fd, "\r\n"));
    }
    ck_assert(raw_say(fd, "0\r\n\r\n"));
    int status = raw_reply(fd, text, 4096, 10);
    close(fd);
    return status;
}

/* Unless another connection is still open, which has a share of the memory. */
START_TEST(chunks_above_the_memory_are_no_matter_of_waiting)
{
    char text[4096];
    int status;

    start("--memory-bytes", "8MiB");
    status = send_chunks(text);
    for (int i = 0; i < 5 && status == 503; i++) {
        daemon_rest(0.5);
        status = send_chunks(text);
    }
    ck_assert_int_eq(status, 413);
    ck_assert_ptr_nonnull(strstr(text, "too_much_memory"));
    daemon_stop(&d);
}
END_TEST

/* Does it fall to this within five seconds? */
static bool held_falls_to(double most)
{
    for (int i = 0; i < 250 * daemon_slack(); i++) {
        if (metric(d.port, HELD) <= most)
            return true;
        daemon_rest(0.02);
    }
    return false;
}

START_TEST(memory_held_by_others_is_503_until_they_are_gone)
{
    static char block[1 << 20];
    char text[4096];

    start("--memory-bytes", "64MiB");
    double before = metric(d.port, HELD);
    int first = raw_open(d.port), second = raw_open(d.port);

    memset(block, ' ', sizeof block);
    ck_assert_int_eq(expect(first, 40 << 20, text), 100);
    for (int i = 0; i < 39; i++)
        ck_assert(raw_send(first, block, sizeof block));
    ck_assert(metric_reaches(d.port, HELD, 39 << 20, 5));
    ck_assert_int_eq(expect(second, 40 << 20, text), 503);
    ck_assert_ptr_nonnull(strstr(text, "memory_busy"));
    ck_assert_ptr_nonnull(strcasestr(text, "\r\nRetry-After: "));
    close(second);
    raw_reset(first);
    ck_assert(held_falls_to(before));
    second = raw_open(d.port);
    ck_assert_int_eq(expect(second, 40 << 20, text), 100);
    close(second);
    daemon_stop(&d);
}
END_TEST

/* Whoever has to wait for the memory of a request in work waits for it. */
START_TEST(memory_that_is_busy_is_free_when_the_queue_says)
{
    static char block[1 << 20];
    char text[4096], value[256], *slow = call_slow();
    char *wide = call_json(2200, 4, "\"return\":[\"A\",\"S\",\"S_masked\"]");

    start("--memory-bytes", "96MiB");
    int holder = raw_open(d.port), worker = raw_open(d.port);

    memset(block, ' ', sizeof block);
    ck_assert_int_eq(expect(holder, 60 << 20, text), 100);
    for (int i = 0; i < 59; i++)
        ck_assert(raw_send(holder, block, sizeof block));
    ck_assert(raw_post(worker, "", slow));
    ck_assert(metric_reaches(d.port, "attention_queue_depth", 1, 5));
    daemon_rest(1.6);
    struct http_reply r = http_post(d.port, wide);
    ck_assert_int_eq(r.status, 503);
    ck_assert_ptr_nonnull(strstr(r.body, "memory_busy"));
    ck_assert_int_ge(atoi(http_header(&r, "Retry-After", value)), 2);
    http_free(&r);
    raw_reset(worker);
    raw_reset(holder);
    daemon_stop(&d);
    free(wide);
    free(slow);
}
END_TEST

/* The budget is hard: whoever would take more gets none. So a request that
 * is answered with just what its refusal named, its connection and the last
 * sixteenth beside, kept to its plan. */
START_TEST(request_holds_no_more_than_its_plan_said)
{
    static const struct { int64_t n, d; const char *options; } table[] = {
        { 1000, 4, "\"dtype\":\"float64\"" }, { 1500, 4, "" },
        { 1100, 3, "\"return\":[\"S\",\"S_masked\",\"A\",\"lse\"]" },
    };

    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        char *body = call_json(table[i].n, table[i].d, table[i].options);
        char limit[32], text[4096];

        start("--memory-bytes", "4MiB");
        struct http_reply r = http_post(d.port, body);
        double wanted = member(r.body, "\"got\":");

        ck_assert_int_eq(r.status, 413);
        http_free(&r);
        daemon_stop(&d);
        snprintf(limit, sizeof limit, "%.0f", (wanted + 65536) * 16 / 15 + 1);
        start("--memory-bytes", limit);
        int fd = raw_open(d.port);

        ck_assert(raw_post(fd, "", body));
        ck_assert_msg(raw_reply(fd, text, sizeof text, 20) == 200,
                      "%s: %.500s", limit, text);
        close(fd);
        daemon_stop(&d);
        free(body);
    }
}
END_TEST

START_TEST(timeout_of_the_settings_is_a_deadline)
{
    char *huge = call_slow();

    start("--timeout", "0.05");
    struct http_reply r = http_post(d.port, huge);
    ck_assert_int_eq(r.status, 504);
    ck_assert_double_lt(r.seconds, 3.0 * daemon_slack());
    http_free(&r);
    daemon_stop(&d);
    free(huge);
}
END_TEST

/* ---------------------------------------------------------- those who leave */

/* One worker has a hundred requests before this one, a task of each. */
START_TEST(reset_in_the_queue_is_counted_and_gives_memory_back)
{
    enum { OTHERS = 100 };
    char *body = call_slow();
    int fd[OTHERS], last;

    start(NULL, NULL);
    double before = metric(d.port, HELD);
    for (int i = 0; i < OTHERS; i++) {
        fd[i] = raw_open(d.port);
        ck_assert(raw_post(fd[i], "", body));
    }
    ck_assert(metric_reaches(d.port, DEPTH, OTHERS - 10, 20));
    for (int i = 0; i < 20; i++) {
        if (metric(d.port, CANCELLED("gone_in_queue")) > 0)
            break;
        last = raw_open(d.port);
        ck_assert(raw_post(last, "", body));
        daemon_rest(0.01 * (1 + i % 5));
        raw_reset(last);
        daemon_rest(0.05);
    }
    ck_assert_double_gt(metric(d.port, CANCELLED("gone_in_queue")), 0);
    for (int i = 0; i < OTHERS; i++)
        raw_reset(fd[i]);
    ck_assert(held_falls_to(before));
    ck_assert_double_eq(metric(d.port, DEPTH), 0);
    daemon_stop(&d);
    free(body);
}
END_TEST

START_TEST(reset_under_http_1_0_ends_the_work)
{
    char *huge = call_slow(), head[128];

    start(NULL, NULL);
    int fd = raw_open(d.port);

    snprintf(head, sizeof head, "POST /attention HTTP/1.0\r\n"
             "Content-Length: %zu\r\n\r\n", strlen(huge));
    ck_assert(raw_say(fd, head) && raw_say(fd, huge));
    ck_assert(metric_reaches(d.port, DEPTH, 1, 5));
    daemon_rest(0.2);
    raw_reset(fd);
    ck_assert(metric_reaches(d.port, CANCELLED("gone_in_work"), 1, 3));
    ck_assert_double_eq(metric(d.port, DEPTH), 0);
    daemon_stop(&d);
    free(huge);
}
END_TEST

/* No last chunk, and still a good end of the service. */
START_TEST(streamed_reply_beyond_the_drain_timeout_is_cut_visibly)
{
    char *large = call_json(3000, 8, ""), text[4096];

    start("--drain-timeout", "0.3");
    int fd = raw_open(d.port);

    ck_assert(raw_post(fd, "", large));
    ck_assert_int_gt((int)read(fd, text, 256), 0);
    kill(d.pid, SIGTERM);
    ck_assert_int_eq(daemon_wait(&d, 10), 0);
    ck_assert_int_eq(raw_reply(fd, text, sizeof text, 1), 0);
    daemon_forget(&d);
    close(fd);
    free(large);
}
END_TEST

START_TEST(upload_cut_by_the_drain_is_told_when_to_come_back)
{
    char text[4096];

    start("--drain-timeout", "0.1");
    int fd = raw_open(d.port);

    ck_assert(raw_say(fd, "POST /attention HTTP/1.1\r\nHost: x\r\n"
                      "Content-Length: 100000\r\n\r\n{\"Q\":"));
    ck_assert(metric_reaches(d.port, "attention_inflight_requests", 1, 5));
    kill(d.pid, SIGTERM);
    ck_assert_int_eq(raw_reply(fd, text, sizeof text, 10), 503);
    ck_assert_ptr_nonnull(strstr(text, "\r\nRetry-After: 1\r\n"));
    ck_assert_int_eq(daemon_wait(&d, 10), 0);
    daemon_forget(&d);
    close(fd);
}
END_TEST

/* ---------------------------------------------------------------- quota */

static bool write_file(const char *directory, const char *name,
                       const char *text)
{
    char path[256];

    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *f = fopen(path, "w");
    bool ok = f != NULL && fputs(text, f) >= 0;

    return (f == NULL || fclose(f) == 0) && ok;
}

/* A control group of one CPU, with this process in it; false where there is
 * no right to make one. */
static bool enter_quota(char directory[128])
{
    static const struct { const char *parent, *file, *text; } table[] = {
        { "/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", "100000" },
        { "/sys/fs/cgroup", "cpu.max", "100000 100000" },
    };

    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        snprintf(directory, 128, "%s/attentiond-test-%d", table[i].parent,
                 (int)getpid());
        if (mkdir(directory, 0755) != 0)
            continue;
        if (write_file(directory, table[i].file, table[i].text)
            && write_file(directory, "cgroup.procs", "0"))
            return true;
        rmdir(directory);
    }
    return false;
}

static void leave_quota(const char *directory)
{
    char parent[128];

    snprintf(parent, sizeof parent, "%s", directory);
    *strrchr(parent, '/') = '\0';
    ck_assert(write_file(parent, "cgroup.procs", "0"));
    ck_assert_int_eq(rmdir(directory), 0);
}

START_TEST(quota_of_one_cpu_gives_one_thread_that_serves)
{
    char directory[128];
    char *medium = call_json(400, 32, "");

    if (enter_quota(directory)) {
        daemon_start(&d, NULL);
        struct http_reply r = http_get(d.port, "/info");
        ck_assert_msg(strstr(r.body, "{\"count\":1,\"source\":\"quota\"")
                      != NULL, "%s", r.body);
        http_free(&r);
        for (int i = 0; i < 10; i++) {
            r = http_post(d.port, i % 2 ? medium : CALL_EXAMPLE);
            ck_assert_int_eq(r.status, 200);
            http_free(&r);
        }
        daemon_stop(&d);
        leave_quota(directory);
    }
    free(medium);
}
END_TEST

/* --------------------------------------------------- what is left behind */

static void ask_for_all(char *const *bodies, int count, int times)
{
    for (int i = 0; i < times; i++) {
        struct http_reply r = http_post(d.port, bodies[i * 7 % count]);

        ck_assert_int_eq(r.status, 200);
        http_free(&r);
    }
}

/* A sanitizer keeps what was freed. */
START_TEST(thousand_mixed_requests_leave_no_memory_behind)
{
    static const int sizes[10] = { 2, 4, 8, 16, 32, 64, 3, 5, 100, 300 };
    char *bodies[10];

    if (daemon_slack() > 1.0)
        return;
    for (int i = 0; i < 10; i++)
        bodies[i] = call_json(sizes[i], 4, "");
    start("--trim-after", "1");
    ask_for_all(bodies, 10, 10);
    long first = daemon_status(&d, "VmRSS:");
    ask_for_all(bodies, 10, 1000);
    daemon_rest(3.0);
    long last = daemon_status(&d, "VmRSS:");
    ck_assert_msg((double)last < 1.2 * (double)first, "%ld kB, then %ld kB",
                  first, last);
    daemon_stop(&d);
    for (int i = 0; i < 10; i++)
        free(bodies[i]);
}
END_TEST

START_TEST(trace_context_goes_into_the_access_log)
{
    static const char *const trace =
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    char header[128];
    const char *headers[] = { header, "X-Request-Id: night-3", NULL };
    struct http_reply r;

    daemon_start(&d, NULL);
    snprintf(header, sizeof header, "traceparent: %s", trace);
    http_request(d.port, "POST", "/attention", headers, CALL_EXAMPLE,
                 strlen(CALL_EXAMPLE), &r);
    ck_assert_int_eq(r.status, 200);
    http_free(&r);
    ck_assert(daemon_says(d.out, trace, 5));
    ck_assert(daemon_says(d.out, "id=night-3", 5));
    daemon_stop(&d);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        request_above_a_limit_is_413_with_limit_size_and_setting,
        body_above_the_memory_is_refused_before_it_is_sent,
        chunks_above_the_memory_are_no_matter_of_waiting,
        memory_held_by_others_is_503_until_they_are_gone,
        memory_that_is_busy_is_free_when_the_queue_says,
        request_holds_no_more_than_its_plan_said,
        timeout_of_the_settings_is_a_deadline,
        reset_in_the_queue_is_counted_and_gives_memory_back,
        reset_under_http_1_0_ends_the_work,
        streamed_reply_beyond_the_drain_timeout_is_cut_visibly,
        upload_cut_by_the_drain_is_told_when_to_come_back,
        quota_of_one_cpu_gives_one_thread_that_serves,
        thousand_mixed_requests_leave_no_memory_behind,
        trace_context_goes_into_the_access_log,
        NULL
    };

    return suite_run("ops", tests, NULL, NULL, 90);
}
