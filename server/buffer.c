/* SPDX-License-Identifier: MIT */
/*
 * buffer - see buffer.h. `capacity` is the true size of the block: it may lie
 * above the ceiling, and is always above length, so that there is room for
 * the NUL that vsnprintf writes.
 */
#include "buffer.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "arena.h"

void buffer_init(struct buffer *b, size_t ceiling)
{
    *b = (struct buffer){.ceiling = ceiling};
}

/* To twice its size, if the budget has room for that. */
static size_t grown(const struct buffer *b, size_t least)
{
    size_t bytes = 2 * b->capacity;
    size_t room = block_room(b->capacity);
    if (bytes > b->ceiling)
        bytes = b->ceiling;
    if (bytes >= room)
        bytes = room > 0 ? room - 1 : 0;
    return bytes > least ? bytes : least;
}

enum buffer_status buffer_reserve(struct buffer *b, size_t more)
{
    if (more > b->ceiling - b->length)
        return BUFFER_CEILING;
    if (more < b->capacity - b->length)
        return BUFFER_OK;

    size_t wanted = grown(b, b->length + more), got = b->capacity;
    if (wanted == SIZE_MAX)
        return BUFFER_NO_MEMORY;
    char *data = block_grow(b->data, b->length, wanted + 1, &got,
                            b->answers ? BLOCK_ANSWER : BLOCK_WORK);
    if (!data && got == b->capacity)
        return BUFFER_NO_MEMORY;
    b->data = data;
    b->capacity = got;
    b->length = data ? b->length : 0;
    return data ? BUFFER_OK : BUFFER_NO_MEMORY;
}

enum buffer_status buffer_append(struct buffer *b, const void *bytes, size_t n)
{
    enum buffer_status status = buffer_reserve(b, n);
    if (status == BUFFER_OK && n > 0) {
        memcpy(b->data + b->length, bytes, n);
        b->length += n;
    }
    return status;
}

static enum buffer_status print(struct buffer *b, const char *format,
                                va_list first, va_list second)
{
    size_t room = b->capacity - b->length;
    int n = vsnprintf(room ? b->data + b->length : NULL, room, format, first);
    if (n < 0)
        return BUFFER_NO_MEMORY;
    enum buffer_status status = buffer_reserve(b, (size_t)n);
    if (status == BUFFER_OK && (size_t)n >= room)
        vsnprintf(b->data + b->length, (size_t)n + 1, format, second);
    if (status == BUFFER_OK)
        b->length += (size_t)n;
    return status;
}

enum buffer_status buffer_print(struct buffer *b, const char *format, ...)
{
    va_list first, second;
    va_start(first, format);
    va_copy(second, first);
    if (b->failed == BUFFER_OK)
        b->failed = print(b, format, first, second);
    va_end(second);
    va_end(first);
    return b->failed;
}

void buffer_free(struct buffer *b)
{
    block_give(b->data, b->capacity);
    buffer_init(b, b->ceiling);
}
