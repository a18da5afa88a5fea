/* SPDX-License-Identifier: MIT */
/*
 * test_cases.c - every folder of tests/cases over HTTP.
 */
#include <string.h>

#include "cases.h"
#include "daemon.h"
#include "http.h"
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

static struct http_reply post(const struct a_case *c)
{
    static const char *const headers[] = {"Content-Type: application/json",
                                          NULL};
    struct http_reply r;
    http_request(d.port, "POST", "/attention", headers, c->request, c->length,
                 &r);
    return r;
}

static void check_accepted(const struct a_case *c)
{
    struct http_reply r = post(c);
    ck_assert_msg(r.status == 200, "%s: %d %s", c->claim, r.status, r.body);
    cases_check_reply(c, r.body, 1);
    http_free(&r);
}

START_TEST(accepted_requests_get_their_reply_over_http)
{
    cases_each("accepted", 40, check_accepted);
}
END_TEST

static void check_refused(const struct a_case *c)
{
    struct http_reply r = post(c);
    char type[256];
    json_int_t status =
        json_integer_value(json_object_get(c->expected, "status"));
    ck_assert_msg(r.status == status, "%s: %d, expected %d", c->claim,
                  r.status, (int)status);
    ck_assert_str_eq(http_header(&r, "Content-Type", type),
                     "application/problem+json");
    cases_check_problem(c, r.body);
    http_free(&r);
}

START_TEST(refused_requests_get_their_problem_over_http)
{
    cases_each("refused", 60, check_refused);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        accepted_requests_get_their_reply_over_http,
        refused_requests_get_their_problem_over_http, NULL};
    return suite_run("cases over HTTP", tests, setup, teardown, 60);
}
