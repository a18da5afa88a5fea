/* SPDX-License-Identifier: MIT */
/*
 * syntax - see syntax.h.
 */
#include "syntax.h"

#include <string.h>

#include "number.h"

void syntax_begin(struct syntax *t, const char *text, const char *end)
{
    *t = (struct syntax){.begin = text, .end = end, .p = text};
}

static bool bad(struct syntax *t, const char *at)
{
    t->bad = at;
    return false;
}

bool syntax_expect(struct syntax *t, char c)
{
    t->p = syntax_after_space(t->p, t->end);
    if (t->p == t->end || *t->p != c)
        return bad(t, t->p);
    t->p++;
    return true;
}

/* -------------------------------------------------------------- strings */

/* p behind the backslash. */
static bool escape(struct syntax *t)
{
    if (t->p == t->end || *t->p == '\0' || !strchr("\"\\/bfnrtu", *t->p))
        return bad(t, t->p);
    if (*t->p++ != 'u')
        return true;
    for (int i = 0; i < 4; i++, t->p++) {
        if (t->p == t->end || *t->p == '\0' ||
            !strchr("0123456789abcdefABCDEF", *t->p))
            return bad(t, t->p);
    }
    return true;
}

/* p at a byte of 0x80 or above: one UTF-8 character (RFC 3629). */
static bool utf8(struct syntax *t)
{
    unsigned char first = (unsigned char)*t->p, low = 0x80, high = 0xbf;
    int more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;

    if (first < 0xc2 || first > 0xf4)
        return bad(t, t->p);
    if (first == 0xe0)
        low = 0xa0;
    if (first == 0xf0)
        low = 0x90;
    if (first == 0xed)
        high = 0x9f;
    if (first == 0xf4)
        high = 0x8f;
    for (t->p++; more > 0; more--, t->p++, low = 0x80, high = 0xbf) {
        if (t->p == t->end || (unsigned char)*t->p < low ||
            (unsigned char)*t->p > high)
            return bad(t, t->p);
    }
    return true;
}

bool syntax_string(struct syntax *t)
{
    for (t->p++; t->p < t->end;) {
        unsigned char c = (unsigned char)*t->p;
        if (c == '"') {
            t->p++;
            return true;
        }
        if (c < 0x20)
            return bad(t, t->p);
        if (c >= 0x80) {
            if (!utf8(t))
                return false;
            continue;
        }
        t->p++;
        if (c == '\\' && !escape(t))
            return false;
    }
    return bad(t, t->end);
}

/* --------------------------------------------------------------- values */

static bool literal(struct syntax *t, const char *word)
{
    for (; *word; word++, t->p++) {
        if (t->p == t->end || *t->p != *word)
            return bad(t, t->p);
    }
    return true;
}

static bool number(struct syntax *t)
{
    double value;
    if (number_read(t->p, t->end, &value, &t->p) == NUMBER_SYNTAX)
        return bad(t, t->p);
    return true;
}

static bool scalar(struct syntax *t)
{
    if (t->p == t->end)
        return bad(t, t->p);
    switch (*t->p) {
    case '"': return syntax_string(t);
    case 't': return literal(t, "true");
    case 'f': return literal(t, "false");
    case 'n': return literal(t, "null");
    default: return number(t);
    }
}

/* The open brackets, as runs of one kind; kinds take turns. */
struct nest {
    char kind;                      /* of the innermost, '[' or '{' */
    int runs;
    int64_t run[SYNTAX_NEST_MAX];
};

static bool enter(struct syntax *t, struct nest *nest)
{
    if (nest->runs > 0 && nest->kind == *t->p) {
        nest->run[nest->runs - 1]++;
    } else if (nest->runs < SYNTAX_NEST_MAX) {
        nest->kind = *t->p;
        nest->run[nest->runs++] = 1;
    } else {
        t->deep = true;
        return bad(t, t->p);
    }
    t->p++;
    return true;
}

static void leave(struct syntax *t, struct nest *nest)
{
    t->p++;
    if (--nest->run[nest->runs - 1] > 0)
        return;
    nest->runs--;
    nest->kind = nest->kind == '[' ? '{' : '[';
}

static bool name_and_colon(struct syntax *t)
{
    t->p = syntax_after_space(t->p, t->end);
    if (t->p == t->end || *t->p != '"')
        return bad(t, t->p);
    if (!syntax_string(t) || !syntax_expect(t, ':'))
        return false;
    t->p = syntax_after_space(t->p, t->end);
    return true;
}

static char closing(const struct nest *nest)
{
    return nest->kind == '[' ? ']' : '}';
}

/* Behind a value: closes what ends here. True at the start of the next
 * value, or with no bracket open. */
static bool next_value(struct syntax *t, struct nest *nest)
{
    while (nest->runs > 0) {
        t->p = syntax_after_space(t->p, t->end);
        if (t->p == t->end)
            return bad(t, t->p);
        if (*t->p == ',') {
            t->p = syntax_after_space(t->p + 1, t->end);
            return nest->kind == '[' || name_and_colon(t);
        }
        if (*t->p != closing(nest))
            return bad(t, t->p);
        leave(t, nest);
    }
    return true;
}

/* At an opening bracket: in, and to the first value if there is one. */
static bool first_value(struct syntax *t, struct nest *nest, bool *empty)
{
    if (!enter(t, nest))
        return false;
    t->p = syntax_after_space(t->p, t->end);
    *empty = t->p < t->end && *t->p == closing(nest);
    if (*empty) {
        leave(t, nest);
        return true;
    }
    return nest->kind == '[' || name_and_colon(t);
}

bool syntax_skip(struct syntax *t)
{
    struct nest nest;
    nest.kind = '\0';
    nest.runs = 0;
    do {
        bool empty = true;
        if (t->p < t->end && (*t->p == '[' || *t->p == '{')) {
            if (!first_value(t, &nest, &empty))
                return false;
        } else if (!scalar(t)) {
            return false;
        }
        if (empty && !next_value(t, &nest))
            return false;
    } while (nest.runs > 0);
    return true;
}

bool syntax_whole(struct syntax *t)
{
    t->p = syntax_after_space(t->p, t->end);
    if (!syntax_skip(t))
        return false;
    t->p = syntax_after_space(t->p, t->end);
    return t->p == t->end || bad(t, t->p);
}

const char *syntax_kind(const struct syntax *t)
{
    switch (t->p < t->end ? *t->p : '\0') {
    case '[': return "a list";
    case '{': return "an object";
    case '"': return "a string";
    case 't': return "true";
    case 'f': return "false";
    case 'n': return "null";
    case '-': return "a number";
    default: break;
    }
    bool digit = t->p < t->end && *t->p >= '0' && *t->p <= '9';
    return digit ? "a number" : NULL;
}

void syntax_place(const struct syntax *t, const char *at, int64_t *line,
                  int64_t *column)
{
    const char *start = t->begin;
    *line = 1;
    while (at > start) {            /* an empty body may be NULL */
        const char *p = memchr(start, '\n', (size_t)(at - start));
        if (p == NULL)
            break;
        start = p + 1;
        ++*line;
    }
    *column = at - start + 1;
}
