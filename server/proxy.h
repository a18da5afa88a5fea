/* SPDX-License-Identifier: MIT */
/*
 * proxy - the networks whose word is taken for where a request comes from
 * (--trusted-proxy), and what they say in X-Forwarded-For. Constant after
 * start. Knows no room.
 */
#ifndef PROXY_H
#define PROXY_H

#include <stdbool.h>

#include "address.h"

/* "10.0.0.0/8, ::1": these and no others; "none": none. False: it is no such
 * list, or has more than 64. */
bool proxy_trust(const char *list);

bool proxy_is_trusted(const struct address *a);

/* What is forwarded: the last address that is not itself trusted; the first
 * one, if all are. Not known: nothing, or something else stands there. */
struct proxy_forwarded {
    struct address address;
    bool any, known;
};

/* One line of X-Forwarded-For behind those before it; begins with zeros. */
void proxy_read(struct proxy_forwarded *f, const char *line);

#endif
