/* SPDX-License-Identifier: MIT */
/*
 * decode - unpacks gzip, recognises the form, hands to its decoder.
 */
#include "decode.h"

#include "compute.h"
#include "config.h"
#include "form.h"
#include "gzip.h"

#define UNPACK_STEP_BYTES ((size_t)512 << 10)

static int64_t unpack_begin(struct request *r)
{
    r->unpacking = arena_alloc(&r->arena, sizeof *r->unpacking);
    if (r->unpacking == NULL) {
        fault_set(&r->fault, PROBLEM_OUT_OF_MEMORY, NULL,
                  "There is no memory to unpack the body.");
        return 0;
    }
    buffer_init(&r->plain, (size_t)config.body_bytes);
    r->unpack_status = (int)gzip_open(r->unpacking, r->body.data,
                                      r->body.length, &r->plain);
    if (r->unpack_status == GZIP_OK)
        r->unpack_status = GZIP_MORE;
    return 1;
}

static void unpack_refuse(struct request *r)
{
    struct fault *f = &r->fault;

    switch ((enum gzip_status)r->unpack_status) {
    case GZIP_CORRUPT:
        fault_set(f, PROBLEM_BAD_FRAMING, NULL, "The body is declared as "
                  "Content-Encoding: gzip, but it is not valid gzip.");
        break;
    case GZIP_TRUNCATED:
        fault_set(f, PROBLEM_BAD_FRAMING, NULL,
                  "The gzip body is truncated.");
        break;
    case GZIP_CEILING:
        fault_set(f, PROBLEM_BODY_TOO_LARGE, NULL, "The body unpacks to more "
                  "than the limit of %lld bytes (--body-bytes).",
                  (long long)config.body_bytes);
        f->has_limit = true;
        f->limit = (double)config.body_bytes;
        break;
    default:
        compute_refuse_memory(r, r->body.capacity + block_grow_bytes(
            r->plain.capacity, r->plain.capacity + 1));
        break;
    }
}

/* r->body becomes what was in the gzip body. False: r->fault is set. */
static bool unpack_end(struct request *r)
{
    gzip_close(r->unpacking);
    r->unpacking = NULL;
    if (r->unpack_status != GZIP_OK) {
        unpack_refuse(r);
        return false;
    }
    buffer_free(&r->body);
    r->body = r->plain;
    r->plain = (struct buffer){ .data = NULL };
    r->gzip = false;
    return true;
}

int64_t decode_next(struct request *r)
{
    if (r->gzip && r->unpacking == NULL)
        return unpack_begin(r);
    if (r->gzip && !unpack_end(r))
        return 0;
    if (r->form == NULL)
        r->form = r->form_declared != NULL ? r->form_declared
                : form_of_body(r->body.data, r->body.length);
    return r->form->decode_next(r);
}

bool decode_task(struct request *r, int64_t task, int lane)
{
    (void)lane;
    if (!r->gzip)
        return r->form->decode_task(r, task);
    if (r->unpack_status == GZIP_MORE)
        r->unpack_status = (int)gzip_step(r->unpacking, UNPACK_STEP_BYTES);
    return r->unpack_status != GZIP_MORE;
}
