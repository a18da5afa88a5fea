/* SPDX-License-Identifier: MIT */
/*
 * syntax - finds its way through JSON text: behind white space, a string, a
 * value, with no look at the grammar, which is for syntax_check.h to judge.
 * What may be long is walked in slices, so that a task stays short.
 */
#ifndef SYNTAX_H
#define SYNTAX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How a slice of a walk ended. */
enum walk {
    WALK_MORE,      /* call again to go on */
    WALK_DONE,
    WALK_REFUSED
};

/* A slice of those who look at each byte. */
enum { SYNTAX_SLICE_BYTES = 64 << 10 };

struct syntax {
    const char *p, *end;    /* the next byte to be read; where they end */
    int64_t depth;          /* of brackets open in the value in hand */
    bool in_string;
};

/* The kind of the value that begins at p: "a list", "an object", "a string",
 * "a number", "true", "false", "null"; or NULL. */
const char *syntax_kind(const char *p, const char *end);

/* p at an opening quote: behind the closing one, or NULL. */
const char *syntax_after_string(const char *p, const char *end);

/* p at an opening quote: behind the closing one if the string, its escapes
 * read, is this word of ASCII letters and signs; or NULL. */
const char *syntax_after_word(const char *p, const char *end,
                              const char *word);

/* A slice of the way behind any value, p at its start; t is zero but for p
 * and end. Refused where the text ends first. */
enum walk syntax_skip(struct syntax *t);

/* How often c occurs. */
int64_t syntax_count(const char *p, const char *end, char c);

static inline bool syntax_is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static inline const char *syntax_after_space(const char *p, const char *end)
{
    while (p < end && syntax_is_space(*p))
        p++;
    return p;
}

/* `bytes` behind p, or the end if that comes first. */
static inline const char *syntax_within(const char *p, const char *end,
                                        ptrdiff_t bytes)
{
    return end - p < bytes ? end : p + bytes;
}

#endif
