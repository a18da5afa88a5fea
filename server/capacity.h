/* SPDX-License-Identifier: MIT */
/*
 * capacity - how many connections there may be, by the limit of descriptors
 * and --connections. Knows no room.
 */
#ifndef CAPACITY_H
#define CAPACITY_H

#include <stdint.h>

struct capacity {
    int64_t served;     /* for everybody */
    int64_t probes;     /* beyond them, for probes alone */
    int64_t open;       /* all, with those that are leaving */
    int64_t admin_open; /* the same, with those at the second port */
};

struct capacity capacity_of(int64_t descriptors);

#endif
