/* SPDX-License-Identifier: MIT */
/*
 * daemon.h - a real daemon on a free port. The program is $ATTENTIOND. What
 * goes wrong here fails the test.
 */
#ifndef DAEMON_H
#define DAEMON_H

#include <stdbool.h>
#include <sys/types.h>

struct daemon {
    pid_t pid;
    int port;
    int admin_port;              /* 0: none */
    char out[64], err[64];       /* files of its standard output and error */
};

/* Starts it with `--port 0` and these, up to a NULL; waits until it is
 * ready. */
void daemon_start(struct daemon *d, const char *const *arguments);

/* Runs it with exactly these until it ends; its exit status. What it said is
 * in d->out and d->err until daemon_forget(). */
int daemon_run(struct daemon *d, const char *const *arguments);

/* SIGTERM, and its exit status; -1 if it did not end within `seconds`, and
 * was killed. */
int daemon_end(struct daemon *d, double seconds);

/* Waits for its end; as above. */
int daemon_wait(struct daemon *d, double seconds);

/* SIGTERM; fails the test unless it ends with 0 within ten seconds. */
void daemon_stop(struct daemon *d);

/* A copy of a file, to be freed: what the daemon said so far. */
char *daemon_said(const char *file);

/* Does the file hold this text within `seconds`? */
bool daemon_says(const char *file, const char *text, double seconds);

void daemon_forget(struct daemon *d);

/* A number behind a word in /proc/<pid>/status, such as "VmRSS:". */
long daemon_status(const struct daemon *d, const char *word);

/* How much slower than usual a program may be: $CK_TIMEOUT_MULTIPLIER, which
 * is above 1 under a sanitizer. All waits here and in raw.h and metric.h are
 * longer by it. */
double daemon_slack(void);

/* CLOCK_MONOTONIC in seconds; a short rest. */
double daemon_clock(void);
void daemon_rest(double seconds);

#endif
