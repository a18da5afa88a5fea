/* SPDX-License-Identifier: MIT */
/*
 * test_faults.c - the system says no, now and then, under load, and then no
 * more: afterwards nothing is kept that was somebody's, and nobody is touched
 * who came later.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../inject/inject.h"
#include "call.h"
#include "daemon.h"
#include "http.h"
#include "metric.h"
#include "raw.h"
#include "suite.h"

#define CLIENTS 4
#define ROUNDS 60       /* of each client, while calls fail */

static struct daemon d;
static struct inject *control;
static char name[64];

static void prepare(void)
{
    int fd;

    strcpy(name, "/tmp/attentiond-inject-XXXXXX");
    fd = mkstemp(name);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(ftruncate(fd, sizeof *control), 0);
    control = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED,
                   fd, 0);
    ck_assert_ptr_ne(control, MAP_FAILED);
    close(fd);
}

/* What the tests start from here on has inject.so before its libraries. */
static void preload(void)
{
    const char *program = getenv("ATTENTIOND"), *old = getenv("ASAN_OPTIONS");
    char text[1024];

    ck_assert_ptr_nonnull(program);
    snprintf(text, sizeof text, "%s", program);
    strcpy(strrchr(text, '/'), "/tests/inject.so");
    setenv("LD_PRELOAD", text, 1);
    setenv("INJECT", name, 1);
    snprintf(text, sizeof text, "%s:verify_asan_link_order=0",
             old != NULL ? old : "");
    setenv("ASAN_OPTIONS", text, 1);
}

static void cleanup(void)
{
    unlink(name);
}

/* ---------------------------------------------------------------- load */

static char *bodies[3];

/* A request in two parts with a rest between, so that the daemon waits. */
static void ask_once(int n)
{
    char *body = bodies[n % 3], head[128], text[4096];
    size_t half = strlen(body) / 2;
    int fd = raw_open(d.port);

    snprintf(head, sizeof head, "POST /attention HTTP/1.1\r\nHost: x\r\n"
             "Content-Length: %zu\r\n\r\n", strlen(body));
    if (raw_say(fd, head) && raw_send(fd, body, half)) {
        daemon_rest(0.002 * (n % 4));
        if (raw_send(fd, body + half, strlen(body) - half))
            raw_reply(fd, text, sizeof text, 5);
    }
    close(fd);
}

static void *client(void *number)
{
    for (int i = 0; i < ROUNDS; i++)
        ask_once(i + (int)(intptr_t)number);
    return NULL;
}

static void load(void)
{
    pthread_t thread[CLIENTS];

    for (intptr_t i = 0; i < CLIENTS; i++)
        pthread_create(&thread[i], NULL, client, (void *)i);
    for (int i = 0; i < CLIENTS; i++)
        pthread_join(thread[i], NULL);
}

/* -------------------------------------------------- what is left behind */

static const char *const kept[] = {
    "attention_inflight_requests", "attention_connections",
    "attention_queue_depth", "attention_memory_used_bytes",
    "process_open_fds",
};
enum { KEPT = sizeof kept / sizeof *kept };

static bool is_back(const double start[KEPT], double now[KEPT])
{
    bool back = true;

    for (int i = 0; i < KEPT; i++) {
        now[i] = metric(d.port, kept[i]);
        back = back && now[i] <= start[i];
    }
    return back;
}

static void check_is_back(const char *what, const double start[KEPT])
{
    double now[KEPT], until = daemon_clock() + 10.0 * daemon_slack();

    while (!is_back(start, now) && daemon_clock() < until)
        daemon_rest(0.05);
    for (int i = 0; i < KEPT; i++)
        ck_assert_msg(now[i] <= start[i], "%s: %s was %.0f, is %.0f", what,
                      kept[i], start[i], now[i]);
}

/* Those who come later are let alone, also while they say nothing. */
static void check_nobody_is_touched(const char *what)
{
    char text[65536];
    int fd[24];

    for (int i = 0; i < 24; i++)
        fd[i] = raw_open(d.port);
    for (int round = 0; round < 3; round++) {
        daemon_rest(0.2);
        for (int i = 0; i < 24; i++) {
            ck_assert_msg(raw_post(fd[i], "", CALL_EXAMPLE)
                          && raw_reply(fd[i], text, sizeof text, 10) == 200,
                          "%s: round %d, connection %d", what, round, i);
        }
    }
    for (int i = 0; i < 24; i++)
        close(fd[i]);
}

/* Once those who asked are gone, but for the one that measures. */
static void measure(double start[KEPT])
{
    double until = daemon_clock() + 10.0 * daemon_slack();

    do
        is_back((double[KEPT]){ 0 }, start);
    while (start[1] > 1.0 && daemon_clock() < until);
    ck_assert_double_eq(start[0], 0.0);     /* a scrape is not in hand */
    ck_assert_double_eq(start[1], 1.0);
    is_back((double[KEPT]){ 0 }, start);
}

static void say_no(const char *what, enum inject_what calls, int one_in)
{
    const char *arguments[] = { "--log", "none", "--threads", "1", NULL };
    double start[KEPT];

    atomic_store(&control->what, 0);
    atomic_store(&control->failed, 0);
    atomic_store(&control->one_in, one_in);
    daemon_start(&d, arguments);
    ask_once(0);
    check_nobody_is_touched(what);
    measure(start);
    atomic_store(&control->what, (int)calls);
    load();
    atomic_store(&control->what, 0);
    ck_assert_msg(atomic_load(&control->failed) > 0, "%s: never", what);
    check_nobody_is_touched(what);
    check_is_back(what, start);
    daemon_stop(&d);
}

START_TEST(epoll_that_takes_nobody_costs_only_those)
{
    say_no("epoll_ctl", INJECT_EPOLL_CTL, 3);
}
END_TEST

START_TEST(library_without_memory_forgets_nobody)
{
    if (daemon_slack() > 1.0)
        return;     /* a sanitizer has its own malloc */
    say_no("malloc", INJECT_MALLOC, 6);
}
END_TEST

START_TEST(descriptors_that_are_short_cost_a_wait)
{
    say_no("accept4", INJECT_ACCEPT, 2);
}
END_TEST

START_TEST(memory_that_is_not_given_or_not_taken_back_costs_replies)
{
    say_no("mmap", INJECT_MAP, 3);
    say_no("munmap", INJECT_UNMAP, 2);
}
END_TEST

START_TEST(all_at_once_leave_nothing_behind)
{
    say_no("all", INJECT_EPOLL_CTL | INJECT_MALLOC | INJECT_ACCEPT
           | INJECT_MAP | INJECT_UNMAP, 8);
}
END_TEST

START_TEST(start_without_descriptors_ends_with_one_line)
{
    const char *arguments[] = { "--port", "0", NULL };

    atomic_store(&control->what, INJECT_EVENTFD);
    atomic_store(&control->one_in, 1);
    ck_assert_int_eq(daemon_run(&d, arguments), 1);
    char *said = daemon_said(d.err);
    const char *end = strchr(said, '\n');

    ck_assert_msg(end != NULL && end[1] == '\0', "%s", said);
    free(said);
    daemon_forget(&d);
}
END_TEST

/* A projection of more rows than the native kernels take, of ones. */
static char *layer(void)
{
    enum { ROWS = 100 };
    char *body = malloc(ROWS * 8 + 256), *at = body;

    ck_assert_ptr_nonnull(body);
    at += sprintf(at, "{\"W_Q\":[[1],[1]],\"W_K\":[[1],[1]],\"W_V\":[[1],[2]],"
                  "\"return\":[\"output\"],\"X\":[[1,1]");
    for (int i = 1; i < ROWS; i++)
        at += sprintf(at, ",[1,1]");
    strcpy(at, "]}");
    return body;
}

START_TEST(a_BLAS_that_multiplies_wrongly_is_not_used)
{
    const char *arguments[] = { "--engine", "openblas", NULL };
    char *body = layer();

    atomic_store(&control->what, INJECT_BLAS);
    atomic_store(&control->one_in, 1);
    daemon_start(&d, arguments);
    ck_assert(daemon_says(d.err, "OpenBLAS failed its self-test", 5));
    struct http_reply r = http_get(d.port, "/info");
    ck_assert_ptr_nonnull(strstr(r.body, "\"engine\":\"native\",\"warning\":"));
    http_free(&r);
    r = http_get(d.port, "/readyz");
    ck_assert_int_eq(r.status, 200);
    ck_assert_ptr_nonnull(strstr(r.body, "\"warning\":\"OpenBLAS failed"));
    http_free(&r);
    r = http_post(d.port, body);
    ck_assert_int_eq(r.status, 200);
    ck_assert_msg(strncmp(r.body, "{\"output\":[[3],[3],", 19) == 0, "%.60s",
                  r.body);
    http_free(&r);
    daemon_stop(&d);
    atomic_store(&control->what, 0);
    free(body);
}
END_TEST

static void setup(void)
{
    bodies[0] = call_json(2, 4, "");
    bodies[1] = call_json(200, 8, "");
    bodies[2] = call_json(900, 4, "");
    prepare();
    preload();
}

int main(void)
{
    const TTest *const tests[] = {
        epoll_that_takes_nobody_costs_only_those,
        library_without_memory_forgets_nobody,
        descriptors_that_are_short_cost_a_wait,
        memory_that_is_not_given_or_not_taken_back_costs_replies,
        all_at_once_leave_nothing_behind,
        start_without_descriptors_ends_with_one_line,
        a_BLAS_that_multiplies_wrongly_is_not_used,
        NULL
    };

    return suite_run("faults", tests, setup, cleanup, 120);
}
