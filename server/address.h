/* SPDX-License-Identifier: MIT */
/*
 * address - an address of the internet as a value: IPv6, or IPv4 in its form
 * as IPv6 (::ffff:192.0.2.1), so that one that comes in by an IPv6 socket is
 * the same as by an IPv4 one. Knows no room.
 */
#ifndef ADDRESS_H
#define ADDRESS_H

#include <stdbool.h>
#include <stddef.h>

struct sockaddr;

struct address {
    unsigned char byte[16];
};

enum { ADDRESS_TEXT_MAX = 48 };

/* All zero for other families. */
struct address address_of(const struct sockaddr *peer);

/* The first n bytes of text as an address; with or without a port behind it,
 * "192.0.2.1:80", "[2001:db8::1]:80", and IPv6 with or without brackets. */
bool address_read(const char *text, size_t n, struct address *a);
bool address_read_host(const char *text, size_t n, struct address *a);

/* "192.0.2.1", "2001:db8::1"; "" for other families. */
void address_print(const struct address *a, char text[ADDRESS_TEXT_MAX]);

/* The address with all behind its first `bits` (0 to 128) cleared; those of
 * IPv4 begin at 96. */
struct address address_network(const struct address *a, int bits);

/* What limits for one client count as one: an address of IPv4; of IPv6 the
 * network of 64 bits, in which a host chooses its address itself. */
struct address address_client(const struct address *a);

#endif
