/* SPDX-License-Identifier: MIT */
/*
 * test_refuse.c - what is refused from the headers, and that the client can
 * always read why.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "call.h"
#include "daemon.h"
#include "http.h"
#include "library.h"
#include "raw.h"
#include "suite.h"

static struct daemon d;

static void setup(void)
{
    const char *arguments[] = { "--body-bytes", "2000000", NULL };

    daemon_start(&d, arguments);
}

static void teardown(void)
{
    daemon_stop(&d);
}

/* Sends a request as it is; the status of its reply. */
static int ask(const char *request, char *text, size_t size, int *fd)
{
    *fd = raw_open(d.port);
    ck_assert(raw_say(*fd, request));
    return raw_reply(*fd, text, size, 5);
}

/* POST of "{}" with these lines is refused for them; the connection it came
 * on. */
static int check_bad_header(const char *lines)
{
    char request[512], text[4096];
    int fd;

    snprintf(request, sizeof request, "POST /attention HTTP/1.1\r\n"
             "Host: x\r\n%s\r\n{}", lines);
    int status = ask(request, text, sizeof text, &fd);
    ck_assert_msg(status == 400, "%s: %d %s", lines, status, text);
    ck_assert_msg(library_or_code(d.port, text, "bad_header"), "%s: %s", lines,
                  text);
    return fd;
}

START_TEST(framing_that_is_unclear_is_400_and_closes)
{
    static const char *const headers[] = {
        "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n",
        "Content-Length: 2\r\nContent-Length: 2\r\n",
        "Content-Length: 2\r\nContent-Length: 3\r\n",
        "Transfer-Encoding: gzip, chunked\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
    };

    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        int fd = check_bad_header(headers[i]);

        ck_assert_msg(raw_closed(fd, 3), "%s: left open", headers[i]);
        close(fd);
    }
}
END_TEST

START_TEST(header_that_says_two_things_is_400)
{
    static const char *const headers[] = {
        "Content-Length: 2\r\nRequest-Timeout: 5\r\nRequest-Timeout: 0\r\n",
        "Content-Length: 2\r\nContent-Type: application/json\r\n"
        "Content-Type: image/png\r\n",
    };

    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        close(check_bad_header(headers[i]));
}
END_TEST

START_TEST(post_without_length_or_chunks_is_411)
{
    char text[4096];
    int fd;

    ck_assert_int_eq(ask("POST /attention HTTP/1.1\r\nHost: x\r\n\r\n", text,
                         sizeof text, &fd), 411);
    ck_assert(raw_closed(fd, 3));
    close(fd);
}
END_TEST

START_TEST(large_body_is_413_with_limit_and_size)
{
    size_t n = 3000000;
    char *body = calloc(1, n);
    struct http_reply r;

    http_request(d.port, "POST", "/attention", NULL, body, n, &r);
    ck_assert_int_eq(r.status, 413);
    ck_assert_ptr_nonnull(strstr(r.body, "\"limit\":2000000"));
    ck_assert_ptr_nonnull(strstr(r.body, "\"got\":3000000"));
    http_free(&r);
    free(body);
}
END_TEST

/* A client that writes everything before it reads anything. */
START_TEST(early_413_is_read_by_a_client_that_writes_first)
{
    static char block[1 << 20];
    char text[4096];

    for (int attempt = 0; attempt < 10; attempt++) {
        int fd = raw_open(d.port);

        ck_assert(raw_say(fd, "POST /attention HTTP/1.1\r\nHost: x\r\n"
                          "Content-Length: 33554432\r\n\r\n"));
        for (int i = 0; i < 32; i++)
            ck_assert(raw_send(fd, block, sizeof block));
        ck_assert_int_eq(raw_reply(fd, text, sizeof text, 5), 413);
        ck_assert_ptr_nonnull(strstr(text, "\"got\":33554432"));
        close(fd);
    }
}
END_TEST

static bool send_chunks(int fd, int count)
{
    static char block[65536 + 16];
    int head = sprintf(block, "%x\r\n", 65536);

    memset(block + head, ' ', 65536);
    memcpy(block + head + 65536, "\r\n", 2);
    for (int i = 0; i < count; i++)
        if (!raw_send(fd, block, (size_t)head + 65536 + 2))
            return false;
    return true;
}

START_TEST(chunks_beyond_the_limit_are_413_and_the_connection_is_kept)
{
    char text[4096];
    int fd = raw_open(d.port);

    ck_assert(raw_say(fd, "POST /attention HTTP/1.1\r\nHost: x\r\n"
                      "Transfer-Encoding: chunked\r\n\r\n"));
    ck_assert(send_chunks(fd, 36));
    ck_assert(raw_say(fd, "0\r\n\r\n"));
    ck_assert_int_eq(raw_reply(fd, text, sizeof text, 5), 413);
    ck_assert(raw_post(fd, "", CALL_EXAMPLE));
    ck_assert_int_eq(raw_reply(fd, text, sizeof text, 5), 200);
    close(fd);
}
END_TEST

START_TEST(chunks_without_end_are_413_and_cut)
{
    char text[4096];
    int fd = raw_open(d.port);

    ck_assert(raw_say(fd, "POST /attention HTTP/1.1\r\nHost: x\r\n"
                      "Transfer-Encoding: chunked\r\n\r\n"));
    ck_assert(send_chunks(fd, 160));
    ck_assert_int_eq(raw_reply(fd, text, sizeof text, 5), 413);
    ck_assert_ptr_nonnull(strstr(text, "body_too_large"));
    ck_assert(raw_closed(fd, 3));
    close(fd);
}
END_TEST

START_TEST(small_refused_body_keeps_the_connection)
{
    char text[4096];
    int fd = raw_open(d.port);

    ck_assert(raw_post(fd, "Content-Type: image/png\r\n", CALL_EXAMPLE));
    ck_assert_int_eq(raw_reply(fd, text, sizeof text, 5), 415);
    ck_assert(raw_post(fd, "", CALL_EXAMPLE));
    ck_assert_int_eq(raw_reply(fd, text, sizeof text, 5), 200);
    close(fd);
}
END_TEST

START_TEST(declared_types_that_are_no_numbers_are_415)
{
    static const char *const types[] = {
        "multipart/form-data; boundary=x", "application/xml",
        "text/xml; charset=utf-8", "image/png", "audio/ogg", "VIDEO/mp4"
    };
    char header[128];

    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        const char *headers[] = { header, NULL };
        struct http_reply r;

        snprintf(header, sizeof header, "Content-Type: %s", types[i]);
        http_request(d.port, "POST", "/attention", headers, CALL_EXAMPLE,
                     strlen(CALL_EXAMPLE), &r);
        ck_assert_msg(r.status == 415, "%s: %d", types[i], r.status);
        http_free(&r);
    }
}
END_TEST

START_TEST(content_encoding_other_than_gzip_is_415)
{
    static const struct { const char *header; int status; } table[] = {
        { "Content-Encoding: br", 415 },
        { "Content-Encoding: gzip, gzip", 415 },
        { "Content-Encoding: identity", 200 },
        { "Content-Encoding: gzip", 400 },
    };

    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const char *headers[] = { table[i].header, NULL };
        struct http_reply r;

        http_request(d.port, "POST", "/attention", headers, CALL_EXAMPLE,
                     strlen(CALL_EXAMPLE), &r);
        ck_assert_msg(r.status == table[i].status, "%s: %d %s",
                      table[i].header, r.status, r.body);
        http_free(&r);
    }
}
END_TEST

START_TEST(malformed_request_timeout_is_400)
{
    static const char *const values[] = { "0", "-1", "soon", "1e3", "",
                                          "1.2.3", "0x10", "nan" };
    char header[64], text[4096];

    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        int fd = raw_open(d.port);

        snprintf(header, sizeof header, "Request-Timeout: %s\r\n", values[i]);
        ck_assert(raw_post(fd, header, CALL_EXAMPLE));
        int status = raw_reply(fd, text, sizeof text, 5);
        ck_assert_msg(status == 400, "%s: %d", values[i], status);
        close(fd);
    }
}
END_TEST

START_TEST(expectation_is_answered_at_once_with_yes)
{
    char text[64] = "";
    int fd = raw_open(d.port);

    ck_assert(raw_say(fd, "POST /attention HTTP/1.1\r\nHost: x\r\n"
                      "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n"));
    double start = daemon_clock();
    ck_assert_int_gt((int)read(fd, text, sizeof text - 1), 0);
    ck_assert_msg(strncmp(text, "HTTP/1.1 100", 12) == 0, "%s", text);
    ck_assert_double_lt(daemon_clock() - start, 1.0 * daemon_slack());
    close(fd);
}
END_TEST

START_TEST(expectation_is_answered_at_once_with_no)
{
    char text[4096];
    int fd = raw_open(d.port);
    double start = daemon_clock();

    ck_assert(raw_say(fd, "POST /attention HTTP/1.1\r\nHost: x\r\n"
                      "Expect: 100-continue\r\nContent-Type: image/png\r\n"
                      "Content-Length: 1000000\r\n\r\n"));
    ck_assert_int_eq(raw_reply(fd, text, sizeof text, 5), 415);
    ck_assert_double_lt(daemon_clock() - start, 1.0 * daemon_slack());
    close(fd);
}
END_TEST

START_TEST(refusal_closes_nobody_elses_connection)
{
    static char block[1 << 20];
    char text[4096];
    int other = raw_open(d.port), fd = raw_open(d.port);

    ck_assert(raw_post(other, "", CALL_EXAMPLE));
    ck_assert_int_eq(raw_reply(other, text, sizeof text, 5), 200);
    ck_assert(raw_say(fd, "POST /attention HTTP/1.1\r\nHost: x\r\n"
                      "Content-Length: 900000000\r\n\r\n"));
    for (int i = 0; i < 8; i++)
        raw_send(fd, block, sizeof block);
    ck_assert_int_eq(raw_reply(fd, text, sizeof text, 5), 413);
    close(fd);
    ck_assert(raw_post(other, "", CALL_EXAMPLE));
    ck_assert_int_eq(raw_reply(other, text, sizeof text, 5), 200);
    close(other);
}
END_TEST

START_TEST(problem_has_every_member_of_the_contract)
{
    static const char *const members[] = {
        "\"type\":", "\"title\":", "\"status\":422", "\"detail\":",
        "\"code\":\"ragged\"", "\"pointer\":\"/K/1\"", "\"error\":"
    };
    struct http_reply r = http_post(d.port, "{\"Q\":[[1,2]],"
                                    "\"K\":[[1,2],[3]],\"V\":[[1],[2]]}");
    char type[256];

    ck_assert_int_eq(r.status, 422);
    ck_assert_str_eq(http_header(&r, "Content-Type", type),
                     "application/problem+json");
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        ck_assert_msg(strstr(r.body, members[i]) != NULL, "%s in %s",
                      members[i], r.body);
    http_free(&r);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        framing_that_is_unclear_is_400_and_closes,
        header_that_says_two_things_is_400,
        post_without_length_or_chunks_is_411,
        large_body_is_413_with_limit_and_size,
        early_413_is_read_by_a_client_that_writes_first,
        chunks_beyond_the_limit_are_413_and_the_connection_is_kept,
        chunks_without_end_are_413_and_cut,
        small_refused_body_keeps_the_connection,
        declared_types_that_are_no_numbers_are_415,
        content_encoding_other_than_gzip_is_415,
        malformed_request_timeout_is_400,
        expectation_is_answered_at_once_with_yes,
        expectation_is_answered_at_once_with_no,
        refusal_closes_nobody_elses_connection,
        problem_has_every_member_of_the_contract,
        NULL
    };

    return suite_run("refuse", tests, setup, teardown, 30);
}
