/* SPDX-License-Identifier: MIT */
/*
 * daemon.c - see daemon.h.
 */
#include "daemon.h"

#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ARGUMENTS_MAX 32
#define READY_S 30.0

double daemon_slack(void)
{
    const char *times = getenv("CK_TIMEOUT_MULTIPLIER");

    return times != NULL && atof(times) > 1.0 ? atof(times) : 1.0;
}

double daemon_clock(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void daemon_rest(double seconds)
{
    struct timespec t = { (time_t)seconds, 0 };

    t.tv_nsec = (long)((seconds - (double)t.tv_sec) * 1e9);
    nanosleep(&t, NULL);
}

static void make_file(char name[64])
{
    strcpy(name, "/tmp/attentiond-XXXXXX");
    int fd = mkstemp(name);

    ck_assert_msg(fd >= 0, "no temporary file");
    close(fd);
}

static void redirect(const char *file, int to)
{
    int fd = open(file, O_WRONLY | O_APPEND);

    dup2(fd, to);
    close(fd);
}

static void launch(struct daemon *d, char **arguments)
{
    const char *program = getenv("ATTENTIOND");

    ck_assert_msg(program != NULL, "$ATTENTIOND is not set");
    memset(d, 0, sizeof *d);
    make_file(d->out);
    make_file(d->err);
    d->pid = fork();
    if (d->pid != 0)
        return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    redirect(d->out, 1);
    redirect(d->err, 2);
    arguments[0] = (char *)(uintptr_t)program;
    execv(program, arguments);
    _exit(127);
}

char *daemon_said(const char *file)
{
    FILE *f = fopen(file, "r");
    char *text = calloc(1, 1 << 20);

    ck_assert_ptr_nonnull(text);
    if (f != NULL) {
        size_t n = fread(text, 1, (1 << 20) - 1, f);

        text[n] = '\0';
        fclose(f);
    }
    return text;
}

bool daemon_says(const char *file, const char *text, double seconds)
{
    double until = daemon_clock() + seconds * daemon_slack();
    bool found;

    do {
        char *said = daemon_said(file);

        found = strstr(said, text) != NULL;
        free(said);
        if (!found)
            daemon_rest(0.005 * daemon_slack());
    } while (!found && daemon_clock() < until);
    return found;
}

static int port_behind(const char *said, const char *words)
{
    const char *at = strstr(said, words);
    const char *end = at != NULL ? strchr(at, '\n') : NULL;

    while (end != NULL && end > at && end[-1] != ':')
        end--;
    return end != NULL ? atoi(end) : 0;
}

void daemon_start(struct daemon *d, const char *const *arguments)
{
    char *list[ARGUMENTS_MAX] = { NULL, "--port", "0" };
    char *said;

    for (int i = 3; arguments && *arguments && i < ARGUMENTS_MAX - 1; i++)
        list[i] = (char *)(uintptr_t)*arguments++;
    launch(d, list);
    bool ready = daemon_says(d->err, "listening on http", READY_S);
    said = daemon_said(d->err);
    ck_assert_msg(ready, "the daemon did not start: %s", said);
    d->port = port_behind(said, "listening on http");
    d->admin_port = port_behind(said, "health and metrics on http");
    free(said);
}

int daemon_wait(struct daemon *d, double seconds)
{
    double until = daemon_clock() + seconds * daemon_slack();
    int status;

    while (waitpid(d->pid, &status, WNOHANG) != d->pid) {
        if (daemon_clock() > until) {
            kill(d->pid, SIGKILL);
            waitpid(d->pid, &status, 0);
            return -1;
        }
        daemon_rest(0.002);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int daemon_run(struct daemon *d, const char *const *arguments)
{
    char *list[ARGUMENTS_MAX] = { NULL };

    for (int i = 1; *arguments && i < ARGUMENTS_MAX - 1; i++)
        list[i] = (char *)(uintptr_t)*arguments++;
    launch(d, list);
    return daemon_wait(d, 20.0);
}

int daemon_end(struct daemon *d, double seconds)
{
    kill(d->pid, SIGTERM);
    return daemon_wait(d, seconds);
}

void daemon_stop(struct daemon *d)
{
    int status = daemon_end(d, 10.0);
    char *said = daemon_said(d->err);

    if (status != 0)
        fprintf(stderr, "the daemon said: %s\n", said);
    free(said);
    daemon_forget(d);
    ck_assert_int_eq(status, 0);
}

void daemon_forget(struct daemon *d)
{
    unlink(d->out);
    unlink(d->err);
}

long daemon_status(const struct daemon *d, const char *word)
{
    char path[64], line[256];
    long number = -1;

    snprintf(path, sizeof path, "/proc/%d/status", (int)d->pid);
    FILE *f = fopen(path, "r");

    ck_assert_ptr_nonnull(f);
    while (fgets(line, sizeof line, f) != NULL)
        if (strncmp(line, word, strlen(word)) == 0)
            number = atol(line + strlen(word));
    fclose(f);
    return number;
}
