/* SPDX-License-Identifier: MIT */
/*
 * arena - see arena.h. Small pieces are cut from small blocks, one after the
 * other, large ones are blocks of their own; nothing is given back before
 * the end.
 */
#include "arena.h"

#include <string.h>

#include "arena_poison.h"

#define ALIGN ((size_t)64)
#define FIRST_BYTES ((size_t)32 << 10)

/* Stands at the start of a small block; that of a large one stands in the
 * small block before it, so that large ones keep their size and border. */
struct arena_block {
    struct arena_block *older;
    void *start;
    size_t bytes;
};

static size_t round_up(size_t bytes)
{
    return (bytes + !bytes + ALIGN - 1) & ~(ALIGN - 1);
}

static void chain(struct arena *arena, struct arena_block *block, void *start,
                  size_t bytes)
{
    *block = (struct arena_block){arena->blocks, start, bytes};
    arena->blocks = block;
    arena->bytes += bytes;
}

static bool add_small(struct arena *arena)
{
    size_t got;
    char *start = block_take(arena->blocks ? ARENA_BLOCK_BYTES : FIRST_BYTES,
                             &got);
    if (!start)
        return false;
    chain(arena, (struct arena_block *)(void *)start, start, got);
    arena->next = start + round_up(sizeof(struct arena_block));
    arena->end = start + got;
    arena_poison(arena->next, (size_t)(arena->end - arena->next));
    return true;
}

static bool fits(const struct arena *arena, size_t bytes)
{
    return round_up(bytes) + ARENA_GAP <= (size_t)(arena->end - arena->next);
}

static void *cut_small(struct arena *arena, size_t bytes)
{
    if (!fits(arena, bytes) && !add_small(arena))
        return NULL;
    void *at = arena->next;
    arena->next += round_up(bytes) + ARENA_GAP;
    arena_unpoison(at, bytes);
    return at;
}

void arena_init(struct arena *arena)
{
    *arena = (struct arena){.blocks = NULL};
}

void *arena_alloc(struct arena *arena, size_t bytes)
{
    if (bytes > SIZE_MAX / 2)
        return NULL;
    if (fits(arena, bytes) || bytes <= ARENA_SMALL_BYTES)
        return cut_small(arena, bytes);

    struct arena_block *block = cut_small(arena, sizeof *block);
    size_t got;
    char *start = block ? block_take(bytes, &got) : NULL;
    if (!start)
        return NULL;
    chain(arena, block, start, got);
    arena_poison(start + bytes, got - bytes);
    return start;
}

char *arena_text(struct arena *arena, const char *text, size_t n)
{
    char *copy = n < SIZE_MAX ? arena_alloc(arena, n + 1) : NULL;
    if (copy) {
        if (n > 0)
            memcpy(copy, text, n);
        copy[n] = '\0';
    }
    return copy;
}

void arena_free(struct arena *arena)
{
    struct arena_block *block = arena->blocks;
    while (block) {
        struct arena_block *older = block->older;
        block_give(block->start, block->bytes);
        block = older;
    }
    arena_init(arena);
}
