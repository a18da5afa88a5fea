/* SPDX-License-Identifier: MIT */
/*
 * syntax - the grammar of JSON (RFC 8259), byte by byte: where a value
 * ends, and which is the first byte that no JSON text could have there. It
 * stores nothing and calls nothing back; time is linear, memory constant.
 */
#ifndef SYNTAX_H
#define SYNTAX_H

#include <stdbool.h>
#include <stdint.h>

struct syntax {
    const char *begin, *end;
    const char *p;       /* the next byte to be read */
    const char *bad;     /* the first byte that cannot be there, or NULL;
                            end where the text stops too early */
    bool deep;           /* bad: brackets nested beyond what is followed */
};

/* How often brackets may change their kind on the way in; brackets of one
 * kind may be nested as deep as they like. */
enum { SYNTAX_NEST_MAX = 64 };

void syntax_begin(struct syntax *t, const char *text, const char *end);

/* All return whether the text is good so far; p is then behind. */
bool syntax_expect(struct syntax *t, char c);  /* after white space */
bool syntax_string(struct syntax *t);          /* p at its first quote */
bool syntax_skip(struct syntax *t);            /* any value, p at its start */

bool syntax_whole(struct syntax *t);    /* one value and white space */

/* What kind of value begins at p: "a list", "an object", "a string", "a
 * number", "true", "false", "null"; or NULL. */
const char *syntax_kind(const struct syntax *t);

/* Line and column of a byte, from 1, in bytes. */
void syntax_place(const struct syntax *t, const char *at, int64_t *line,
                  int64_t *column);

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

#endif
