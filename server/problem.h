/* SPDX-License-Identifier: MIT */
/*
 * problem - what can go wrong with a request, from one table: stable code
 * word, HTTP status, title, whose fault. A struct fault is one problem with
 * its place and words; both error dialects are printed from it.
 * Knows no room.
 */
#ifndef PROBLEM_H
#define PROBLEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum problem {
    PROBLEM_NONE = 0,
    /* 400 */
    PROBLEM_NOT_JSON,         /* line and column of the first bad byte */
    PROBLEM_DUPLICATE_MEMBER,
    PROBLEM_UNKNOWN_MEMBER,
    PROBLEM_WRONG_TYPE,
    PROBLEM_MISSING_OPERAND,
    PROBLEM_MISSING_COMPANION,
    PROBLEM_EXCLUSIVE,
    PROBLEM_BAD_HEADER,       /* Request-Timeout, Content-Length, ... */
    PROBLEM_BAD_FRAMING,      /* chunks, gzip or binary body, broken */
    /* 404 405 408 411 413 415 431 */
    PROBLEM_NOT_FOUND,
    PROBLEM_METHOD,
    PROBLEM_BODY_STALLED,
    PROBLEM_UPLOAD_TIMEOUT,
    PROBLEM_LENGTH_REQUIRED,
    PROBLEM_BODY_TOO_LARGE,
    PROBLEM_TOO_MANY_ELEMENTS,
    PROBLEM_TOO_MUCH_WORK,
    PROBLEM_TOO_MUCH_MEMORY,  /* alone above the whole budget */
    PROBLEM_MEDIA_TYPE,
    PROBLEM_ENCODING,
    PROBLEM_HEADERS,          /* too large: 431 */
    /* 422 */
    PROBLEM_RAGGED,           /* ragged or empty list, list among numbers */
    PROBLEM_RANK,
    PROBLEM_SHAPE,
    PROBLEM_BROADCAST,
    PROBLEM_HEADS,
    PROBLEM_NUMBER_OVERFLOW,
    PROBLEM_OUT_OF_RANGE,
    /* 429 503 504 500 */
    PROBLEM_RATE,
    PROBLEM_QUEUE_FULL,
    PROBLEM_MEMORY_BUDGET,    /* in use by others now */
    PROBLEM_DRAINING,
    PROBLEM_CONNECTIONS,
    PROBLEM_DEADLINE,
    PROBLEM_OUT_OF_MEMORY,    /* malloc said no: 503 */
    PROBLEM_INTERNAL,
    /* never answered: the client has gone */
    PROBLEM_CANCELLED,
    PROBLEM_COUNT
};

enum blame { BLAME_CLIENT, BLAME_SERVER };

struct problem_row {
    enum problem problem;
    const char *code;    /* stable word: "not_json", "shape_mismatch" */
    int status;          /* HTTP */
    const char *title;
    enum blame blame;
};

const struct problem_row *problem_row(enum problem problem);

#define FAULT_DETAIL_MAX 512
#define FAULT_POINTER_MAX 160

/* One fault of one request. Zero-initialised: none. */
struct fault {
    enum problem problem;
    char pointer[FAULT_POINTER_MAX];   /* RFC 6901, "" for none */
    char detail[FAULT_DETAIL_MAX];     /* UTF-8, whole sentences */
    bool has_limit, has_got, has_expected;
    double limit, got, expected;       /* printed as integers if integral */
    int64_t line, column;              /* from 1; 0: none */
    int retry_after_s;                 /* 0: with 503, the queue tells */
};

/*
 * Sets fault to the problem, with detail in printf's way; returns problem.
 * pointer may be NULL. A fault that is set already is kept, unless it is a
 * 422 and the new one a 400 (SPEC section 5).
 */
enum problem fault_set(struct fault *fault, enum problem problem,
                       const char *pointer, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Would fault_set() take this problem, or keep what there is? */
bool fault_takes(const struct fault *fault, enum problem problem);

/* The application/problem+json text, newline at the end. Returns length. */
size_t fault_print_problem_json(const struct fault *fault, char *out,
                                size_t size);

/* The /v2 dialect: {"error": "..."}. */
size_t fault_print_error_json(const struct fault *fault, char *out,
                              size_t size);

/* Copies text as the inside of a JSON string; returns length written. */
size_t problem_escape(char *out, size_t size, const char *text);

/* The nearest of n names to `word` if near enough to be meant, else NULL. */
const char *problem_nearest(const char *word, size_t length,
                            const char *const *names, size_t n);

#endif
