/* SPDX-License-Identifier: MIT */
/*
 * form - one form of body, both ways. A new form is one decode_x.c and one
 * encode_x.c with a struct form, and one row in form_list[] (form.c).
 *
 * Decoding is a sequence of batches of tasks, as struct stage in work.h says:
 * decode_next() is alone and may set r->fault; decode_task() runs beside its
 * like, so it keeps what it finds wrong in r->decoding for the next
 * decode_next(), and allocates nothing from r->arena; only the task of a batch
 * of one may do both.
 *
 * Encoding cuts the reply into pieces of at most some 256 KiB whose
 * concatenation is the body; they are written side by side, in any order.
 */
#ifndef FORM_H
#define FORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct request;

struct form {
    const char *name;
    const char *media_type;
    /* the number of tasks of the next batch; 0: over, and r->fault counts */
    int64_t (*decode_next)(struct request *r);
    /* one task, 2 ms at most; false: it goes on with the next call */
    bool (*decode_task)(struct request *r, int64_t task);
    /* upper bound of the bytes of all pieces, and of the largest of them; of
     * a plan, before there is anything to encode */
    size_t (*encode_room)(const struct request *r, size_t *largest);
    /* how many pieces, or -1 with r->fault set */
    int64_t (*encode_plan)(struct request *r);
    /* upper bound of the bytes of piece k */
    size_t (*encode_bound)(const struct request *r, int64_t k);
    /* writes piece k to out, returns its bytes */
    size_t (*encode_piece)(const struct request *r, int64_t k, char *out);
};

extern const struct form form_json;

/* The form that a Content-Type names, or NULL. */
const struct form *form_declared(const char *content_type);

/* The form of a reply: JSON, unless Accept names another. NULL: none given. */
const struct form *form_accepted(const char *accept);

/* The form that a body's first bytes look like. */
const struct form *form_of_body(const char *body, size_t length);

#endif
