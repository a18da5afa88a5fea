/* SPDX-License-Identifier: MIT */
/*
 * request - begin and end of a request's memory, its name, and its clock.
 */
#include "request.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "arena_poison.h"
#include "client.h"
#include "compute.h"
#include "gzip.h"
#include "proxy.h"
#include "turn.h"

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

/* One rests for each of so many threads: small requests begin and end one
 * behind the other on theirs. */
static struct {
    _Alignas(128) struct request *_Atomic request;
} resting[8];

static struct request *_Atomic *own_place(void)
{
    return &resting[turn() % (sizeof resting / sizeof *resting)].request;
}

static struct request *take(void)
{
    struct request *r = atomic_exchange(own_place(), NULL);

    if (r == NULL)
        return calloc(1, sizeof *r);
    arena_unpoison(r, sizeof *r);
    memset(r, 0, sizeof *r);
    return r;
}

static void give_back(struct request *r)
{
    struct request *other;

    arena_poison(r, sizeof *r);
    other = atomic_exchange(own_place(), r);
    arena_unpoison(other, other != NULL ? sizeof *other : 0);
    free(other);
}

struct request *request_new(void)
{
    struct request *r = take();

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

static bool is_visible_ascii(const char *text, size_t most)
{
    size_t n = 0;

    while (text[n] > ' ' && text[n] <= '~' && n <= most)
        n++;
    return n > 0 && n <= most && header_is_word(text + n, "");
}

/* 8 digits of the time, which turns over after 52 days, and 6 of a number. */
static const char *own_id(struct request *r)
{
    static const char digits[] = "0123456789abcdef";
    static atomic_ullong next;
    uint64_t value = (uint64_t)r->time_ns >> 20 << 24
        | (atomic_fetch_add(&next, 1) & 0xffffff);

    for (int i = 14; i >= 0; i -= i == 9 ? 2 : 1, value >>= 4)
        r->copy.id[i] = digits[value & 15];
    r->copy.id[8] = '-';
    return r->copy.id;
}

static const char *keep(const char *text, char *copy, size_t size)
{
    size_t n = strnlen(text, size - 1);

    while (n > 0 && (text[n - 1] == ' ' || text[n - 1] == '\t'))
        n--;
    memcpy(copy, text, n);
    copy[n] = '\0';
    return copy;
}

void request_identify(struct request *r, const char *method, const char *path)
{
    const char *id = r->headers.value[HEADER_X_REQUEST_ID];
    const char *trace = r->headers.value[HEADER_TRACEPARENT];
    bool usable = id != NULL && is_visible_ascii(id, REQUEST_ID_MAX);

    r->method = keep(method, r->copy.method, sizeof r->copy.method);
    r->path = keep(path, r->copy.path, sizeof r->copy.path);
    r->id = usable ? keep(id, r->copy.id, sizeof r->copy.id) : own_id(r);
    if (trace != NULL && strspn(trace, "0123456789abcdef-") == 55
        && header_is_word(trace + 55, ""))
        r->traceparent = keep(trace, r->copy.traceparent,
                              sizeof r->copy.traceparent);
}

static void take_line(void *forwarded, const char *line)
{
    proxy_read(forwarded, line);
}

void request_find_client(struct request *r)
{
    struct proxy_forwarded f = { .any = false };
    struct client *client = NULL;

    header_each(r->connection, "X-Forwarded-For", take_line, &f);
    if (f.known)
        client = client_find(&f.address);
    if (client == NULL)
        return;
    client_release(r->client, r->start_ns);
    r->client = client;
    address_print(&f.address, r->forwarded);
    r->peer = r->forwarded;
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
    if (r->client != NULL)
        client_release(r->client, r->mark_ns);
    give_back(r);
}
