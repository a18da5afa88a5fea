/* SPDX-License-Identifier: MIT */
/*
 * capacity - see capacity.h.
 */
#include "capacity.h"

#include "config.h"

#define LEAVING 256     /* connections that were closed for others, at most */

/* Descriptors that are no connections of everybody: files, the library's own,
 * and the reserve for probes. */
static int64_t reserved_descriptors(void)
{
    return 32 + config.io_threads * 4;
}

struct capacity capacity_of(int64_t descriptors)
{
    int64_t reserve = reserved_descriptors();
    int64_t most = descriptors - reserve > 8 ? descriptors - reserve : 8;
    struct capacity c = { .served = most, .probes = reserve / 2 };

    if (config.connections > 0 && config.connections < most)
        c.served = config.connections;
    if (most > c.served + LEAVING)
        most = c.served + LEAVING;
    c.open = most + c.probes;
    c.admin_open = c.open + reserve / 4;
    return c;
}
