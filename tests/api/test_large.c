/* SPDX-License-Identifier: MIT */
/*
 * test_large.c - an A of 4096 x 4096: 64 MiB of numbers, some 220 MB of text.
 */
#include <stdlib.h>
#include <unistd.h>

#include "call.h"
#include "daemon.h"
#include "http.h"
#include "metric.h"
#include "raw.h"
#include "suite.h"

static struct daemon d;

static void setup(void)
{
    const char *arguments[] = { "--threads", "2", "--log", "none", NULL };

    daemon_start(&d, arguments);
}

static void teardown(void)
{
    daemon_stop(&d);
}

static void post_both(const char *large, const char *small)
{
    char text[4096];
    int fd = raw_open(d.port);

    ck_assert(raw_post(fd, "", large));
    ck_assert(metric_reaches(d.port, "attention_queue_depth", 1, 10));
    for (int i = 0; i < 5; i++) {
        struct http_reply r = http_post(d.port, small);

        ck_assert_int_eq(r.status, 200);
        http_free(&r);
    }
    ck_assert_int_eq(raw_reply(fd, text, sizeof text, 60), 200);
    close(fd);
}

/* The text is never held whole; what rests behind one is there for the next.
 * The sanitizers' own memory is not judged. */
START_TEST(large_A_takes_64_MiB_beside_itself_at_most)
{
    char *large = call_json(4096, 16, ""), *small = call_json(100, 16, "");

    for (int i = 0; i < 3; i++)
        post_both(large, small);
    if (daemon_slack() <= 1)
        ck_assert_int_lt(daemon_status(&d, "VmHWM:"), (64 + 64) << 10);
    free(large);
    free(small);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        large_A_takes_64_MiB_beside_itself_at_most,
        NULL
    };

    return suite_run("large", tests, setup, teardown, 120);
}
