/* SPDX-License-Identifier: MIT */
/*
 * receive - see receive.h.
 */
#include "receive.h"

#include "compute.h"
#include "config.h"
#include "socket.h"

/* For a body of which so much is known. */
static enum problem no_memory(struct request *r, size_t length)
{
    if (r->has_length)
        length = (size_t)r->content_length;
    return compute_refuse_memory(
        r, block_grow_bytes(r->body.capacity, length + 1));
}

void receive_begin(struct request *r)
{
    int64_t most = config.body_bytes;

    if (r->has_length && r->content_length < most)
        most = r->content_length;
    buffer_init(&r->body, (size_t)most);
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

/* For what came, be it in the kernel still: so a body that comes fast is not
 * copied from block to block. */
static enum buffer_status make_room(struct request *r, size_t length)
{
    size_t more = length, most = r->body.ceiling - r->body.length;

    if (r->body.capacity - r->body.length > length)
        return BUFFER_OK;
    more += (size_t)socket_unread(r->fd);
    if (more > most && length <= most)
        more = most;
    return buffer_reserve(&r->body, more);
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
