/* SPDX-License-Identifier: MIT */
/*
 * client - see client.h. Chains of entries behind a fixed table; one lock for
 * chains and for the list of those without references, which begins with the
 * one that has been there for longest. The last reference is given up under
 * the lock, so whoever finds an entry there can refer to it.
 */
#include "client.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "config.h"
#include "spin.h"

#define CHAINS 65536

static struct {
    atomic_bool taken;
    uint64_t key[2];
    struct client *chain[CHAINS];
    struct client *oldest, *newest;     /* without references */
    int64_t resting, count;
} table;

bool client_open(void)
{
    return getrandom(table.key, sizeof table.key, 0)
        == (ssize_t)sizeof table.key;
}

/* ---------------------------------------------------------------- SipHash */

static uint64_t rotated(uint64_t x, int bits)
{
    return x << bits | x >> (64 - bits);
}

static void sip_rounds(uint64_t v[4], int n)
{
    for (; n > 0; n--) {
        v[0] += v[1];
        v[2] += v[3];
        v[1] = rotated(v[1], 13) ^ v[0];
        v[3] = rotated(v[3], 16) ^ v[2];
        v[0] = rotated(v[0], 32);
        v[2] += v[1];
        v[0] += v[3];
        v[1] = rotated(v[1], 17) ^ v[2];
        v[3] = rotated(v[3], 21) ^ v[0];
        v[2] = rotated(v[2], 32);
    }
}

/* SipHash-2-4 of 16 bytes, in the byte order of the machine. */
static uint64_t hash_of(const struct address *a)
{
    uint64_t word[3] = { 0, 0, UINT64_C(16) << 56 };
    uint64_t v[4] = {
        table.key[0] ^ UINT64_C(0x736f6d6570736575),
        table.key[1] ^ UINT64_C(0x646f72616e646f6d),
        table.key[0] ^ UINT64_C(0x6c7967656e657261),
        table.key[1] ^ UINT64_C(0x7465646279746573)
    };

    memcpy(word, a->byte, sizeof a->byte);
    for (int i = 0; i < 3; i++) {
        v[3] ^= word[i];
        sip_rounds(v, 2);
        v[0] ^= word[i];
    }
    v[2] ^= 0xff;
    sip_rounds(v, 4);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* ---------------------------------------- the table; its lock is held here */

static struct client **place_of(const struct address *a)
{
    struct client **at = &table.chain[hash_of(a) % CHAINS];

    while (*at != NULL && memcmp(&(*at)->address, a, sizeof *a) != 0)
        at = &(*at)->next;
    return at;
}

static struct client *add(struct client **at, const struct address *a)
{
    struct client *c = calloc(1, sizeof *c);

    if (c == NULL)
        return NULL;
    c->address = *a;
    table.count++;
    return *at = c;
}

static void rest(struct client *c)
{
    c->older = table.newest;
    c->newer = NULL;
    *(c->older != NULL ? &c->older->newer : &table.oldest) = c;
    table.newest = c;
    table.resting++;
}

static void end_rest(struct client *c)
{
    *(c->older != NULL ? &c->older->newer : &table.oldest) = c->newer;
    *(c->newer != NULL ? &c->newer->older : &table.newest) = c->older;
    table.resting--;
}

static void forget(struct client *c)
{
    *place_of(&c->address) = c->next;
    table.count--;
    free(c);
}

/* Two for each that comes: so they become fewer. */
static void forget_some(int64_t now_ns)
{
    for (int i = 0; i < 2; i++) {
        struct client *c = table.oldest;

        if (c == NULL || (atomic_load(&c->due_ns) > now_ns
                          && table.resting <= CLIENT_RESTING_MAX))
            return;
        end_rest(c);
        forget(c);
    }
}

static void leave(struct client *c, int64_t now_ns)
{
    if (atomic_fetch_sub(&c->references, 1) > 1)
        return;
    if (atomic_load(&c->due_ns) > now_ns)
        rest(c);
    else
        forget(c);
    forget_some(now_ns);
}

/* --------------------------------------------------------------- for others */

struct client *client_find(const struct address *a)
{
    struct address own = address_client(a);
    struct client **at, *c;

    spin_take(&table.taken);
    at = place_of(&own);
    c = *at;
    if (c == NULL)
        c = add(at, &own);
    else if (atomic_load(&c->references) == 0)
        end_rest(c);
    if (c != NULL)
        atomic_fetch_add(&c->references, 1);
    spin_give(&table.taken);
    return c;
}

struct client *client_refer(struct client *c)
{
    atomic_fetch_add(&c->references, 1);
    return c;
}

void client_release(struct client *c, int64_t now_ns)
{
    long long n = atomic_load(&c->references);

    while (n > 1)
        if (atomic_compare_exchange_weak(&c->references, &n, n - 1))
            return;
    spin_take(&table.taken);
    leave(c, now_ns);
    spin_give(&table.taken);
}

/* A bucket that leaks --rate a second and holds one second's worth, but one
 * request at least. */
double client_must_wait_s(struct client *c, int64_t now_ns)
{
    int64_t step = (int64_t)(1e9 / config.rate);
    int64_t burst = step > 1000000000 ? step : 1000000000;
    long long due = atomic_load(&c->due_ns), next;

    do {
        next = (due > now_ns ? due : now_ns) + step;
        if (next - now_ns > burst)
            return (double)(next - now_ns - burst) * 1e-9;
    } while (!atomic_compare_exchange_weak(&c->due_ns, &due, next));
    return 0.0;
}

int64_t client_count(void)
{
    int64_t n;

    spin_take(&table.taken);
    n = table.count;
    spin_give(&table.taken);
    return n;
}
