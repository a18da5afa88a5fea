/* SPDX-License-Identifier: MIT */
/*
 * arena - the memory of requests. Blocks come from one process-wide cache of
 * large blocks, since the first touch of a fresh page is dear: they are kept
 * after use, those of 2 MiB and more are aligned for huge pages, pages that
 * rest become part of larger blocks, and block_trim() gives back what has
 * rested. An arena is a list of blocks that dies in one call. Every call may
 * fail; a failure is a NULL.
 * Thread rule: blocks from any thread (one lock); an arena has one owner at
 * a time. Knows no room.
 */
#ifndef ARENA_H
#define ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a block is for: a request's work, or an answer that is given beside
 * the budget of all work: metrics, facts. */
enum block_use { BLOCK_WORK, BLOCK_ANSWER };

/* At least `bytes`, aligned to 64 (2 MiB if that large), contents undefined.
 * *got is the true size, to be given back with the block. */
void *block_take(size_t bytes, size_t *got);
void block_give(void *block, size_t got);

/* The size of a new block for so many bytes; one that rests may be up to a
 * quarter larger. */
size_t block_bytes(size_t bytes);

/* Gives `block`, of *got bytes or NULL, back for a larger one that begins with
 * its first `used` bytes; *got is the new size. Large blocks hand over their
 * pages, which takes no time and no memory. NULL: there is none larger, and
 * *got as before if it is still there, 0 if it is lost. */
void *block_grow(void *block, size_t used, size_t bytes, size_t *got,
                 enum block_use use);

/* What that has in use meanwhile: a copy has both blocks. And the largest for
 * which the budget has room now; SIZE_MAX without one. */
size_t block_grow_bytes(size_t got, size_t bytes);
size_t block_room(size_t got);

/* Gives blocks back to the system that nobody has used since
 * `rest_ms` before now_ms; called by the watch thread. */
void block_trim(int64_t now_ms, int64_t rest_ms);

/* Memory that is held without a block counts against the budget, too: so many
 * bytes more, or less if below 0. It is never refused. */
void block_charge(ptrdiff_t bytes);

/* Bytes in use by owners, those charged among them; resting in the cache. */
size_t block_used_bytes(void);

/* What is left of the budget for work; SIZE_MAX without one. */
size_t block_free_bytes(void);
size_t block_cached_bytes(void);

/* Sum of what may be in use at once; 0: no limit. A block beyond it is NULL;
 * for an answer there are `reserve` bytes more, whatever is charged. Used and
 * cached bytes together stay within the budget too. */
void block_set_budget(size_t bytes, size_t reserve);

/* For tests: after so many takes one fails, once; below 0: none.
 * block_failed() says whether it has come to that. */
void block_fail_after(int64_t takes);
bool block_failed(void);

/* Pieces up to this share blocks of ARENA_BLOCK_BYTES. */
enum { ARENA_SMALL_BYTES = 16 << 10, ARENA_BLOCK_BYTES = 128 << 10 };

struct arena_block;

struct arena {
    struct arena_block *blocks;   /* newest first */
    char *next, *end;             /* free part of the newest small block */
    size_t bytes;                 /* sum of blocks taken */
};

void arena_init(struct arena *arena);

/* `bytes` aligned to 64, undefined contents, or NULL. Large ones get a block
 * of their own. */
void *arena_alloc(struct arena *arena, size_t bytes);

/* Copies n bytes and a NUL. */
char *arena_text(struct arena *arena, const char *text, size_t n);

/* All of it back to the cache. */
void arena_free(struct arena *arena);

#endif
