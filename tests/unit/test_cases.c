/* SPDX-License-Identifier: MIT */
/*
 * test_cases.c - every folder of tests/cases through decoder, library and
 * encoder, in this process.
 */
#include <stdlib.h>

#include "cases.h"
#include "posted.h"
#include "suite.h"

static void check_accepted(const struct a_case *c)
{
    struct posted p;
    char *reply = posted_answer(&p, c->request, c->length);
    ck_assert_msg(reply != NULL, "%s: %s", c->claim, p.r->fault.detail);
    cases_check_reply(c, reply, 0);
    free(reply);
    posted_close(&p);
}

START_TEST(accepted_requests_get_their_reply)
{
    suite_init_library();
    cases_each("accepted", 40, check_accepted);
}
END_TEST

static void check_refused(const struct a_case *c)
{
    char problem[4096];
    struct posted p;
    char *reply = posted_answer(&p, c->request, c->length);
    ck_assert_msg(reply == NULL, "%s: %s", c->claim, reply);
    fault_print_problem_json(&p.r->fault, problem, sizeof problem);
    cases_check_problem(c, problem);
    posted_close(&p);
}

START_TEST(refused_requests_get_their_problem)
{
    suite_init_library();
    cases_each("refused", 60, check_refused);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {accepted_requests_get_their_reply,
                                  refused_requests_get_their_problem, NULL};
    return suite_run("cases", tests, NULL, NULL, 60);
}
