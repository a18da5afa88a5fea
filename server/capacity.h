/* SPDX-License-Identifier: MIT */
/*
 * capacity - how many connections there may be, by --connections, or by
 * the memory budget, and by the limit of descriptors. Knows no room.
 */
#ifndef CAPACITY_H
#define CAPACITY_H

#include <stddef.h>
#include <stdint.h>

/* What the HTTP library holds for a connection after its first request, be it
 * small: it clears all of that, and maps it above 32 KiB. Until then it is what
 * came, and 1 KiB. Half of it is the piece in which a body comes: in pieces of
 * 16 KiB bodies of 200 KB and more take 20 % longer. */
#define CONNECTION_BYTES ((size_t)64 << 10)

struct capacity {
    int64_t served;     /* for everybody */
    int64_t probes;     /* beyond them, for probes alone */
    int64_t open;       /* all, with those that are leaving */
    int64_t admin_open; /* the same, with those at the second port */
};

/* budget: bytes; 0: no limit. By default a third of it is left for work. */
struct capacity capacity_of(int64_t descriptors, size_t budget);

#endif
