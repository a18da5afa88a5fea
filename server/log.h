/* SPDX-License-Identifier: MIT */
/*
 * log - the access log, one line a request, to standard output, and events
 * (start, drain, faults of our own) to standard error. In logfmt or JSON.
 * A line is one write() of less than PIPE_BUF bytes, so lines of several
 * threads never mix; no lock. A line that would have to wait for a reader is
 * dropped and counted: a log nobody reads must not stop the service.
 * Knows no room: whoever logs fills the struct.
 */
#ifndef LOG_H
#define LOG_H

#include <stddef.h>
#include <stdint.h>

#include "config.h"

#define LOG_LINE_MAX 4096

struct log_access {
    int64_t time_ns;              /* CLOCK_REALTIME, when it came */
    const char *id, *traceparent, *peer, *method, *path; /* "": left out */
    int status;
    const char *code;             /* word of the problem, or NULL */
    int64_t bytes_in, bytes_out;
    int64_t total_ns;
    /* the call: left out where n_q and n_k are 0 */
    int64_t B, H, n_q, n_k;
    const char *dtype;            /* or NULL */
    /* one time a step, in ns; a negative one is left out */
    const char *const *step_name;
    const int64_t *step_ns;
    int n_steps;
};

void log_access(const struct log_access *entry);

enum log_level { LOG_INFO, LOG_WARNING, LOG_ERROR };

/* event: one word, "start"; then a sentence in printf's way. */
void log_event(enum log_level level, const char *event, const char *format,
               ...) __attribute__((format(printf, 3, 4)));

/* Lines dropped since the start. */
int64_t log_dropped(void);

/* For tests: the line with its newline, in at most LOG_LINE_MAX bytes;
 * returns its length, 0 with CONFIG_LOG_NONE. */
size_t log_access_line(enum config_log form, const struct log_access *entry,
                       char line[LOG_LINE_MAX]);
size_t log_event_line(enum config_log form, enum log_level level,
                      const char *event, const char *text, int64_t time_ns,
                      char line[LOG_LINE_MAX]);

#endif
