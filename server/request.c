/* SPDX-License-Identifier: MIT */
/*
 * request - begin and end of a request's memory, and its clock.
 */
#include "request.h"

#include <stdlib.h>
#include <time.h>

#include "compute.h"
#include "gzip.h"

const char *const step_name[STEP_COUNT] = {
    "receive", "queue", "decode", "compute", "encode", "reply"
};

static int64_t clock_ns(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t request_now_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

struct request *request_new(void)
{
    struct request *r = calloc(1, sizeof *r);

    if (r == NULL)
        return NULL;
    r->time_ns = clock_ns(CLOCK_REALTIME);
    r->start_ns = r->mark_ns = request_now_ns();
    r->deadline_ns = INT64_MAX;
    r->stage = STEP_DECODE;
    r->fd = -1;
    for (int step = 0; step < STEP_COUNT; step++)
        r->step_ns[step] = -1;
    arena_init(&r->arena);
    return r;
}

void request_mark(struct request *r, enum step step)
{
    int64_t now = request_now_ns();

    if (r->step_ns[step] < 0)
        r->step_ns[step] = 0;
    r->step_ns[step] += now - r->mark_ns;
    r->mark_ns = now;
}

void request_free(struct request *r)
{
    compute_free(r);
    if (r->unpacking != NULL)
        gzip_close(r->unpacking);
    buffer_free(&r->plain);
    buffer_free(&r->body);
    buffer_free(&r->answer.memory);
    arena_free(&r->arena);
    free(r);
}
