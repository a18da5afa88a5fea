/* SPDX-License-Identifier: MIT */
/*
 * test_commands.c - what the commands say when something is missing, wrong or
 * slow: the scripts behind `make run`, `make test`, `make load` and the rest.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shell.h"
#include "suite.h"

static char folder[] = "/tmp/commands-XXXXXX";

static void setup(void)
{
    ck_assert_ptr_nonnull(mkdtemp(folder));
    setenv("WORK", folder, 1);
    setenv("no_proxy", "*", 1);
}

static void teardown(void)
{
    free(shell_said("rm -r \"$WORK\"", 0));
    strcpy(folder, "/tmp/commands-XXXXXX");
}

/* Writes a program of that name into the test's folder. */
static void program(const char *name, const char *text)
{
    char path[64];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
    ck_assert_int_eq(access(path, R_OK), 0);
    free(shell_said("chmod +x \"$WORK\"/*", 0));
}

/* One line, with the word in it. */
static void expect_line(const char *command, int status, const char *word)
{
    char *text = shell_said(command, status);
    const char *end = strchr(text, '\n');

    ck_assert_msg(strstr(text, word) && end && end[1] == '\0', "%s: %s: %s",
                  command, word, text);
    free(text);
}

/* ----------------------------------------------------------------- set-up */

START_TEST(where_nothing_can_be_installed_all_that_is_missing_is_named)
{
    shell_expect("PATH=/nowhere /bin/sh tests/support/setup.sh gcc curl "
                 "-- check wrk 2>&1", 1,
                 (const char *const[]){"  gcc curl\n", "`make check`,\n",
                                       "  check wrk\n",
                                       "make && build/attentiond\n", NULL});
}
END_TEST

START_TEST(what_is_there_counts_whoever_brought_it)
{
    program("curl", "#!/bin/sh\n");
    program("pkg-config", "#!/bin/sh\n[ $2 = jansson ]\n");
    char *text = shell_said("PATH=$WORK /bin/sh tests/support/setup.sh curl "
                            "libjansson-dev 2>&1", 0);
    ck_assert_str_eq(text, "");
    free(text);
    shell_expect("PATH=$WORK /bin/sh tests/support/setup.sh curl "
                 "libjansson-dev zlib1g-dev 2>&1", 1,
                 (const char *const[]){"\n  zlib1g-dev\n", NULL});
}
END_TEST

/* ------------------------------------------------------------------ tests */

START_TEST(last_line_of_a_run_is_the_sum)
{
    program("good", "#!/bin/sh\n"
            "echo '100%: Checks: 3, Failures: 0, Errors: 0'\n"
            "echo '100%: Checks: 4, Failures: 0, Errors: 0'\n");
    char *text = shell_said("tests/run.sh $WORK $WORK/good $WORK/good", 0);
    ck_assert_str_eq(strstr(text, "\n14 passed") + 1, "14 passed, 0 failed\n");
    free(text);
}
END_TEST

START_TEST(whatever_fails_is_in_the_sum)
{
    program("good", "#!/bin/sh\n"
            "echo '100%: Checks: 3, Failures: 0, Errors: 0'\n");
    program("bad", "#!/bin/sh\n"
            "echo '33%: Checks: 3, Failures: 1, Errors: 1'; exit 1\n");
    program("crash", "#!/bin/sh\n"
            "echo '100%: Checks: 5, Failures: 0, Errors: 0'; kill -9 $$\n");
    program("mute", "#!/bin/sh\n");
    char *text = shell_said("tests/run.sh $WORK $WORK/good $WORK/bad "
                            "$WORK/crash $WORK/mute $WORK/none 2>&1", 1);
    ck_assert_msg(strstr(text, "\n9 passed, 5 failed\n") != NULL, "%s", text);
    free(text);
}
END_TEST

/* -------------------------------------------------------------------- run */

/* A daemon that answers everything with 400. */
static const char refuser[] =
    "#!/usr/bin/env python3\n"
    "import http.server, sys\n"
    "class Handler(http.server.BaseHTTPRequestHandler):\n"
    "    def do_GET(self):\n"
    "        self.send_response(400)\n"
    "        self.end_headers()\n"
    "        self.wfile.write(b'no such luck')\n"
    "http.server.HTTPServer(('127.0.0.1', int(sys.argv[-1])),\n"
    "                       Handler).serve_forever()\n";

#define PORT "$(python3 -c 'import socket as s; l = s.create_server(" \
    "(\"127.0.0.1\", 0)); print(l.getsockname()[1])')"

START_TEST(daemon_that_is_not_ready_is_asked_why)
{
    program("refuser", refuser);
    shell_expect("timeout 12 tests/support/example.sh $WORK/refuser " PORT
                 " 2>&1", 124,
                 (const char *const[]){"Not ready after 5 s", "no such luck",
                                       "status 400", NULL});
}
END_TEST

START_TEST(daemon_that_does_not_answer_is_told_of)
{
    program("mute", "#!/bin/sh\nexec sleep 20\n");
    shell_expect("timeout 12 tests/support/example.sh $WORK/mute " PORT
                 " 2>&1", 124,
                 (const char *const[]){"Not ready after 5 s", "connect", NULL});
}
END_TEST

START_TEST(taken_port_is_told_in_the_words_of_make)
{
    program("refuser", refuser);
    program("try", "#!/bin/sh\n$WORK/refuser $1 2>/dev/null & pid=$!\n"
            "until curl -s -o /dev/null http://127.0.0.1:$1; do sleep 0.1\n"
            "done\ntests/support/example.sh /bin/false $1; status=$?\n"
            "kill $pid; exit $status\n");
    expect_line("$WORK/try " PORT " 2>&1", 1, "make run PORT=");
}
END_TEST

START_TEST(help_tells_targets_and_settings_in_columns)
{
    shell_expect("make help", 0,
                 (const char *const[]){"\nrun             ", "\ndebian-test  ",
                                       "\nPORT=8080 ", "\nURL= ", NULL});
    char *text = shell_said("make help | awk 'length($0) > 80 || /\\$\\(/'",
                            0);
    ck_assert_str_eq(text, "");
    free(text);
}
END_TEST

/* ------------------------------------------------------------------ tools */

START_TEST(tools_tell_a_wrong_address_in_one_line)
{
    expect_line("python3 tests/load/sweep.py --out $WORK --url "
                "127.0.0.1:8080 2>&1", 1, "such as http://127.0.0.1:8080");
    expect_line("python3 tests/load/sweep.py --out $WORK --url "
                "http://127.0.0.1:1 2>&1", 1, "refused");
    expect_line("python3 docs/examples/decode.py http://127.0.0.1:1 2>&1", 1,
                "http://127.0.0.1:1: ");
    expect_line("python3 docs/examples/decode.py 127.0.0.1:8080 2>&1", 1,
                "127.0.0.1:8080: ");
    expect_line("node docs/examples/weights.js http://127.0.0.1:9 2>&1", 1,
                "http://127.0.0.1:9: ");
}
END_TEST

START_TEST(scaling_tells_missing_input_in_one_line)
{
    program("list", "{}");
    expect_line("python3 docs/scaling.py fit $WORK/no.csv 2>&1", 1, "no.csv");
    expect_line("python3 docs/scaling.py replicas --model 1,2,3 $WORK/no.json"
                " 2>&1", 1, "no.json");
    program("list", "[{\"n\": 1}]");
    expect_line("python3 docs/scaling.py replicas --model 1,2,3 $WORK/list"
                " 2>&1", 1, "has no 'd'");
}
END_TEST

START_TEST(table_of_the_benchmarks_ends_with_the_aims_missed)
{
    shell_expect("printf '%s\\n' '{\"note\": \"hear\"}' "
                 "'{\"n\": 1, \"ratio\": 0.5, \"aim\": 0.6}' "
                 "'{\"n\": 1, \"ratio\": 0.7, \"aim\": 0.6}' | "
                 "python3 tests/bench/table.py $WORK/table.json", 0,
                 (const char *const[]){"\nhear\n", "1 of 2 aims missed", NULL});
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        where_nothing_can_be_installed_all_that_is_missing_is_named,
        what_is_there_counts_whoever_brought_it,
        last_line_of_a_run_is_the_sum,
        whatever_fails_is_in_the_sum,
        daemon_that_is_not_ready_is_asked_why,
        daemon_that_does_not_answer_is_told_of,
        taken_port_is_told_in_the_words_of_make,
        help_tells_targets_and_settings_in_columns,
        tools_tell_a_wrong_address_in_one_line,
        scaling_tells_missing_input_in_one_line,
        table_of_the_benchmarks_ends_with_the_aims_missed,
        NULL
    };

    return suite_run("commands", tests, setup, teardown, 60);
}
