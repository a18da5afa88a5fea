/* SPDX-License-Identifier: MIT */
/*
 * test_gzip.c - unpacking: members, broken and cut bodies, the ceiling,
 * steps. Packed here by zlib itself.
 */
#include "suite.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "arena.h"
#include "buffer.h"
#include "gzip.h"

#define PLAIN 300000

static struct buffer out;
static unsigned char plain[PLAIN], packed[2 * PLAIN];
static size_t packed_bytes;

static size_t pack(const void *bytes, size_t n, unsigned char *to)
{
    z_stream stream = {.next_in = (Bytef *)(uintptr_t)bytes,
                       .avail_in = (uInt)n,
                       .next_out = to,
                       .avail_out = PLAIN};
    deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, 0);
    ck_assert_int_eq(deflate(&stream, Z_FINISH), Z_STREAM_END);
    deflateEnd(&stream);
    return PLAIN - stream.avail_out;
}

static void setup(void)
{
    block_fail_after(-1);
    for (size_t i = 0; i < PLAIN; i++)
        plain[i] = (unsigned char)(i * i / 997 % 61);
    packed_bytes = pack(plain, PLAIN, packed);
    buffer_init(&out, PLAIN);
}

static void teardown(void)
{
    buffer_free(&out);
    ck_assert_uint_eq(block_used_bytes(), 0);
}

static enum gzip_status unpack(const void *bytes, size_t n)
{
    out.length = 0;
    return gzip_unpack(bytes, n, &out);
}

START_TEST(what_was_packed_comes_out)
{
    ck_assert_int_eq(unpack(packed, packed_bytes), GZIP_OK);
    ck_assert_uint_eq(out.length, PLAIN);
    ck_assert_int_eq(memcmp(out.data, plain, PLAIN), 0);
}
END_TEST

START_TEST(members_are_joined_and_may_be_empty)
{
    unsigned char many[1000];
    size_t n = pack("", 0, many);
    n += pack("atten", 5, many + n);
    n += pack("", 0, many + n);
    n += pack("tion", 4, many + n);
    n += pack("", 0, many + n);
    ck_assert_int_eq(unpack(many, n), GZIP_OK);
    ck_assert_uint_eq(out.length, 9);
    ck_assert_int_eq(memcmp(out.data, "attention", 9), 0);
}
END_TEST

/* A body against a page that cannot be read, cut at every byte. */
START_TEST(a_body_cut_anywhere_is_truncated_and_not_read_beyond)
{
    unsigned char small[400];
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t n = pack(plain, 500, small);
    ck_assert_uint_lt(n, sizeof small);
    char *edge = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(edge + page, page, PROT_NONE);
    for (size_t cut = 0; cut <= n; cut++) {
        char *body = edge + page - cut;
        memcpy(body, small, cut);
        ck_assert_int_eq(unpack(body, cut),
                         cut < n ? GZIP_TRUNCATED : GZIP_OK);
    }
    munmap(edge, 2 * page);
}
END_TEST

START_TEST(what_is_no_gzip_is_corrupt)
{
    ck_assert_int_eq(unpack("{\"Q\": [[1]]}", 12), GZIP_CORRUPT);
    unsigned char zlib[64];
    uLongf n = sizeof zlib;
    compress(zlib, &n, plain, 20);
    ck_assert_int_eq(unpack(zlib, n), GZIP_CORRUPT);
}
END_TEST

START_TEST(bytes_behind_the_end_are_corrupt)
{
    memcpy(packed + packed_bytes, "x", 1);
    ck_assert_int_ne(unpack(packed, packed_bytes + 1), GZIP_OK);
    memcpy(packed + packed_bytes, "garbage behind", 14);
    ck_assert_int_eq(unpack(packed, packed_bytes + 14), GZIP_CORRUPT);
    memset(packed + packed_bytes, 0, 14);
    ck_assert_int_eq(unpack(packed, packed_bytes + 14), GZIP_CORRUPT);
}
END_TEST

/* The trailer is CRC-32 and length. */
START_TEST(a_wrong_check_sum_or_length_is_corrupt)
{
    for (size_t back = 1; back <= 8; back++) {
        packed[packed_bytes - back] ^= 1;
        ck_assert_int_eq(unpack(packed, packed_bytes), GZIP_CORRUPT);
        packed[packed_bytes - back] ^= 1;
    }
}
END_TEST

START_TEST(one_byte_above_the_ceiling_is_told)
{
    buffer_init(&out, PLAIN - 1);
    ck_assert_int_eq(unpack(packed, packed_bytes), GZIP_CEILING);
    ck_assert_uint_le(out.length, PLAIN - 1);
    buffer_free(&out);
    buffer_init(&out, 0);
    ck_assert_int_eq(unpack(packed, packed_bytes), GZIP_CEILING);
}
END_TEST

/* 1 GiB of zeros in 1 MB must not cost 1 GiB before it is refused. */
START_TEST(a_bomb_takes_no_more_than_the_ceiling)
{
    static unsigned char bomb[2 * PLAIN];
    size_t n = 0, one = pack(memset(plain, 0, PLAIN), PLAIN, bomb);
    for (n = one; n + one < sizeof bomb && n < 500 * one; n += one)
        memcpy(bomb + n, bomb, one);
    buffer_init(&out, 1000000);
    ck_assert_int_eq(unpack(bomb, n), GZIP_CEILING);
    ck_assert_uint_le(out.capacity, 1300000);
}
END_TEST

START_TEST(a_step_unpacks_about_what_it_was_asked)
{
    struct gzip g;
    int steps = 0;
    enum gzip_status status;
    ck_assert_int_eq(gzip_open(&g, packed, packed_bytes, &out), GZIP_OK);
    do {
        size_t before = out.length;
        status = gzip_step(&g, 1000);
        ck_assert_uint_le(out.length - before, 65536 + 1000);
        steps++;
    } while (status == GZIP_MORE);
    gzip_close(&g);
    gzip_close(&g);
    ck_assert_int_eq(status, GZIP_OK);
    ck_assert_int_ge(steps, 5);
    ck_assert_int_eq(memcmp(out.data, plain, PLAIN), 0);
}
END_TEST

/* However little comes out of it, a step must not eat all input. */
START_TEST(a_step_is_short_for_empty_members_too)
{
    static unsigned char many[100000];
    size_t one = pack("", 0, many), n = one;
    for (; n + one <= sizeof many; n += one)
        memcpy(many + n, many, one);
    struct gzip g;
    int steps = 0;
    gzip_open(&g, many, n, &out);
    while (gzip_step(&g, 10000) == GZIP_MORE)
        steps++;
    gzip_close(&g);
    ck_assert_int_ge(steps, 9);
}
END_TEST

START_TEST(each_failing_allocation_is_told_and_leaks_nothing)
{
    for (int64_t n = 0;; n++) {
        block_fail_after(n);
        enum gzip_status status = unpack(packed, packed_bytes);
        bool failed = block_failed();
        ck_assert_int_eq(status, failed ? GZIP_NO_MEMORY : GZIP_OK);
        buffer_free(&out);
        ck_assert_uint_eq(block_used_bytes(), 0);
        if (!failed) {
            ck_assert_int_gt(n, 3);
            return;
        }
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        what_was_packed_comes_out,
        members_are_joined_and_may_be_empty,
        a_body_cut_anywhere_is_truncated_and_not_read_beyond,
        what_is_no_gzip_is_corrupt,
        bytes_behind_the_end_are_corrupt,
        a_wrong_check_sum_or_length_is_corrupt,
        one_byte_above_the_ceiling_is_told,
        a_bomb_takes_no_more_than_the_ceiling,
        a_step_unpacks_about_what_it_was_asked,
        a_step_is_short_for_empty_members_too,
        each_failing_allocation_is_told_and_leaks_nothing,
        NULL};
    return suite_run("gzip", tests, setup, teardown, 20);
}
