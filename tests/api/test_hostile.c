/* SPDX-License-Identifier: MIT */
/*
 * test_hostile.c - what no decent client does: leaves in the middle, stops,
 * sends what two readers could read in two ways.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "call.h"
#include "daemon.h"
#include "http.h"
#include "library.h"
#include "metric.h"
#include "raw.h"
#include "suite.h"

#define GONE_IN_UPLOAD "attention_cancelled_total{reason=\"gone_in_upload\"}"

static struct daemon d;

static void setup(void)
{
    const char *arguments[] = { "--threads", "2", "--min-rate-after", "0.5",
                                NULL };

    daemon_start(&d, arguments);
}

static void teardown(void)
{
    daemon_stop(&d);
}

/* ------------------------------------------------------------- leaving */

/* Headers, the first n bytes of the body, and the end, in one go. */
static int leave_after(size_t n, bool half)
{
    static char bytes[65536];
    int fd = raw_open(d.port);
    int head = snprintf(bytes, sizeof bytes, "POST /attention HTTP/1.1\r\n"
                        "Host: x\r\nContent-Length: 113499\r\n\r\n");

    memset(bytes + head, ' ', n);
    ck_assert(raw_send(fd, bytes, (size_t)head + n));
    if (half)
        raw_half_close(fd);
    else
        close(fd);
    return half ? fd : -1;
}

START_TEST(end_together_with_the_last_bytes_of_a_part_is_noticed)
{
    static const size_t sizes[] = { 0, 200, 5000, 20000, 60000 };
    int count = 0;

    for (int round = 0; round < 12; round++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            int fd = leave_after(sizes[i], round % 2 != 0);

            ck_assert_msg(metric_reaches(d.port, GONE_IN_UPLOAD, ++count, 3),
                          "%zu bytes, round %d", sizes[i], round);
            if (fd >= 0)
                close(fd);
        }
}
END_TEST

/* The library replies; but nobody has gone. */
START_TEST(broken_chunks_are_counted_as_such)
{
    static const char *const bodies[] = {
        "zz\r\n", "5\r\n{\"Q\":\r\nzz\r\n", "5\r\n{\"Q\":zz\r\n",
    };
    char text[4096];
    int count = 0;

    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        int fd = raw_open(d.port);

        ck_assert(raw_say(fd, "POST /attention HTTP/1.1\r\nHost: x\r\n"
                              "Transfer-Encoding: chunked\r\n\r\n"));
        ck_assert(raw_say(fd, bodies[i]));
        ck_assert_int_eq(raw_reply(fd, text, sizeof text, 3), 400);
        ck_assert_msg(metric_reaches(d.port, "attention_rejected_total{"
                                     "reason=\"bad_framing\"}", ++count, 3),
                      "%s", bodies[i]);
        close(fd);
    }
    ck_assert_double_le(metric(d.port, GONE_IN_UPLOAD), 0);
}
END_TEST

START_TEST(end_within_the_headers_is_noticed)
{
    for (int i = 0; i < 10; i++) {
        int fd = raw_open(d.port);

        ck_assert(raw_say(fd, "POST /attention HTTP/1.1\r\nHo"));
        raw_half_close(fd);
        ck_assert(raw_closed(fd, 5));
        close(fd);
    }
}
END_TEST

/* However much came before. */
START_TEST(upload_that_stops_is_408_soon)
{
    static char block[1 << 20];
    char text[4096];
    int fd = raw_open(d.port);

    ck_assert(raw_say(fd, "POST /attention HTTP/1.1\r\nHost: x\r\n"
                      "Content-Length: 33554432\r\n\r\n"));
    for (int i = 0; i < 20; i++)
        ck_assert(raw_send(fd, block, sizeof block));
    ck_assert_int_eq(raw_reply(fd, text, sizeof text, 5), 408);
    close(fd);
}
END_TEST

/* ------------------------------------------------------ lines of headers */

/* One request of these bytes; its status, and the reply in `text`. Another
 * one follows, which is answered only if the connection is kept. */
static int ask(const void *bytes, size_t n, char text[4096], bool *kept)
{
    char next[256];
    int fd = raw_open(d.port);

    ck_assert(raw_send(fd, bytes, n));
    int status = raw_reply(fd, text, 4096, 5);
    raw_say(fd, "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n");
    *kept = raw_reply(fd, next, sizeof next, 2) == 200;
    close(fd);
    return status;
}

/* POST /attention of the example with `lines`, which hold n bytes. */
static int post(const char *lines, size_t n, char text[4096], bool *kept)
{
    char request[1024];
    int length = snprintf(request, sizeof request, "POST /attention HTTP/1.1"
                          "\r\nHost: x\r\nContent-Length: %zu\r\n",
                          strlen(CALL_EXAMPLE));

    memcpy(request + length, lines, n);
    length += (int)n;
    length += snprintf(request + length, sizeof request - (size_t)length,
                       "\r\n%s", CALL_EXAMPLE);
    return ask(request, (size_t)length, text, kept);
}

static void check_lines(const char *lines, size_t n, int expected)
{
    char text[4096];
    bool kept;
    int status = post(lines, n, text, &kept);

    ck_assert_msg(status == expected, "%s: %d %s", lines, status, text);
    if (expected != 400)
        return;
    ck_assert_msg(library_or_code(d.port, text, "bad_header"), "%s: %s", lines,
                  text);
    ck_assert_msg(!kept, "%s: kept", lines);
}

START_TEST(header_that_may_be_read_in_two_ways_is_400_and_closes)
{
    static const struct { size_t n; const char *lines; } table[] = {
#define LINES(text) { sizeof text - 1, text }
        LINES("Transfer-Encoding : chunked\r\n"),
        LINES("Transfer-Encoding\t: chunked\r\n"),
        LINES("Content-Length : 3\r\n"),
        LINES("X-A(b): c\r\n"),
        LINES("X-A: b\0c\r\n"),
        LINES("X-A: b\0c\r\nX-D: e\r\n"),
        LINES("X-A: \0Transfer-Encoding: chunked\r\nX-D: e\r\n"),
        LINES("X-A: b\r\n  c\r\n"),
        LINES("X-A: b\r\n\tc\r\nX-D: e\r\n"),
        LINES("X-A: b\0 \r\n"),
        LINES("X-A: b\0\r\nX-D: e\r\n"),
        LINES(": b\r\n"),
        LINES(":\r\nX-D: e\r\n"),
        LINES("\0a: b\r\n"),
        LINES("Host: y\r\n"),
        LINES("X-A: b\nX-D: e\n"),
        LINES("X-A: b\rTransfer-Encoding: chunked\r\n"),
        LINES("X-A: b\r\r\n"),
    };

    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        check_lines(table[i].lines, table[i].n, 400);
}
END_TEST

START_TEST(header_without_a_name_hides_no_second_request)
{
    static const char *const lines[] = { ": b", ":", "\t: b", "" };
    char request[256], text[4096];

    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        int fd = raw_open(d.port), expected = *lines[i] != '\0' ? 400 : 200;

        snprintf(request, sizeof request, "GET /livez HTTP/1.1\r\nHost: x\r\n"
                 "%s\r\nGET /hidden HTTP/1.1\r\nHost: x\r\n\r\n", lines[i]);
        ck_assert(raw_say(fd, request));
        int status = raw_reply(fd, text, sizeof text, 5);
        ck_assert_msg(status == expected, "%s: %d %s", lines[i], status, text);
        status = raw_reply(fd, text, sizeof text, 2);
        ck_assert_msg(status == (expected == 200 ? 404 : 0), "%s: then %d",
                      lines[i], status);
        close(fd);
    }
}
END_TEST

START_TEST(header_that_is_only_unusual_is_read)
{
    static const char *const lines[] = {
        "X-A:\r\n", "X-A: \r\nX-B:c\r\n", "x!#$%&'*+-.^_`|~9: \t b \t\r\n",
        "X-A: b\r\nX-A: c\r\n", "Cookie: a=b; c=\"d\"\r\n",
        "X-A: \"b: c\"\r\nCookie: a=b\r\nX-D: \xc3\xa9\r\n",
    };

    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        check_lines(lines[i], strlen(lines[i]), 200);
}
END_TEST

START_TEST(any_decimal_above_0_is_a_deadline)
{
    check_lines("Request-Timeout: 5 \r\n", 21, 200);
    check_lines("Request-Timeout: 5\t\r\n", 21, 200);
    check_lines("Request-Timeout: 99999999999999999999\r\n", 39, 200);
    check_lines("Request-Timeout: 0.0000000000000000000000000001\r\n", 49,
                504);
}
END_TEST

START_TEST(two_encodings_are_415_and_blanks_behind_one_nothing)
{
    check_lines("Content-Encoding: gzip\r\nContent-Encoding: gzip\r\n", 48,
                415);
    check_lines("Content-Encoding: identity \r\n", 29, 200);
}
END_TEST

/* The HTTP library itself answers most of these. */
START_TEST(malformed_length_is_refused_and_closes)
{
    static const char *const values[] = {
        "-1", "+57", "0x39", "57a", "57,57", "", "5 7",
        "9223372036854775807", "99999999999999999999999"
    };
    char request[512], text[4096];

    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        int fd = raw_open(d.port);

        snprintf(request, sizeof request, "POST /attention HTTP/1.1\r\n"
                 "Host: x\r\nContent-Length: %s\r\n\r\n%s", values[i],
                 CALL_EXAMPLE);
        ck_assert(raw_say(fd, request));
        int status = raw_reply(fd, text, sizeof text, 5);
        ck_assert_msg(status == 400 || status == 413, "%s: %d", values[i],
                      status);
        ck_assert_msg(raw_closed(fd, 3), "%s: kept", values[i]);
        close(fd);
    }
}
END_TEST

/* A megabyte of it, of which the HTTP library reads the beginning: whoever
 * sends all of it before it listens reads the answer, and no reset. */
static void check_flood(const char *begin, const char *more, int expected)
{
    static char flood[1 << 20];
    size_t first = strlen(begin), n = strlen(more), part = 1 << 18;
    char text[4096];
    int fd = raw_open(d.port);

    memcpy(flood, begin, first);
    for (size_t i = first; i < sizeof flood; i++)
        flood[i] = more[(i - first) % n];
    for (size_t i = 0; i < sizeof flood; i += part) {
        ck_assert_msg(raw_send(fd, flood + i, part), "%s: %zu", more, i);
        daemon_rest(0.02);
    }
    int status = raw_reply(fd, text, sizeof text, 5);
    ck_assert_msg(status == expected, "%s: %d", more, status);
    ck_assert_int_eq((int)recv(fd, text, 1, 0), 0);
    close(fd);
}

START_TEST(flood_of_headers_is_answered)
{
    check_flood("GET /livez HTTP/1.1\r\nHost: x\r\nA: ", "b", 431);
    check_flood("GET /livez HTTP/1.1\r\nHost: x\r\n", "A: b\r\n", 431);
    check_flood("GET /", "a", 414);
}
END_TEST

START_TEST(what_follows_a_request_that_closes_resets_no_reply)
{
    check_flood("GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                "\r\n", "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n", 200);
}
END_TEST

/* ------------------------------------------------------------ first lines */

static int post_to(const char *target, const char *version, const char *host,
                   char text[4096])
{
    char request[512];
    bool kept;
    int n = snprintf(request, sizeof request, "POST %s HTTP/%s\r\n%s"
                     "Content-Length: %zu\r\n\r\n%s", target, version, host,
                     strlen(CALL_EXAMPLE), CALL_EXAMPLE);

    return ask(request, (size_t)n, text, &kept);
}

START_TEST(path_with_a_nul_is_404)
{
    char text[4096];

    ck_assert_int_eq(post_to("/attention%00", "1.1", "Host: x\r\n", text),
                     404);
    ck_assert_int_eq(post_to("/attention%00x", "1.1", "Host: x\r\n", text),
                     404);
    ck_assert_int_eq(post_to("/%61ttention", "1.1", "Host: x\r\n", text), 200);
}
END_TEST

START_TEST(absolute_target_is_served)
{
    char text[4096];

    ck_assert_int_eq(post_to("http://x/attention", "1.1", "Host: x\r\n",
                             text), 200);
    ck_assert_int_eq(post_to("HTTPS://x:1/attention", "1.1", "Host: x\r\n",
                             text), 200);
    ck_assert_int_eq(post_to("http://x", "1.1", "Host: x\r\n", text), 405);
    ck_assert_int_eq(post_to("http:/attention", "1.1", "Host: x\r\n", text),
                     404);
}
END_TEST

START_TEST(host_that_is_none_and_chunks_of_http_1_0_are_400)
{
    static const char *const hosts[] = { "", "a b", "x/y?z", "x@y" };
    char text[4096], line[64];

    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
        snprintf(line, sizeof line, "Host: %s\r\n", hosts[i]);
        ck_assert_int_eq(post_to("/attention", "1.1", line, text), 400);
        ck_assert_int_eq(post_to("/attention", "1.0", line, text), 400);
    }
    ck_assert_int_eq(post_to("/attention", "1.1", "Host: [::1]:80 \r\n", text),
                     200);
    int fd = raw_open(d.port);
    ck_assert(raw_say(fd, "POST /attention HTTP/1.0\r\nTransfer-Encoding: "
                      "chunked\r\n\r\n0\r\n\r\n"));
    ck_assert_int_eq(raw_reply(fd, text, sizeof text, 5), 400);
    close(fd);
}
END_TEST

START_TEST(blank_behind_an_expectation_is_no_part_of_it)
{
    static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
    char text[4096] = "";
    int fd = raw_open(d.port);

    ck_assert(raw_say(fd, "POST /attention HTTP/1.1\r\nHost: x\r\n"
                          "Expect: 100-continue \r\nContent-Length: "));
    snprintf(text, sizeof text, "%zu\r\n\r\n", strlen(CALL_EXAMPLE));
    ck_assert(raw_say(fd, text));
    ck_assert_int_eq((int)recv(fd, text, sizeof go_on - 1, MSG_WAITALL),
                     (int)sizeof go_on - 1);
    ck_assert_int_eq(strncmp(text, go_on, sizeof go_on - 1), 0);
    ck_assert(raw_say(fd, CALL_EXAMPLE));
    ck_assert_int_eq(raw_reply(fd, text, sizeof text, 5), 200);
    close(fd);
}
END_TEST

START_TEST(blanks_behind_an_id_are_no_part_of_it_and_accept_varies)
{
    char text[4096];

    ck_assert_int_eq(post_to("/attention", "1.1", "Host: x\r\n"
                             "X-Request-Id: abc \t\r\n", text), 200);
    ck_assert_ptr_nonnull(strstr(text, "X-Request-Id: abc\r\n"));
    ck_assert_ptr_nonnull(strstr(text, "Vary: Accept\r\n"));
}
END_TEST

START_TEST(http_1_1_without_host_is_400)
{
    char text[4096];

    ck_assert_int_eq(post_to("/attention", "1.1", "", text), 400);
    ck_assert(library_or_code(d.port, text, "bad_header"));
    ck_assert_int_eq(post_to("/attention", "1.0", "", text), 200);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        end_together_with_the_last_bytes_of_a_part_is_noticed,
        broken_chunks_are_counted_as_such,
        end_within_the_headers_is_noticed,
        upload_that_stops_is_408_soon,
        header_that_may_be_read_in_two_ways_is_400_and_closes,
        header_without_a_name_hides_no_second_request,
        header_that_is_only_unusual_is_read,
        malformed_length_is_refused_and_closes,
        flood_of_headers_is_answered,
        what_follows_a_request_that_closes_resets_no_reply,
        any_decimal_above_0_is_a_deadline,
        two_encodings_are_415_and_blanks_behind_one_nothing,
        path_with_a_nul_is_404,
        absolute_target_is_served,
        http_1_1_without_host_is_400,
        host_that_is_none_and_chunks_of_http_1_0_are_400,
        blank_behind_an_expectation_is_no_part_of_it,
        blanks_behind_an_id_are_no_part_of_it_and_accept_varies,
        NULL
    };

    return suite_run("hostile", tests, setup, teardown, 30);
}
