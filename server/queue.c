/* SPDX-License-Identifier: MIT */
/*
 * queue - the ring, its lock, and the bookkeeping of tasks. A request is in
 * the ring exactly while a worker could take something from it; the head is
 * served and goes to the tail. Knows neither stages nor sockets: what a
 * batch is, and what happens to a request in the end, is told by others.
 */
#include "queue.h"

#include <pthread.h>

#include "metrics.h"

static struct {
    pthread_mutex_t lock;
    pthread_cond_t work;
    struct request *head;       /* circular, NULL when empty */
    int idle;                   /* workers that wait */
    bool closed;
    int64_t length, bound;
    int lanes;
    void (*end)(struct request *r);
    double service_s;           /* moving average between two ends, idle
                                   times apart */
    int64_t since_ns;           /* the last end, or of idleness */
} queue = { .lock = PTHREAD_MUTEX_INITIALIZER,
            .work = PTHREAD_COND_INITIALIZER };

void queue_open(int64_t bound, int lanes, void (*end)(struct request *r))
{
    queue.bound = bound;
    queue.lanes = lanes;
    queue.end = end;
    queue.head = NULL;
    queue.closed = false;
    queue.length = 0;
    queue.service_s = 0.0;
}

/* ------------------------------------------------------------- the ring */

static void ring_insert(struct request *r)
{
    struct work *w = &r->work;

    if (queue.head == NULL) {
        w->next = w->previous = queue.head = r;
    } else {
        w->next = queue.head;
        w->previous = queue.head->work.previous;
        w->previous->work.next = r;
        queue.head->work.previous = r;
    }
    w->in_ring = true;
}

static void wake_worker(void)
{
    if (queue.head != NULL && queue.idle > 0)
        pthread_cond_signal(&queue.work);
}

static void ring_remove(struct request *r)
{
    struct work *w = &r->work;

    if (!w->in_ring)
        return;
    w->in_ring = false;
    if (w->next == r) {
        queue.head = NULL;
        return;
    }
    w->next->work.previous = w->previous;
    w->previous->work.next = w->next;
    if (queue.head == r)
        queue.head = w->next;
}

static int64_t task_limit(const struct work *w)
{
    if (w->window > 0 && w->first + w->window < w->batch)
        return w->first + w->window;
    return w->batch;
}

static bool takeable(const struct request *r)
{
    const struct work *w = &r->work;

    if (w->ended || atomic_load_explicit(&r->stop, memory_order_relaxed))
        return false;
    if (w->prepare)
        return w->running == 0;
    return w->parked_lanes != 0
        || (w->taken < task_limit(w) && w->free_lanes != 0);
}

/* In the ring if and only if something can be taken. */
static void ring_settle(struct request *r)
{
    if (takeable(r) && !r->work.in_ring)
        ring_insert(r);
    else if (!takeable(r))
        ring_remove(r);
}

/* --------------------------------------------------------- taking a task */

static int lowest_bit(uint64_t bits)
{
    return __builtin_ctzll(bits);
}

static void take_from(struct request *r, struct job *job)
{
    struct work *w = &r->work;

    *job = (struct job){ .request = r, .prepare = w->prepare };
    w->running++;
    if (w->prepare)
        return;
    if (w->parked_lanes != 0) {
        job->lane = lowest_bit(w->parked_lanes);
        w->parked_lanes &= ~(UINT64_C(1) << job->lane);
        job->task = w->lane_task[job->lane];
        return;
    }
    job->lane = lowest_bit(w->free_lanes);
    w->free_lanes &= ~(UINT64_C(1) << job->lane);
    job->task = w->lane_task[job->lane] = w->taken++;
}

static void take(struct job *job)
{
    struct request *r = queue.head;

    take_from(r, job);
    if (takeable(r))
        queue.head = r->work.next;
    else
        ring_remove(r);
    wake_worker();
}

/* ------------------------------------------------------ handing a job in */

static void count_end(void)
{
    int64_t now = request_now_ns();
    double passed = (double)(now - queue.since_ns) * 1e-9;
    double weight = queue.service_s > 0.0 ? 0.1 : 1.0;

    queue.length--;
    metrics_add(METRIC_QUEUE_DEPTH, 0, -1);
    queue.service_s += weight * (passed - queue.service_s);
    queue.since_ns = now;
}

/* Nobody works on r any more. True: the caller must end it, unlocked. */
static bool end_if_over(struct request *r)
{
    struct work *w = &r->work;

    if (w->ended || w->running > 0)
        return false;
    ring_remove(r);
    w->ended = true;
    count_end();
    return true;
}

static void batch_begin(struct work *w, int64_t tasks)
{
    w->prepare = false;
    w->batch = tasks;
    w->unfinished = tasks;
    w->taken = w->first = 0;
    w->written = 0;
}

/* True: r's walk is over. */
static bool hand_in(const struct job *job)
{
    struct request *r = job->request;
    struct work *w = &r->work;

    w->running--;
    if (job->prepare) {
        if (job->tasks == 0)
            return end_if_over(r);
        batch_begin(w, job->tasks);
    } else if (!job->finished) {
        w->parked_lanes |= UINT64_C(1) << job->lane;
    } else {
        w->free_lanes |= UINT64_C(1) << job->lane;
        w->written |= UINT64_C(1) << job->task % 64;
        w->prepare = --w->unfinished == 0;
    }
    ring_settle(r);
    return atomic_load(&r->stop) != PROBLEM_NONE && end_if_over(r);
}

/* Whether the reader of a streamed reply sleeps and has cause to wake. */
static bool wakes_reader(struct request *r)
{
    struct work *w = &r->work;

    if (!w->waiting)
        return false;
    if (!w->ended && (w->written >> w->first % 64 & 1) == 0)
        return false;
    w->waiting = false;
    return true;
}

/* Locked on entry and on return; calls out without the lock. */
static void finish_job(struct job *job)
{
    struct request *r = job->request;
    bool over = hand_in(job);
    bool streamed = r->work.window > 0;
    bool free_it = over && r->work.left;
    bool call = streamed ? wakes_reader(r) : over;

    job->request = NULL;
    if (!free_it && !call)
        return;
    pthread_mutex_unlock(&queue.lock);
    if (free_it)
        request_free(r);
    else
        queue.end(r);
    pthread_mutex_lock(&queue.lock);
}

bool queue_next(struct job *job)
{
    bool got;

    pthread_mutex_lock(&queue.lock);
    if (job->request != NULL)
        finish_job(job);
    while (queue.head == NULL && !queue.closed) {
        queue.idle++;
        pthread_cond_wait(&queue.work, &queue.lock);
        queue.idle--;
    }
    got = queue.head != NULL;
    if (got)
        take(job);
    pthread_mutex_unlock(&queue.lock);
    return got;
}

/* ------------------------------------------------ putting in, taking out */

static uint64_t lanes_mask(void)
{
    return queue.lanes >= 64 ? UINT64_MAX
                             : (UINT64_C(1) << queue.lanes) - 1;
}

bool queue_push(struct request *r, int64_t tasks)
{
    bool in;

    pthread_mutex_lock(&queue.lock);
    in = !queue.closed && queue.length < queue.bound
        && atomic_load(&r->stop) == PROBLEM_NONE;
    if (in) {
        if (queue.length++ == 0)
            queue.since_ns = request_now_ns();
        metrics_add(METRIC_QUEUE_DEPTH, 0, 1);
        r->work = (struct work){ .queued = true, .prepare = true,
                                 .free_lanes = lanes_mask() };
        if (tasks > 0)
            batch_begin(&r->work, tasks);
        ring_insert(r);
        wake_worker();
    }
    pthread_mutex_unlock(&queue.lock);
    return in;
}

void queue_abort(struct request *r, enum problem problem)
{
    struct work *w = &r->work;
    int none = PROBLEM_NONE;
    bool call = false;

    pthread_mutex_lock(&queue.lock);
    if (!w->ended)
        atomic_compare_exchange_strong(&r->stop, &none, (int)problem);
    if (w->queued && !w->ended) {
        ring_remove(r);
        call = end_if_over(r);
        if (w->window > 0)
            call = wakes_reader(r);
    }
    pthread_mutex_unlock(&queue.lock);
    if (call)
        queue.end(r);
}

bool queue_leave(struct request *r)
{
    int none = PROBLEM_NONE;

    pthread_mutex_lock(&queue.lock);
    atomic_compare_exchange_strong(&r->stop, &none, (int)PROBLEM_CANCELLED);
    ring_remove(r);
    end_if_over(r);
    r->work.left = true;
    bool ended = r->work.ended;
    pthread_mutex_unlock(&queue.lock);
    return ended;
}

/* ------------------------------------------------------ streamed replies */

void queue_window(struct request *r, int64_t window)
{
    pthread_mutex_lock(&queue.lock);
    r->work.window = window;
    r->work.first = 0;
    r->work.written = 0;
    pthread_mutex_unlock(&queue.lock);
    queue.end(r);
}

enum queue_piece queue_look(struct request *r, bool wait)
{
    struct work *w = &r->work;
    enum queue_piece piece = QUEUE_PENDING;

    pthread_mutex_lock(&queue.lock);
    if (atomic_load(&r->stop) != PROBLEM_NONE)
        piece = QUEUE_STOPPED;
    else if ((w->written >> w->first % 64 & 1) != 0)
        piece = QUEUE_READY;
    else if (wait)
        w->waiting = true;
    pthread_mutex_unlock(&queue.lock);
    return piece;
}

void queue_advance(struct request *r)
{
    struct work *w = &r->work;

    pthread_mutex_lock(&queue.lock);
    w->written &= ~(UINT64_C(1) << w->first % 64);
    w->first++;
    ring_settle(r);
    wake_worker();
    pthread_mutex_unlock(&queue.lock);
}

/* --------------------------------------------------------------- numbers */

int64_t queue_length(void)
{
    pthread_mutex_lock(&queue.lock);
    int64_t length = queue.length;
    pthread_mutex_unlock(&queue.lock);
    return length;
}

bool queue_full(void)
{
    return queue_length() >= queue.bound;
}

int queue_retry_after_s(void)
{
    int64_t now = request_now_ns();

    pthread_mutex_lock(&queue.lock);
    double seconds = queue.service_s * (double)queue.length;
    double passed = (double)(now - queue.since_ns) * 1e-9;
    if (queue.length > 0 && seconds < passed)
        seconds = passed;
    pthread_mutex_unlock(&queue.lock);
    return seconds < 1.0 ? 1 : seconds > 60.0 ? 60 : (int)(seconds + 0.5);
}

enum problem queue_refuse(struct request *r)
{
    struct fault *f = &r->fault;

    fault_set(f, PROBLEM_QUEUE_FULL, NULL, "The queue is full: %lld requests "
              "are waiting or in work (--queue).", (long long)queue.bound);
    f->has_limit = true;
    f->limit = (double)queue.bound;
    return f->problem;
}

void queue_close(void)
{
    pthread_mutex_lock(&queue.lock);
    queue.closed = true;
    pthread_cond_broadcast(&queue.work);
    pthread_mutex_unlock(&queue.lock);
}
