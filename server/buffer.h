/* SPDX-License-Identifier: MIT */
/*
 * buffer - bytes that grow, never above a ceiling. Memory comes from the
 * block cache of arena.h. Knows no room.
 */
#ifndef BUFFER_H
#define BUFFER_H

#include <stdbool.h>
#include <stddef.h>

enum buffer_status { BUFFER_OK, BUFFER_CEILING, BUFFER_NO_MEMORY };

struct buffer {
    char *data;
    size_t length;
    size_t capacity;
    size_t ceiling;
    enum buffer_status failed;   /* what buffer_print() came to */
    bool answers;                /* its memory is a BLOCK_ANSWER */
};

void buffer_init(struct buffer *b, size_t ceiling);

/* Room for `more` bytes behind length, growing to twice its size, but not
 * beyond the ceiling. */
enum buffer_status buffer_reserve(struct buffer *b, size_t more);
enum buffer_status buffer_append(struct buffer *b, const void *bytes,
                                 size_t n);
/* printf behind length; the same statuses. After a failure it prints no more
 * and fails again: a whole text may be printed and `failed` looked at once. */
enum buffer_status buffer_print(struct buffer *b, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void buffer_free(struct buffer *b);

#endif
