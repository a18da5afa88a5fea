/* SPDX-License-Identifier: MIT */
/*
 * receive - see receive.h.
 */
#include "receive.h"

#include "compute.h"
#include "config.h"

/* Bodies up to this are given their memory at once; larger ones have to
 * arrive before they are believed. */
#define BELIEVED_BYTES ((int64_t)1 << 20)

/* For a body of which so much is known. */
static enum problem no_memory(struct request *r, size_t length)
{
    if (r->has_length)
        length = (size_t)r->content_length;
    return compute_refuse_memory(
        r, block_grow_bytes(r->body.capacity, length + 1));
}

enum problem receive_begin(struct request *r)
{
    int64_t promised = r->has_length ? r->content_length : 0;

    buffer_init(&r->body, (size_t)config.body_bytes);
    if (promised > BELIEVED_BYTES)
        promised = BELIEVED_BYTES;
    if (promised > 0
        && buffer_reserve(&r->body, (size_t)promised) != BUFFER_OK)
        return no_memory(r, 0);
    return PROBLEM_NONE;
}

bool receive_is_small(const struct request *r)
{
    const double bytes_a_us = 1300.0;
    int64_t bytes = r->has_length ? r->content_length : r->received_bytes;

    return !r->gzip && (double)bytes <= config.inline_us * bytes_a_us;
}

bool receive_swallows(const struct request *r)
{
    if (r->must_close || r->expects_continue)
        return false;
    return !r->has_length || r->content_length <= RECEIVE_SWALLOW_BYTES;
}

/* What is here is believed eight times over: a full buffer grows by so much,
 * and once an eighth is here it grows to the whole. */
static enum buffer_status make_room(struct request *r, size_t length)
{
    size_t room = r->body.capacity - r->body.length;
    size_t missing = (size_t)(r->content_length - r->received_bytes);
    size_t believed = 7 * (size_t)r->received_bytes;

    if (!r->has_length || room > missing
        || (room > length && believed < missing))
        return BUFFER_OK;
    return buffer_reserve(&r->body, missing < believed ? missing : believed);
}

static void refuse(struct request *r, enum buffer_status status,
                   size_t length)
{
    struct fault *f = &r->fault;

    if (status == BUFFER_NO_MEMORY) {
        no_memory(r, r->body.length + length);
        return;
    }
    fault_set(f, PROBLEM_BODY_TOO_LARGE, NULL, "The body is larger than the "
              "limit of %lld bytes (--body-bytes).",
              (long long)config.body_bytes);
    f->has_limit = true;
    f->limit = (double)config.body_bytes;
}

bool receive(struct request *r, const char *data, size_t length)
{
    enum buffer_status status = BUFFER_OK;

    if (r->fault.problem == PROBLEM_NONE) {
        status = make_room(r, length);
        if (status == BUFFER_OK)
            status = buffer_append(&r->body, data, length);
        r->received_bytes += (int64_t)length;
        if (status == BUFFER_OK)
            return true;
        refuse(r, status, length);
        buffer_free(&r->body);
        return true;
    }
    r->received_bytes += (int64_t)length;
    r->swallowed_bytes += (int64_t)length;
    return r->swallowed_bytes <= RECEIVE_SWALLOW_BYTES;
}
