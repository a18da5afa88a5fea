/* SPDX-License-Identifier: MIT */
/*
 * library.h - which libmicrohttpd the daemon runs with: 1.0 refuses some
 * requests by a page of its own that 0.9 leaves to the daemon.
 */
#ifndef LIBRARY_H
#define LIBRARY_H

#include <stdbool.h>

bool library_is_0_9(int port);

/* Is this reply the daemon's own, with this code; or with 1.0 the library's,
 * an HTML page without any code? */
bool library_or_code(int port, const char *reply, const char *code);

#endif
