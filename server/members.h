/* SPDX-License-Identifier: MIT */
/*
 * members - the object that asks for attention: its members looked up in
 * fields.c, options put into struct attn_input, tensors found but not read
 * yet, so that dtype may come last. members_explain() is the second, slow
 * look at a text that is refused: it finds the fault that goes first.
 */
#ifndef MEMBERS_H
#define MEMBERS_H

#include "arena.h"
#include "nested.h"

struct members {
    /* given */
    const char *text, *end;
    struct arena *arena;
    struct attn_input *in;      /* options and shapes; data stays NULL */
    struct fault *fault;
    /* found */
    struct nested tensor[ATTN_N_IN];
    struct nested_range *ranges;
    int64_t n_ranges;
    /* private */
    struct syntax walk;
    uint64_t seen;              /* bit: enum field_id */
    bool scanned;               /* to the end, so dtype is known */
    bool exact;                 /* explaining */
    enum attn_dtype dtype;      /* to explain with */
    bool additive;
};

/* Reads options and finds tensors. False: let members_explain() look at it.
 * Nothing of c->fault counts before, but a lack of memory. */
bool members_scan(struct members *c);

/* Sets the fault of a text to which scan or the reader of a range said no. */
void members_explain(struct members *c);

#endif
