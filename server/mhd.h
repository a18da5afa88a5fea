/* SPDX-License-Identifier: MIT */
/*
 * mhd - what is peculiar to libmicrohttpd, in every version from 0.9.75 to
 * 1.0.1, and how to live with it by its public calls; mhd_0_9.h has what
 * only the older ones need.
 */
#ifndef MHD_H
#define MHD_H

#include <stdarg.h>
#include <stdbool.h>

struct MHD_Connection;

/* Suspends this connection, from its own thread. After it was resumed it is
 * visited before it is read, so a peer that has closed its sending side still
 * gets its reply. */
void mhd_suspend(struct MHD_Connection *c);

/* It was resumed and visited. */
void mhd_resumed(struct MHD_Connection *c);

/*
 * What the library says about its work on this thread, for it tells in no
 * other way what it does by itself. The words are not promised: another
 * version may say nothing of this, and then nothing is known.
 */
struct mhd_said {
    int status;     /* of a reply of its own; 0: none */
    bool lost;      /* a reply of ours, for want of memory */
};

/* Takes its messages (MHD_OPTION_EXTERNAL_LOGGER). */
void mhd_listen(void *none, const char *format, va_list arguments);

/* The last that it said on this thread since this was asked. */
struct mhd_said mhd_take_said(void);

#endif
