/* SPDX-License-Identifier: MIT */
/*
 * test_room.c - headers, targets and trailers up to more than the HTTP library
 * has room for: whatever comes is answered, and what was sent is what is
 * logged and counted.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "call.h"
#include "daemon.h"
#include "library.h"
#include "metric.h"
#include "raw.h"
#include "suite.h"

#define ROOM (1 << 18)

static struct daemon d;
static char *request;

static void setup(void)
{
    const char *arguments[] = { "--threads", "1", NULL };

    daemon_start(&d, arguments);
    request = malloc(ROOM);
}

static void teardown(void)
{
    free(request);
    daemon_stop(&d);
}

static char *fill(char *at, char c, size_t n)
{
    memset(at, c, n);
    at[n] = '\0';
    return at + n;
}

static void one_header(size_t n)
{
    strcpy(fill(stpcpy(request, "GET /livez HTTP/1.1\r\nHost: x\r\nX: "), 'a',
                n), "\r\n\r\n");
}

static void long_target(size_t n)
{
    strcpy(fill(stpcpy(request, "GET /livez?"), 'a', n),
           " HTTP/1.1\r\nHost: x\r\n\r\n");
}

/* What it takes is there twice. */
static void cookie(size_t n)
{
    n = n < 64000 ? n : 64000;
    strcpy(fill(stpcpy(request, "GET /livez HTTP/1.1\r\nHost: x\r\nCookie: a="),
                'a', n), "\r\n\r\n");
}

static void many_headers(size_t n)
{
    char *at = stpcpy(request, "GET /livez HTTP/1.1\r\nHost: x\r\n");

    for (size_t i = 0; i < n / 80; i++)
        at += sprintf(at, "X%zu: a\r\n", i);
    strcpy(at, "\r\n");
}

static void many_arguments(size_t n)
{
    char *at = stpcpy(request, "GET /livez?");

    for (size_t i = 0; i < n / 80; i++)
        at = stpcpy(at, "a&");
    strcpy(at, " HTTP/1.1\r\nHost: x\r\n\r\n");
}

static char *chunked(void)
{
    return request + sprintf(request, "POST /attention HTTP/1.1\r\nHost: x\r\n"
                             "X-Request-Id: mine\r\n"
                             "Transfer-Encoding: chunked\r\n\r\n%zx\r\n%s\r\n"
                             "0\r\n", strlen(CALL_EXAMPLE), CALL_EXAMPLE);
}

static void trailer(size_t n)
{
    strcpy(fill(stpcpy(chunked(), "X: "), 'a', n), "\r\n\r\n");
}

/* The status of the answer to it, which has to be there. */
static int ask(const char *what, size_t n)
{
    char text[4096];
    int fd = raw_open(d.port);

    ck_assert(raw_say(fd, request));
    int status = raw_reply(fd, text, sizeof text, 5);
    close(fd);
    ck_assert_msg(status == 200 || status == 431 || status == 414,
                  "%s of %zu: %d", what, n, status);
    return status;
}

static const struct {
    const char *what;
    void (*write)(size_t n);
} table[] = {
    { "header", one_header }, { "target", long_target }, { "cookie", cookie },
    { "headers", many_headers }, { "arguments", many_arguments },
    { "trailer", trailer },
};

START_TEST(whatever_room_is_left_there_is_an_answer)
{
    static const size_t ranges[][3] = {
        { 31000, 33000, 500 }, { 62000, 65400, 100 }, { 66000, 80000, 5000 },
    };

    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        for (size_t k = 0; k < sizeof ranges / sizeof *ranges; k++)
            for (size_t n = ranges[k][0]; n <= ranges[k][1]; n += ranges[k][2]) {
                table[i].write(n);
                ask(table[i].what, n);
            }
}
END_TEST

START_TEST(limit_is_32_kib)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        bool twice = table[i].write == cookie;

        table[i].write(twice ? 15000 : 23000);
        ck_assert_msg(ask(table[i].what, 23000) == 200, "%s", table[i].what);
        table[i].write(twice ? 17000 : 34000);
        ck_assert_msg(ask(table[i].what, 34000) == 431, "%s", table[i].what);
    }
}
END_TEST

/* The library builds its own refusals where the headers were. */
START_TEST(log_has_the_request_s_own_words)
{
    char line[128];

    for (size_t n = 65100; n < 65400; n += 20) {
        trailer(n);
        snprintf(line, sizeof line, "id=mine peer=127.0.0.1 method=POST "
                 "path=/attention status=%d", ask("trailer", n));
        ck_assert_msg(daemon_says(d.out, line, 3), "%zu: %s", n, line);
    }
    char *said = daemon_said(d.out);
    ck_assert_ptr_null(strstr(said, "Request Header Fields"));
    free(said);
}
END_TEST

static void check_recorded(const char *bytes, int expected)
{
    char text[4096], line[64], name[128];
    int fd = raw_open(d.port);

    ck_assert(raw_say(fd, bytes));
    int status = raw_reply(fd, text, sizeof text, 5);
    ck_assert_msg(status == expected, "%.40s: %d", bytes, status);
    close(fd);
    snprintf(line, sizeof line, "status=%d", status);
    ck_assert_msg(daemon_says(d.out, line, 3), "%.40s: %s", bytes, line);
    snprintf(name, sizeof name, "attention_http_requests_total{route=\"other\","
             "method=\"other\",code=\"%d\"}", status);
    ck_assert_msg(metric_reaches(d.port, name, 1, 3), "%s", name);
}

START_TEST(what_the_library_refuses_is_logged_and_counted)
{
    check_recorded("GET /livez HTTP/2.0\r\nHost: x\r\n\r\n", 505);
    fill(stpcpy(request, "GET /"), 'a', 70000);
    check_recorded(request, 414);
}
END_TEST

/* With the status that the client got: 0.9.75 calls the line its own fault. */
START_TEST(endless_chunk_size_is_logged_as_it_was_answered)
{
    char text[4096], line[64];
    int fd = raw_open(d.port);

    fill(chunked() - strlen("0\r\n"), '0', 70000);
    ck_assert(raw_say(fd, request));
    int status = raw_reply(fd, text, sizeof text, 5);
    ck_assert_int_eq(status, library_is_0_9(d.port) ? 500 : 413);
    snprintf(line, sizeof line, "status=%d code=bad_framing", status);
    ck_assert(daemon_says(d.out, line, 3));
    close(fd);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        whatever_room_is_left_there_is_an_answer,
        limit_is_32_kib,
        log_has_the_request_s_own_words,
        what_the_library_refuses_is_logged_and_counted,
        endless_chunk_size_is_logged_as_it_was_answered,
        NULL
    };

    return suite_run("room", tests, setup, teardown, 60);
}
