/* SPDX-License-Identifier: MIT */
/*
 * idle - see idle.h. One lock for all lists, held for some loads and stores.
 * Of a list the first few are tried: all others have less right to go.
 */
#include "idle.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "guest.h"
#include "socket.h"
#include "spin.h"

#define TRIED 8
#define HEADERS_NS INT64_C(1000000000)  /* for those of a new one to come */

static struct {
    atomic_bool taken;
    struct guest *first[IDLE_COUNT], *last[IDLE_COUNT];
} idle;

/* The lock is held. */
static void unlink_guest(struct guest *g)
{
    int list = atomic_load(&g->idle);

    if (list == IDLE_NONE)
        return;
    *(g->idle_before != NULL ? &g->idle_before->idle_behind
                             : &idle.first[list]) = g->idle_behind;
    *(g->idle_behind != NULL ? &g->idle_behind->idle_before
                             : &idle.last[list]) = g->idle_before;
    atomic_store(&g->idle, IDLE_NONE);
}

/* The lock is held. */
static void append(struct guest *g, enum idle list)
{
    g->idle_before = idle.last[list];
    g->idle_behind = NULL;
    *(g->idle_before != NULL ? &g->idle_before->idle_behind
                             : &idle.first[list]) = g;
    idle.last[list] = g;
    atomic_store(&g->idle, (int)list);
}

void idle_join(struct guest *g, enum idle list)
{
    if (atomic_load(&g->idle) == (int)list)
        return;
    spin_take(&idle.taken);
    unlink_guest(g);
    if (list != IDLE_NONE)
        append(g, list);
    spin_give(&idle.taken);
}

static int first_of(enum idle list, struct guest *guests[TRIED])
{
    int n = 0;

    spin_take(&idle.taken);
    for (struct guest *g = idle.first[list]; g != NULL && n < TRIED;
         g = g->idle_behind)
        guests[n++] = g;
    spin_give(&idle.taken);
    return n;
}

static bool may_go(struct guest *g, enum idle list, int64_t now_ns)
{
    int doing = atomic_load(&g->doing);

    if ((doing != GUEST_ENTERS && doing != GUEST_NEW && doing != GUEST_KEPT)
        || g->ended || socket_unread(g->fd) > 0)
        return false;
    return list == IDLE_KEPT || guest_received_bytes(g) == 0
        || now_ns - atomic_load(&g->since_ns) > HEADERS_NS;
}

bool idle_evict(enum idle list, int64_t now_ns)
{
    struct guest *guests[TRIED];
    int n = first_of(list, guests);
    bool found = false;

    for (int i = 0; i < n && !found; i++) {
        struct guest *g = guests[i];

        spin_take(&g->held);
        found = may_go(g, list, now_ns);
        if (found) {
            g->ended = true;
            if (atomic_load(&g->doing) != GUEST_ENTERS)
                shutdown(g->fd, SHUT_RD);
        }
        spin_give(&g->held);
        if (found)
            idle_join(g, IDLE_NONE);
    }
    return found;
}
