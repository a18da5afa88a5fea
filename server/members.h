/* SPDX-License-Identifier: MIT */
/*
 * members - the object that asks for attention: its members looked up in
 * fields.c, options put into struct attn_input, tensors found but not read
 * yet, so that dtype may come last. members_check() and members_explain() are
 * the second, slow look at a text that is refused: is it JSON at all, and
 * which fault goes first? All go on in slices of about a millisecond.
 */
#ifndef MEMBERS_H
#define MEMBERS_H

#include "arena.h"
#include "nested.h"
#include "syntax_check.h"

/* Where the walk is. */
enum members_place {
    MEMBERS_START, MEMBERS_FIRST_NAME, MEMBERS_NAME, MEMBERS_TENSOR,
    MEMBERS_VALUE, MEMBERS_BEHIND
};

struct members {
    /* given */
    char *text, *end;           /* members_check() changes them */
    struct arena *arena;
    struct attn_input *in;      /* options and shapes; data stays NULL */
    struct fault *fault;
    /* found */
    struct nested tensor[ATTN_N_IN];
    struct nested_range *ranges;
    int64_t n_ranges;
    bool scanned;               /* to the end, so dtype is known */
    /* private */
    enum members_place place;
    struct syntax walk;
    enum field_group group;     /* of the object in hand */
    enum field_id object;       /* which member it is, if not the call */
    enum field_id id;           /* of the member in hand */
    const char *value;          /* ... where its value begins */
    uint64_t seen;              /* bit: enum field_id */
    bool additive;
    bool exact;                 /* explaining */
    enum attn_dtype dtype;      /* to explain with */
    union {
        struct nested_scan scan;
        struct nested_explain explain;
        struct syntax_check check;
    } slice;                    /* what is under way */
    bool checking;
};

/* Reads options and finds tensors. Refused: it may be that the text is at
 * fault, or has what is too long to be looked at without members_check();
 * nothing of c->fault counts yet, but a fault of the server. */
enum walk members_scan(struct members *c);

/* Is all of it JSON? Squeezes the text: whatever was found is void. Refused:
 * it is none, and c->fault is set. */
enum walk members_check(struct members *c);

/* Sets the fault of a checked text to which scan or the reader of a range
 * said no. Never refused. */
enum walk members_explain(struct members *c);

#endif
