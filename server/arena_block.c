/* SPDX-License-Identifier: MIT */
/*
 * arena_block - the cache of blocks, see arena.h. Sizes are in classes, eight
 * to a power of two, so that at most an eighth is wasted; each class keeps
 * stacks of resting blocks, newest on top, chained through their own first
 * bytes: one for each shelf, and a thread takes from its own first, for what
 * it gave back its core may still hold.
 *
 * The lock is a spinning flag: what it guards is a few loads and stores, all
 * system calls happen outside, and <pthread.h> stays with those who have
 * threads.
 */
#include "arena.h"

#include <stdatomic.h>
#include <string.h>

#include "arena_pages.h"
#include "arena_poison.h"
#include "spin.h"
#include "turn.h"

#define SMALLEST_LOG 15       /* 32 KiB: the least class of whole pages */
#define CLASSES (31 * 8)      /* up to 64 TiB */
#define FIT_CLASSES 3         /* how far up to look: blocks 25 % larger */
#define SHELVES 4u            /* threads share one if there are more */

/* So much of the blocks below a huge page rests for ever: their pages are
 * few to keep and dear to touch anew, 20 us each. */
#define KEPT_BYTES ((size_t)4 << 20)

/* From this size on a block is made of pages that rest, as far as they reach:
 * to touch new ones, or to copy, takes longer than to move these. */
#define MOVED_BLOCK ((size_t)16 << 20)

struct resting {
    struct resting *below;
    size_t bytes;
    int64_t since_ms;
};

static struct {
    atomic_bool busy;
    struct resting *stack[SHELVES][CLASSES];
    atomic_size_t used, charged, budget;    /* are read without the lock */
    size_t reserve;
    size_t cached, cached_small;
    int64_t now_ms;                 /* of the last block_trim() */
    int64_t fail_after;             /* below 0: never */
} cache = {.fail_after = -1};

static void lock(void)
{
    spin_take(&cache.busy);
}

static void unlock(void)
{
    spin_give(&cache.busy);
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

static struct resting *lie_down(void *block, size_t bytes)
{
    struct resting *rest = block;
    rest->bytes = bytes;
    arena_poison(rest + 1, bytes - sizeof *rest);
    return rest;
}

/* --------------------------------------------------- under the lock */

static bool within(size_t bytes, size_t used, size_t limit)
{
    return used <= limit && bytes <= limit - used;
}

static bool is_in_budget(size_t bytes)
{
    return cache.budget == 0 ||
           within(bytes, cache.used + cache.charged, cache.budget);
}

static bool allowed(size_t bytes, enum block_use use)
{
    if (cache.fail_after >= 0 && cache.fail_after-- == 0)
        return false;
    return is_in_budget(bytes) ||
           (use == BLOCK_ANSWER &&
            within(bytes, cache.used, cache.budget + cache.reserve));
}

static void push(struct resting *block)
{
    unsigned class = class_of(block->bytes);
    struct resting **stack = &cache.stack[turn() % SHELVES][class];
    block->since_ms = cache.now_ms;
    block->below = *stack;
    *stack = block;
    cache.cached += block->bytes;
    cache.cached_small += block->bytes < PAGES_HUGE ? block->bytes : 0;
}

static void leave(const struct resting *block)
{
    cache.cached -= block->bytes;
    cache.cached_small -= block->bytes < PAGES_HUGE ? block->bytes : 0;
}

static struct resting *pop_from(struct resting **stacks, unsigned class)
{
    unsigned end = class + FIT_CLASSES < CLASSES ? class + FIT_CLASSES
                                                 : CLASSES;
    for (; class < end; class++) {
        struct resting *top = stacks[class];
        if (top) {
            stacks[class] = top->below;
            leave(top);
            return top;
        }
    }
    return NULL;
}

static struct resting *pop(unsigned class)
{
    unsigned own = turn();
    struct resting *block = NULL;
    for (unsigned i = 0; i < SHELVES && !block; i++)
        block = pop_from(cache.stack[(own + i) % SHELVES], class);
    return block;
}

/* Takes off a stack the blocks that rest since before `ms`, oldest ones being
 * at the bottom, and puts them on *list. */
static void cut(struct resting **at, int64_t ms, struct resting **list)
{
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

static void cut_class(unsigned class, int64_t ms, struct resting **list)
{
    for (unsigned shelf = 0; shelf < SHELVES; shelf++)
        cut(&cache.stack[shelf][class], ms, list);
}

/* Empties classes, largest first, until `bytes` more fit the budget, and for
 * a large block until there are pages enough. The smallest is on top. */
static struct resting *make_room(size_t bytes)
{
    struct resting *list = NULL;
    size_t before = cache.cached;
    for (unsigned class = CLASSES; class-- > 0;) {
        bool over = !is_in_budget(bytes + cache.cached);
        bool moved = bytes >= MOVED_BLOCK && class_bytes(class) >= PAGES_HUGE;
        if (over || (moved && before - cache.cached < bytes))
            cut_class(class, INT64_MAX, &list);
    }
    return list;
}

/* ------------------------------------------------------------- the pages */

static void unmap(struct resting *block)
{
    while (block) {
        struct resting *below = block->below;
        arena_unpoison(block, block->bytes);
        pages_unmap(block, block->bytes);
        block = below;
    }
}

/* Lets what is left of a block, whose first pages went, rest as one of the
 * largest class that is no larger. */
static void keep(char *start, size_t bytes)
{
    size_t kept = bytes < PAGES_HUGE ? 0 : class_bytes(class_of(bytes + 1) - 1);
    struct resting *rest = kept > 0 ? lie_down(start, kept) : NULL;
    lock();
    bool may = rest && is_in_budget(cache.cached + kept);
    if (may)
        push(rest);
    unlock();
    if (!may) {
        arena_unpoison(start, kept);
        kept = 0;
    }
    pages_unmap(start + kept, bytes - kept);
}

/* The first pages of `block` become those at *to, which goes on behind them;
 * not beyond `end`. */
static bool hand_over(char **to, const char *end, struct resting *block)
{
    size_t bytes = block->bytes, room = (size_t)(end - *to);
    size_t moved = (bytes < room ? bytes : room) & ~(PAGES_HUGE - 1);
    arena_unpoison(block, bytes);
    bool done = pages_move(*to, block, moved);
    *to += moved;
    keep((char *)block + moved, bytes - moved);
    return done;
}

/* A new block, of the pages of those on the list as far as they reach. */
static void *build(size_t size, struct resting *list)
{
    char *new = pages_map(size), *to = new, *end = new ? new + size : new;
    while (list) {
        struct resting *below = list->below;
        char *before = to;
        if (!hand_over(&to, end, list)) {
            pages_unmap(new, (size_t)(before - new));
            pages_unmap(to, (size_t)(end - to));
            new = to = end = NULL;
        }
        list = below;
    }
    return new;
}

/* ----------------------------------------------------------- the calls */

/* `freed` bytes in use will be so no more. */
static void *take(size_t bytes, size_t freed, size_t *got, enum block_use use)
{
    unsigned class = class_of(bytes);
    if (class == CLASSES)
        return NULL;
    size_t size = class_bytes(class);
    struct resting *surplus = NULL;

    lock();
    cache.used -= freed;
    bool may = allowed(size, use);
    void *block = may ? pop(class) : NULL;
    if (block)
        size = ((struct resting *)block)->bytes;
    else if (may)
        surplus = make_room(size);
    cache.used += may ? size : freed;
    unlock();

    if (may && !block)
        block = build(size, surplus);
    if (may && !block) {
        lock();
        cache.used -= size - freed;
        unlock();
    }
    if (block) {
        arena_unpoison(block, size);
        *got = size;
    }
    return block;
}

void *block_take(size_t bytes, size_t *got)
{
    return take(bytes, 0, got, BLOCK_WORK);
}

void block_give(void *block, size_t got)
{
    if (!block)
        return;
    struct resting *rest = lie_down(block, got);
    lock();
    push(rest);
    cache.used -= got;
    unlock();
}

static void *grow_by_copy(void *block, size_t used, size_t bytes, size_t *got,
                          enum block_use use)
{
    size_t before = *got;
    void *larger = take(bytes, 0, got, use);
    if (larger && used > 0)
        memcpy(larger, block, used);
    if (larger)
        block_give(block, before);
    return larger;
}

static void *grow_by_pages(void *block, size_t bytes, size_t *got,
                           enum block_use use)
{
    size_t before = *got;
    char *larger = take(bytes, before, got, use);
    if (!larger || pages_move(larger, block, before))
        return larger;
    pages_unmap(larger + before, *got - before);
    lock();
    cache.used -= *got;
    unlock();
    *got = 0;
    return NULL;
}

void *block_grow(void *block, size_t used, size_t bytes, size_t *got,
                 enum block_use use)
{
    return *got < MOVED_BLOCK ? grow_by_copy(block, used, bytes, got, use)
                              : grow_by_pages(block, bytes, got, use);
}

size_t block_grow_bytes(size_t got, size_t bytes)
{
    return block_bytes(bytes) + (got < MOVED_BLOCK ? got : 0);
}

size_t block_room(size_t got)
{
    size_t room = block_free_bytes() + (got < MOVED_BLOCK ? 0 : got);
    if (cache.budget == 0)
        return SIZE_MAX;
    unsigned above = class_of(room + 1);
    return above > 0 ? class_bytes(above - 1) : 0;
}

void block_trim(int64_t now_ms, int64_t rest_ms)
{
    struct resting *list = NULL;
    lock();
    cache.now_ms = now_ms;
    for (unsigned class = CLASSES; class-- > 0;)
        if (class_bytes(class) >= PAGES_HUGE ||
            cache.cached_small > KEPT_BYTES)
            cut_class(class, now_ms - rest_ms, &list);
    unlock();
    unmap(list);
}

void block_charge(ptrdiff_t bytes)
{
    atomic_fetch_add(&cache.charged, (size_t)bytes);
}

size_t block_used_bytes(void)
{
    return cache.used + cache.charged;
}

size_t block_cached_bytes(void)
{
    lock();
    size_t bytes = cache.cached;
    unlock();
    return bytes;
}

size_t block_free_bytes(void)
{
    size_t used = block_used_bytes(), budget = cache.budget;
    if (budget == 0)
        return SIZE_MAX;
    return used < budget ? budget - used : 0;
}

void block_set_budget(size_t bytes, size_t reserve)
{
    cache.budget = bytes;
    cache.reserve = reserve;
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
