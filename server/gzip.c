/* SPDX-License-Identifier: MIT */
/*
 * gzip - see gzip.h. zlib counts its input in unsigned int, so a body above
 * 4 GiB is fed in pieces; what is not fed yet stands behind next_in.
 */
#include "gzip.h"

#include <limits.h>
#include <stdint.h>
#include <string.h>
#include <zlib.h>

#define PIECE ((size_t)64 << 10)
#define GZIP_ONLY (16 + MAX_WBITS)

struct state {
    struct z_stream_s stream;    /* first: a struct gzip points to it */
    size_t unfed;                /* input bytes behind avail_in */
    bool at_border;              /* between two members */
};

static void *take(void *arena, unsigned items, unsigned bytes)
{
    return arena_alloc(arena, (size_t)items * bytes);
}

static void give(void *arena, void *address)
{
    (void)arena, (void)address;    /* gzip_close() frees all */
}

enum gzip_status gzip_open(struct gzip *g, const void *in, size_t n,
                           struct buffer *out)
{
    *g = (struct gzip){.out = out};
    arena_init(&g->arena);
    struct state *state = arena_alloc(&g->arena, sizeof *state);
    if (!state)
        return GZIP_NO_MEMORY;
    *state = (struct state){.unfed = n, .at_border = false};
    state->stream.next_in = (Bytef *)(uintptr_t)in;
    state->stream.zalloc = take;
    state->stream.zfree = give;
    state->stream.opaque = &g->arena;
    if (inflateInit2(&state->stream, GZIP_ONLY) != Z_OK)
        return GZIP_NO_MEMORY;
    g->stream = &state->stream;
    return GZIP_OK;
}

static void feed(struct state *state)
{
    if (state->stream.avail_in > 0 || state->unfed == 0)
        return;
    uInt n = state->unfed < UINT_MAX ? (uInt)state->unfed : UINT_MAX;
    state->stream.avail_in = n;
    state->unfed -= n;
}

/* Room for a piece: where none is left below the ceiling, one byte beside
 * the buffer tells the end of the stream from too much of it. */
static enum gzip_status inflate_piece(struct state *state, struct buffer *out)
{
    z_stream *stream = &state->stream;
    size_t room = out->ceiling - out->length;
    size_t piece = room < PIECE ? room : PIECE;
    if (buffer_reserve(out, piece) != BUFFER_OK)
        return GZIP_NO_MEMORY;

    Bytef beyond;
    stream->next_out = piece ? (Bytef *)out->data + out->length : &beyond;
    stream->avail_out = piece ? (uInt)piece : 1;
    uInt before = stream->avail_out;
    int code = inflate(stream, Z_NO_FLUSH);
    size_t written = before - stream->avail_out;
    if (written > room)
        return GZIP_CEILING;
    out->length += written;

    if (code == Z_STREAM_END) {
        state->at_border = true;
        return inflateReset(stream) == Z_OK ? GZIP_MORE : GZIP_CORRUPT;
    }
    if (code == Z_MEM_ERROR)
        return GZIP_NO_MEMORY;
    return code == Z_OK || code == Z_BUF_ERROR ? GZIP_MORE : GZIP_CORRUPT;
}

/* Grows by input read as well as output written: members may be empty. */
static size_t progress(const struct state *state, const struct buffer *out)
{
    return out->length - state->unfed - state->stream.avail_in;
}

enum gzip_status gzip_step(struct gzip *g, size_t bytes)
{
    struct state *state = (struct state *)(void *)g->stream;
    size_t done = progress(state, g->out);
    do {
        feed(state);
        if (state->stream.avail_in == 0 && state->at_border)
            return GZIP_OK;
        state->at_border = false;
        bool fed = state->stream.avail_in > 0;
        size_t length = g->out->length;
        enum gzip_status status = inflate_piece(state, g->out);
        if (status != GZIP_MORE)
            return status;
        if (!fed && g->out->length == length && !state->at_border)
            return GZIP_TRUNCATED;
    } while (progress(state, g->out) - done < bytes);
    return GZIP_MORE;
}

void gzip_close(struct gzip *g)
{
    g->stream = NULL;
    arena_free(&g->arena);
}

enum gzip_status gzip_unpack(const void *in, size_t n, struct buffer *out)
{
    struct gzip g;
    enum gzip_status status = gzip_open(&g, in, n, out);
    if (status == GZIP_OK)
        status = GZIP_MORE;
    while (status == GZIP_MORE)
        status = gzip_step(&g, SIZE_MAX);
    gzip_close(&g);
    return status;
}
