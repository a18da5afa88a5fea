/* SPDX-License-Identifier: MIT */
/*
 * refuse - refusals that go past the HTTP library, because it takes no reply
 * then or has no room for it, or that it has made by itself. On the request's
 * I/O thread; the connection is to be closed after each.
 */
#ifndef REFUSE_H
#define REFUSE_H

#include "request.h"

/* Its headers, with the trailer if there is one, are above
 * HEADER_BYTES_MAX. */
void refuse_headers(struct request *r);

/* There was no room for its reply: what came behind it has taken that. */
void refuse_without_room(struct request *r);

/* Its body stopped coming, or we have no time for it any more, or (replied) it
 * is broken, and the library has replied already: then that is noted, with the
 * status that was sent. */
void refuse_rest(struct request *r, bool replied);

/* The library has given its connection up without a reply: it may not wait for
 * it (epoll_ctl), or has refused the same chunk line twice (1.0.1). */
void refuse_given_up(struct request *r);

#endif
