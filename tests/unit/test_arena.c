/* SPDX-License-Identifier: MIT */
/*
 * test_arena.c - the cache of blocks: sizes, reuse, budget, trimming, many
 * threads; and arenas made of them.
 */
#include "suite.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "arena.h"
#include "arena_pages.h"

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)
#define KEPT (4 * MIB)    /* of small blocks, rests for ever */

static int64_t now_ms;

static void setup(void)
{
    block_set_budget(0, 0);
    block_fail_after(-1);
    block_trim(now_ms += 1000000, 0);
    ck_assert_uint_eq(block_used_bytes(), 0);
    ck_assert_uint_le(block_cached_bytes(), KEPT);
}

static void teardown(void)
{
    ck_assert_uint_eq(block_used_bytes(), 0);
}

/* ------------------------------------------------------------- blocks */

START_TEST(a_block_wastes_at_most_an_eighth)
{
    for (size_t bytes = 32 * KIB + 1; bytes < 64 * MIB; bytes += bytes / 7) {
        size_t got;
        char *block = block_take(bytes, &got);
        ck_assert_ptr_nonnull(block);
        ck_assert_uint_ge(got, bytes);
        ck_assert_uint_le(got, bytes + bytes / 8 + 1);
        block[0] = block[got - 1] = 1;
        block_give(block, got);
        block_trim(now_ms += 1000000, 0);
    }
}
END_TEST

START_TEST(sizes_on_the_border_of_a_class_are_exact)
{
    const size_t sizes[] = {2 * MIB,  2304 * KIB, 15 * MIB,
                            16 * MIB, 18 * MIB,   1024 * MIB};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        size_t got;
        void *block = block_take(sizes[i], &got);
        ck_assert_ptr_nonnull(block);
        ck_assert_uint_eq(got, sizes[i]);
        block_give(block, got);
        block_trim(now_ms += 1000000, 0);
    }
}
END_TEST

START_TEST(blocks_are_aligned_to_64_and_large_ones_to_2_mib)
{
    for (size_t bytes = 1; bytes < 40 * MIB; bytes = bytes * 3 + 1) {
        size_t got;
        void *block = block_take(bytes, &got);
        ck_assert_uint_eq((uintptr_t)block % (got >= 2 * MIB ? 2 * MIB : 64),
                          0);
        block_give(block, got);
    }
}
END_TEST

START_TEST(sizes_that_cannot_be_are_refused)
{
    const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 1, SIZE_MAX / 2,
                            (size_t)1 << 46, ((size_t)1 << 46) + 1};
    size_t got;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        void *block = block_take(sizes[i], &got);
        if (sizes[i] != (size_t)1 << 46)
            ck_assert_ptr_null(block);
        if (block)
            block_give(block, got);
    }
    block_trim(now_ms += 1000000, 0);
}
END_TEST

START_TEST(a_block_is_used_again_and_up_to_a_quarter_larger)
{
    size_t got, again;
    void *block = block_take(10 * MIB, &got);
    block_give(block, got);

    ck_assert_ptr_eq(block_take(8 * MIB, &again), block);
    ck_assert_uint_eq(again, got);
    block_give(block, again);

    void *other = block_take(7 * MIB, &again);
    ck_assert_ptr_ne(other, block);
    block_give(other, again);
}
END_TEST

START_TEST(used_and_cached_bytes_follow_every_call)
{
    size_t got, cached = block_cached_bytes();
    void *block = block_take(3 * MIB, &got);
    ck_assert_uint_eq(block_used_bytes(), got);
    ck_assert_uint_eq(block_cached_bytes(), cached);
    block_give(block, got);
    ck_assert_uint_eq(block_used_bytes(), 0);
    ck_assert_uint_eq(block_cached_bytes(), cached + got);
}
END_TEST

START_TEST(trimming_takes_what_has_rested_and_leaves_the_rest)
{
    size_t first, second;
    void *a = block_take(8 * MIB, &first), *b = block_take(16 * MIB, &second);
    size_t cached = block_cached_bytes();
    block_give(a, first);
    block_trim(now_ms + 2000, 3000);
    block_give(b, second);
    ck_assert_uint_eq(block_cached_bytes(), cached + first + second);
    block_trim(now_ms + 3000, 3000);
    ck_assert_uint_eq(block_cached_bytes(), cached + second);
    block_trim(now_ms + 4999, 3000);
    ck_assert_uint_eq(block_cached_bytes(), cached + second);
    block_trim(now_ms + 5000, 3000);
    ck_assert_uint_eq(block_cached_bytes(), cached);
}
END_TEST

static bool is_mapped(void *page)
{
    unsigned char resident;
    return mincore(page, 1, &resident) == 0;
}

START_TEST(trimmed_memory_is_no_longer_mapped)
{
    size_t got;
    char *block = block_take(8 * MIB, &got);
    memset(block, 1, got);
    block_give(block, got);
    ck_assert(is_mapped(block) && is_mapped(block + got - 4096));
    block_trim(now_ms += 5000, 3000);
    ck_assert(!is_mapped(block) && !is_mapped(block + got - 4096));
}
END_TEST

START_TEST(a_few_small_blocks_rest_for_ever)
{
    size_t got;
    void *block = block_take(1, &got);
    block_give(block, got);
    block_trim(now_ms += 1000000, 0);
    ck_assert_uint_ge(block_cached_bytes(), got);
    ck_assert(is_mapped(block));
}
END_TEST

START_TEST(above_the_budget_is_nothing_below_it_all)
{
    size_t got, more;
    block_set_budget(64 * MIB, 0);
    void *block = block_take(40 * MIB, &got);
    ck_assert_ptr_nonnull(block);
    ck_assert_ptr_null(block_take(28 * MIB, &more));
    void *rest = block_take(24 * MIB, &more);
    ck_assert_ptr_nonnull(rest);
    ck_assert_ptr_null(block_take(MIB, &(size_t){0}));
    block_give(rest, more);
    block_give(block, got);
}
END_TEST

static void *answer(size_t bytes, size_t *got)
{
    *got = 0;
    return block_grow(NULL, 0, bytes, got, BLOCK_ANSWER);
}

START_TEST(only_answers_find_the_reserve)
{
    size_t got[9], n = 0;
    void *small[9];
    block_set_budget(15 * MIB, MIB);
    void *all = block_take(15 * MIB, &got[8]);
    ck_assert_ptr_null(block_take(1, &got[0]));
    while (n < 8 && (small[n] = answer(256 * KIB, &got[n])))
        n++;
    ck_assert_uint_eq(n, 4);
    ck_assert_ptr_null(block_take(1, &got[n]));
    while (n-- > 0)
        block_give(small[n], got[n]);
    block_give(all, got[8]);
}
END_TEST

START_TEST(what_is_charged_leaves_less_for_work_but_not_for_answers)
{
    size_t got, before = block_used_bytes();
    block_set_budget(15 * MIB, MIB);
    block_charge(14 * MIB);
    ck_assert_uint_eq(block_used_bytes(), before + 14 * MIB);
    ck_assert_uint_eq(block_free_bytes(), MIB - before);
    ck_assert_ptr_null(block_take(2 * MIB, &got));
    block_charge(14 * MIB);
    ck_assert_uint_eq(block_free_bytes(), 0);
    ck_assert_ptr_null(block_take(1, &got));
    void *block = answer(MIB, &got);
    ck_assert_ptr_nonnull(block);
    block_give(block, got);
    block_charge(-(ptrdiff_t)(28 * MIB));
    ck_assert_uint_eq(block_used_bytes(), before);
}
END_TEST

START_TEST(used_and_cached_together_stay_within_the_budget)
{
    block_set_budget(64 * MIB, 0);
    for (size_t k = 0; k < 200; k++) {
        size_t got;
        void *block = block_take((1 + k * 7 % 60) * MIB, &got);
        ck_assert_ptr_nonnull(block);
        ck_assert_uint_le(block_used_bytes() + block_cached_bytes(),
                          64 * MIB);
        block_give(block, got);
    }
}
END_TEST

/* Pages that were written to, of so many huge ones from `at` on; the first
 * bytes of a block are the cache's own. */
static int marked(const char *at, size_t pages)
{
    int n = 0;

    for (size_t i = 0; i < pages; i++)
        n += at[i * 2 * MIB + 1000] == 'm';
    return n;
}

START_TEST(a_large_block_is_made_of_pages_that_rest)
{
    size_t small, some, more, large;
    char *a = block_take(64 << 10, &small);
    char *b = block_take(8 * MIB, &some), *c = block_take(24 * MIB, &more);
    block_give(a, small);
    memset(b, 'm', some);
    memset(c, 'm', more);
    block_give(b, some);
    block_give(c, more);
    size_t cached = block_cached_bytes();

    char *d = block_take(40 * MIB, &large);
    ck_assert_uint_eq(block_cached_bytes(), cached - some - more);
    ck_assert_int_eq(marked(d, 20), 16);
    memset(d, 'm', large);
    block_give(d, large);
    ck_assert_ptr_eq(block_take(40 * MIB, &large), d);
    block_give(d, large);
    block_trim(now_ms += 1000000, 0);
}
END_TEST

START_TEST(a_large_block_takes_no_more_pages_than_it_needs)
{
    size_t got, part;
    char *a = block_take(64 * MIB, &got);
    size_t cached = block_cached_bytes();
    memset(a, 'm', got);
    block_give(a, got);

    char *b = block_take(24 * MIB, &part);
    ck_assert_int_eq(marked(b, 12), 12);
    ck_assert_uint_eq(block_cached_bytes(), cached + 40 * MIB);
    char *c = block_take(40 * MIB, &got);
    ck_assert_int_eq(marked(c, 20), 20);
    block_give(b, part);
    block_give(c, got);
    block_trim(now_ms += 1000000, 0);
}
END_TEST

START_TEST(a_block_of_pages_from_many_places_moves_whole)
{
    size_t got;
    char *piece[4];
    for (int i = 0; i < 4; i++) {
        piece[i] = block_take(8 * MIB, &got);
        memset(piece[i], 'm', got);
    }
    for (int i = 0; i < 4; i++)
        block_give(piece[i], got);
    char *a = block_take(32 * MIB, &got);
    ck_assert_int_eq(marked(a, 16), 16);

    char *b = block_grow(a, 32 * MIB, 64 * MIB, &got, BLOCK_WORK);
    ck_assert_ptr_nonnull(b);
    ck_assert_int_eq(marked(b, 16), 16);
    ck_assert_int_eq(marked(b + 32 * MIB, 16), 0);
    block_give(b, got);
    block_trim(now_ms += 1000000, 0);
}
END_TEST

START_TEST(a_large_block_grows_up_to_the_whole_budget)
{
    size_t got, more;
    block_set_budget(96 * MIB, 0);
    char *block = block_take(64 * MIB, &got);
    memset(block, 'm', got);
    ck_assert_ptr_null(block_take(96 * MIB, &more));
    block = block_grow(block, got, 96 * MIB, &got, BLOCK_WORK);
    ck_assert_ptr_nonnull(block);
    ck_assert_uint_eq(block_used_bytes(), 96 * MIB);
    ck_assert_int_eq(marked(block, 32), 32);

    ck_assert_ptr_null(block_grow(block, got, 97 * MIB, &got, BLOCK_WORK));
    ck_assert_uint_eq(block_used_bytes(), 96 * MIB);
    ck_assert_uint_eq(got, 96 * MIB);
    ck_assert_int_eq(marked(block, 32), 32);
    block_give(block, got);
}
END_TEST

START_TEST(pages_that_cannot_move_leave_nothing_behind)
{
    char *from = pages_map(6 * MIB), *to = pages_map(6 * MIB);
    pages_unmap(from + 2 * MIB, 2 * MIB);
    ck_assert(!pages_move(to, from, 6 * MIB));
    for (size_t at = 0; at < 6 * MIB; at += 2 * MIB) {
        ck_assert(!is_mapped(from + at));
        ck_assert(at == 2 * MIB || !is_mapped(to + at));
    }
}
END_TEST

START_TEST(the_take_that_is_told_to_fail_fails_once)
{
    size_t got;
    block_fail_after(2);
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(block_failed(), i > 2);
        void *block = block_take(1, &got);
        ck_assert_int_eq(block == NULL, i == 2);
        block_give(block, got);
    }
}
END_TEST

/* Each thread writes its number all over its block and looks again. */
static void *churn(void *argument)
{
    unsigned seed = (unsigned)(uintptr_t)argument;
    for (int i = 0; i < 100000; i++) {
        size_t got, bytes = (size_t)(rand_r(&seed) % 300) * KIB;
        unsigned char *block = block_take(bytes, &got);
        if (!block)
            return "no memory";
        memset(block, (int)(seed & 255), 64);
        block[got - 1] = (unsigned char)(seed & 255);
        for (int j = 0; j < 64; j++)
            if (block[j] != (seed & 255) || block[got - 1] != (seed & 255))
                return "another's block";
        block_give(block, got);
        if (i % 100 == 0)
            block_trim(i, 0);
    }
    return NULL;
}

START_TEST(no_block_has_two_owners)
{
    pthread_t thread[4];
    for (uintptr_t i = 0; i < 4; i++)
        pthread_create(&thread[i], NULL, churn, (void *)(i + 1));
    for (int i = 0; i < 4; i++) {
        void *complaint;
        pthread_join(thread[i], &complaint);
        ck_assert_ptr_null(complaint);
    }
}
END_TEST

/* ------------------------------------------------------------- arenas */

START_TEST(pieces_are_aligned_and_apart)
{
    struct arena arena;
    unsigned char *piece[400];
    arena_init(&arena);
    for (size_t i = 0; i < 400; i++) {
        size_t bytes = i * i * i % 70000;
        piece[i] = arena_alloc(&arena, bytes);
        ck_assert_ptr_nonnull(piece[i]);
        ck_assert_uint_eq((uintptr_t)piece[i] % 64, 0);
        memset(piece[i], (int)(i & 255), bytes);
    }
    for (size_t i = 0; i < 400; i++)
        for (size_t j = 0; j < i * i * i % 70000; j++)
            if (piece[i][j] != (i & 255))
                ck_abort_msg("byte %zu of piece %zu was lost", j, i);
    arena_free(&arena);
}
END_TEST

START_TEST(a_large_piece_costs_no_more_than_its_block)
{
    struct arena arena;
    arena_init(&arena);
    ck_assert_ptr_nonnull(arena_alloc(&arena, 100));
    ck_assert_uint_eq(arena.bytes, 32 * KIB);
    void *large = arena_alloc(&arena, 64 * MIB);
    ck_assert_uint_eq(arena.bytes, 32 * KIB + 64 * MIB);
    ck_assert_uint_eq((uintptr_t)large % (2 * MIB), 0);
    void *small = arena_alloc(&arena, 100);
    ck_assert_ptr_nonnull(small);
    ck_assert_uint_eq(arena.bytes, 32 * KIB + 64 * MIB);
    arena_free(&arena);
    ck_assert_uint_eq(arena.bytes, 0);
}
END_TEST

START_TEST(text_is_copied_with_its_end)
{
    struct arena arena;
    arena_init(&arena);
    memset(arena_alloc(&arena, 1000), 'x', 1000);
    arena_free(&arena);
    char *copy = arena_text(&arena, "attention", 4);
    ck_assert_str_eq(copy, "atte");
    ck_assert_str_eq(arena_text(&arena, NULL, 0), "");
    ck_assert_ptr_null(arena_text(&arena, "x", SIZE_MAX));
    ck_assert_ptr_null(arena_alloc(&arena, SIZE_MAX - 10));
    arena_free(&arena);
}
END_TEST

/* Every allocation of the same work fails once, and nothing is lost. */
START_TEST(each_failing_allocation_is_a_null_and_no_leak)
{
    const size_t sizes[] = {10, 20000, 30000, 5 * MIB, 100000, 40, 16000};
    for (int64_t n = 0;; n++) {
        struct arena arena;
        size_t nulls = 0;
        arena_init(&arena);
        block_fail_after(n);
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
            nulls += arena_alloc(&arena, sizes[i]) == NULL;
        bool failed = block_failed();
        ck_assert_uint_eq(nulls, failed);
        arena_free(&arena);
        ck_assert_uint_eq(block_used_bytes(), 0);
        if (!failed) {
            ck_assert_int_gt(n, 4);
            return;
        }
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        a_block_wastes_at_most_an_eighth,
        sizes_on_the_border_of_a_class_are_exact,
        blocks_are_aligned_to_64_and_large_ones_to_2_mib,
        sizes_that_cannot_be_are_refused,
        a_block_is_used_again_and_up_to_a_quarter_larger,
        used_and_cached_bytes_follow_every_call,
        trimming_takes_what_has_rested_and_leaves_the_rest,
        trimmed_memory_is_no_longer_mapped,
        a_few_small_blocks_rest_for_ever,
        above_the_budget_is_nothing_below_it_all,
        only_answers_find_the_reserve,
        what_is_charged_leaves_less_for_work_but_not_for_answers,
        used_and_cached_together_stay_within_the_budget,
        a_large_block_is_made_of_pages_that_rest,
        a_large_block_takes_no_more_pages_than_it_needs,
        a_block_of_pages_from_many_places_moves_whole,
        a_large_block_grows_up_to_the_whole_budget,
        pages_that_cannot_move_leave_nothing_behind,
        the_take_that_is_told_to_fail_fails_once,
        no_block_has_two_owners,
        pieces_are_aligned_and_apart,
        a_large_piece_costs_no_more_than_its_block,
        text_is_copied_with_its_end,
        each_failing_allocation_is_a_null_and_no_leak,
        NULL};
    return suite_run("arena", tests, setup, teardown, 20);
}
