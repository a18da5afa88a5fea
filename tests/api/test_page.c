/* SPDX-License-Identifier: MIT */
/*
 * test_page.c - the page for people at GET /: what it says to what is typed.
 */
#include "suite.h"

#include <stdio.h>
#include <stdlib.h>

#include "daemon.h"
#include "shell.h"

static struct daemon d;

static void setup(void)
{
    char url[64];

    daemon_start(&d, NULL);
    sprintf(url, "http://127.0.0.1:%d", d.port);
    setenv("URL", url, 1);
    setenv("no_proxy", "*", 1);
}

static void teardown(void)
{
    daemon_stop(&d);
}

static void expect(const char *scale, const char *said)
{
    char command[128];
    const char *const words[] = {said, NULL};

    sprintf(command, "node tests/support/page.mjs $URL scale='%s'", scale);
    shell_expect(command, 0, words);
}

START_TEST(page_computes_with_a_scale_as_typed)
{
    expect("", " ms");
    expect(" 0.5 ", " ms");
    expect("-1e-3", " ms");
}
END_TEST

START_TEST(scale_that_is_no_number_is_refused_where_it_was_typed)
{
    expect("1/2", "wrong scale: \"1/2\" is not a number; write it in digits, "
                  "as 0.5");
    expect("0,5", "wrong scale: \"0,5\" is not a number");
    expect("Infinity", "wrong scale: \"Infinity\" is not a number");
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        page_computes_with_a_scale_as_typed,
        scale_that_is_no_number_is_refused_where_it_was_typed,
        NULL};
    return suite_run("page", tests, setup, teardown, 60);
}
