/* SPDX-License-Identifier: MIT */
/*
 * test_buffer.c - bytes that grow up to a ceiling and not beyond.
 */
#include "suite.h"

#include <stdint.h>
#include <string.h>

#include "arena.h"
#include "buffer.h"

static struct buffer b;

static void setup(void)
{
    block_fail_after(-1);
    block_set_budget(0, 0);
    buffer_init(&b, 100000);
}

static void teardown(void)
{
    buffer_free(&b);
    ck_assert_uint_eq(block_used_bytes(), 0);
}

static void append_numbers(int from, int to)
{
    for (int i = from; i < to; i++) {
        unsigned char byte = (unsigned char)(i * 7);
        if (buffer_append(&b, &byte, 1) != BUFFER_OK)
            ck_abort_msg("refused at %d", i);
    }
}

START_TEST(growing_keeps_what_was_there)
{
    append_numbers(0, 100000);
    ck_assert_uint_eq(b.length, 100000);
    for (int i = 0; i < 100000; i++)
        if ((unsigned char)b.data[i] != (unsigned char)(i * 7))
            ck_abort_msg("byte %d was lost", i);
}
END_TEST

/* Whoever unpacks a bomb must not stand still for a copy of it. There is
 * memory for the larger buffer, but not for both, which a copy needs. */
START_TEST(a_large_buffer_grows_without_a_copy)
{
    size_t n = (size_t)192 << 20;

    block_set_budget((size_t)500 << 20, 0);
    for (int i = 0; i < 3; i++) {
        buffer_free(&b);
        buffer_init(&b, SIZE_MAX);
        ck_assert_int_eq(buffer_reserve(&b, n), BUFFER_OK);
        memset(b.data, 'a' + i, b.length = b.capacity - 1);
        ck_assert_int_eq(buffer_append(&b, "z", 1), BUFFER_OK);
        ck_assert_uint_gt(b.capacity, n + n / 2);
        ck_assert_uint_le(block_used_bytes(), b.capacity);
        for (size_t at = 0; at < b.length - 1; at += 4096)
            ck_assert(b.data[at] == 'a' + i);
        ck_assert(b.data[b.length - 1] == 'z');
        memset(b.data + b.length, 'y', b.capacity - b.length);
    }
    block_set_budget(0, 0);
}
END_TEST

START_TEST(a_byte_above_the_ceiling_is_refused_and_changes_nothing)
{
    append_numbers(0, 100000);
    ck_assert_int_eq(buffer_append(&b, "x", 1), BUFFER_CEILING);
    ck_assert_int_eq(buffer_reserve(&b, SIZE_MAX), BUFFER_CEILING);
    ck_assert_uint_eq(b.length, 100000);
    ck_assert_int_eq(buffer_append(&b, "", 0), BUFFER_OK);
}
END_TEST

START_TEST(without_memory_the_contents_stay)
{
    append_numbers(0, 20000);
    block_fail_after(0);
    ck_assert_int_eq(buffer_reserve(&b, 80000), BUFFER_NO_MEMORY);
    ck_assert_uint_eq(b.length, 20000);
    ck_assert_uint_eq((unsigned char)b.data[19999],
                      (unsigned char)(19999 * 7));
    ck_assert_int_eq(buffer_reserve(&b, 80000), BUFFER_OK);
}
END_TEST

START_TEST(without_memory_for_twice_as_much_it_grows_by_less)
{
    size_t mib = 1 << 20;
    block_set_budget(64 * mib, 0);
    buffer_init(&b, SIZE_MAX);
    ck_assert_int_eq(buffer_reserve(&b, 47 * mib), BUFFER_OK);
    b.length = 47 * mib;
    b.data[0] = 'a';
    ck_assert_int_eq(buffer_reserve(&b, 16 * mib), BUFFER_OK);
    ck_assert_uint_eq(b.capacity, 64 * mib);
    ck_assert_uint_eq(b.length, 47 * mib);
    ck_assert_int_eq(b.data[0], 'a');
    ck_assert_int_eq(buffer_reserve(&b, 17 * mib), BUFFER_NO_MEMORY);
    ck_assert_int_eq(b.data[0], 'a');
}
END_TEST

START_TEST(growing_takes_twice_as_much)
{
    int blocks = 0;
    buffer_init(&b, 1 << 24);
    for (size_t capacity = 0; b.length < 1 << 24; b.length += 1) {
        if (buffer_reserve(&b, 1) != BUFFER_OK)
            ck_abort_msg("no room at %zu", b.length);
        blocks += b.capacity != capacity;
        capacity = b.capacity;
    }
    ck_assert_int_le(blocks, 10);    /* 32 KiB * 2^9 = 16 MiB */
}
END_TEST

START_TEST(print_appends_text_of_any_length)
{
    for (int i = 0; i < 9000; i++)
        buffer_print(&b, "%d ", i % 10);
    ck_assert_int_eq(buffer_print(&b, "%.70000d", 1), BUFFER_OK);
    ck_assert_uint_eq(b.length, 18000 + 70000);
    ck_assert_int_eq(memcmp(b.data + 17996, "8 9 0000", 8), 0);
    ck_assert_int_eq(b.data[b.length - 1], '1');
}
END_TEST

START_TEST(print_may_fill_the_ceiling_exactly)
{
    buffer_init(&b, 5);
    ck_assert_int_eq(buffer_print(&b, "%s", "12345"), BUFFER_OK);
    ck_assert_uint_eq(b.length, 5);
    ck_assert_int_eq(memcmp(b.data, "12345", 5), 0);
}
END_TEST

START_TEST(print_that_just_fills_a_block_is_whole)
{
    for (int spare = 0; spare < 4; spare++) {
        b.length = 0;
        ck_assert_int_eq(buffer_print(&b, "1"), BUFFER_OK);
        int room = (int)(b.capacity - b.length) - spare;
        ck_assert_int_eq(buffer_print(&b, "%0*d", room, 7), BUFFER_OK);
        ck_assert_int_eq(b.data[b.length - 1], '7');
    }
}
END_TEST

START_TEST(a_failed_print_fails_all_that_follow)
{
    buffer_init(&b, 5);
    ck_assert_int_eq(buffer_print(&b, "%s", "123456"), BUFFER_CEILING);
    ck_assert_int_eq(buffer_print(&b, "1"), BUFFER_CEILING);
    ck_assert_uint_eq(b.length, 0);
    buffer_free(&b);
    ck_assert_int_eq(buffer_print(&b, "1"), BUFFER_OK);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        growing_keeps_what_was_there,
        a_large_buffer_grows_without_a_copy,
        a_byte_above_the_ceiling_is_refused_and_changes_nothing,
        without_memory_the_contents_stay,
        without_memory_for_twice_as_much_it_grows_by_less,
        growing_takes_twice_as_much,
        print_appends_text_of_any_length,
        print_may_fill_the_ceiling_exactly,
        print_that_just_fills_a_block_is_whole,
        a_failed_print_fails_all_that_follow,
        NULL};
    return suite_run("buffer", tests, setup, teardown, 20);
}
