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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* ------------------------------------------------- what the library says */

static _Thread_local struct mhd_said said;

/* Both versions say it before they reply, and before they close. */
void mhd_listen(void *none, const char *format, va_list arguments)
{
    static const char refusal[] = "HTTP response code is ";
    char text[256];
    const char *at;

    (void)none;
    vsnprintf(text, sizeof text, format, arguments);
    at = strstr(text, refusal);
    if (at != NULL)
        said.status = (int)strtol(at + sizeof refusal - 1, NULL, 10);
    if (strstr(text, "failed to create response header") != NULL)
        said.lost = true;
}

struct mhd_said mhd_take_said(void)
{
    struct mhd_said last = said;

    said = (struct mhd_said){ .status = 0 };
    return last;
}
