/* SPDX-License-Identifier: MIT */
/*
 * header - what a request says before its body: its header lines and its
 * path, read with more care than the HTTP library takes.
 */
#ifndef HEADER_H
#define HEADER_H

#include "request.h"

/* Header `name` of r, or NULL; how many lines of it there are. */
const char *header_value(const struct request *r, const char *name);
int header_count(const struct request *r, const char *name);

/* Is the value this word, whatever its case, and blanks behind it? */
bool header_is_word(const char *value, const char *word);

/* No name has a blank or another letter that none may have, no value a NUL
 * or a second line: other readers than this one would see another request. */
bool header_all_sound(const struct request *r);

/* The path within a request's target, which may be "http://host/path". */
const char *header_path(const char *target);

#endif
