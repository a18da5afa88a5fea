/* SPDX-License-Identifier: MIT */
/*
 * arena_pages - see arena_pages.h.
 */
#include "arena_pages.h"

#include <stdint.h>
#include <sys/mman.h>

/* The ends that stick out go back. */
void *pages_map(size_t bytes)
{
    size_t extra = bytes >= PAGES_HUGE ? PAGES_HUGE : 0;
    char *start = mmap(NULL, bytes + extra, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED)
        return NULL;
    if (extra == 0)
        return start;

    size_t before = -(uintptr_t)start & (PAGES_HUGE - 1);
    pages_unmap(start, before);
    pages_unmap(start + before + bytes, extra - before);
    madvise(start + before, bytes, MADV_HUGEPAGE);
    return start + before;
}

void pages_unmap(void *start, size_t bytes)
{
    if (bytes > 0)
        munmap(start, bytes);
}

/* One at a time: pages that came from several places are several mappings, of
 * which the kernel moves one in a call. A call that fails leaves a hole in
 * `to`, which is nobody's. */
bool pages_move(void *to, void *from, size_t bytes)
{
    char *target = to, *source = from;

    for (size_t at = 0; at < bytes; at += PAGES_HUGE)
        if (mremap(source + at, PAGES_HUGE, PAGES_HUGE,
                   MREMAP_MAYMOVE | MREMAP_FIXED, target + at) == MAP_FAILED) {
            pages_unmap(target, at);
            pages_unmap(target + at + PAGES_HUGE, bytes - at - PAGES_HUGE);
            pages_unmap(source + at, bytes - at);
            return false;
        }
    return true;
}
