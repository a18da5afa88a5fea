/* SPDX-License-Identifier: MIT */
/*
 * encode - struct attn_output -> bytes. The reply is a sequence of pieces
 * (blocks of rows) that can be written side by side and in any order; their
 * concatenation is the body. The form is chosen by what the client accepts.
 */
#ifndef ENCODE_H
#define ENCODE_H

#include "request.h"

/* One form of body, both ways. A new form is one row. */
struct form {
    const char *name;
    const char *media_type;
    /* decode: batches of tasks; see struct stage in work.h */
    int64_t (*decode_next)(struct request *r);
    void (*decode_task)(struct request *r, int64_t task);
    /* encode: cuts the reply into pieces; returns how many, or -1 with
     * r->fault set */
    int64_t (*encode_plan)(struct request *r);
    /* upper bound of the bytes of piece k */
    size_t (*encode_bound)(const struct request *r, int64_t k);
    /* writes piece k to out, returns its bytes */
    size_t (*encode_piece)(const struct request *r, int64_t k, char *out);
};

extern const struct form form_json;

/* The stage functions: encode_next plans, then hands out pieces. */
int64_t encode_next(struct request *r);
bool encode_task(struct request *r, int64_t task, int lane);

#endif
