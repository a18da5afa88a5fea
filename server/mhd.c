/* SPDX-License-Identifier: MIT */
/*
 * mhd - see mhd.h. Seen in 0.9.75 and 1.0.1: a connection that comes back from
 * suspension is read before it is written to, and closed if the peer has
 * closed its sending side; unless it has a time-out of its own, for then it is
 * visited before. 1.0.1 gives none to one that is suspended, so it is given
 * before. The library has none besides: with one it sets a clock whenever a
 * thread waits and minds a list for every read and write, and guest.c looks
 * anyway.
 */
#include "mhd.h"

#include <microhttpd.h>

#define RESUMED_TIMEOUT_S 3600u

void mhd_suspend(struct MHD_Connection *c)
{
    MHD_set_connection_option(c, MHD_CONNECTION_OPTION_TIMEOUT,
                              RESUMED_TIMEOUT_S);
    MHD_suspend_connection(c);
}

void mhd_resumed(struct MHD_Connection *c)
{
    MHD_set_connection_option(c, MHD_CONNECTION_OPTION_TIMEOUT, 0u);
}
