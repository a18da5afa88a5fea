/* SPDX-License-Identifier: MIT */
/*
 * fields - the members of a call, from one table: name, type, bounds, help.
 * The forms of body read by it, the documents are made from it. The first
 * ATTN_N_IN rows are the tensors, numbered as in enum attn_in.
 * Knows no room.
 */
#ifndef FIELDS_H
#define FIELDS_H

#include <stdbool.h>
#include <stddef.h>

#include "attention.h"
#include "problem.h"

/* Every integer up to this is a double. */
#define FIELD_INTEGER_MAX 9007199254740992.0

/* In which object a member stands: the call itself, or one of its own. */
enum field_group { FIELD_CALL, FIELD_WINDOW, FIELD_ROPE, FIELD_SCORE };

enum field_type {
    FIELD_REALS,      /* nested lists of numbers */
    FIELD_BOOLEANS,   /* nested lists of true and false */
    FIELD_INTEGERS,   /* a list of integers */
    FIELD_OFFSETS,    /* an integer, a list of them, or "end" */
    FIELD_NUMBER,
    FIELD_INTEGER,
    FIELD_SIDE,       /* an integer, or null: open */
    FIELD_BOOLEAN,
    FIELD_WORD,       /* one of words; its value is its place there */
    FIELD_NAMES,      /* a list of names of enum attn_out */
    FIELD_OBJECT      /* members of the group */
};

enum field_id {
    FIELD_NUM_HEADS = ATTN_N_IN,
    FIELD_NUM_KV_HEADS,
    FIELD_WEIGHT_LAYOUT,
    FIELD_SCALE,
    FIELD_CAUSAL,
    FIELD_WINDOW_OBJECT,
    FIELD_SOFTCAP,
    FIELD_ROPE_OBJECT,
    FIELD_SCORE_OBJECT,
    FIELD_DTYPE,
    FIELD_RETURN,
    FIELD_WINDOW_LEFT,
    FIELD_WINDOW_RIGHT,
    FIELD_ROPE_BASE,
    FIELD_ROPE_DIM,
    FIELD_ROPE_INTERLEAVED,
    FIELD_SCORE_TYPE,
    FIELD_COUNT
};

struct field {
    const char *name;
    enum field_group group;     /* where it stands */
    enum field_type type;
    enum field_group members;   /* of FIELD_OBJECT */
    double min, max;            /* of a number; above: min excluded */
    bool above;
    const char *const *words;   /* of FIELD_WORD, NULL at the end */
    const char *help;
    const char *expected;       /* if more can be told than the type */
};

extern const struct field fields[FIELD_COUNT];

/* The member of that name in the group, or FIELD_COUNT. */
enum field_id field_find(enum field_group group, const char *name,
                         size_t length);

/* The member of the call whose name is spelt nearly so, or NULL. */
const char *field_nearest(const char *name, size_t length);

/* What the member looks like: "an integer or null". */
const char *field_expected(enum field_id id);

/* The output of that name, or ATTN_N_OUT. */
enum attn_out field_find_out(const char *name, size_t length);

/* Whether a number is within the bounds of the field. If not, what was
 * expected is written to text: "at least 1". */
bool field_within(enum field_id id, double value, char *text, size_t size);

/* Puts a value where it belongs: a number, 0 or 1, the place of a word. The
 * type of the score has no place and is left to the caller. */
void field_store(enum field_id id, struct attn_input *in, double value);

/* The place of a member in JSON: "/rope/base". Returns out. */
const char *field_pointer(enum field_id id, char out[FAULT_POINTER_MAX]);

/* Sets the fault that the library found; see fault_set(). */
enum problem field_fault(struct fault *fault, const struct attn_error *error);

#endif
