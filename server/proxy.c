/* SPDX-License-Identifier: MIT */
/*
 * proxy - see proxy.h. Each proxy appends the address that it was asked from,
 * so only what trusted ones appended can be believed: all from the end up to
 * the first that is not trusted. Read from the beginning, that is the last one.
 */
#include "proxy.h"

#include <stdlib.h>
#include <string.h>

#define MOST 64
#define BLANKS " \t"

static struct network {
    struct address address;
    int bits;
} networks[MOST];
static int count;

/* The next item of a list between commas, without blanks around it; false at
 * the end. */
static bool next_item(const char **at, const char **item, size_t *length)
{
    if (*at == NULL)
        return false;
    *item = *at + strspn(*at, BLANKS);
    *length = strcspn(*item, ",");
    *at = (*item)[*length] == ',' ? *item + *length + 1 : NULL;
    while (*length > 0 && strchr(BLANKS, (*item)[*length - 1]) != NULL)
        --*length;
    return true;
}

/* The digits behind "/", of at most so many bits; -1: none. */
static int read_bits(const char *text, size_t length, int most)
{
    size_t digits = strspn(text, "0123456789");
    int bits = digits > 0 && digits <= 3 ? atoi(text) : -1;

    return digits == length && bits <= most ? bits : -1;
}

static bool read_network(const char *text, size_t length, struct network *n)
{
    const char *slash = memchr(text, '/', length);
    size_t size = slash != NULL ? (size_t)(slash - text) : length;
    bool v4 = memchr(text, ':', size) == NULL;

    n->bits = 128;
    if (!address_read(text, size, &n->address))
        return false;
    if (slash != NULL)
        n->bits = read_bits(slash + 1, length - size - 1, v4 ? 32 : 128);
    if (n->bits < 0)
        return false;
    n->bits += slash != NULL && v4 ? 96 : 0;
    n->address = address_network(&n->address, n->bits);
    return true;
}

bool proxy_trust(const char *list)
{
    const char *item;
    size_t length;

    count = 0;
    if (strcmp(list, "none") == 0)
        return true;
    while (next_item(&list, &item, &length))
        if (count == MOST || !read_network(item, length, &networks[count++]))
            return false;
    return true;
}

bool proxy_is_trusted(const struct address *a)
{
    for (int i = 0; i < count; i++) {
        struct address network = address_network(a, networks[i].bits);

        if (memcmp(&network, &networks[i].address, sizeof network) == 0)
            return true;
    }
    return false;
}

void proxy_read(struct proxy_forwarded *f, const char *line)
{
    struct address a;
    const char *item;
    size_t length;

    while (next_item(&line, &item, &length)) {
        if (!address_read_host(item, length, &a))
            f->known = false;
        else if (!f->any || !proxy_is_trusted(&a)) {
            f->address = a;
            f->known = true;
        }
        f->any = true;
    }
}
