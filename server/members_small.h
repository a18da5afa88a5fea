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

/* What a string says, to be compared with names. One that is longer than any
 * name, or that UTF-8 cannot say, is as it is written, which is none. */
struct members_word {
    const char *text;
    size_t length;
    char room[64];
};

/* text and end: the string with its quotes. */
void members_word(struct members_word *word, const char *text, const char *end);

#endif
