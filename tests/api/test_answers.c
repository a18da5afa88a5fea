/* SPDX-License-Identifier: MIT */
/*
 * test_answers.c - what NumPy in float64 and ONNX answer, asked of a real
 * daemon over real sockets.
 */
#include "daemon.h"
#include "http.h"
#include "onnx.h"
#include "suite.h"
#include "vector.h"

#include <stdlib.h>

static struct daemon d;

static void setup(void)
{
    daemon_start(&d, NULL);
}

static void teardown(void)
{
    daemon_stop(&d);
}

static json_t *post(const char *case_name, const json_t *request)
{
    char *body = json_dumps(request, JSON_COMPACT);
    struct http_reply r = http_post(d.port, body);
    ck_assert_msg(r.status == 200, "%s: status %d: %s", case_name, r.status,
                  r.body);
    json_error_t error;
    json_t *reply = json_loadb(r.body, r.length, JSON_REJECT_DUPLICATES,
                               &error);
    ck_assert_msg(reply != NULL, "%s: %s", case_name, error.text);
    http_free(&r);
    free(body);
    return reply;
}

START_TEST(the_daemon_answers_as_NumPy_does)
{
    vectors_check(post);
}
END_TEST

START_TEST(the_daemon_answers_as_ONNX_does)
{
    onnx_check(post);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {the_daemon_answers_as_NumPy_does,
                                  the_daemon_answers_as_ONNX_does, NULL};
    return suite_run("answers", tests, setup, teardown, 60);
}
