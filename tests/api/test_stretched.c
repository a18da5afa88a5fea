/* SPDX-License-Identifier: MIT */
/*
 * test_stretched.c - every folder of tests/cases once more, longer than each
 * size at which a body takes another way, with the same answer.
 */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "cases.h"
#include "daemon.h"
#include "http.h"
#include "stretch.h"
#include "suite.h"

/* Above what a small value has (64 KiB), a body that is decoded at once
 * (128 KiB), one that is computed on the I/O thread (some 250 KiB) and what a
 * bracket or a name is looked for in (256 and 320 KiB), a step of gunzip
 * (512 KiB), and what is taken on trust or swallowed (1 MiB). */
static const size_t sizes[] = {70000, 140000, 400000, 1200000};
enum { N_SIZES = sizeof sizes / sizeof *sizes, PACKED_BYTES = 600000 };

static struct daemon d;

/* A case and what it is answered as it stands. */
struct original {
    const struct a_case *c;
    struct http_reply reply;
    json_t *problem;        /* NULL: accepted */
    size_t bad;             /* of what is no JSON: the byte at fault */
    bool is_json;
    size_t number;          /* of the case */
    bool packed;            /* to be sent as gzip */
};

static size_t cases_done;

static void setup(void)
{
    daemon_start(&d, NULL);
}

static void teardown(void)
{
    daemon_stop(&d);
}

/* As gzip; to be freed. */
static char *pack(const char *text, size_t *length)
{
    z_stream z = {.next_in = (unsigned char *)(uintptr_t)text,
                  .avail_in = (uInt)*length};

    ck_assert_int_eq(deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 8,
                                  Z_DEFAULT_STRATEGY), Z_OK);
    uLong most = deflateBound(&z, *length);
    char *out = malloc(most);
    ck_assert_ptr_nonnull(out);
    z.next_out = (unsigned char *)out;
    z.avail_out = (uInt)most;
    ck_assert_int_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
    *length = z.total_out;
    deflateEnd(&z);
    return out;
}

static struct http_reply post(const char *text, size_t length, bool packed)
{
    const char *const headers[] = {"Content-Type: application/json",
                                   packed ? "Content-Encoding: gzip" : NULL,
                                   NULL};
    char *gzip = packed ? pack(text, &length) : NULL;
    struct http_reply r;

    http_request(d.port, "POST", "/attention", headers, packed ? gzip : text,
                 length, &r);
    free(gzip);
    return r;
}

static json_int_t integer(const json_t *problem, const char *name)
{
    return json_integer_value(json_object_get(problem, name));
}

/* The offset of a place that is told by line and column. */
static size_t offset_of(const char *text, size_t length, json_int_t line,
                        json_int_t column)
{
    const char *p = text;

    if (length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        p += 3;
    for (; line > 1; line--)
        p = memchr(p, '\n', length - (size_t)(p - text)) + 1;
    return (size_t)(p - text) + (size_t)column - 1;
}

static void ask(struct original *o, const struct a_case *c)
{
    *o = (struct original){.c = c, .number = cases_done++};
    o->reply = post(c->request, c->length, false);
    o->is_json = true;
    o->bad = c->length;
    if (o->reply.status == 200)
        return;
    o->problem = json_loads(o->reply.body, JSON_ALLOW_NUL, NULL);
    ck_assert_ptr_nonnull(o->problem);
    o->is_json = !json_object_get(o->problem, "line");
    if (!o->is_json)
        o->bad = offset_of(c->request, c->length, integer(o->problem, "line"),
                           integer(o->problem, "column"));
}

static void forget(struct original *o)
{
    json_decref(o->problem);
    http_free(&o->reply);
}

/* ----------------------------------------------------------------- answers */

/* All but the words, which may quote what was stretched. */
static void check_place(const struct original *o, json_t *got, size_t shift)
{
    static const char *const names[] = {"status", "code", "title", "pointer",
                                        "line", "got", "expected", "limit"};
    const char *claim = o->c->claim;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        json_t *want = json_object_get(o->problem, names[i]);
        json_t *there = json_object_get(got, names[i]);
        ck_assert_msg(want == there || json_equal(want, there),
                      "%s: wrong %s: %s instead of %s", claim, names[i],
                      json_dumps(got, 0), o->reply.body);
    }
    if (!o->is_json)
        ck_assert_msg(integer(got, "column") == integer(o->problem, "column")
                      + (json_int_t)shift, "%s: column %lld", claim,
                      (long long)integer(got, "column"));
}

/* shift: by how much the byte at fault has moved on in its line. */
static void check_same(const struct original *o, const char *body,
                       size_t length, bool same_words, size_t shift)
{
    struct http_reply r = post(body, length, o->packed);

    ck_assert_msg(r.status == o->reply.status, "%s: %d instead of %d: %.300s",
                  o->c->claim, r.status, o->reply.status, r.body);
    if (o->problem == NULL) {
        ck_assert_msg(strcmp(r.body, o->reply.body) == 0, "%s: %s instead of "
                      "%s", o->c->claim, r.body, o->reply.body);
    } else {
        json_t *got = json_loads(r.body, JSON_ALLOW_NUL, NULL);
        check_place(o, got, shift);
        if (same_words)
            ck_assert_msg(strcmp(r.body, o->reply.body) == 0, "%s: %s instead "
                          "of %s", o->c->claim, r.body, o->reply.body);
        json_decref(got);
    }
    http_free(&r);
}

/* ------------------------------------------------------------ the stretching */

static void check_blanks(const struct original *o, size_t at, size_t n)
{
    const struct a_case *c = o->c;
    bool moved = at <= o->bad && !memchr(c->request + at, '\n', o->bad - at);
    char *body = stretch_by_blanks(c->request, c->length, at, n);

    check_same(o, body, c->length + n, o->is_json, moved ? n : 0);
    free(body);
}

static void check_number(const struct original *o, size_t n)
{
    size_t length;
    char *body = stretch_number(o->c->request, o->c->length, o->number, n,
                                &length);

    if (body)
        check_same(o, body, length, false, 0);
    free(body);
}

/* Within, a number, in front and, once, behind; where within and which number
 * changes from case to case. */
static void check_case(const struct a_case *c)
{
    struct original o;

    ask(&o, c);
    size_t places = stretch_places(c->request, o.bad);
    for (size_t i = 0; i < N_SIZES; i++) {
        size_t within = (7 * o.number + i) % places;

        check_blanks(&o, stretch_place(c->request, o.bad, within), sizes[i]);
        if (o.is_json)
            check_number(&o, sizes[i]);
        if (o.number % N_SIZES != i)
            check_blanks(&o, stretch_place(c->request, o.bad, 0), sizes[i]);
        else if (o.is_json || o.bad < c->length)
            check_blanks(&o, c->length, sizes[i]);
    }
    o.packed = true;
    check_blanks(&o, stretch_place(c->request, o.bad, o.number % places),
                 PACKED_BYTES);
    forget(&o);
}

START_TEST(accepted_request_has_the_same_reply_at_any_length)
{
    cases_each("accepted", 40, check_case);
}
END_TEST

START_TEST(refused_request_has_the_same_problem_at_any_length)
{
    cases_each("refused", 60, check_case);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        accepted_request_has_the_same_reply_at_any_length,
        refused_request_has_the_same_problem_at_any_length, NULL};
    return suite_run("stretched cases", tests, setup, teardown, 120);
}
