/* SPDX-License-Identifier: MIT */
/*
 * test_walk.c - requests that go well, however their bytes come.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "call.h"
#include "daemon.h"
#include "http.h"
#include "raw.h"
#include "suite.h"

static struct daemon d;

static void setup(void)
{
    daemon_start(&d, NULL);
}

static void teardown(void)
{
    daemon_stop(&d);
}

static double number_behind(const char *text, const char *words)
{
    const char *at = strstr(text, words);

    ck_assert_msg(at != NULL, "no %s in %s", words, text);
    return strtod(at + strlen(words), NULL);
}

START_TEST(worked_example_with_two_keys_comes_out)
{
    struct http_reply r = http_post(d.port, CALL_EXAMPLE);

    ck_assert_int_eq(r.status, 200);
    ck_assert_double_eq_tol(number_behind(r.body, "\"output\":[["),
                            6.69761549326657, 1e-13);
    ck_assert_double_eq_tol(number_behind(r.body, "\"A\":[["),
                            0.669761549326657, 1e-14);
    ck_assert_int_eq(r.body[r.length - 1], '\n');
    http_free(&r);
}
END_TEST

START_TEST(worked_example_with_three_keys_comes_out)
{
    struct http_reply r = http_post(d.port, "{\"Q\":[[1,0]],"
        "\"K\":[[1,0],[0,1],[-1,0]],\"V\":[[2,0],[0,2],[0,0]],"
        "\"scale\":1,\"dtype\":\"float64\"}");

    ck_assert_int_eq(r.status, 200);
    ck_assert_double_eq_tol(number_behind(r.body, "\"output\":[["),
                            1.330481911549644, 1e-13);
    ck_assert_double_eq_tol(number_behind(r.body, "\"A\":[["),
                            0.665240955774822, 1e-14);
    http_free(&r);
}
END_TEST

/* The request is answered the same with any Content-Type of its clients. */
START_TEST(content_type_is_a_hint_only)
{
    static const char *const types[] = {
        "Content-Type: application/x-www-form-urlencoded",
        "Content-Type: text/html", "Content-Type: application/json",
        "Content-Type: application/json; charset=utf-8", "Content-Type:"
    };

    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        const char *headers[] = { types[i], NULL };
        struct http_reply r;

        http_request(d.port, "POST", "/attention", headers, CALL_EXAMPLE,
                     strlen(CALL_EXAMPLE), &r);
        ck_assert_msg(r.status == 200, "%s: %s", types[i], r.body);
        http_free(&r);
    }
}
END_TEST

START_TEST(chunked_body_is_read)
{
    const char *headers[] = { "Transfer-Encoding: chunked", NULL };
    struct http_reply r;

    http_request(d.port, "POST", "/attention", headers, CALL_EXAMPLE,
                 strlen(CALL_EXAMPLE), &r);
    ck_assert_int_eq(r.status, 200);
    http_free(&r);
}
END_TEST

START_TEST(connection_is_kept)
{
    char text[4096];
    int fd = raw_open(d.port);

    for (int i = 0; i < 100; i++) {
        ck_assert(raw_post(fd, "", CALL_EXAMPLE));
        ck_assert_int_eq(raw_reply(fd, text, sizeof text, 5), 200);
        ck_assert_ptr_null(strstr(text, "Connection: close"));
    }
    close(fd);
}
END_TEST

START_TEST(http_1_0_is_answered_and_closed)
{
    char text[4096], request[512];
    int fd = raw_open(d.port);

    snprintf(request, sizeof request, "POST /attention HTTP/1.0\r\n"
             "Content-Length: %zu\r\n\r\n%s", strlen(CALL_EXAMPLE),
             CALL_EXAMPLE);
    ck_assert(raw_say(fd, request));
    ck_assert_int_eq(raw_reply(fd, text, sizeof text, 5), 200);
    ck_assert(raw_closed(fd, 5));
    close(fd);
}
END_TEST

START_TEST(pipelined_requests_are_answered_in_order)
{
    char text[4096], all[4096] = "", one[1024];
    int fd = raw_open(d.port);

    for (int i = 0; i < 5; i++) {
        snprintf(one, sizeof one, "POST /attention HTTP/1.1\r\nHost: x\r\n"
                 "X-Request-Id: number-%d\r\nContent-Length: %zu\r\n\r\n%s",
                 i, strlen(CALL_EXAMPLE), CALL_EXAMPLE);
        strcat(all, one);
    }
    ck_assert(raw_say(fd, all));
    for (int i = 0; i < 5; i++) {
        snprintf(one, sizeof one, "X-Request-Id: number-%d\r\n", i);
        ck_assert_int_eq(raw_reply(fd, text, sizeof text, 5), 200);
        ck_assert_msg(strstr(text, one) != NULL, "%s", text);
    }
    close(fd);
}
END_TEST

/* The first goes through the ring; the others wait behind it. */
START_TEST(pipelined_requests_wait_for_one_in_the_queue)
{
    char *big = call_json(300, 32, "\"return\":[\"lse\"]"), text[16384];
    int fd = raw_open(d.port);

    ck_assert(raw_post(fd, "X-Request-Id: large\r\n", big));
    ck_assert(raw_post(fd, "X-Request-Id: small\r\n", CALL_EXAMPLE));
    ck_assert_int_eq(raw_reply(fd, text, sizeof text, 10), 200);
    ck_assert_ptr_nonnull(strstr(text, "large"));
    ck_assert_ptr_nonnull(strstr(text, "queue;dur="));
    ck_assert_int_eq(raw_reply(fd, text, sizeof text, 10), 200);
    ck_assert_ptr_nonnull(strstr(text, "small"));
    close(fd);
    free(big);
}
END_TEST

START_TEST(request_may_come_a_byte_at_a_time)
{
    char text[4096], request[512];
    int fd = raw_open(d.port);

    snprintf(request, sizeof request, "POST /attention HTTP/1.1\r\nHost: x\r\n"
             "Content-Length: %zu\r\n\r\n%s", strlen(CALL_EXAMPLE),
             CALL_EXAMPLE);
    for (const char *c = request; *c != '\0'; c++)
        ck_assert(raw_send(fd, c, 1));
    ck_assert_int_eq(raw_reply(fd, text, sizeof text, 5), 200);
    close(fd);
}
END_TEST

START_TEST(request_id_is_echoed_or_made)
{
    const char *headers[] = { "X-Request-Id: abc-123", NULL };
    const char *blank[] = { "X-Request-Id: two words", NULL };
    struct http_reply r;
    char value[256];

    http_request(d.port, "GET", "/livez", headers, NULL, 0, &r);
    ck_assert_str_eq(http_header(&r, "X-Request-Id", value), "abc-123");
    http_free(&r);
    http_request(d.port, "GET", "/livez", blank, NULL, 0, &r);
    ck_assert_str_ne(http_header(&r, "X-Request-Id", value), "two words");
    ck_assert_int_gt((int)strlen(value), 8);
    http_free(&r);
}
END_TEST

START_TEST(server_timing_names_the_steps)
{
    char *big = call_json(300, 32, "\"return\":[\"lse\"]"), value[256];
    struct http_reply r = http_post(d.port, big);
    static const char *const steps[] = { "receive;dur=", "queue;dur=",
        "decode;dur=", "compute;dur=", "encode;dur=" };

    http_header(&r, "Server-Timing", value);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        ck_assert_msg(strstr(value, steps[i]) != NULL, "%s in %s", steps[i],
                      value);
    http_free(&r);
    free(big);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        worked_example_with_two_keys_comes_out,
        worked_example_with_three_keys_comes_out,
        content_type_is_a_hint_only,
        chunked_body_is_read,
        connection_is_kept,
        http_1_0_is_answered_and_closed,
        pipelined_requests_are_answered_in_order,
        pipelined_requests_wait_for_one_in_the_queue,
        request_may_come_a_byte_at_a_time,
        request_id_is_echoed_or_made,
        server_timing_names_the_steps,
        NULL
    };

    return suite_run("walk", tests, setup, teardown, 30);
}
