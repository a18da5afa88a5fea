/* SPDX-License-Identifier: MIT */
/*
 * test_clients.c - the programs people use get the right answer, and read why
 * a body that is refused by its length alone was refused.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon.h"
#include "shell.h"
#include "suite.h"

#define ANSWER "6.697615493266569"
#define REFUSAL "body_too_large"

static struct daemon d;
static char small[32], large[32], script[32];

static FILE *create(char path[32])
{
    snprintf(path, 32, "/tmp/test_clients.XXXXXX");
    int fd = mkstemp(path);

    ck_assert_int_ge(fd, 0);
    return fdopen(fd, "w");
}

/* 8 MB, four times what is allowed; and for wrk a script that prints what
 * came back, each text once. */
static void write_files(void)
{
    FILE *file = create(small);
    fputs("{\"Q\": [[1,0],[0,1]], \"K\": [[1,0],[0,1]],"
          " \"V\": [[10,0],[0,10]], \"dtype\": \"float64\"}", file);
    fclose(file);
    file = create(large);
    for (int i = 0; i < 1 << 20; i++)
        fputs("[0.125, ", file);
    fclose(file);
    file = create(script);
    fputs("local f = io.open(os.getenv('BODY'), 'rb')\n"
          "wrk.method, wrk.body = 'POST', f:read('*a')\n"
          "local seen = {}\n"
          "function response(status, headers, body)\n"
          "  if not seen[body] then print(status, body) end\n"
          "  seen[body] = true\n"
          "end\n", file);
    fclose(file);
}

static void setup(void)
{
    const char *arguments[] = { "--body-bytes", "2MB", NULL };
    char url[64];

    write_files();
    daemon_start(&d, arguments);
    snprintf(url, sizeof url, "http://127.0.0.1:%d/attention", d.port);
    setenv("URL", url, 1);
    setenv("SCRIPT", script, 1);
    setenv("no_proxy", "*", 1);
}

static void teardown(void)
{
    daemon_stop(&d);
    remove(small);
    remove(large);
    remove(script);
}

static const char *const commands[] = {
    "curl -s --data-binary @$BODY $URL",
    "curl -s -H 'Expect:' --data-binary @$BODY $URL",
    "curl -s -T $BODY -X POST $URL",
    "wrk -t1 -c2 -d1 -s $SCRIPT $URL",
    "python3 -c \"import os, urllib.request, urllib.error\n"
    "try: print(urllib.request.urlopen(os.environ['URL'],"
    " open(os.environ['BODY'], 'rb').read()).read().decode())\n"
    "except urllib.error.HTTPError as e: print(e.read().decode())\"",
    "node -e \"fetch(process.env.URL, {method: 'POST',"
    " body: require('fs').readFileSync(process.env.BODY)})"
    ".then(async r => console.log(await r.text()))\"",
};

/* hey tells the status alone. */
static const char hey[] = "hey -n 8 -c 2 -m POST -D $BODY $URL";

static void every_client_reads(const char *body, const char *text,
                               const char *status, int turns)
{
    setenv("BODY", body, 1);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        for (int turn = 0; turn < turns; turn++)
            shell_expect(commands[i], 0, (const char *const[]){ text, NULL });
    shell_expect(hey, 0, (const char *const[]){ status, NULL });
}

START_TEST(clients_get_the_right_answer)
{
    every_client_reads(small, ANSWER, "[200]\t8 responses", 1);
}
END_TEST

START_TEST(clients_read_why_they_are_refused_early)
{
    every_client_reads(large, REFUSAL, "[413]\t8 responses", 3);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        clients_get_the_right_answer,
        clients_read_why_they_are_refused_early,
        NULL
    };

    return suite_run("clients", tests, setup, teardown, 120);
}
