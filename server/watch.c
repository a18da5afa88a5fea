/* SPDX-License-Identifier: MIT */
/*
 * watch - see watch.h. The list holds requests that are suspended, or whose
 * reply is streamed. While the watch acts on one, without the lock, it is
 * `current`, and watch_remove() waits: so a request never changes hands under
 * the watch's eyes, and its descriptor is its own.
 *
 * A peer that closed its sending side and one that closed altogether look
 * alike; but only the second answers bytes with a reset. So, before any byte
 * of the reply, it is sent "100 Continue", which means nothing to a client of
 * HTTP/1.1 that still listens; and again a few times, for it may go later, or
 * be a relay that learns only by writing that its own client went. To a client
 * of HTTP/1.0 each byte is the reply, but an urgent one: that is no part of
 * the stream for whoever did not ask for it (SO_OOBINLINE).
 */
#include "watch.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <ucontext.h>
#include <unistd.h>

#include "accept.h"
#include "config.h"
#include "guest.h"
#include "linger.h"
#include "listen.h"
#include "log.h"
#include "metrics.h"
#include "notify.h"
#include "queue.h"
#include "socket.h"

#define ROUND_MS 20         /* between two rounds while there are any */
#define REST_MS 1000        /* between two without */
#define GUESTS_MS 50        /* between two looks at the guests, if any */
#define TRIM_MS 1000
#define ASKS_MOST 4         /* some clients take no more than five answers */
#define ASK_AGAIN_NS INT64_C(250000000)    /* then four times that, ... */
#define SETTLE_MS 500       /* of silence, and kept connections may close */
#define CUT_MS 3000         /* for what is cut to be told so */

enum { FIXED = 2 + ACCEPT_DOORS };  /* polled: signals, wake, doors */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t acted;
    struct request *head;
    struct request *current;
    int64_t next_number;
    atomic_int count;
    pthread_t thread;
    int wake, signals;
    const char *ended_by;       /* name of the signal */
    int64_t trimmed_ms, guests_ms, notified_ms;
    int64_t watchdog_ms;        /* 0: none */
    atomic_int life;
} watch = { .lock = PTHREAD_MUTEX_INITIALIZER,
            .acted = PTHREAD_COND_INITIALIZER, .wake = -1, .signals = -1 };

enum life watch_life(void)
{
    return (enum life)atomic_load_explicit(&watch.life, memory_order_relaxed);
}

static void set_life(enum life life)
{
    atomic_store(&watch.life, (int)life);
    metrics_set(METRIC_DRAINING, 0, life >= LIFE_DRAINING);
}

/* --------------------------------------------------------------- the list */

void watch_wake(void)
{
    ssize_t n = write(watch.wake, &(uint64_t){ 1 }, sizeof(uint64_t));

    (void)n;    /* a full counter wakes as well */
}

void watch_add(struct request *r)
{
    bool first;

    pthread_mutex_lock(&watch.lock);
    first = watch.head == NULL;
    r->watch_previous = NULL;
    r->watch_next = watch.head;
    if (watch.head != NULL)
        watch.head->watch_previous = r;
    watch.head = r;
    r->watched = true;
    r->cut = false;
    r->watch_number = watch.next_number++;
    atomic_fetch_add(&watch.count, 1);
    pthread_mutex_unlock(&watch.lock);
    if (first)
        watch_wake();
}

static void unlink_request(struct request *r)
{
    if (!r->watched)
        return;
    r->watched = false;
    atomic_fetch_sub(&watch.count, 1);
    if (r->watch_previous != NULL)
        r->watch_previous->watch_next = r->watch_next;
    else
        watch.head = r->watch_next;
    if (r->watch_next != NULL)
        r->watch_next->watch_previous = r->watch_previous;
}

void watch_remove(struct request *r)
{
    bool self = pthread_equal(pthread_self(), watch.thread);

    pthread_mutex_lock(&watch.lock);
    while (watch.current == r && !self)
        pthread_cond_wait(&watch.acted, &watch.lock);
    unlink_request(r);
    pthread_mutex_unlock(&watch.lock);
}

/* ------------------------------------------------------------- one round */

struct eye {
    int64_t number;
    bool late;
};

/* What poll() looks at: signals, the wake-up, those that linger, requests.
 * Room for as many requests as were ever watched at a time. */
static struct pollfd *polled;
static struct eye *eyes;
static int room;

static void make_room(void)
{
    int wanted = atomic_load(&watch.count) + 64;
    struct pollfd *p;
    struct eye *e;

    if (wanted <= room + 32)
        return;
    p = realloc(polled, (size_t)(FIXED + LINGER_MAX + wanted) * sizeof *p);
    polled = p != NULL ? p : polled;
    e = realloc(eyes, (size_t)wanted * sizeof *e);
    eyes = e != NULL ? e : eyes;
    if (p != NULL && e != NULL)
        room = wanted;
}

static bool is_suspended(const struct request *r)
{
    int where = atomic_load(&r->where);

    return where == PHASE_QUEUE || where == PHASE_WORK;
}

static bool is_to_be_asked(const struct request *r, int64_t now_ns)
{
    if (r->asked == 0)
        return true;
    return r->asked < ASKS_MOST
        && now_ns - r->asked_ns >= ASK_AGAIN_NS << 2 * (r->asked - 1);
}

static int min_wait(int a, int64_t b)
{
    return b < 0 ? 0 : b < a ? (int)b : a;
}

/* Fills eyes[] and their part of polled[]; *wait_ms until the first deadline
 * at most. */
static int look_around(struct pollfd *at, int *wait_ms)
{
    int n = 0;
    int64_t now = request_now_ns();

    pthread_mutex_lock(&watch.lock);
    if (watch.head != NULL)
        *wait_ms = min_wait(*wait_ms, ROUND_MS);
    for (struct request *r = watch.head; r != NULL && n < room;
         r = r->watch_next) {
        if (r->cut && is_suspended(r))
            continue;
        short events = is_to_be_asked(r, now) ? POLLRDHUP : 0;

        eyes[n] = (struct eye){ r->watch_number, r->deadline_ns <= now };
        at[n] = (struct pollfd){ .fd = r->cut ? -1 : r->fd,
                                 .events = is_suspended(r) ? events : 0 };
        if (!r->cut)
            *wait_ms = eyes[n].late ? 0 :
                min_wait(*wait_ms, (r->deadline_ns - now) / 1000000 + 1);
        n++;
    }
    pthread_mutex_unlock(&watch.lock);
    return n;
}

static struct request *hold(int64_t number)
{
    struct request *r;

    pthread_mutex_lock(&watch.lock);
    for (r = watch.head; r != NULL && r->watch_number != number;)
        r = r->watch_next;
    watch.current = r;
    pthread_mutex_unlock(&watch.lock);
    return r;
}

static void release(void)
{
    pthread_mutex_lock(&watch.lock);
    watch.current = NULL;
    pthread_cond_broadcast(&watch.acted);
    pthread_mutex_unlock(&watch.lock);
}

static void ask_whether_there(struct request *r)
{
    static const char probe[] = "HTTP/1.1 100 Continue\r\n\r\n";
    size_t n = r->http_1_0 ? 1 : sizeof probe - 1;
    int how = r->http_1_0 ? MSG_OOB : 0;

    r->asked++;
    r->asked_ns = request_now_ns();
    if (is_suspended(r))
        send(r->fd, probe, n, how | MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* A reply that has not begun is cut, or replaced, by who would begin it. Where
 * a task is in hand, which may take its time, once is enough. */
static void cut(struct request *r, enum problem problem)
{
    r->cut = true;
    if (!is_suspended(r)
        && atomic_load_explicit(&r->begun, memory_order_relaxed))
        socket_cut(r->fd, r->http_1_0);
    queue_abort(r, problem);
}

static void act(const struct eye *eye, short events)
{
    struct request *r = hold(eye->number);

    if (r == NULL)
        return;
    if (events & POLLNVAL)
        watch_remove(r);    /* not its descriptor any more: touch nobody's */
    else if (events & (POLLERR | POLLHUP))
        cut(r, PROBLEM_CANCELLED);
    else if (eye->late)
        cut(r, PROBLEM_DEADLINE);
    else if (events & POLLRDHUP)
        ask_whether_there(r);
    release();
}

/* What is due from time to time. */
static void tend(void)
{
    int64_t now = request_now_ns() / 1000000;

    if (now - watch.guests_ms >= GUESTS_MS) {
        watch.guests_ms = now;
        guest_look(now * 1000000);
    }
    if (now - watch.trimmed_ms >= TRIM_MS) {
        watch.trimmed_ms = now;
        block_trim(now, (int64_t)(config.trim_after_s * 1e3));
    }
    if (watch.watchdog_ms > 0 && now - watch.notified_ms >= watch.watchdog_ms) {
        watch.notified_ms = now;
        notify_send("WATCHDOG=1");
    }
}

/* True: one that ends the service, and watch.ended_by says which. */
static bool read_signals(void)
{
    struct signalfd_siginfo info;
    bool ends = false;

    while (read(watch.signals, &info, sizeof info) == sizeof info) {
        if (info.ssi_signo == SIGHUP) {
            log_event(LOG_INFO, "reload", "SIGHUP: there is nothing to read "
                      "again");
            continue;
        }
        ends = true;
        watch.ended_by = info.ssi_signo == SIGINT ? "SIGINT"
            : info.ssi_signo == SIGQUIT ? "SIGQUIT" : "SIGTERM";
    }
    return ends;
}

/* One round of at most wait_ms. True: a signal came that ends the service. */
static bool round_once(int wait_ms)
{
    int lingering, n;
    uint64_t count;
    bool signalled;

    make_room();
    polled[0] = (struct pollfd){ .fd = watch.signals, .events = POLLIN };
    polled[1] = (struct pollfd){ .fd = watch.wake, .events = POLLIN };
    accept_look(polled + 2, &wait_ms);
    lingering = linger_look(polled + FIXED);
    wait_ms = min_wait(wait_ms, lingering > 0 ? 100
                       : guest_count() > 0 ? GUESTS_MS : REST_MS);
    if (watch.watchdog_ms > 0)
        wait_ms = min_wait(wait_ms, watch.watchdog_ms);
    n = look_around(polled + FIXED + lingering, &wait_ms);
    if (poll(polled, (nfds_t)(FIXED + lingering + n), wait_ms) < 0) {
        poll(NULL, 0, ROUND_MS);    /* too many, for the limit was lowered */
        return false;
    }
    signalled = polled[0].revents != 0 && read_signals();
    if (polled[1].revents != 0 && read(watch.wake, &count, sizeof count) < 0)
        return signalled;
    accept_act(polled + 2);
    linger_act(polled + FIXED, lingering);
    for (int i = 0; i < n; i++)
        if (eyes[i].late || polled[FIXED + lingering + i].revents != 0)
            act(&eyes[i], polled[FIXED + lingering + i].revents);
    tend();
    return signalled;
}

void watch_linger(int fd)
{
    linger_add(fd);
    watch_wake();
}

/* ------------------------------------------------------------- one life */

/* The threads that OpenBLAS started while it was loaded block nothing. One
 * that gets a signal blocks it from now on and sends it to the process again,
 * where it waits to be read. */
static void pass_on(int signal, siginfo_t *info, void *context)
{
    int before = errno;

    (void)info;
    sigaddset(&((ucontext_t *)context)->uc_sigmask, signal);
    kill(getpid(), signal);
    errno = before;
}

/* What is ignored, as nohup does, stays ignored. */
static void read_here(sigset_t *set, int signal)
{
    struct sigaction old, action = { .sa_sigaction = pass_on,
                                     .sa_flags = SA_SIGINFO | SA_RESTART };

    sigaddset(set, signal);
    if (sigaction(signal, NULL, &old) == 0 && old.sa_handler != SIG_IGN)
        sigaction(signal, &action, NULL);
}

bool watch_open(void)
{
    static const int read[] = { SIGTERM, SIGQUIT, SIGHUP, SIGINT };
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < sizeof read / sizeof *read; i++)
        read_here(&set, read[i]);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);   /* of the log: a lost line */
    signal(SIGUSR1, SIG_IGN);
    signal(SIGUSR2, SIG_IGN);
    watch.thread = pthread_self();
    watch.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    watch.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    make_room();
    return watch.signals >= 0 && watch.wake >= 0 && room > 0 && linger_open();
}

static int64_t now_ms(void)
{
    return request_now_ns() / 1000000;
}

/* Rounds until nobody is left or the time is over. True: a second signal.
 * After the cut nobody waits for uploads, but for who is told so. */
static bool wait_for_guests(int64_t until_ms, bool cut_off)
{
    int64_t now, settled_ms = now_ms() + SETTLE_MS, seen = listen_requests();

    while ((now = now_ms()) < until_ms) {
        int64_t left = linger_count()
            + (cut_off ? queue_length() : listen_in_flight());

        if (listen_requests() != seen && !cut_off) {
            seen = listen_requests();
            settled_ms = now + SETTLE_MS;
        }
        if (left == 0 && (guest_count() == 0 || now > settled_ms))
            return false;
        if (round_once(10))
            return true;
    }
    return false;
}

/* What is still in hand is told that it will not be finished. */
static void cut_all(void)
{
    int wait_ms = 0, n;

    make_room();
    n = look_around(polled + FIXED, &wait_ms);
    for (int i = 0; i < n; i++) {
        struct request *r = hold(eyes[i].number);

        if (r != NULL)
            cut(r, PROBLEM_DRAINING);
        release();
    }
    guest_end_uploads(PROBLEM_DRAINING);
}

static bool drain(void)
{
    int64_t until = now_ms() + (int64_t)(config.drain_delay_s * 1e3);

    set_life(LIFE_DRAINING);
    while (now_ms() < until)
        if (round_once((int)(until - now_ms())))
            return false;
    set_life(LIFE_CLOSING);
    listen_quiesce();
    until = now_ms() + (int64_t)(config.drain_timeout_s * 1e3);
    if (wait_for_guests(until, false))
        return false;
    if (listen_in_flight() == 0)
        return true;
    cut_all();
    return !wait_for_guests(now_ms() + CUT_MS, true);
}

int watch_serve(void)
{
    watch.watchdog_ms = notify_watchdog_ms();
    set_life(LIFE_SERVING);
    notify_send("READY=1");
    while (!round_once(REST_MS))
        continue;
    log_event(LOG_INFO, "drain", "%s: finishing the requests in hand",
              watch.ended_by);
    notify_send("STOPPING=1");
    if (!drain()) {
        log_event(LOG_WARNING, "end", "second signal: ending at once");
        _exit(EXIT_FAILED);
    }
    if (queue_length() > 0) {
        log_event(LOG_WARNING, "end", "%lld requests had to be dropped",
                  (long long)queue_length());
        _exit(EXIT_DRAINED);
    }
    return EXIT_DRAINED;
}
