/* SPDX-License-Identifier: MIT */
/*
 * syntax - see syntax.h.
 */
#include "syntax.h"

#include <ctype.h>
#include <string.h>

const char *syntax_kind(const char *p, const char *end)
{
    char c = p < end ? *p : '\0';

    switch (c) {
    case '[': return "a list";
    case '{': return "an object";
    case '"': return "a string";
    case 't': return "true";
    case 'f': return "false";
    case 'n': return "null";
    default: return c == '-' || (c >= '0' && c <= '9') ? "a number" : NULL;
    }
}

/* p within a string: behind its closing quote, or at `stop` or one byte
 * further with *in_string still true. */
static const char *string_on(const char *p, const char *stop, bool *in_string)
{
    while (p < stop) {
        if (*p == '"') {
            *in_string = false;
            return p + 1;
        }
        p += *p == '\\' ? 2 : 1;
    }
    return p;
}

const char *syntax_after_string(const char *p, const char *end)
{
    bool in_string = true;
    p = string_on(p + 1, end, &in_string);
    return in_string ? NULL : p;
}

/* Six bytes such as \u004e for N. */
static bool is_escaped(const char *p, const char *end, char c)
{
    char high = "0123456789abcdef"[c >> 4], low = "0123456789abcdef"[c & 15];

    return end - p >= 6 && memcmp(p, "\\u00", 4) == 0 && p[4] == high &&
           (p[5] == low || p[5] == toupper(low));
}

const char *syntax_after_word(const char *p, const char *end, const char *word)
{
    for (p++; *word; word++) {
        if (p < end && *p == *word)
            p++;
        else if (is_escaped(p, end, *word))
            p += 6;
        else
            return NULL;
    }
    return p < end && *p == '"' ? p + 1 : NULL;
}

/* One byte outside strings. True: the value is complete. */
static bool skip_byte(struct syntax *t)
{
    char c = *t->p;

    if (t->depth == 0 && (c == ',' || c == ']' || c == '}' || c == ':' ||
                          syntax_is_space(c)))
        return true;
    t->in_string = c == '"';
    t->depth += (c == '[' || c == '{') - (c == ']' || c == '}');
    t->p++;
    return t->depth == 0 && (c == ']' || c == '}');
}

enum walk syntax_skip(struct syntax *t)
{
    const char *stop = syntax_within(t->p, t->end, SYNTAX_SLICE_BYTES);

    while (t->p < stop) {
        if (!t->in_string) {
            if (skip_byte(t))
                return WALK_DONE;
            continue;
        }
        t->p = string_on(t->p, stop, &t->in_string);
        if (t->depth == 0 && !t->in_string)
            return WALK_DONE;
    }
    if (t->p < t->end)
        return WALK_MORE;
    t->p = t->end;
    return t->depth == 0 && !t->in_string ? WALK_DONE : WALK_REFUSED;
}

/* In blocks that a compiler turns into a few wide instructions. */
int64_t syntax_count(const char *p, const char *end, char c)
{
    int64_t n = 0;
    for (; end - p >= 64; p += 64) {
        unsigned char block = 0;
        for (int i = 0; i < 64; i++)
            block = (unsigned char)(block + (p[i] == c));
        n += block;
    }
    for (; p < end; p++)
        n += *p == c;
    return n;
}
