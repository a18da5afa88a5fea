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

static int64_t wanted(size_t budget)
{
    if (config.connections > 0)
        return config.connections;
    return budget > 0 ? (int64_t)(budget / (CONNECTION_BYTES * 3 / 2))
        : INT64_MAX;
}

struct capacity capacity_of(int64_t descriptors, size_t budget)
{
    int64_t reserve = reserved_descriptors();
    int64_t most = descriptors - reserve > 8 ? descriptors - reserve : 8;
    struct capacity c = { .served = most, .probes = reserve / 2 };

    if (wanted(budget) < most)
        c.served = wanted(budget);
    if (most > c.served + LEAVING)
        most = c.served + LEAVING;
    c.open = most + c.probes;
    c.admin_open = c.open + reserve / 4;
    return c;
}
