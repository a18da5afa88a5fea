/* SPDX-License-Identifier: MIT */
/*
 * idle - the connections that have no request, in lists by kind, each in the
 * order of time: at the limit of connections the first of a list has to go.
 *
 * Thread rule: a guest joins by its own thread; idle_evict() is the
 * watch's.
 */
#ifndef IDLE_H
#define IDLE_H

#include <stdbool.h>
#include <stdint.h>

struct guest;

enum idle {
    IDLE_NONE,
    IDLE_KEPT,      /* between two requests */
    IDLE_NEW,       /* before the first one */
    IDLE_SPARE,     /* either, above the limits */
    IDLE_COUNT
};

/* The guest becomes the last of this list, and is in no other; if it is in it
 * already, it stays where it is. */
void idle_join(struct guest *g, enum idle list);

/* Closes the first of a list that nothing has come from which is not read yet,
 * and from a new one nothing at all, unless it has had its time. From then on
 * it is `ended`, and closed by guest_begins() if the library has not begun with
 * it yet. False: there is none. */
bool idle_evict(enum idle list, int64_t now_ns);

#endif
