/* SPDX-License-Identifier: MIT */
/*
 * address - see address.h.
 */
#include "address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

static const unsigned char before_v4[12] = { [10] = 0xff, [11] = 0xff };

static bool is_v4(const struct address *a)
{
    return memcmp(a->byte, before_v4, sizeof before_v4) == 0;
}

struct address address_of(const struct sockaddr *peer)
{
    const struct sockaddr_in *v4 = (const void *)peer;
    const struct sockaddr_in6 *v6 = (const void *)peer;
    struct address a = { { 0 } };

    if (peer->sa_family == AF_INET6)
        memcpy(a.byte, &v6->sin6_addr, sizeof a.byte);
    if (peer->sa_family == AF_INET) {
        memcpy(a.byte, before_v4, sizeof before_v4);
        memcpy(a.byte + sizeof before_v4, &v4->sin_addr, 4);
    }
    return a;
}

bool address_read(const char *text, size_t n, struct address *a)
{
    struct sockaddr_in v4 = { .sin_family = AF_INET };
    char copy[ADDRESS_TEXT_MAX];

    if (n >= sizeof copy || memchr(text, '\0', n) != NULL)
        return false;
    memcpy(copy, text, n);
    copy[n] = '\0';
    if (inet_pton(AF_INET6, copy, a->byte) == 1)
        return true;
    if (inet_pton(AF_INET, copy, &v4.sin_addr) != 1)
        return false;
    *a = address_of((const struct sockaddr *)&v4);
    return true;
}

/* Nothing, or a colon and digits. */
static bool is_port(const char *text, size_t n)
{
    return n == 0 || (n > 1 && n <= 6 && text[0] == ':'
                      && strspn(text + 1, "0123456789") >= n - 1);
}

bool address_read_host(const char *text, size_t n, struct address *a)
{
    const char *end = n > 0 ? memchr(text, text[0] == '[' ? ']' : ':', n)
                            : NULL;

    if (end == NULL || address_read(text, n, a))
        return address_read(text, n, a);
    if (text[0] != '[')
        return is_port(end, n - (size_t)(end - text))
            && address_read(text, (size_t)(end - text), a);
    return is_port(end + 1, n - (size_t)(end + 1 - text))
        && address_read(text + 1, (size_t)(end - text - 1), a);
}

void address_print(const struct address *a, char text[ADDRESS_TEXT_MAX])
{
    static const struct address none;

    text[0] = '\0';
    if (is_v4(a))
        inet_ntop(AF_INET, a->byte + sizeof before_v4, text, ADDRESS_TEXT_MAX);
    else if (memcmp(a, &none, sizeof none) != 0)
        inet_ntop(AF_INET6, a->byte, text, ADDRESS_TEXT_MAX);
}

struct address address_network(const struct address *a, int bits)
{
    struct address network = *a;

    for (int i = bits / 8; i < 16; i++) {
        int kept = i > bits / 8 ? 0 : 0xff & ~(0xff >> bits % 8);

        network.byte[i] = (unsigned char)(network.byte[i] & kept);
    }
    return network;
}

struct address address_client(const struct address *a)
{
    return address_network(a, is_v4(a) ? 128 : 64);
}
