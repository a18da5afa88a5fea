/* SPDX-License-Identifier: MIT */
/*
 * stretch.c - see stretch.h.
 */
#include "stretch.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Behind the token at p: a string, a number, or one byte. */
static const char *after_token(const char *p, const char *end)
{
    if (*p != '"') {
        size_t n = strspn(p, "+-.0123456789eE");
        if (n == 0 || (*p != '-' && (*p < '0' || *p > '9')))
            return p + 1;
        return (size_t)(end - p) < n ? end : p + n;
    }
    for (p++; p < end && *p != '"'; p++)
        p += *p == '\\';
    return p < end ? p + 1 : end;
}

/* ------------------------------------------------------------------ blanks */

/* Counts the places; stops at place k, *at being where it is. */
static size_t walk_places(const char *text, size_t known, size_t k, size_t *at)
{
    const char *end = text + known;
    const char *p = text;
    size_t n = 0;

    *at = known >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    for (p += *at; p < end && n < k;) {
        bool opens = *p != '\0' && strchr("{[:,", *p) != NULL;

        p = after_token(p, end);
        if (opens) {
            n++;
            *at = (size_t)(p - text);
        }
    }
    return n + 1;
}

size_t stretch_places(const char *text, size_t known)
{
    size_t at;
    return walk_places(text, known, (size_t)-1, &at);
}

size_t stretch_place(const char *text, size_t known, size_t k)
{
    size_t at;
    walk_places(text, known, k, &at);
    return at;
}

static char *with(const char *text, size_t length, size_t at, char what,
                  size_t n)
{
    char *out = malloc(length + n + 1);

    memcpy(out, text, at);
    memset(out + at, what, n);
    memcpy(out + at + n, text + at, length - at);
    out[length + n] = '\0';
    return out;
}

char *stretch_by_blanks(const char *text, size_t length, size_t at, size_t n)
{
    return with(text, length, at, ' ', n);
}

/* ----------------------------------------------------------------- numbers */

/* Number k, or NULL; *count is how many there are up to it. */
static const char *find_number(const char *text, size_t length, size_t k,
                               size_t *count)
{
    const char *end = text + length, *next;

    *count = 0;
    for (const char *p = text; p < end; p = next) {
        next = after_token(p, end);
        if (*p != '-' && (*p < '0' || *p > '9'))
            continue;
        if ((*count)++ == k)
            return p;
    }
    return NULL;
}

char *stretch_number(const char *text, size_t length, size_t k, size_t n,
                     size_t *stretched)
{
    size_t count;

    find_number(text, length, (size_t)-1, &count);
    if (count == 0)
        return NULL;
    const char *number = find_number(text, length, k % count, &count);
    size_t digits = strspn(number, "-0123456789");
    bool whole = number[digits] != '.';

    if (!whole)
        digits += 1 + strspn(number + digits + 1, "0123456789");
    size_t at = (size_t)(number - text) + digits;
    char *out = with(text, length, at, '0', n);
    if (whole)
        out[at] = '.';
    *stretched = length + n;
    return out;
}
