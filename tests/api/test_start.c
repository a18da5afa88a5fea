/* SPDX-License-Identifier: MIT */
/*
 * test_start.c - how the daemon starts, and how it says that it cannot.
 */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "call.h"
#include "daemon.h"
#include "http.h"
#include "metric.h"
#include "raw.h"
#include "shell.h"
#include "suite.h"

static struct daemon d;

/* Runs the daemon; its exit status. One line on standard error holds `word`,
 * or nothing is there if word is NULL. */
static int run(const char *const *arguments, const char *word)
{
    int status = daemon_run(&d, arguments);
    char *said = daemon_said(d.err);
    const char *end = strchr(said, '\n');

    if (word == NULL)
        ck_assert_msg(said[0] == '\0', "%s", said);
    else
        ck_assert_msg(strstr(said, word) && end && end[1] == '\0', "%s: %s",
                      word, said);
    free(said);
    return status;
}

START_TEST(what_is_wrong_with_the_settings_is_told_in_one_line)
{
    static const struct { const char *flag, *value, *word; } table[] = {
        { "--prot", "80", "--port" },
        { "--port", "70000", "70000" },
        { "--threads", "many", "many" },
        { "--queue", "0", "--queue" },
        { "--timeout", NULL, "--timeout" },
        { "surplus", NULL, "surplus" },
    };

    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const char *arguments[] = { table[i].flag, table[i].value, NULL };

        ck_assert_int_eq(run(arguments, table[i].word), 2);
        daemon_forget(&d);
    }
}
END_TEST

START_TEST(taken_port_is_told_in_one_line)
{
    struct daemon first;
    char port[16];

    daemon_start(&first, NULL);
    snprintf(port, sizeof port, "%d", first.port);
    const char *arguments[] = { "--port", port, NULL };
    ck_assert_int_eq(run(arguments, "is taken"), 3);
    daemon_forget(&d);
    daemon_stop(&first);
}
END_TEST

START_TEST(host_that_is_none_is_told_in_one_line)
{
    const char *arguments[] = { "--port", "0", "--host", "no.such.host.x",
                                NULL };

    ck_assert_int_eq(run(arguments, "--host: cannot resolve"), 2);
    daemon_forget(&d);
}
END_TEST

static int threads_with_nice(pid_t pid, int nice)
{
    char path[64];
    struct dirent *thread;
    int n = 0;

    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *threads = opendir(path);
    ck_assert_ptr_nonnull(threads);
    while ((thread = readdir(threads)) != NULL)
        n += getpriority(PRIO_PROCESS, (id_t)atoi(thread->d_name)) == nice;
    closedir(threads);
    return n;
}

START_TEST(workers_leave_the_cores_to_those_who_wait)
{
    const char *arguments[] = { "--threads", "3", NULL };

    daemon_start(&d, arguments);
    int nice = getpriority(PRIO_PROCESS, (id_t)d.pid) + 5;
    for (int i = 0; i < 500 && threads_with_nice(d.pid, nice) < 3; i++)
        usleep(10000);
    ck_assert_int_eq(threads_with_nice(d.pid, nice), 3);
    daemon_stop(&d);
}
END_TEST

START_TEST(help_and_version_go_to_standard_output)
{
    const char *help[] = { "--help", NULL }, *version[] = { "--version",
                                                            NULL };
    char *said;

    ck_assert_int_eq(run(help, NULL), 0);
    said = daemon_said(d.out);
    ck_assert_ptr_nonnull(strstr(said, "--drain-timeout"));
    free(said);
    daemon_forget(&d);
    ck_assert_int_eq(run(version, NULL), 0);
    said = daemon_said(d.out);
    ck_assert_msg(strncmp(said, "attentiond ", 11) == 0, "%s", said);
    free(said);
    daemon_forget(&d);
}
END_TEST

START_TEST(healthcheck_tells_ready_from_absent)
{
    struct daemon first;
    char port[16];
    double start;

    daemon_start(&first, NULL);
    snprintf(port, sizeof port, "%d", first.port);
    const char *arguments[] = { "--healthcheck", "--port", port, NULL };
    start = daemon_clock();
    ck_assert_int_eq(run(arguments, NULL), 0);
    ck_assert_double_lt(daemon_clock() - start, 2.0 * daemon_slack());
    daemon_forget(&d);
    daemon_stop(&first);
    ck_assert_int_eq(run(arguments, "/readyz: Connection refused"), 1);
    daemon_forget(&d);
}
END_TEST

/* Every host that it may listen on, and what it is asked by. */
START_TEST(healthcheck_asks_where_the_service_listens)
{
    static const char *const hosts[] = {
        "127.0.0.2", "0.0.0.0", "localhost", "::1", "::"
    };
    bool v6 = access("/proc/net/if_inet6", R_OK) == 0;

    for (size_t i = 0; i < sizeof hosts / sizeof *hosts - (v6 ? 0 : 2); i++) {
        const char *started[] = { "--host", hosts[i], NULL };
        struct daemon first;
        char port[16];

        daemon_start(&first, started);
        snprintf(port, sizeof port, "%d", first.port);
        const char *arguments[] = { "--host", hosts[i], "--port", port,
                                    "--healthcheck", NULL };
        ck_assert_int_eq(run(arguments, NULL), 0);
        daemon_forget(&d);
        daemon_stop(&first);
    }
}
END_TEST

START_TEST(healthcheck_says_why_not)
{
    struct daemon first;
    char port[16];

    daemon_start(&first, (const char *[]){ "--drain-delay", "20", NULL });
    snprintf(port, sizeof port, "%d", first.port);
    const char *arguments[] = { "--port", port, "--healthcheck", NULL };
    kill(first.pid, SIGTERM);
    ck_assert(metric_reaches(first.port, "attention_draining", 1, 5));
    ck_assert_int_eq(run(arguments, "/readyz answers 503"), 1);
    daemon_forget(&d);
    kill(first.pid, SIGSTOP);
    ck_assert_int_eq(run(arguments, "/readyz: no answer in time"), 1);
    daemon_forget(&d);
    kill(first.pid, SIGCONT);
    kill(first.pid, SIGTERM);
    ck_assert_int_eq(daemon_wait(&first, 10), 1);
    daemon_forget(&first);
    const char *nowhere[] = { "--host", "no.such.host.x", "--healthcheck",
                              NULL };
    ck_assert_int_eq(run(nowhere, "cannot resolve \"no.such.host.x\""), 1);
    daemon_forget(&d);
}
END_TEST

START_TEST(good_settings_are_called_so_and_a_mistyped_variable_is_named)
{
    const char *arguments[] = { "--check-config", NULL };

    setenv("ATTENTIOND_QUEU", "5", 1);
    ck_assert_int_eq(run(arguments, "ATTENTIOND_QUEUE?"), 0);
    char *said = daemon_said(d.out);
    ck_assert_msg(strncmp(said, "the settings are good", 21) == 0, "%s", said);
    free(said);
    daemon_forget(&d);
    daemon_start(&d, NULL);
    ck_assert(daemon_says(d.err, "did you mean ATTENTIOND_QUEUE?", 0));
    daemon_stop(&d);
    unsetenv("ATTENTIOND_QUEU");
}
END_TEST

static void check_is_json(const char *file, int lines)
{
    char *said = daemon_said(file), *line = said;

    for (; *line != '\0'; lines--) {
        char *end = strchr(line, '\n');

        ck_assert_ptr_nonnull(end);
        ck_assert_msg(strncmp(line, "{\"time\":\"", 9) == 0
                      && end[-1] == '}' && end[-2] != '{', "%s", line);
        line = end + 1;
    }
    ck_assert_msg(lines == 0, "%d more or fewer: %s", lines, said);
    free(said);
}

static void limit_to(int which, rlim_t most)
{
    struct rlimit limit;

    getrlimit(which, &limit);
    limit.rlim_cur = most;
    ck_assert_int_eq(setrlimit(which, &limit), 0);
}

/* A sanitizer alone needs more. */
START_TEST(address_space_that_is_short_is_told_in_one_line)
{
    static const int megabytes[] = { 60, 100, 150, 200, 300 };
    char command[512];

    for (int i = 0; daemon_slack() <= 1.0 && i < 5; i++) {
        snprintf(command, sizeof command, "ulimit -v %d; timeout -k 1 15 %s "
                 "--port 0 --threads 2 2>&1", megabytes[i] * 1024,
                 getenv("ATTENTIOND"));
        char *said = shell_said(command, 1);
        char *end = strchr(said, '\n');

        ck_assert_msg(strstr(said, "of address space") && end
                      && end[1] == '\0', "%d MB: %s", megabytes[i], said);
        free(said);
    }
}
END_TEST

START_TEST(log_that_may_not_grow_costs_lines_and_no_more)
{
    const char *arguments[] = { "--log", "logfmt", NULL };
    struct rlimit limit;

    getrlimit(RLIMIT_FSIZE, &limit);
    limit_to(RLIMIT_FSIZE, 3000);
    daemon_start(&d, arguments);
    limit_to(RLIMIT_FSIZE, limit.rlim_max);
    for (int i = 0; i < 40; i++) {
        struct http_reply r = http_post(d.port, CALL_EXAMPLE);

        ck_assert_msg(r.status == 200, "request %d: %d", i, r.status);
        http_free(&r);
    }
    ck_assert_double_gt(metric(d.port, "attention_log_dropped_total"), 0);
    daemon_stop(&d);
}
END_TEST

static int file_of(pid_t pid, int fd, char target[256])
{
    char path[64];

    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, fd);
    ssize_t n = readlink(path, target, 255);
    target[n > 0 ? n : 0] = '\0';
    return n > 0;
}

/* With 0, 1 and 2 closed none of them is a socket or a file of its own. */
START_TEST(standard_files_that_are_closed_are_no_others)
{
    const char *program = getenv("ATTENTIOND");
    char target[256];
    int port, closed;

    for (closed = 1; closed < 8; closed++) {
        port = 20000 + (int)getpid() % 10000 + closed;
        snprintf(target, sizeof target, "%d", port);
        pid_t pid = fork();

        if (pid == 0) {
            for (int fd = 0; fd < 3; fd++)
                if (closed >> fd & 1)
                    close(fd);
            execl(program, program, "--port", target, "--log", "none",
                  (char *)NULL);
            _exit(127);
        }
        ck_assert(metric_reaches(port, "attention_connections", 1, 10));
        for (int fd = 0; fd < 3; fd++)
            if (closed >> fd & 1) {
                ck_assert(file_of(pid, fd, target));
                ck_assert_msg(strcmp(target, "/dev/null") == 0, "%d: %s", fd,
                              target);
            }
        d = (struct daemon){ .pid = pid };
        ck_assert_int_eq(daemon_end(&d, 10), 0);
    }
}
END_TEST

/* Each line an object; the words for who waits are in one of them. */
START_TEST(json_log_is_json_in_every_line)
{
    const char *arguments[] = { "--log", "json", "--admin-port", "0", NULL };
    const char *taken[] = { "--log=json", "--port", "0", "--host", "x.x.x",
                            NULL };

    daemon_start(&d, arguments);
    struct http_reply r = http_post(d.port, CALL_EXAMPLE);
    http_free(&r);
    kill(d.pid, SIGHUP);
    ck_assert(daemon_says(d.err, "SIGHUP", 5));
    check_is_json(d.err, 4);
    ck_assert(daemon_says(d.out, "}\n", 5));
    check_is_json(d.out, 1);
    daemon_stop(&d);
    ck_assert_int_eq(daemon_run(&d, taken), 2);
    check_is_json(d.err, 1);
    daemon_forget(&d);
}
END_TEST

START_TEST(variables_are_settings_and_flags_go_before_them)
{
    setenv("ATTENTIOND_BODY_BYTES", "100", 1);
    setenv("ATTENTIOND_QUEUE", "7", 1);
    const char *arguments[] = { "--queue", "9", NULL };

    daemon_start(&d, arguments);
    struct http_reply r = http_get(d.port, "/info");
    ck_assert_ptr_nonnull(strstr(r.body, "\"body_bytes\":100,"));
    ck_assert_ptr_nonnull(strstr(r.body, "\"queue\":9,"));
    http_free(&r);
    daemon_stop(&d);
    unsetenv("ATTENTIOND_BODY_BYTES");
    unsetenv("ATTENTIOND_QUEUE");
}
END_TEST

/* I/O threads, workers and the watch. OpenBLAS starts one for each further
 * core when it is loaded, unless it is told not to. */
START_TEST(there_are_no_more_threads_than_asked_for)
{
    const char *arguments[] = { "--threads", "3", "--io-threads", "2", NULL };

    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    daemon_start(&d, arguments);
    long expected = getenv("TSAN_OPTIONS") != NULL ? 7 : 6;
    ck_assert_int_eq(daemon_status(&d, "Threads:"), expected);
    daemon_stop(&d);
}
END_TEST

/* It blocks no signal, for it was there before main(). */
START_TEST(idle_thread_of_the_BLAS_takes_no_signal)
{
    for (int i = 0; i < 3; i++) {
        unsetenv("OPENBLAS_NUM_THREADS");
        daemon_start(&d, NULL);
        kill(d.pid, SIGHUP);
        daemon_rest(0.05);
        kill(d.pid, SIGINT);
        ck_assert_int_eq(daemon_wait(&d, 10), 0);
        ck_assert(daemon_says(d.err, "event=drain", 1));
        daemon_forget(&d);
    }
}
END_TEST

START_TEST(every_address_answers_under_ipv6_too)
{
    const char *arguments[] = { "--host", "::", NULL };

    if (access("/proc/net/if_inet6", R_OK) != 0)
        return;
    daemon_start(&d, arguments);
    struct http_reply r = http_get(d.port, "/livez");
    ck_assert_int_eq(r.status, 200);
    http_free(&r);
    daemon_stop(&d);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        what_is_wrong_with_the_settings_is_told_in_one_line,
        taken_port_is_told_in_one_line,
        host_that_is_none_is_told_in_one_line,
        workers_leave_the_cores_to_those_who_wait,
        help_and_version_go_to_standard_output,
        healthcheck_tells_ready_from_absent,
        healthcheck_asks_where_the_service_listens,
        healthcheck_says_why_not,
        good_settings_are_called_so_and_a_mistyped_variable_is_named,
        address_space_that_is_short_is_told_in_one_line,
        log_that_may_not_grow_costs_lines_and_no_more,
        standard_files_that_are_closed_are_no_others,
        json_log_is_json_in_every_line,
        variables_are_settings_and_flags_go_before_them,
        there_are_no_more_threads_than_asked_for,
        idle_thread_of_the_BLAS_takes_no_signal,
        every_address_answers_under_ipv6_too,
        NULL
    };

    return suite_run("start", tests, NULL, NULL, 60);
}
