/* SPDX-License-Identifier: MIT */
/*
 * mhd - what is peculiar to libmicrohttpd, in every version from 0.9.75 to
 * 1.0.1, and how to live with it by its public calls; mhd_0_9.h has what
 * only the older ones need.
 */
#ifndef MHD_H
#define MHD_H

struct MHD_Connection;

/* Suspends this connection, from its own thread. After it was resumed it is
 * visited before it is read, so a peer that has closed its sending side still
 * gets its reply. */
void mhd_suspend(struct MHD_Connection *c);

/* It was resumed and visited. */
void mhd_resumed(struct MHD_Connection *c);

#endif
