/* SPDX-License-Identifier: MIT */
/*
 * guest - see guest.h. Both an upload and a reader have to move the bytes of
 * --min-rate-after at the least rate within that time, again and again: a
 * window begins when they have. With no least rate they must not be silent for
 * --idle-timeout. A reader's time does not run while the kernel holds no bytes
 * for it; and its window is not shorter than READER_STEP_BYTES take, for what
 * a peer has read is told to us in steps as large as its buffer.
 *
 * Whoever has sent what we have not read yet is not late: we are. And if the
 * watch itself has not run for LATE_NS, everybody's time begins again.
 *
 * Whoever is ended has its receiving side shut: the HTTP library then sees
 * the end of the connection and comes out with it on the guest's own thread.
 * It has to be told the peer's own end as well, for it overlooks one that
 * came together with the last bytes.
 */
#include "guest.h"

#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "arena.h"
#include "capacity.h"
#include "client.h"
#include "config.h"
#include "metrics.h"
#include "proxy.h"
#include "socket.h"
#include "spin.h"

#define RESERVED_TIMEOUT_S 1.0
#define UPLOAD_BYTES_A_S 262144.0
#define SILENT_NS 500000000 /* whoever sends meets its deadline by itself */
#define LATE_NS 1000000000
#define TURNS 8             /* looks, one of which is at a new one's end */
#define READER_STEP_BYTES 131072.0

static struct {
    struct guest *place;
    int64_t places, limit, spare_limit;
    atomic_llong count, served, spare, leaving;
    atomic_int top;                     /* places in use are below it */
    int64_t looked_ns, woke_ns;         /* the watch; after a long silence */
    unsigned looks;
} house;

bool guest_open(int64_t descriptors, const struct capacity *capacity)
{
    house.place = calloc((size_t)descriptors, sizeof *house.place);
    house.places = descriptors;
    house.limit = capacity->served;
    house.spare_limit = capacity->probes;
    return house.place != NULL;
}

/* ----------------------------------------------------------------- places */

static atomic_llong *places_of(const struct guest *g)
{
    return g->reserved ? &house.spare : &house.served;
}

static bool evict(enum idle list, int64_t now_ns)
{
    if (!idle_evict(list, now_ns))
        return false;
    atomic_fetch_sub(list == IDLE_SPARE ? &house.spare : &house.served, 1);
    atomic_fetch_add(&house.leaving, 1);
    return true;
}

/* For one more, who has so many from its own address beside it. False: only
 * for a probe. */
static bool has_place(int64_t same, int64_t now_ns)
{
    if (config.connections_per_address > 0
        && same >= config.connections_per_address)
        return false;
    return atomic_load(&house.served) < house.limit || evict(IDLE_KEPT, now_ns)
        || evict(IDLE_NEW, now_ns);
}

/* Is its place one above the limits? */
static bool take_place(const struct client *client, bool trusted,
                       int64_t now_ns)
{
    int64_t same = trusted ? 0 : atomic_load(&client->connections);
    bool spare = !has_place(same, now_ns);

    if (spare && atomic_load(&house.spare) >= house.spare_limit)
        evict(IDLE_SPARE, now_ns);
    atomic_fetch_add(spare ? &house.spare : &house.served, 1);
    return spare;
}

static enum idle list_of(const struct guest *g, enum guest_doing doing)
{
    bool is_new = doing == GUEST_ENTERS || doing == GUEST_NEW;

    if (g->admin || g->ended || (!is_new && doing != GUEST_KEPT))
        return IDLE_NONE;
    return g->reserved ? IDLE_SPARE : is_new ? IDLE_NEW : IDLE_KEPT;
}

/* ------------------------------------------------------------ come and go */

static struct guest *guest_at(int fd)
{
    return fd < house.places ? &house.place[fd] : NULL;
}

static uint64_t inode_of(int fd)
{
    struct stat file;

    return fstat(fd, &file) == 0 ? file.st_ino : 0;
}

struct guest *guest_enter(int fd, const struct sockaddr *peer, bool admin,
                          int64_t now_ns)
{
    struct guest *g = guest_at(fd);
    struct address address = address_of(peer);
    struct client *client = g != NULL ? client_find(&address) : NULL;
    int top = atomic_load(&house.top);
    bool reserved, trusted = proxy_is_trusted(&address);

    if (client == NULL)
        return NULL;
    if (atomic_load(&g->doing) != GUEST_ABSENT)
        guest_leave(g, now_ns);     /* its number is free: so it is lost */
    reserved = !admin && take_place(client, trusted, now_ns);
    atomic_fetch_add(&client->connections, 1);
    atomic_fetch_add(&house.count, 1);
    spin_take(&g->held);
    address_print(&address, g->address);
    g->client = client;
    g->fd = fd;
    g->inode = inode_of(fd);
    g->request = NULL;
    g->lingers = g->nagles = false;
    atomic_store(&g->ended, false);
    g->admin = admin;
    g->trusted = trusted;
    g->reserved = reserved;
    g->window_ns = 0;
    atomic_store(&g->verdict, PROBLEM_NONE);
    spin_give(&g->held);
    while (top <= fd && !atomic_compare_exchange_weak(&house.top, &top,
                                                      fd + 1))
        continue;
    guest_does(g, GUEST_ENTERS, now_ns);
    block_charge((ptrdiff_t)CONNECTION_BYTES);
    metrics_add(METRIC_CONNECTIONS, 0, 1);
    return g;
}

struct guest *guest_begins(int fd)
{
    struct guest *g = guest_at(fd);

    guest_does(g, GUEST_NEW, atomic_load(&g->since_ns));
    spin_take(&g->held);
    if (g->ended)
        shutdown(g->fd, SHUT_RD);
    spin_give(&g->held);
    return g;
}

void guest_leave(struct guest *g, int64_t now_ns)
{
    spin_take(&g->held);
    atomic_store(&g->doing, GUEST_ABSENT);
    if (g->ended)
        atomic_fetch_sub(&house.leaving, 1);
    else if (!g->admin)
        atomic_fetch_sub(places_of(g), 1);
    spin_give(&g->held);
    idle_join(g, IDLE_NONE);
    atomic_fetch_sub(&g->client->connections, 1);
    client_release(g->client, now_ns);
    atomic_fetch_sub(&house.count, 1);
    block_charge(-(ptrdiff_t)CONNECTION_BYTES);
    metrics_add(METRIC_CONNECTIONS, 0, -1);
}

void guest_does(struct guest *g, enum guest_doing doing, int64_t now_ns)
{
    enum idle list = list_of(g, doing);

    atomic_store_explicit(&g->since_ns, now_ns, memory_order_relaxed);
    atomic_store_explicit(&g->bytes, 0, memory_order_relaxed);
    atomic_store_explicit(&g->deadline_ns, INT64_MAX, memory_order_relaxed);
    atomic_store_explicit(&g->doing, (int)doing, memory_order_release);
    idle_join(g, list);
}

bool guest_is_connected(const struct guest *g)
{
    struct sockaddr_storage peer;
    socklen_t size = sizeof peer;

    return getpeername(g->fd, (struct sockaddr *)&peer, &size) == 0;
}

int64_t guest_count(void)
{
    return atomic_load(&house.count);
}

int64_t guest_leaving(void)
{
    return atomic_load(&house.leaving);
}

/* -------------------------------------------------------- the watch's look */

static void end(struct guest *g, enum problem verdict)
{
    atomic_store(&g->verdict, (int)verdict);
    shutdown(g->fd, SHUT_RD);
}

static void begin_window(struct guest *g, int64_t since_ns, int64_t bytes)
{
    g->window_ns = since_ns;
    g->window_bytes = bytes;
}

/* When the guest began to do what it does; or we to look again. */
static int64_t began_ns(const struct guest *g)
{
    int64_t since = atomic_load(&g->since_ns);

    return since > house.woke_ns ? since : house.woke_ns;
}

static double window_s(double step_bytes)
{
    double step_s = step_bytes / (double)config.min_rate_bytes;

    return step_s > config.min_rate_after_s ? step_s : config.min_rate_after_s;
}

/* bytes: moved so far, as we are told in such steps. */
static bool is_below_rate(struct guest *g, int64_t bytes, double step_bytes,
                          int64_t now_ns)
{
    bool any = config.min_rate_bytes == 0;
    double most_s = any ? config.idle_timeout_s : window_s(step_bytes);
    double least = any ? 1.0 : (double)config.min_rate_bytes * most_s;
    double moved = (double)(bytes - g->window_bytes);
    double seconds = (double)(now_ns - g->window_ns) * 1e-9;

    if (moved < 0.0 || moved >= least)
        begin_window(g, now_ns, bytes);
    else
        return seconds > most_s;
    return false;
}

static bool sends_too_slowly(struct guest *g, int64_t now_ns)
{
    int64_t bytes = atomic_load(&g->bytes);

    if (g->window_ns < atomic_load(&g->since_ns))
        begin_window(g, atomic_load(&g->since_ns), 0);
    if (g->window_ns < house.woke_ns)
        begin_window(g, now_ns, bytes);
    return is_below_rate(g, bytes, 1.0, now_ns);
}

/* For what came at this rate it always has the time. */
static bool takes_too_long(const struct guest *g, double seconds)
{
    double fair_s = (double)atomic_load(&g->bytes) / UPLOAD_BYTES_A_S;

    return seconds > config.upload_timeout_s && seconds > fair_s;
}

static bool ask_kernel(const struct guest *g, struct tcp_info *info)
{
    socklen_t size = sizeof *info;

    return getsockopt(g->fd, IPPROTO_TCP, TCP_INFO, info, &size) == 0;
}

int64_t guest_received_bytes(const struct guest *g)
{
    struct tcp_info info = { .tcpi_state = 0 };

    return ask_kernel(g, &info) ? (int64_t)info.tcpi_bytes_received : -1;
}

static bool reads_too_slowly(struct guest *g, int64_t now_ns)
{
    struct tcp_info info = { .tcpi_state = 0 };
    int waiting = 0;

    if (ioctl(g->fd, SIOCOUTQ, &waiting) != 0 || !ask_kernel(g, &info))
        return false;
    if (waiting == 0 || g->window_ns < began_ns(g))
        begin_window(g, now_ns, (int64_t)info.tcpi_bytes_acked);
    return is_below_rate(g, (int64_t)info.tcpi_bytes_acked, READER_STEP_BYTES,
                         now_ns);
}

/* Above the limits one has no time to say nothing. */
static double header_timeout_s(const struct guest *g)
{
    return g->reserved && config.header_timeout_s > RESERVED_TIMEOUT_S
        ? RESERVED_TIMEOUT_S : config.header_timeout_s;
}

/* Its end is here, and nothing before it that is not read yet. */
static bool has_left(const struct guest *g)
{
    char byte;

    return recv(g->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

/* If its end came together with the last request, the library has not noticed
 * it and waits for more. Whether a next one has begun is seen by the bytes that
 * came, once in a time-out; then it has another to be complete. */
static bool is_kept_in_vain(struct guest *g, int64_t now_ns)
{
    double timeout_ns = header_timeout_s(g) * 1e9;
    struct tcp_info info = { .tcpi_state = 0 };
    bool first = g->window_ns < began_ns(g);

    if (!first && (double)(now_ns - g->window_ns) < timeout_ns)
        return false;
    if (first ? has_left(g) : g->begun)
        return true;
    if (!ask_kernel(g, &info))
        return false;
    g->begun = !first && (int64_t)info.tcpi_bytes_received != g->window_bytes;
    begin_window(g, now_ns, (int64_t)info.tcpi_bytes_received);
    return false;
}

/* There may be thousands of new ones, and nothing waits for them. */
static bool is_its_turn(const struct guest *g)
{
    return (house.looks + (unsigned)g->fd) % TURNS == 0;
}

static bool is_late(struct guest *g, bool late)
{
    return late && socket_unread(g->fd) == 0;
}

static void look_at(struct guest *g, int64_t now_ns)
{
    double seconds = (double)(now_ns - began_ns(g)) * 1e-9;

    if (atomic_load(&g->verdict) != PROBLEM_NONE) {
        shutdown(g->fd, SHUT_RD);   /* its thread has not seen that yet */
        return;
    }
    switch ((enum guest_doing)atomic_load(&g->doing)) {
    case GUEST_NEW:
        if (g->ended || is_late(g, seconds > header_timeout_s(g))
            || (is_its_turn(g) && has_left(g)))
            end(g, PROBLEM_NONE);
        break;
    case GUEST_KEPT:
        if (g->ended || is_late(g, seconds > config.idle_timeout_s
                                || is_kept_in_vain(g, now_ns)))
            end(g, PROBLEM_NONE);
        break;
    case GUEST_UPLOADS:
        if (has_left(g))
            end(g, PROBLEM_NONE);
        else if (atomic_load(&g->deadline_ns) <= now_ns - SILENT_NS)
            end(g, PROBLEM_DEADLINE);
        else if (is_late(g, sends_too_slowly(g, now_ns)))
            end(g, PROBLEM_BODY_STALLED);
        else if (is_late(g, takes_too_long(g, seconds)))
            end(g, PROBLEM_UPLOAD_TIMEOUT);
        break;
    case GUEST_READS:
        if (reads_too_slowly(g, now_ns))
            socket_cut(g->fd, true);
        break;
    default:
        break;
    }
}

/* The library closed it before it began with it. The descriptor is asked
 * first: what began and was closed since does something else by then. */
static bool is_lost(const struct guest *g)
{
    return inode_of(g->fd) != g->inode
        && atomic_load(&g->doing) == GUEST_ENTERS;
}

static bool is_looked_at(int doing)
{
    return doing != GUEST_ABSENT && doing != GUEST_ENTERS
        && doing != GUEST_WAITS;
}

void guest_look(int64_t now_ns)
{
    int top = atomic_load(&house.top);

    if (now_ns - house.looked_ns > LATE_NS)
        house.woke_ns = now_ns;
    house.looked_ns = now_ns;
    house.looks++;
    for (int i = 0; i < top; i++) {
        struct guest *g = &house.place[i];
        int doing = atomic_load_explicit(&g->doing, memory_order_relaxed);

        if (doing == GUEST_ENTERS && is_lost(g))
            guest_leave(g, now_ns);
        if (!is_looked_at(doing))
            continue;
        spin_take(&g->held);
        look_at(g, now_ns);
        spin_give(&g->held);
    }
}

void guest_end_uploads(enum problem verdict)
{
    int top = atomic_load(&house.top);

    for (int i = 0; i < top; i++) {
        struct guest *g = &house.place[i];

        spin_take(&g->held);
        if (atomic_load(&g->doing) == GUEST_UPLOADS)
            end(g, verdict);
        spin_give(&g->held);
    }
}
