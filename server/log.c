/* SPDX-License-Identifier: MIT */
/*
 * log - see log.h. Both forms are the same list of names and values, written
 * by one of two small writers: name=value or "name":value. Values that come
 * from clients are escaped, so a line stays one line.
 */
#include "log.h"

#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "digits.h"
#include "problem.h"

static atomic_llong dropped;

/* ------------------------------------------------------------ a line */

struct line {
    char *text;
    size_t length;
    bool json;
};

/* What does not fit is left out; the end of the line always fits. */
static void put_bytes(struct line *line, const char *bytes, size_t n)
{
    if (n > LOG_LINE_MAX - 3 - line->length)
        return;
    memcpy(line->text + line->length, bytes, n);
    line->length += n;
}

static void put(struct line *line, const char *text)
{
    put_bytes(line, text, strlen(text));
}

static void put_name(struct line *line, const char *name, const char *unit)
{
    if (line->length > 1)
        put(line, line->json ? "," : " ");
    put(line, line->json ? "\"" : "");
    put(line, name);
    put(line, unit);
    put(line, line->json ? "\":" : "=");
}

static void put_integer(struct line *line, const char *name, int64_t value)
{
    char digits[DIGITS_MAX];

    put_name(line, name, "");
    put_bytes(line, digits, (size_t)(digits_put(digits, value, 1) - digits));
}

static void put_ms(struct line *line, const char *name, int64_t ns)
{
    char digits[DIGITS_MAX];

    put_name(line, name, "_ms");
    put_bytes(line, digits, (size_t)(digits_put_ms(digits, ns) - digits));
}

/* logfmt needs quotes around what is not a plain word. */
static bool plain(const char *text)
{
    for (const char *c = text; *c; c++)
        if (*c <= ' ' || *c > '~' || *c == '"' || *c == '=' || *c == '\\')
            return false;
    return *text != '\0';
}

/* At most a quarter of the line: no value pushes out those behind it. */
static void put_text(struct line *line, const char *name, const char *text)
{
    char escaped[LOG_LINE_MAX / 4];
    if (!text || !*text)
        return;
    put_name(line, name, "");
    if (!line->json && plain(text)) {
        put_bytes(line, text, strnlen(text, sizeof escaped));
        return;
    }
    problem_escape(escaped, sizeof escaped, text);
    put(line, "\"");
    put(line, escaped);
    put(line, "\"");
}

/* RFC 3339 in UTC, with milliseconds. Lines come many to a second. */
static void put_time(struct line *line, int64_t time_ns)
{
    static _Thread_local struct {
        time_t at;
        char text[32];
    } second;
    time_t at = (time_t)(time_ns / 1000000000);
    char digits[DIGITS_MAX];
    struct tm tm;

    if (second.at != at || second.text[0] == '\0')
        strftime(second.text, sizeof second.text, "%Y-%m-%dT%H:%M:%S.",
                 gmtime_r(&at, &tm));
    second.at = at;
    put_name(line, "time", "");
    put(line, line->json ? "\"" : "");
    put(line, second.text);
    put_bytes(line, digits, (size_t)(digits_put(digits, time_ns / 1000000
                                                % 1000, 3) - digits));
    put(line, line->json ? "Z\"" : "Z");
}

static struct line begin(enum config_log form, char *text)
{
    struct line line = {text, 0, form == CONFIG_LOG_JSON};
    put(&line, line.json ? "{" : "");
    return line;
}

static size_t end(struct line *line)
{
    if (line->json)
        line->text[line->length++] = '}';
    line->text[line->length++] = '\n';
    return line->length;
}

/* ------------------------------------------------------ the two lines */

static const char *level_of(const struct log_access *entry)
{
    return entry->status >= 500 ? "error"
         : entry->status >= 400 ? "warning" : "info";
}

size_t log_access_line(enum config_log form, const struct log_access *entry,
                       char text[LOG_LINE_MAX])
{
    if (form == CONFIG_LOG_NONE)
        return 0;
    struct line line = begin(form, text);
    put_time(&line, entry->time_ns);
    put_text(&line, "level", level_of(entry));
    put_text(&line, "id", entry->id);
    put_text(&line, "traceparent", entry->traceparent);
    put_text(&line, "peer", entry->peer);
    put_text(&line, "method", entry->method);
    put_text(&line, "path", entry->path);
    put_integer(&line, "status", entry->status);
    put_text(&line, "code", entry->code);
    put_integer(&line, "bytes_in", entry->bytes_in);
    put_integer(&line, "bytes_out", entry->bytes_out);
    if (entry->n_q > 0 || entry->n_k > 0) {
        put_integer(&line, "B", entry->B);
        put_integer(&line, "H", entry->H);
        put_integer(&line, "n_q", entry->n_q);
        put_integer(&line, "n_k", entry->n_k);
        put_text(&line, "dtype", entry->dtype);
    }
    put_ms(&line, "total", entry->total_ns);
    for (int i = 0; i < entry->n_steps; i++)
        if (entry->step_ns[i] >= 0)
            put_ms(&line, entry->step_name[i], entry->step_ns[i]);
    return end(&line);
}

size_t log_event_line(enum config_log form, enum log_level level,
                      const char *event, const char *text, int64_t time_ns,
                      char out[LOG_LINE_MAX])
{
    static const char *const words[] = {"info", "warning", "error"};
    struct line line = begin(form, out);
    put_time(&line, time_ns);
    put_text(&line, "level", words[level]);
    put_text(&line, "event", event);
    put_text(&line, "message", text);
    return end(&line);
}

/* ------------------------------------------------------------- writing */

static void write_line(int fd, const char *line, size_t length)
{
    struct pollfd ready = {.fd = fd, .events = POLLOUT};
    if (length == 0)
        return;
    if (poll(&ready, 1, 0) != 1 || write(fd, line, length) < 0)
        atomic_fetch_add_explicit(&dropped, 1, memory_order_relaxed);
}

void log_access(const struct log_access *entry)
{
    char line[LOG_LINE_MAX];
    write_line(STDOUT_FILENO, line,
               log_access_line((enum config_log)config.log, entry, line));
}

void log_event(enum log_level level, const char *event, const char *format,
               ...)
{
    char text[1024], line[LOG_LINE_MAX];
    struct timespec now;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    clock_gettime(CLOCK_REALTIME, &now);
    write_line(STDERR_FILENO, line,
               log_event_line((enum config_log)config.log, level, event, text,
                              now.tv_sec * INT64_C(1000000000) + now.tv_nsec,
                              line));
}

int64_t log_dropped(void)
{
    return atomic_load_explicit(&dropped, memory_order_relaxed);
}
