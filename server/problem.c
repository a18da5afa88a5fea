/* SPDX-License-Identifier: MIT */
/*
 * problem - see problem.h. The table is the one place where a code word, its
 * status and its title stand; openapi.yaml lists the same words.
 */
#include "problem.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "quote.h"

#define ROW(problem, code, status, title, blame) \
    [problem] = {problem, code, status, title, BLAME_##blame}

static const struct problem_row table[PROBLEM_COUNT] = {
    ROW(PROBLEM_NONE, "none", 200, "No problem", SERVER),
    ROW(PROBLEM_NOT_JSON, "not_json", 400, "The body is not JSON", CLIENT),
    ROW(PROBLEM_DUPLICATE_MEMBER, "duplicate_member", 400,
        "The same name stands twice", CLIENT),
    ROW(PROBLEM_UNKNOWN_MEMBER, "unknown_member", 400,
        "A name is not known", CLIENT),
    ROW(PROBLEM_WRONG_TYPE, "wrong_type", 400,
        "A value has the wrong type", CLIENT),
    ROW(PROBLEM_MISSING_OPERAND, "missing_operand", 400,
        "An operand is missing", CLIENT),
    ROW(PROBLEM_MISSING_COMPANION, "missing_companion", 400,
        "A member is there without the one it needs", CLIENT),
    ROW(PROBLEM_EXCLUSIVE, "exclusive_members", 400,
        "Two members exclude each other", CLIENT),
    ROW(PROBLEM_BAD_HEADER, "bad_header", 400,
        "A header is malformed", CLIENT),
    ROW(PROBLEM_BAD_FRAMING, "bad_framing", 400,
        "The framing of the body is broken", CLIENT),
    ROW(PROBLEM_NOT_FOUND, "not_found", 404, "No such path", CLIENT),
    ROW(PROBLEM_METHOD, "method_not_allowed", 405,
        "No such method on this path", CLIENT),
    ROW(PROBLEM_BODY_STALLED, "body_stalled", 408,
        "The body stopped coming", CLIENT),
    ROW(PROBLEM_UPLOAD_TIMEOUT, "upload_timeout", 408,
        "The body took too long", CLIENT),
    ROW(PROBLEM_LENGTH_REQUIRED, "length_required", 411,
        "The length of the body is missing", CLIENT),
    ROW(PROBLEM_BODY_TOO_LARGE, "body_too_large", 413,
        "The body is too large", CLIENT),
    ROW(PROBLEM_TOO_MANY_ELEMENTS, "too_many_elements", 413,
        "Too many numbers", CLIENT),
    ROW(PROBLEM_TOO_MUCH_WORK, "too_much_work", 413, "Too much work", CLIENT),
    ROW(PROBLEM_TOO_MUCH_MEMORY, "too_much_memory", 413,
        "More memory than there is", CLIENT),
    ROW(PROBLEM_MEDIA_TYPE, "unsupported_media_type", 415,
        "A type of body that is not understood", CLIENT),
    ROW(PROBLEM_ENCODING, "unsupported_encoding", 415,
        "A content encoding that is not understood", CLIENT),
    ROW(PROBLEM_HEADERS, "headers_too_large", 431,
        "The headers are too large", CLIENT),
    ROW(PROBLEM_RAGGED, "ragged", 422, "A list is ragged or empty", CLIENT),
    ROW(PROBLEM_RANK, "rank_mismatch", 422,
        "The number of axes does not fit", CLIENT),
    ROW(PROBLEM_SHAPE, "shape_mismatch", 422, "Shapes do not match", CLIENT),
    ROW(PROBLEM_BROADCAST, "not_broadcastable", 422,
        "A mask or bias does not broadcast", CLIENT),
    ROW(PROBLEM_HEADS, "heads_mismatch", 422,
        "The numbers of heads do not fit", CLIENT),
    ROW(PROBLEM_NUMBER_OVERFLOW, "number_overflow", 422,
        "A number is too large for its type", CLIENT),
    ROW(PROBLEM_OUT_OF_RANGE, "out_of_range", 422,
        "A value is out of range", CLIENT),
    ROW(PROBLEM_RATE, "rate_limited", 429, "Too many requests", CLIENT),
    ROW(PROBLEM_QUEUE_FULL, "queue_full", 503, "The queue is full", SERVER),
    ROW(PROBLEM_MEMORY_BUDGET, "memory_busy", 503,
        "The memory is in use by other requests", SERVER),
    ROW(PROBLEM_DRAINING, "draining", 503,
        "The service is shutting down", SERVER),
    ROW(PROBLEM_CONNECTIONS, "too_many_connections", 503,
        "Too many connections", SERVER),
    ROW(PROBLEM_DEADLINE, "deadline_exceeded", 504,
        "The deadline has passed", SERVER),
    ROW(PROBLEM_OUT_OF_MEMORY, "out_of_memory", 503,
        "The system has no memory left", SERVER),
    ROW(PROBLEM_INTERNAL, "internal", 500, "A fault of the service", SERVER),
    ROW(PROBLEM_CANCELLED, "cancelled", 499, "The client has gone", CLIENT),
};

const struct problem_row *problem_row(enum problem problem)
{
    return &table[problem];
}

bool fault_takes(const struct fault *fault, enum problem problem)
{
    return fault->problem == PROBLEM_NONE ||
           (table[fault->problem].status == 422 &&
            table[problem].status == 400);
}

enum problem fault_set(struct fault *fault, enum problem problem,
                       const char *pointer, const char *format, ...)
{
    if (!fault_takes(fault, problem))
        return fault->problem;

    *fault = (struct fault){.problem = problem};
    if (pointer)
        snprintf(fault->pointer, sizeof fault->pointer, "%s", pointer);
    va_list args;
    va_start(args, format);
    vsnprintf(fault->detail, sizeof fault->detail, format, args);
    va_end(args);
    return problem;
}

/* ------------------------------------------------------------- printing */

/* Text that grows to the right and stops at its end, always with a NUL. */
struct print {
    char *out;
    size_t size, length;
};

static void print(struct print *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void print(struct print *p, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    size_t room = p->size - p->length;
    int n = vsnprintf(p->out + p->length, room, format, args);
    va_end(args);
    if (n > 0)
        p->length += (size_t)n < room ? (size_t)n : room - 1;
}

/* Of a character of up to three bytes, where all that is hidden is. */
static unsigned code_point(const char *text, size_t n)
{
    const unsigned char *s = (const unsigned char *)text;

    if (n == 1)
        return s[0];
    if (n == 2)
        return (s[0] & 0x1fu) << 6 | (s[1] & 0x3fu);
    return (s[0] & 0xfu) << 12 | (s[1] & 0x3fu) << 6 | (s[2] & 0x3fu);
}

/* One character as it stands in a JSON string; returns bytes written, and
 * the bytes taken in *taken. out has room for 8. */
static size_t escape_one(char *out, const char *text, size_t *taken)
{
    static const char short_of[32] = {
        ['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r'};
    unsigned char c = (unsigned char)*text;
    size_t n = quote_utf8(text, text + strnlen(text, 4));

    *taken = n ? n : 1;
    if (n == 0)
        return (size_t)sprintf(out, "\\ufffd");
    if (c == '"' || c == '\\')
        return (size_t)sprintf(out, "\\%c", c);
    if (c < 0x20 && short_of[c])
        return (size_t)sprintf(out, "\\%c", short_of[c]);
    if (quote_is_hidden(text, n))
        return (size_t)sprintf(out, "\\u%04x", code_point(text, n));
    memcpy(out, text, n);
    return n;
}

size_t problem_escape(char *out, size_t size, const char *text)
{
    size_t length = 0;
    while (*text) {
        char one[8];
        size_t taken, n = escape_one(one, text, &taken);
        if (length + n >= size)
            break;
        memcpy(out + length, one, n);
        length += n;
        text += taken;
    }
    if (size > 0)
        out[length] = '\0';
    return length;
}

static void print_text(struct print *p, const char *name, const char *text)
{
    print(p, "\"%s\":\"", name);
    p->length += problem_escape(p->out + p->length, p->size - p->length, text);
    print(p, "\"");
}

static void print_number(struct print *p, const char *name, bool has, double x)
{
    if (!has || !isfinite(x))
        return;
    if (fabs(x) < 9007199254740992.0 && x == trunc(x))
        print(p, ",\"%s\":%lld", name, (long long)x);
    else
        print(p, ",\"%s\":%.17g", name, x);
}

size_t fault_print_problem_json(const struct fault *fault, char *out,
                                size_t size)
{
    const struct problem_row *row = problem_row(fault->problem);
    struct print p = {out, size, 0};

    print(&p, "{\"type\":\"about:blank\",\"title\":\"%s\",\"status\":%d,",
          row->title, row->status);
    print_text(&p, "detail", fault->detail);
    print(&p, ",\"code\":\"%s\",", row->code);
    if (fault->pointer[0]) {
        print_text(&p, "pointer", fault->pointer);
        print(&p, ",");
    }
    print_text(&p, "error", fault->detail);
    print_number(&p, "limit", fault->has_limit, fault->limit);
    print_number(&p, "got", fault->has_got, fault->got);
    print_number(&p, "expected", fault->has_expected, fault->expected);
    print_number(&p, "line", fault->line > 0, (double)fault->line);
    print_number(&p, "column", fault->line > 0, (double)fault->column);
    print(&p, "}\n");
    return p.length;
}

size_t fault_print_error_json(const struct fault *fault, char *out,
                              size_t size)
{
    struct print p = {out, size, 0};
    print(&p, "{");
    print_text(&p, "error", fault->detail);
    print(&p, "}\n");
    return p.length;
}
