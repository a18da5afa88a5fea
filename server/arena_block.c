/* SPDX-License-Identifier: MIT */
/*
 * arena_block - the cache of blocks, see arena.h. Sizes are in classes, eight
 * to a power of two, so that at most an eighth is wasted; each class keeps a
 * stack of resting blocks, newest on top, chained through their own first
 * bytes.
 *
 * The lock is a spinning flag: what it guards is a few loads and stores, all
 * system calls happen outside, and <pthread.h> stays with those who have
 * threads.
 */
#include "arena.h"

#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "arena_poison.h"

#define HUGE_PAGE ((size_t)2 << 20)
#define SMALLEST_LOG 15       /* 32 KiB: the least class of whole pages */
#define CLASSES (31 * 8)      /* up to 64 TiB */
#define FIT_CLASSES 3         /* how far up to look: blocks 25 % larger */

/* Blocks up to this size may exceed the budget by a sixteenth of it: health,
 * metrics and refusals must find memory while giants hold the rest. */
#define RESERVE_BLOCK ((size_t)256 << 10)
/* So much of the blocks below a huge page rests for ever: their pages are
 * few to keep and dear to touch anew, 20 us each. */
#define KEPT_BYTES ((size_t)4 << 20)

/* To touch so much takes so long that what rests need not be kept warm: it
 * gives way. */
#define GIANT_BLOCK ((size_t)64 << 20)

/* From this size on copying takes longer than pages kept warm are worth. */
#define MOVED_BLOCK ((size_t)16 << 20)

struct resting {
    struct resting *below;
    size_t bytes;
    int64_t since_ms;
};

static struct {
    atomic_flag busy;
    struct resting *stack[CLASSES];
    size_t used, cached, cached_small, budget;
    int64_t now_ms;           /* of the last block_trim() */
    int64_t fail_after;       /* below 0: never */
} cache = {.busy = ATOMIC_FLAG_INIT, .fail_after = -1};

static void lock(void)
{
    while (atomic_flag_test_and_set_explicit(&cache.busy,
                                             memory_order_acquire))
        sched_yield();
}

static void unlock(void)
{
    atomic_flag_clear_explicit(&cache.busy, memory_order_release);
}

/* ------------------------------------------------------------- classes */

/* Class c holds blocks of 2^(15 + c / 8) * (8 + c % 8) / 8 bytes. */
static size_t class_bytes(unsigned class)
{
    return ((size_t)(8 + class % 8) << SMALLEST_LOG >> 3) << class / 8;
}

/* The least class of at least `bytes`; CLASSES if there is none. */
static unsigned class_of(size_t bytes)
{
    if (bytes <= class_bytes(0))
        return 0;
    unsigned log = 63 - (unsigned)__builtin_clzll(bytes - 1);
    unsigned eighth = (unsigned)((bytes - 1) >> (log - 3)) - 8;
    unsigned class = (log - SMALLEST_LOG) * 8 + eighth + 1;
    return class < CLASSES ? class : CLASSES;
}

size_t block_bytes(size_t bytes)
{
    unsigned class = class_of(bytes);
    return class < CLASSES ? class_bytes(class) : bytes;
}

/* -------------------------------------------------------- system calls */

static void unmap(struct resting *block)
{
    while (block) {
        struct resting *below = block->below;
        arena_unpoison(block, block->bytes);
        munmap(block, block->bytes);
        block = below;
    }
}

/* Large blocks begin on a huge page; the ends that stick out go back. */
static void *map(size_t bytes)
{
    size_t extra = bytes >= HUGE_PAGE ? HUGE_PAGE : 0;
    char *start = mmap(NULL, bytes + extra, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED)
        return NULL;
    if (extra == 0)
        return start;

    size_t before = -(uintptr_t)start & (HUGE_PAGE - 1);
    if (before > 0)
        munmap(start, before);
    if (extra > before)
        munmap(start + before + bytes, extra - before);
    madvise(start + before, bytes, MADV_HUGEPAGE);
    return start + before;
}

/* --------------------------------------------------- under the lock */

static bool within(size_t bytes, size_t limit)
{
    return cache.used <= limit && bytes <= limit - cache.used;
}

static bool allowed(size_t bytes)
{
    if (cache.fail_after >= 0 && cache.fail_after-- == 0)
        return false;
    if (cache.budget == 0 || within(bytes, cache.budget))
        return true;
    return bytes <= RESERVE_BLOCK &&
           within(bytes, cache.budget + cache.budget / 16);
}

static void push(unsigned class, struct resting *block)
{
    block->since_ms = cache.now_ms;
    block->below = cache.stack[class];
    cache.stack[class] = block;
    cache.cached += block->bytes;
    cache.cached_small += block->bytes < HUGE_PAGE ? block->bytes : 0;
}

static void leave(const struct resting *block)
{
    cache.cached -= block->bytes;
    cache.cached_small -= block->bytes < HUGE_PAGE ? block->bytes : 0;
}

static struct resting *pop(unsigned class)
{
    unsigned end = class + FIT_CLASSES < CLASSES ? class + FIT_CLASSES
                                                 : CLASSES;
    for (; class < end; class++) {
        struct resting *top = cache.stack[class];
        if (top) {
            cache.stack[class] = top->below;
            leave(top);
            return top;
        }
    }
    return NULL;
}

/* Takes from a class the blocks that rest since before `ms`, oldest ones
 * being at the bottom, and puts them on *list. */
static void cut(unsigned class, int64_t ms, struct resting **list)
{
    struct resting **at = &cache.stack[class];
    while (*at && (*at)->since_ms > ms)
        at = &(*at)->below;

    struct resting *block = *at;
    *at = NULL;
    while (block) {
        struct resting *below = block->below;
        leave(block);
        block->below = *list;
        *list = block;
        block = below;
    }
}

/* Empties classes, largest first, until `bytes` more fit the budget, and for
 * a giant until as much has been given back as it will touch. */
static struct resting *make_room(size_t bytes)
{
    struct resting *list = NULL;
    size_t before = cache.cached;
    for (unsigned class = CLASSES; class-- > 0;) {
        bool over = cache.budget > 0 &&
                    !within(bytes + cache.cached, cache.budget);
        bool giant = bytes >= GIANT_BLOCK && class_bytes(class) >= HUGE_PAGE;
        if (over || (giant && before - cache.cached < bytes))
            cut(class, INT64_MAX, &list);
    }
    return list;
}

/* ----------------------------------------------------------- the calls */

void *block_take(size_t bytes, size_t *got)
{
    unsigned class = class_of(bytes);
    if (class == CLASSES)
        return NULL;
    size_t size = class_bytes(class);
    struct resting *surplus = NULL;

    lock();
    bool may = allowed(size);
    void *block = may ? pop(class) : NULL;
    if (block)
        size = ((struct resting *)block)->bytes;
    else if (may)
        surplus = make_room(size);
    cache.used += may ? size : 0;
    unlock();

    unmap(surplus);
    if (may && !block)
        block = map(size);
    if (may && !block) {
        lock();
        cache.used -= size;
        unlock();
    }
    if (block) {
        arena_unpoison(block, size);
        *got = size;
    }
    return block;
}

void block_give(void *block, size_t got)
{
    if (!block)
        return;
    struct resting *rest = block;
    rest->bytes = got;
    arena_poison(rest + 1, got - sizeof *rest);

    unsigned class = class_of(got);
    lock();
    push(class, rest);
    cache.used -= got;
    unlock();
}

void block_move(void *larger, void *block, size_t used, size_t got)
{
    if (got < MOVED_BLOCK
        || mremap(block, got, got, MREMAP_MAYMOVE | MREMAP_FIXED, larger)
            == MAP_FAILED) {
        if (used > 0)
            memcpy(larger, block, used);
        block_give(block, got);
        return;
    }
    lock();
    cache.used -= got;
    unlock();
}

void block_trim(int64_t now_ms, int64_t rest_ms)
{
    struct resting *list = NULL;
    lock();
    cache.now_ms = now_ms;
    for (unsigned class = CLASSES; class-- > 0;)
        if (class_bytes(class) >= HUGE_PAGE ||
            cache.cached_small > KEPT_BYTES)
            cut(class, now_ms - rest_ms, &list);
    unlock();
    unmap(list);
}

size_t block_used_bytes(void)
{
    lock();
    size_t bytes = cache.used;
    unlock();
    return bytes;
}

size_t block_cached_bytes(void)
{
    lock();
    size_t bytes = cache.cached;
    unlock();
    return bytes;
}

void block_set_budget(size_t bytes)
{
    lock();
    cache.budget = bytes;
    unlock();
}

void block_fail_after(int64_t takes)
{
    lock();
    cache.fail_after = takes;
    unlock();
}

bool block_failed(void)
{
    lock();
    bool failed = cache.fail_after < 0;
    unlock();
    return failed;
}
