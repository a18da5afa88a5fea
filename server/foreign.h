/* SPDX-License-Identifier: MIT */
/*
 * foreign - advice for those who write a name that is not known here: what
 * other libraries call the same thing, with what has to be changed in its
 * value, or the name that is spelt nearly so. Knows no room.
 */
#ifndef FOREIGN_H
#define FOREIGN_H

#include "fields.h"

/* Room for any advice. */
enum { FOREIGN_ADVICE_MAX = 320 };

/* Writes what follows `"name" is unknown` to out, up to the full stop or
 * question mark: ": did you mean `mask`?". For a member, and for a name in
 * `return`. Returns out. */
const char *foreign_member(enum field_group group, const char *name, size_t n,
                           char out[FOREIGN_ADVICE_MAX]);
const char *foreign_output(const char *name, size_t n,
                           char out[FOREIGN_ADVICE_MAX]);

#endif
