/* SPDX-License-Identifier: MIT */
/*
 * arena_pages - memory from the kernel in whole pages, in huge ones of 2 MiB
 * where there are that many, and their way from one place to another. The
 * first touch of a new page is dear, of a moved one it is free. Knows no room.
 */
#ifndef ARENA_PAGES_H
#define ARENA_PAGES_H

#include <stdbool.h>
#include <stddef.h>

#define PAGES_HUGE ((size_t)2 << 20)

/* Begins on a huge page if there is one in it. NULL: there is no memory. */
void *pages_map(size_t bytes);

/* Any pages of what was mapped. */
void pages_unmap(void *start, size_t bytes);

/* Both begin on a huge page, bytes are whole ones. What stood in `to` is gone,
 * `from` is no longer mapped. False: neither is, but for what another thread
 * may have mapped in between; the kernel has no room in its lists. */
bool pages_move(void *to, void *from, size_t bytes);

#endif
