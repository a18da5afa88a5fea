/* SPDX-License-Identifier: MIT */
/*
 * test_leave.c - clients that close: one that only stops sending gets its
 * answer, one that has gone does not keep its work going.
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

#define IN_WORK "attention_queue_depth"
#define CANCELLED(where) "attention_cancelled_total{reason=\"" where "\"}"

static struct daemon d;
static char *medium, *huge;
static int others[8];

/* Eight other connections are open: alone, a client would be treated
 * better than it deserves. */
static void setup(void)
{
    const char *arguments[] = { "--threads", "2", NULL };

    daemon_start(&d, arguments);
    medium = call_json(400, 32, "\"return\":[\"lse\"]");
    huge = call_slow();
    for (int i = 0; i < 8; i++)
        others[i] = raw_open(d.port);
}

static void teardown(void)
{
    for (int i = 0; i < 8; i++)
        close(others[i]);
    free(medium);
    free(huge);
    daemon_stop(&d);
}

static void post_with(int fd, const char *version, const char *body)
{
    char head[256];

    snprintf(head, sizeof head, "POST /attention HTTP/%s\r\nHost: x\r\n"
             "Content-Length: %zu\r\n\r\n", version, strlen(body));
    ck_assert(raw_say(fd, head));
    ck_assert(raw_say(fd, body));
}

static void half_closed_client_gets_its_answer(const char *version,
                                               const char *body)
{
    char text[65536];

    for (int i = 0; i < 10; i++) {
        int fd = raw_open(d.port);

        post_with(fd, version, body);
        raw_half_close(fd);
        int status = raw_reply(fd, text, sizeof text, 10);
        ck_assert_msg(status == 200, "HTTP/%s, %zu bytes: %d", version,
                      strlen(body), status);
        ck_assert_msg(raw_closed(fd, 5), "left open after the reply");
        close(fd);
    }
}

START_TEST(half_closed_small_request_is_answered)
{
    half_closed_client_gets_its_answer("1.1", CALL_EXAMPLE);
    half_closed_client_gets_its_answer("1.0", CALL_EXAMPLE);
}
END_TEST

START_TEST(half_closed_suspended_request_is_answered)
{
    half_closed_client_gets_its_answer("1.1", medium);
    half_closed_client_gets_its_answer("1.0", medium);
}
END_TEST

START_TEST(half_closed_streamed_request_is_answered)
{
    char *large = call_json(500, 8, "\"return\":[\"A\"]");

    half_closed_client_gets_its_answer("1.1", large);
    half_closed_client_gets_its_answer("1.0", large);
    free(large);
}
END_TEST

/* All in one packet, the end of sending too. */
START_TEST(half_closed_pipeline_gets_all_its_answers)
{
    char all[4096] = "", text[4096];

    for (int i = 0; i < 5; i++)
        sprintf(all + strlen(all), "POST /attention HTTP/1.1\r\nHost: x\r\n"
                "Content-Length: %zu\r\n\r\n%s", strlen(CALL_EXAMPLE),
                CALL_EXAMPLE);
    for (int i = 0; i < 10; i++) {
        int fd = raw_open(d.port);

        ck_assert(raw_say(fd, all));
        raw_half_close(fd);
        for (int k = 0; k < 5; k++)
            ck_assert_int_eq(raw_reply(fd, text, sizeof text, 5), 200);
        ck_assert(raw_closed(fd, 5));
        close(fd);
    }
}
END_TEST

/* Long enough to be asked whether it is there; it sees nothing of that which
 * it could not pass over. */
START_TEST(half_closed_request_computes_to_its_end)
{
    static const char *const versions[] = { "1.1", "1.0" };
    char text[65536];

    for (int i = 0; i < 2; i++) {
        int fd = raw_open(d.port);

        post_with(fd, versions[i], huge);
        raw_half_close(fd);
        ck_assert_int_eq(raw_reply(fd, text, sizeof text, 50), 200);
        ck_assert_int_eq(strncmp(text, "HTTP/1.1 200 OK\r\n", 17), 0);
        close(fd);
    }
}
END_TEST

static void wait_for_work(double depth)
{
    ck_assert_msg(metric_reaches(d.port, IN_WORK, depth, 15),
                  "%s stays below %.0f", IN_WORK, depth);
    daemon_rest(0.2);
}

/* Seconds until the n-th of them is counted, and its work over. */
static double time_to_notice(const char *counter, int n)
{
    double start = daemon_clock();

    ck_assert_msg(metric_reaches(d.port, counter, n, 5), "%s stays below %d",
                  counter, n);
    double seconds = daemon_clock() - start;
    ck_assert_double_eq(metric(d.port, IN_WORK), 0);
    return seconds;
}

/* Once of ten times at least, for this machine may have other work to do. */
static void gone_in_work_is_noticed(const char *version, void (*leave)(int fd))
{
    double best = 1e9;

    for (int n = 1; n <= 10 && best > 0.1 * daemon_slack(); n++) {
        int fd = raw_open(d.port);

        post_with(fd, version, huge);
        wait_for_work(1);
        leave(fd);
        double seconds = time_to_notice(CANCELLED("gone_in_work"), n);
        best = seconds < best ? seconds : best;
    }
    ck_assert_double_le(best, 0.1 * daemon_slack());
}

START_TEST(reset_in_the_work_ends_the_work)
{
    gone_in_work_is_noticed("1.1", raw_reset);
}
END_TEST

static void close_orderly(int fd)
{
    close(fd);
}

START_TEST(orderly_close_in_the_work_ends_the_work)
{
    gone_in_work_is_noticed("1.1", close_orderly);
}
END_TEST

START_TEST(orderly_close_of_http_1_0_in_the_work_ends_the_work)
{
    gone_in_work_is_noticed("1.0", close_orderly);
}
END_TEST


/* By then it has been asked, was there, and read the question: unread bytes
 * would make of its close a reset. */
START_TEST(client_that_first_half_closes_and_later_leaves_is_noticed)
{
    static const char *const versions[] = { "1.1", "1.0" };
    char text[64];

    for (int i = 0; i < 2; i++) {
        int fd = raw_open(d.port);

        post_with(fd, versions[i], huge);
        wait_for_work(1);
        raw_half_close(fd);
        daemon_rest(0.1);
        recv(fd, text, sizeof text, MSG_DONTWAIT);
        ck_assert_double_eq(metric(d.port, IN_WORK), 1);
        close(fd);
        time_to_notice(CANCELLED("gone_in_work"), i + 1);
    }
}
END_TEST

static void wait_for_upload(void)
{
    ck_assert(metric_reaches(d.port, "attention_inflight_requests", 1, 5));
}

START_TEST(reset_in_the_upload_is_noticed)
{
    int fd = raw_open(d.port);

    ck_assert(raw_say(fd, "POST /attention HTTP/1.1\r\nHost: x\r\n"
                      "Content-Length: 100000\r\n\r\n{\"Q\":"));
    wait_for_upload();
    raw_reset(fd);
    ck_assert(metric_reaches(d.port, CANCELLED("gone_in_upload"), 1, 3));
}
END_TEST

START_TEST(close_in_the_upload_is_noticed)
{
    int fd = raw_open(d.port);

    ck_assert(raw_say(fd, "POST /attention HTTP/1.1\r\nHost: x\r\n"
                      "Transfer-Encoding: chunked\r\n\r\n5\r\n{\"Q\":"));
    wait_for_upload();
    close(fd);
    ck_assert(metric_reaches(d.port, CANCELLED("gone_in_upload"), 1, 3));
}
END_TEST

/* The reader of a streamed reply goes while workers write it. */
START_TEST(reset_in_the_reply_ends_the_work)
{
    char *large = call_json(3000, 8, ""), text[512];
    int fd = raw_open(d.port);

    ck_assert(raw_post(fd, "", large));
    ck_assert_int_gt((int)read(fd, text, sizeof text), 0);
    raw_reset(fd);
    ck_assert(metric_reaches(d.port, CANCELLED("gone_in_reply"), 1, 3));
    free(large);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        half_closed_small_request_is_answered,
        half_closed_suspended_request_is_answered,
        half_closed_streamed_request_is_answered,
        half_closed_pipeline_gets_all_its_answers,
        half_closed_request_computes_to_its_end,
        reset_in_the_work_ends_the_work,
        orderly_close_in_the_work_ends_the_work,
        orderly_close_of_http_1_0_in_the_work_ends_the_work,
        client_that_first_half_closes_and_later_leaves_is_noticed,
        reset_in_the_upload_is_noticed,
        close_in_the_upload_is_noticed,
        reset_in_the_reply_ends_the_work,
        NULL
    };

    return suite_run("leave", tests, setup, teardown, 60);
}
