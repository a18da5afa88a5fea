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

            ck_assert_msg(metric_reaches(d.port, GONE_IN_UPLOAD, ++count, 0.2),
                          "%zu bytes, round %d", sizes[i], round);
            if (fd >= 0)
                close(fd);
        }
}
END_TEST

START_TEST(end_within_the_headers_is_noticed)
{
    double from = daemon_clock();

    for (int i = 0; i < 10; i++) {
        int fd = raw_open(d.port);

        ck_assert(raw_say(fd, "POST /attention HTTP/1.1\r\nHo"));
        raw_half_close(fd);
        ck_assert(raw_closed(fd, 2));
        close(fd);
    }
    ck_assert_double_lt(daemon_clock() - from, 2 * daemon_slack());
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
    double from = daemon_clock();
    ck_assert_int_eq(raw_reply(fd, text, sizeof text, 5), 408);
    ck_assert_double_lt(daemon_clock() - from, 1.5 * daemon_slack());
    close(fd);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        end_together_with_the_last_bytes_of_a_part_is_noticed,
        end_within_the_headers_is_noticed,
        upload_that_stops_is_408_soon,
        NULL
    };

    return suite_run("hostile", tests, setup, teardown, 30);
}
