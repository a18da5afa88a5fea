/* SPDX-License-Identifier: MIT */
/*
 * encode - see encode.h. Pieces of a whole reply are written where an upper
 * bound of those before them ends, and moved together when all are there.
 */
#include "encode.h"

#include <string.h>

#include "queue.h"

double encode_estimate(const struct request *r)
{
    const double bytes_a_number = 14.0;
    double sum = 0.0;

    for (int o = 0; o < ATTN_N_OUT; o++)
        if (r->plan.output[o].rank > 0)
            sum += bytes_a_number
                * (double)attn_tensor_elements(&r->plan.output[o]);
    return sum;
}

void encode_size(struct request *r)
{
    r->room = r->form_reply->encode_room(r, &r->room_of_piece);
}

size_t encode_memory(const struct request *r)
{
    return encode_streams(r) ? ENCODE_WINDOW * block_bytes(r->room_of_piece)
                             : block_bytes(r->room);
}

bool encode_streams(const struct request *r)
{
    return r->room > ENCODE_WHOLE_BYTES;
}

static void out_of_memory(struct request *r)
{
    fault_set(&r->fault, PROBLEM_MEMORY_BUDGET, NULL,
              "There is no memory left for the reply now (--memory-bytes).");
}

/* Each piece gets its own place. */
static int64_t begin_whole(struct request *r, size_t total)
{
    char *at = arena_alloc(&r->arena, total);
    int64_t n = r->n_pieces;

    r->pieces = arena_alloc(&r->arena, (size_t)n * sizeof *r->pieces);
    if (at == NULL || r->pieces == NULL) {
        out_of_memory(r);
        return 0;
    }
    for (int64_t k = 0; k < n; k++) {
        r->pieces[k].data = at;
        at += r->form_reply->encode_bound(r, k);
    }
    return n;
}

/* Each slot of the window gets a place that holds the largest piece. From
 * here on the reader and the workers have the request together. */
static int64_t begin_streamed(struct request *r, size_t largest)
{
    int64_t slots = r->n_pieces < ENCODE_WINDOW ? r->n_pieces : ENCODE_WINDOW;

    r->pieces = arena_alloc(&r->arena, (size_t)slots * sizeof *r->pieces);
    for (int64_t k = 0; r->pieces != NULL && k < slots; k++) {
        r->pieces[k].data = arena_alloc(&r->arena, largest);
        if (r->pieces[k].data == NULL)
            r->pieces = NULL;
    }
    if (r->pieces == NULL) {
        out_of_memory(r);
        return 0;
    }
    r->streamed = true;
    queue_window(r, slots);
    return r->n_pieces;
}

static int64_t begin(struct request *r)
{
    size_t total = 0, largest = 0;

    r->encode_planned = true;
    r->n_pieces = r->form_reply->encode_plan(r);
    if (r->n_pieces < 0)
        return 0;
    for (int64_t k = 0; k < r->n_pieces; k++) {
        size_t bound = r->form_reply->encode_bound(r, k);

        total += bound;
        largest = bound > largest ? bound : largest;
    }
    if (total <= ENCODE_WHOLE_BYTES)
        return begin_whole(r, total);
    return begin_streamed(r, largest);
}

static void end_whole(struct request *r)
{
    char *end;

    if (r->n_pieces <= 0)
        return;
    end = r->pieces[0].data + r->pieces[0].length;
    for (int64_t k = 1; k < r->n_pieces; k++) {
        memmove(end, r->pieces[k].data, r->pieces[k].length);
        end += r->pieces[k].length;
    }
    r->reply = r->pieces[0].data;
    r->reply_bytes = end - r->reply;
}

int64_t encode_next(struct request *r)
{
    if (!r->encode_planned)
        return begin(r);
    if (!r->streamed)
        end_whole(r);
    return 0;
}

bool encode_task(struct request *r, int64_t task, int lane)
{
    int64_t slot = r->streamed ? task % ENCODE_WINDOW : task;
    struct piece *piece = &r->pieces[slot];

    (void)lane;
    if (atomic_load_explicit(&r->stop, memory_order_relaxed))
        return true;
    piece->length = r->form_reply->encode_piece(r, task, piece->data);
    return true;
}
