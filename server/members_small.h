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

/* Sets the fault of a value, at text, that has not the type of its member. */
void members_wrong_type(struct members *c, enum field_id id, const char *text,
                        const char *end);

/* Reads and stores a value. False: a fault is set, and no reason to go on. */
bool members_small(struct members *c, enum field_id id, const char *text,
                   const char *end);

/* A string with its quotes, n bytes, without escapes; 0 if too long or none
 * that UTF-8 can say. */
size_t members_unescape(const char *text, size_t n, char *out, size_t size);

#endif
