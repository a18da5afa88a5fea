/* SPDX-License-Identifier: MIT */
/*
 * gzip - unpacks a gzip body, all its members, from one piece of memory into
 * a buffer; the buffer's ceiling is the limit, and it never holds more than
 * has been unpacked. In steps, so that a large body does not hold up a
 * worker. The only door to zlib.h. Knows no room.
 */
#ifndef GZIP_H
#define GZIP_H

#include "arena.h"
#include "buffer.h"

enum gzip_status {
    GZIP_OK,
    GZIP_MORE,        /* not at the end yet: step again */
    GZIP_CORRUPT,     /* no gzip, a wrong check sum, or bytes behind it */
    GZIP_TRUNCATED,   /* ends before its end */
    GZIP_CEILING,     /* unpacks to more than out's ceiling */
    GZIP_NO_MEMORY
};

struct gzip {
    struct z_stream_s *stream;
    struct buffer *out;
    struct arena arena;    /* what zlib itself needs, about 50 KiB */
};

/* `in` must stay until gzip_close(); GZIP_OK or GZIP_NO_MEMORY. */
enum gzip_status gzip_open(struct gzip *g, const void *in, size_t n,
                           struct buffer *out);

/* Unpacks about `bytes` more. GZIP_MORE, or how it ended. */
enum gzip_status gzip_step(struct gzip *g, size_t bytes);

/* After gzip_open(), whatever it returned; more than once does no harm. */
void gzip_close(struct gzip *g);

/* The three in one. What `out` holds after a failure is undefined. */
enum gzip_status gzip_unpack(const void *in, size_t n, struct buffer *out);

#endif
