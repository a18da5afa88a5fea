/* SPDX-License-Identifier: MIT */
/*
 * members_small - the part of members.c that reads small values; private to
 * the two.
 */
#ifndef MEMBERS_SMALL_H
#define MEMBERS_SMALL_H

#include "members.h"

/* After a fault: is there reason to go on? */
bool members_go_on(const struct members *c);

/* What a value of the type looks like: "an integer or null". */
const char *members_expected(enum field_type type);

/* Reads and stores a value. False: a fault is set, and no reason to go on. */
bool members_small(struct members *c, enum field_id id, const char *text,
                   const char *end);

/* A string with its quotes, n bytes, without escapes; 0 if too long or none
 * that UTF-8 can say. */
size_t members_unescape(const char *text, size_t n, char *out, size_t size);

#endif
