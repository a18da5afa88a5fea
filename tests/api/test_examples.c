/* SPDX-License-Identifier: MIT */
/*
 * test_examples.c - the programs in docs/examples do what they say, against a
 * real daemon. Those in C lie beside it in the build.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon.h"
#include "shell.h"
#include "suite.h"

static struct daemon d;
static char url[64];

static void setup(void)
{
    daemon_start(&d, NULL);
    snprintf(url, sizeof url, "http://127.0.0.1:%d", d.port);
    setenv("URL", url, 1);
    setenv("no_proxy", "*", 1);
    char *build = strdup(getenv("ATTENTIOND"));
    strcpy(strrchr(build, '/'), "");
    setenv("BUILD", build, 1);
    free(build);
}

static void teardown(void)
{
    daemon_stop(&d);
}

START_TEST(the_library_alone_gives_the_causal_worked_example)
{
    shell_expect("\"$BUILD/docs/examples/library\"", 0,
           (const char *const[]){
               "output 10.000000 0.000000 3.302385 6.697615\n",
               "A      1.000000 0.000000 0.330238 0.669762\n", NULL});
}
END_TEST

START_TEST(the_client_in_C_prints_the_answer)
{
    shell_expect("echo '{\"Q\": [[1]], \"K\": [[1]], \"V\": [[5]]}' | "
           "\"$BUILD/docs/examples/client\" $URL", 0,
           (const char *const[]){"{\"output\":[[5]],\"A\":[[1]]}\n", NULL});
}
END_TEST

START_TEST(the_client_in_C_fails_with_the_reason)
{
    shell_expect("echo '{\"Q\": 1}' | \"$BUILD/docs/examples/client\" $URL", 1,
           (const char *const[]){"\"pointer\":\"/Q\"", NULL});
}
END_TEST

START_TEST(decoding_in_Python_agrees_with_the_whole_sequence)
{
    shell_expect("python3 docs/examples/decode.py $URL", 0,
           (const char *const[]){"token 11: 12 keys", NULL});
}
END_TEST

/* What the README has between ```KIND and ```, all of one kind. */
#define BLOCKS(kind) "awk '$0 == \"```\" {on = 0} on; $0 == \"```" kind \
    "\" {on = 1}' README.md"

START_TEST(the_readme_prints_in_Python_what_it_shows)
{
    char *shown = shell_said(BLOCKS("output"), 0);
    char *said = shell_said(BLOCKS("python") " | sed "
                            "\"s#http://127.0.0.1:8080#$URL#\" | python3 -", 0);
    ck_assert_uint_gt(strlen(shown), 0);
    ck_assert_str_eq(said, shown);
    free(said);
    free(shown);
}
END_TEST

START_TEST(the_readme_shows_what_JavaScript_draws)
{
    char *drawn = shell_said("node docs/examples/weights.js $URL | "
                             "sed '$d; s/^/    /; s/ *$//'", 0);
    char *readme = daemon_said("README.md");
    ck_assert_uint_gt(strlen(drawn), 0);
    ck_assert_ptr_nonnull(strstr(readme, drawn));
    free(readme);
    free(drawn);
}
END_TEST

START_TEST(JavaScript_draws_a_causal_triangle)
{
    char *text = shell_said("node docs/examples/weights.js $URL", 0);
    ck_assert_msg(strncmp(text, "@ ", 2) == 0, "%s", text);
    for (int i = 0; i < 12; i++) {
        const char *line = text + i * 24;
        ck_assert_msg(line[23] == '\n', "row %d: %s", i, text);
        for (int j = i + 1; j < 12; j++)
            ck_assert_msg(line[2 * j] == ' ', "row %d: %s", i, text);
    }
    ck_assert_ptr_nonnull(strstr(text, "each query looks at about"));
    free(text);
}
END_TEST

START_TEST(the_shell_times_growing_sequences)
{
    shell_expect("docs/examples/timing.sh $URL 4 300", 0,
           (const char *const[]){"n=4     [\"output\"]", "n=300   [\"output\"]",
                                 "n=300   [\"output\",\"A\"]", "compute;dur=",
                                 NULL});
}
END_TEST

START_TEST(the_clients_say_what_is_wrong_without_a_service)
{
    shell_expect("python3 docs/examples/decode.py http://127.0.0.1:1 2>&1", 1,
           (const char *const[]){"refused", NULL});
    shell_expect("node docs/examples/weights.js http://127.0.0.1:1 2>&1", 1,
           (const char *const[]){"http://127.0.0.1:1: ", NULL});
    shell_expect("docs/examples/timing.sh http://127.0.0.1:1 2>&1", 7,
           (const char *const[]){"Failed to connect", NULL});
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        the_library_alone_gives_the_causal_worked_example,
        the_client_in_C_prints_the_answer,
        the_client_in_C_fails_with_the_reason,
        decoding_in_Python_agrees_with_the_whole_sequence,
        the_readme_prints_in_Python_what_it_shows,
        the_readme_shows_what_JavaScript_draws,
        JavaScript_draws_a_causal_triangle,
        the_shell_times_growing_sequences,
        the_clients_say_what_is_wrong_without_a_service, NULL};
    return suite_run("examples", tests, setup, teardown, 60);
}
