/* SPDX-License-Identifier: MIT */
/*
 * arena_poison - tells the address sanitizer which memory of a block nobody
 * may touch: all of a resting block, and what lies between the pieces of an
 * arena. Nothing without the sanitizer.
 */
#ifndef ARENA_POISON_H
#define ARENA_POISON_H

#include <stddef.h>

#if defined(__SANITIZE_ADDRESS__)
#define ARENA_POISON 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARENA_POISON 1
#endif
#endif

#ifdef ARENA_POISON
#include <sanitizer/asan_interface.h>
#define ARENA_GAP ((size_t)64)    /* behind every piece */
#else
#define ARENA_GAP ((size_t)0)
#endif

static inline void arena_poison(const volatile void *at, size_t bytes)
{
#ifdef ARENA_POISON
    __asan_poison_memory_region(at, bytes);
#else
    (void)at, (void)bytes;
#endif
}

static inline void arena_unpoison(const volatile void *at, size_t bytes)
{
#ifdef ARENA_POISON
    __asan_unpoison_memory_region(at, bytes);
#else
    (void)at, (void)bytes;
#endif
}

#endif
