/* SPDX-License-Identifier: MIT */
/*
 * listen - see listen.h. The library calls on_request() for the headers, for
 * every piece of the body, when the body is complete, and when a suspended
 * request comes back; a request ends in on_completed(), or with its
 * connection, whose begin and end on_guest() is.
 */
#include "listen.h"

#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "accept.h"
#include "admit.h"
#include "capacity.h"
#include "client.h"
#include "compute.h"
#include "config.h"
#include "guest.h"
#include "header.h"
#include "metrics.h"
#include "mhd.h"
#include "mhd_0_9.h"
#include "notify.h"
#include "queue.h"
#include "receive.h"
#include "refuse.h"
#include "reply.h"
#include "route.h"
#include "socket.h"
#include "watch.h"
#include "work.h"

#define NAGLE_NS 30000000   /* the kernel acknowledges after 40 ms */

static struct {
    struct MHD_Daemon *daemon, *admin;
    int fd, admin_fd;
    bool handed_over;
    char url[128], admin_url[128];
    struct capacity capacity;
    atomic_llong in_flight, requests;
} door = { .fd = -1, .admin_fd = -1 };

/* ------------------------------------------------------------ the walk in */

static struct guest *guest_of(struct MHD_Connection *c)
{
    return MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT)
        ->socket_context;
}

static struct request *enter(struct MHD_Connection *c, const char *url,
                             const char *method, const char *version)
{
    struct request *r = request_new();

    if (r == NULL)
        return NULL;
    atomic_fetch_add(&door.in_flight, 1);
    atomic_fetch_add(&door.requests, 1);
    r->connection = c;
    r->guest = guest_of(c);
    r->guest->request = r;
    r->fd = r->guest->fd;
    r->client = client_refer(r->guest->client);
    r->peer = r->guest->address;
    r->http_1_0 = strcmp(version, MHD_HTTP_VERSION_1_0) == 0;
    header_read(c, method, version, &r->headers);
    if (r->guest->trusted)
        request_find_client(r);
    request_identify(r, method, header_path(url));
    guest_does(r->guest, GUEST_UPLOADS, r->start_ns);
    return r;
}

static enum MHD_Result leave(struct request *r)
{
    return reply(r) ? MHD_YES : MHD_NO;
}

/* Not the probes: /metrics would always find itself. */
static void count_in_hand(const struct request *r, int64_t n)
{
    if (r->route == NULL || !r->route->probe)
        metrics_add(METRIC_INFLIGHT, 0, n);
}

static enum MHD_Result turn_away(struct request *r)
{
    refuse_headers(r);
    return MHD_NO;
}

/* The headers are here. A reply at this point would close the connection, so
 * one waits for the body, unless it is too much to swallow. */
static enum MHD_Result arrive(struct request *r)
{
    route(r);
    count_in_hand(r, 1);
    if (r->headers.bytes > HEADER_BYTES_MAX)
        return turn_away(r);
    admit(r);
    atomic_store_explicit(&r->guest->deadline_ns, r->deadline_ns,
                          memory_order_relaxed);
    if (r->fault.problem == PROBLEM_NONE)
        receive_begin(r);
    if (r->fault.problem == PROBLEM_NONE && r->expects_continue)
        mhd_0_9_continue(r->fd, r->headers.value[HEADER_EXPECT]);
    if (r->guest->nagles)
        socket_acknowledge(r->fd);
    if (r->fault.problem == PROBLEM_NONE || receive_swallows(r))
        return MHD_YES;
    r->guest->lingers = true;
    return leave(r);
}

/* ------------------------------------------------------------- the walk on */

static void to_queue(struct request *r, int64_t tasks)
{
    atomic_store(&r->where, PHASE_QUEUE);
    mhd_suspend(r->connection);
    watch_add(r);
    if (queue_push(r, tasks))
        return;
    if (atomic_load(&r->stop) == PROBLEM_NONE)
        queue_refuse(r);
    listen_resume(r);
}

/* It runs from when the body is here. */
static void set_deadline(struct request *r)
{
    int64_t own = r->mark_ns + (int64_t)(config.timeout_s * 1e9);

    if (own < r->deadline_ns)
        r->deadline_ns = own;
}

/* The body is here. */
static enum MHD_Result serve(struct request *r)
{
    int64_t tasks = 0;

    request_mark(r, STEP_RECEIVE);
    guest_does(r->guest, GUEST_WAITS, r->mark_ns);
    if (r->step_ns[STEP_RECEIVE] > NAGLE_NS)
        r->guest->nagles = true;
    if (r->chunked)
        header_read_trailer(r->connection, &r->headers);
    if (r->headers.bytes > HEADER_BYTES_MAX)
        return turn_away(r);
    if (r->fault.problem != PROBLEM_NONE || r->route->answer != NULL)
        return leave(r);
    if (r->deadline_ns <= r->mark_ns) {
        work_stop_request(r, PROBLEM_DEADLINE);
        return leave(r);
    }
    set_deadline(r);
    if (receive_is_small(r) && work_inline(r, &tasks))
        return leave(r);
    to_queue(r, tasks);
    return MHD_YES;
}

void listen_resume(struct request *r)
{
    if (!r->done) {
        watch_remove(r);
        r->done = true;
    }
    MHD_resume_connection(r->connection);
}

static enum MHD_Result come_back(struct request *r)
{
    mhd_resumed(r->connection);
    if (r->streamed && r->deadline_ns <= request_now_ns())
        queue_abort(r, PROBLEM_DEADLINE);
    if (atomic_load(&r->stop) == PROBLEM_CANCELLED)
        return MHD_NO;
    if (r->streamed) {
        atomic_store(&r->where, PHASE_REPLY);   /* is asked nothing now */
        watch_add(r);
    }
    return leave(r);
}

static enum MHD_Result take_piece(struct request *r, const char *data,
                                  size_t *size)
{
    bool goes_on = r->deadline_ns > request_now_ns();

    if (goes_on)
        goes_on = receive(r, data, *size);
    else
        work_stop_request(r, PROBLEM_DEADLINE);
    atomic_store_explicit(&r->guest->bytes, r->received_bytes,
                          memory_order_relaxed);
    *size = 0;
    if (goes_on)
        return MHD_YES;
    r->guest->lingers = true;
    reply_raw(r);
    return MHD_NO;
}

static enum MHD_Result on_request(void *admin, struct MHD_Connection *c,
                                  const char *url, const char *method,
                                  const char *version, const char *data,
                                  size_t *size, void **state)
{
    struct request *r = *state;

    if (r == NULL) {
        r = *state = enter(c, url, method, version);
        if (r != NULL)
            r->admin = admin != NULL;
        return r != NULL ? arrive(r) : MHD_NO;
    }
    if (*size > 0)
        return take_piece(r, data, size);
    return r->done ? come_back(r) : serve(r);
}

/* ------------------------------------------------------------- the way out */

static void end_request(struct request *r, bool complete)
{
    r->guest->request = NULL;
    reply_record(r, complete);
    guest_does(r->guest, GUEST_KEPT, r->mark_ns);
    count_in_hand(r, -1);
    if (!r->streamed || queue_leave(r))
        request_free(r);
    atomic_fetch_sub(&door.in_flight, 1);
}

static void on_completed(void *none, struct MHD_Connection *c, void **state,
                         enum MHD_RequestTerminationCode end)
{
    struct request *r = *state;

    (void)none;
    (void)c;
    if (r == NULL)
        return;
    *state = NULL;
    if (r->watched)
        watch_remove(r);
    if (atomic_load(&r->where) == PHASE_UPLOAD && r->status == 0)
        refuse_rest(r, end == MHD_REQUEST_TERMINATED_WITH_ERROR);
    else if (end == MHD_REQUEST_TERMINATED_WITH_ERROR && mhd_take_said().lost)
        refuse_without_room(r);
    end_request(r, end == MHD_REQUEST_TERMINATED_COMPLETED_OK);
}

/* The library gives a connection up without on_completed() if epoll_ctl()
 * fails, or if it refuses a chunk line twice; refuse.h. */
static void give_up(struct request *r)
{
    if (r->watched)
        watch_remove(r);
    if (r->status == 0)
        refuse_given_up(r);
    else if (r->streamed && atomic_load(&r->begun))
        socket_cut(r->fd, r->http_1_0);
    end_request(r, false);
}

static int descriptor_of(struct MHD_Connection *c)
{
    return MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD)
        ->connect_fd;
}

/* Bytes that came after both sides are shut would be answered by a reset. */
static void linger(const struct guest *g)
{
    if (atomic_load(&g->verdict) == PROBLEM_NONE)
        shutdown(g->fd, SHUT_WR);
    watch_linger(dup(g->fd));
}

static void on_guest(void *none, struct MHD_Connection *c, void **context,
                     enum MHD_ConnectionNotificationCode what)
{
    struct guest *g = *context;
    struct mhd_said said;

    (void)none;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        *context = guest_begins(descriptor_of(c));
        return;
    }
    if (g->request != NULL)
        give_up(g->request);
    said = mhd_take_said();
    if (said.status != 0)
        reply_record_foreign(g->address, said.lost ? 0 : said.status);
    if (g->lingers || socket_unread(g->fd) > 0)
        linger(g);
    guest_leave(g, request_now_ns());
}

/* The library shares them out among its threads by their descriptors, and
 * closes one that it cannot take. */
static void let_in_by(struct MHD_Daemon *daemon, int fd,
                      const struct sockaddr_storage *peer)
{
    const struct sockaddr *address = (const struct sockaddr *)peer;
    struct guest *g = guest_enter(fd, address, daemon == door.admin,
                                  request_now_ns());

    if (g == NULL)
        close(fd);
    else if (MHD_add_connection(daemon, fd, address, sizeof *peer) != MHD_YES)
        guest_leave(g, request_now_ns());
}

static void let_in(int fd, const struct sockaddr_storage *peer)
{
    let_in_by(door.daemon, fd, peer);
}

static void let_in_admin(int fd, const struct sockaddr_storage *peer)
{
    let_in_by(door.admin, fd, peer);
}

/* ----------------------------------------------------------- open and shut */

static bool open_house(void)
{
    int64_t descriptors = socket_raise_descriptors();

    door.capacity = capacity_of(descriptors, compute_budget());
    return guest_open(descriptors, &door.capacity);
}

static int open_admin(char *error, size_t size)
{
    int status = 0;

    if (config.admin_port >= 0)
        status = socket_listen(config.host, (int)config.admin_port,
                               &door.admin_fd, error, size);
    if (door.admin_fd >= 0)
        socket_url(door.admin_fd, door.admin_url, sizeof door.admin_url);
    return status;
}

int listen_open(char *error, size_t size)
{
    int status;

    door.fd = notify_socket();
    door.handed_over = door.fd >= 0;
    status = door.handed_over ? socket_adopt(door.fd, error, size)
        : socket_listen(config.host, (int)config.port, &door.fd, error, size);
    if (status == 0)
        status = open_admin(error, size);
    if (status != 0)
        return status;
    socket_url(door.fd, door.url, sizeof door.url);
    if (client_open() && open_house())
        return 0;
    snprintf(error, size, "no memory for the connections, or no random "
             "numbers (getrandom)");
    return EXIT_FAILED;
}

const char *listen_url(void)
{
    return door.url;
}

const char *listen_admin_url(void)
{
    return door.admin_url;
}

const char *listen_library(void)
{
    return MHD_get_version();
}

/* A path with a NUL stays as it is, or it would end there and pass. */
static size_t unescape(void *none, struct MHD_Connection *c, char *text)
{
    (void)none;
    (void)c;
    return strstr(text, "%00") != NULL ? strlen(text) : MHD_http_unescape(text);
}

/* One door and its threads; admin: not NULL for the second, which has a thread
 * of its own. In a hurry (turbo), the library closes without shutting its
 * sending side before, which linger() decides. accept.h minds the limit: a
 * thread that met one of the library's own, which are for each thread, would
 * close that guest without a word to on_guest() and then wait for ever. */
static struct MHD_Daemon *open_door(int64_t threads, void *admin)
{
    struct MHD_OptionItem pool[] = {
        { threads > 1 ? MHD_OPTION_THREAD_POOL_SIZE : MHD_OPTION_END,
          (intptr_t)threads, NULL },
        { MHD_OPTION_END, 0, NULL }
    };

    return MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC
        | MHD_USE_NO_LISTEN_SOCKET | MHD_USE_TURBO | MHD_USE_ERROR_LOG, 0,
        NULL, NULL, on_request, admin,
        MHD_OPTION_EXTERNAL_LOGGER, mhd_listen, NULL,
        MHD_OPTION_ARRAY, pool,
        MHD_OPTION_STRICT_FOR_CLIENT, mhd_is_0_9() ? 0 : 1,
        MHD_OPTION_CONNECTION_LIMIT, UINT32_MAX,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_BYTES,
        MHD_OPTION_UNESCAPE_CALLBACK, unescape, NULL,
        MHD_OPTION_NOTIFY_COMPLETED, on_completed, NULL,
        MHD_OPTION_NOTIFY_CONNECTION, on_guest, NULL, MHD_OPTION_END);
}

int listen_start(char *error, size_t size)
{
    door.daemon = open_door(config.io_threads, NULL);
    accept_at(door.fd, door.capacity.open, let_in);
    if (door.admin_fd >= 0) {
        door.admin = open_door(1, &door);
        accept_at(door.admin_fd, door.capacity.admin_open, let_in_admin);
    }
    if (door.daemon != NULL && (door.admin != NULL || door.admin_fd < 0))
        return 0;
    snprintf(error, size, "cannot start %lld I/O threads",
             (long long)config.io_threads);
    return EXIT_FAILED;
}

/* Who waits at a socket that was handed over is for the next daemon. */
void listen_quiesce(void)
{
    if (door.handed_over)
        accept_leave(door.fd);
    else
        accept_shut(door.fd);
}

void listen_stop(void)
{
    MHD_stop_daemon(door.daemon);
    if (door.admin != NULL)
        MHD_stop_daemon(door.admin);
}

int64_t listen_limit(void)
{
    return door.capacity.served;
}

int64_t listen_in_flight(void)
{
    return atomic_load(&door.in_flight);
}

int64_t listen_requests(void)
{
    return atomic_load(&door.requests);
}
