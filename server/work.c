/* SPDX-License-Identifier: MIT */
/*
 * work - the worker threads and the order of the stages. The same stages run
 * on an I/O thread for small requests: same functions, same order, other
 * place. Knows nothing of what a stage does.
 */
#include "work.h"

#include <pthread.h>
#include <unistd.h>

#include "compute.h"
#include "config.h"
#include "decode.h"
#include "encode.h"
#include "queue.h"

#define WORKER_NICE 5

const struct stage stages[STAGE_COUNT] = {
    { STEP_DECODE, decode_next, decode_task },
    { STEP_COMPUTE, compute_next, compute_task },
    { STEP_ENCODE, encode_next, encode_task },
};

static struct {
    pthread_t thread[REQUEST_LANES_MAX];
    int threads;
} workers;

static const struct stage *stage_of(const struct request *r)
{
    return &stages[r->stage - STEP_DECODE];
}

int64_t work_prepare(struct request *r)
{
    do {
        int64_t tasks = stage_of(r)->next(r);

        if (tasks > 0)
            return tasks;
        if (!r->streamed)
            request_mark(r, r->stage);
        r->stage++;
    } while (r->stage <= STEP_ENCODE && r->fault.problem == PROBLEM_NONE);
    return 0;
}

void work_stop_request(struct request *r, enum problem problem)
{
    int none = PROBLEM_NONE;

    atomic_compare_exchange_strong(&r->stop, &none, (int)problem);
}

/* Estimate of the time that is left, once the plan is known. */
static double remaining_us(const struct request *r)
{
    const double operations_a_us = 20000.0, bytes_a_us = 700.0;

    return r->plan.work / operations_a_us
        + encode_estimate(r) / bytes_a_us;
}

/* By its plan, or because its text is odder than its length says. */
static bool is_dear(const struct request *r, int64_t task)
{
    if (r->stage == STEP_DECODE)
        return (double)(request_now_ns() - r->mark_ns) * 1e-3
            > 4.0 * config.inline_us;
    return r->stage == STEP_COMPUTE && r->phase == 0 && task == 0
        && (remaining_us(r) > config.inline_us || encode_streams(r));
}

bool work_inline(struct request *r, int64_t *tasks)
{
    while ((*tasks = work_prepare(r)) > 0) {
        const struct stage *stage = stage_of(r);

        for (int64_t task = 0; task < *tasks; task++) {
            if (is_dear(r, task)) {
                request_mark(r, r->stage);
                return false;
            }
            while (!stage->task(r, task, 0))
                continue;
        }
        if (atomic_load(&r->stop) != PROBLEM_NONE)
            return true;
    }
    return true;
}

/* ---------------------------------------------------------- the workers */

/* The first worker to touch r ends its waiting. */
static void leave_queue(struct request *r)
{
    int waiting = PHASE_QUEUE;

    if (atomic_load_explicit(&r->where, memory_order_relaxed) == waiting
        && atomic_compare_exchange_strong(&r->where, &waiting, PHASE_WORK))
        request_mark(r, STEP_QUEUE);
}

static void do_job(struct job *job)
{
    struct request *r = job->request;

    leave_queue(r);
    if (job->prepare)
        job->tasks = work_prepare(r);
    else
        job->finished = stage_of(r)->task(r, job->task, job->lane);
}

/* Workers compute, I/O threads wait: those who wait go first where the cores
 * are few, so what comes in is answered beside the longest work. On Linux
 * nice() is a matter of the thread. */
static void *worker(void *none)
{
    struct job job = { .request = NULL };

    nice(WORKER_NICE);
    while (queue_next(&job))
        do_job(&job);
    return none;
}

int work_lanes(void)
{
    return workers.threads;
}

int work_start(int threads)
{
    int error = 0;

    workers.threads = 0;
    while (workers.threads < threads && error == 0) {
        error = pthread_create(&workers.thread[workers.threads], NULL, worker,
                               NULL);
        if (error == 0)
            workers.threads++;
    }
    return error;
}

void work_stop(void)
{
    queue_close();
    for (int i = 0; i < workers.threads; i++)
        pthread_join(workers.thread[i], NULL);
    workers.threads = 0;
}
