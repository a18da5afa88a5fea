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

#include "problem.h"

static atomic_llong dropped;

/* ------------------------------------------------------------ a line */

struct line {
    char *text;
    size_t length;
    bool json;
};

/* What does not fit is left out; the end of the line always fits. */
static void put(struct line *line, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void put(struct line *line, const char *format, ...)
{
    va_list arguments;
    size_t room = LOG_LINE_MAX - 3 - line->length;
    va_start(arguments, format);
    int n = vsnprintf(line->text + line->length, room, format, arguments);
    va_end(arguments);
    if (n > 0 && (size_t)n < room)
        line->length += (size_t)n;
}

static void put_name(struct line *line, const char *name)
{
    const char *comma = line->length > 1 ? line->json ? "," : " " : "";
    put(line, line->json ? "%s\"%s\":" : "%s%s=", comma, name);
}

static void put_integer(struct line *line, const char *name, int64_t value)
{
    put_name(line, name);
    put(line, "%lld", (long long)value);
}

static void put_ms(struct line *line, const char *name, int64_t ns)
{
    char full[32];
    snprintf(full, sizeof full, "%s_ms", name);
    put_name(line, full);
    put(line, "%lld.%03lld", (long long)(ns / 1000000),
        (long long)(ns / 1000 % 1000));
}

/* logfmt needs quotes around what is not a plain word. */
static bool plain(const char *text)
{
    for (const char *c = text; *c; c++)
        if (*c <= ' ' || *c > '~' || *c == '"' || *c == '=' || *c == '\\')
            return false;
    return *text != '\0';
}

/* At most half of the line, so that no value pushes out those behind it. */
static void put_text(struct line *line, const char *name, const char *text)
{
    char escaped[LOG_LINE_MAX / 2];
    if (!text || !*text)
        return;
    put_name(line, name);
    if (!line->json && plain(text)) {
        put(line, "%.*s", LOG_LINE_MAX / 2, text);
        return;
    }
    problem_escape(escaped, sizeof escaped, text);
    put(line, "\"%s\"", escaped);
}

/* RFC 3339 in UTC, with milliseconds. */
static void put_time(struct line *line, int64_t time_ns)
{
    time_t seconds = (time_t)(time_ns / 1000000000);
    struct tm tm;
    char text[32];
    gmtime_r(&seconds, &tm);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm);
    put_name(line, "time");
    put(line, line->json ? "\"%s.%03dZ\"" : "%s.%03dZ", text,
        (int)(time_ns / 1000000 % 1000));
}

static struct line begin(enum config_log form, char *text)
{
    struct line line = {text, 0, form == CONFIG_LOG_JSON};
    put(&line, "%s", line.json ? "{" : "");
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
               log_access_line(config.log, entry, line));
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
               log_event_line(config.log, level, event, text,
                              now.tv_sec * INT64_C(1000000000) + now.tv_nsec,
                              line));
}

int64_t log_dropped(void)
{
    return atomic_load_explicit(&dropped, memory_order_relaxed);
}
