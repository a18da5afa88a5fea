/* SPDX-License-Identifier: MIT */
/*
 * notify - the other side of systemd's Type=notify, WatchdogSec= and socket
 * activation: a datagram to $NOTIFY_SOCKET, $WATCHDOG_USEC, $LISTEN_FDS.
 * Without these variables nothing happens. Knows no room.
 */
#ifndef NOTIFY_H
#define NOTIFY_H

#include <stdint.h>

/* "READY=1", "STOPPING=1", "WATCHDOG=1". */
void notify_send(const char *state);

/* How often the watchdog wants to hear of us, in ms; 0: never. */
int64_t notify_watchdog_ms(void);

/* A listening socket that was handed over, or -1. */
int notify_socket(void);

#endif
