/* SPDX-License-Identifier: MIT */
/*
 * test_unpack.c - bodies that come as gzip.
 */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "call.h"
#include "daemon.h"
#include "http.h"
#include "suite.h"

static struct daemon d;

static void setup(void)
{
    const char *arguments[] = { "--body-bytes", "4000000", NULL };

    daemon_start(&d, arguments);
}

static void teardown(void)
{
    daemon_stop(&d);
}

/* n bytes as gzip; to be freed. */
static unsigned char *pack(const char *text, size_t n, size_t *packed)
{
    z_stream z = { .next_in = (unsigned char *)(uintptr_t)text,
                   .avail_in = (uInt)n };
    unsigned char *out = malloc(n + 1000);

    ck_assert_ptr_nonnull(out);
    ck_assert_int_eq(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8,
                                  Z_DEFAULT_STRATEGY), Z_OK);
    z.next_out = out;
    z.avail_out = (uInt)n + 1000;
    ck_assert_int_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
    *packed = z.total_out;
    deflateEnd(&z);
    return out;
}

static struct http_reply post_packed(const void *bytes, size_t n)
{
    const char *headers[] = { "Content-Encoding: gzip", NULL };
    struct http_reply r;

    http_request(d.port, "POST", "/attention", headers, bytes, n, &r);
    return r;
}

static void check_same(const char *body)
{
    size_t n;
    unsigned char *packed = pack(body, strlen(body), &n);
    struct http_reply plain = http_post(d.port, body);
    struct http_reply r = post_packed(packed, n);

    ck_assert_int_eq(r.status, 200);
    ck_assert_str_eq(r.body, plain.body);
    http_free(&plain);
    http_free(&r);
    free(packed);
}

START_TEST(gzip_body_gives_the_same_reply)
{
    char *medium = call_json(100, 16, ""), *large = call_json(2000, 32,
        "\"return\":[\"lse\"]");

    check_same(CALL_EXAMPLE);
    check_same(medium);
    check_same(large);
    free(medium);
    free(large);
}
END_TEST

START_TEST(cut_gzip_body_is_400)
{
    size_t n;
    unsigned char *packed = pack(CALL_EXAMPLE, strlen(CALL_EXAMPLE), &n);
    struct http_reply r = post_packed(packed, n - 5);

    ck_assert_int_eq(r.status, 400);
    ck_assert_ptr_nonnull(strstr(r.body, "bad_framing"));
    http_free(&r);
    free(packed);
}
END_TEST

START_TEST(gzip_body_that_unpacks_beyond_the_limit_is_413)
{
    size_t n, blank = 8000000;
    char *text = malloc(blank);

    ck_assert_ptr_nonnull(text);
    memset(text, ' ', blank);
    unsigned char *packed = pack(text, blank, &n);
    struct http_reply r = post_packed(packed, n);

    ck_assert_uint_lt(n, 100000);
    ck_assert_int_eq(r.status, 413);
    ck_assert_ptr_nonnull(strstr(r.body, "\"limit\":4000000"));
    http_free(&r);
    free(packed);
    free(text);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        gzip_body_gives_the_same_reply,
        cut_gzip_body_is_400,
        gzip_body_that_unpacks_beyond_the_limit_is_413,
        NULL
    };

    return suite_run("unpack", tests, setup, teardown, 30);
}
