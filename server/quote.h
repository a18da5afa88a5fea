/* SPDX-License-Identifier: MIT */
/*
 * quote - bytes of a stranger as part of a sentence: what a terminal would
 * obey, what cannot be seen and what is not UTF-8 is written as \x1b.
 * Knows no room.
 */
#ifndef QUOTE_H
#define QUOTE_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes that quote() may make of one. */
enum { QUOTE_GROWTH = 4 };

/* Length of the UTF-8 character (RFC 3629) at text, or 0: before end there is
 * no whole one. */
size_t quote_utf8(const char *text, const char *end);

/* Is this character, of n bytes, one that does something instead of being
 * seen: a control, a mark of direction or of width zero, a separator of
 * lines? */
bool quote_is_hidden(const char *text, size_t n);

/* Writes text[0 .. n), or as much of it as there is room for, to out, which
 * has `size` bytes, and a NUL. Returns the length written. */
size_t quote(char *out, size_t size, const char *text, size_t n);

/* The same of a name: what is too long to be shown ends in dots. Returns
 * out. */
enum { QUOTE_NAME_BYTES = 64,
       QUOTE_NAME_MAX = QUOTE_GROWTH * QUOTE_NAME_BYTES + 4 };
const char *quote_name(char out[QUOTE_NAME_MAX], const char *text, size_t n);

/* Writes the names as `a`, `b` and `c`. Returns out. */
const char *quote_list(char *out, size_t size, const char *const *names,
                       size_t n);

#endif
