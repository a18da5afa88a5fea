/* SPDX-License-Identifier: MIT */
/*
 * test_queue.c - the ring by hand: what queue_next() gives to one worker, in
 * which order, and how requests end. Then with threads.
 */
#include "queue.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "metrics.h"
#include "suite.h"

#define REQUESTS 6

static struct request *request[REQUESTS];
static atomic_int ends[REQUESTS];
static struct job job;

static int number_of(const struct request *r)
{
    for (int i = 0; i < REQUESTS; i++)
        if (request[i] == r)
            return i;
    ck_abort_msg("an unknown request");
}

static void on_end(struct request *r)
{
    atomic_fetch_add(&ends[number_of(r)], 1);
}

static void setup(void)
{
    static const char *const none[] = { "none" };

    metrics_init(&(struct metrics_start){ .routes = none, .n_routes = 1,
        .steps = none, .n_steps = 1, .threads_source = "setting",
        .blas = "", .cpu_level = "", .http_library = "",
        .json_library = "" });
    memset(&job, 0, sizeof job);
    for (int i = 0; i < REQUESTS; i++) {
        request[i] = request_new();
        atomic_store(&ends[i], 0);
    }
    queue_open(5, 2, on_end);
}

static void teardown(void)
{
    for (int i = 0; i < REQUESTS; i++)
        request_free(request[i]);
}

/* Takes the next job and checks whose it is and which task; -1: prepare. */
static void expect(struct job *j, int owner, int64_t task)
{
    ck_assert(queue_next(j));
    ck_assert_int_eq(number_of(j->request), owner);
    ck_assert_int_eq(j->prepare, task < 0);
    if (task >= 0)
        ck_assert_int_eq(j->task, task);
}

static void finish(struct job *j)
{
    j->finished = true;
    j->tasks = 0;
}

START_TEST(each_round_takes_one_task_from_every_request)
{
    ck_assert(queue_push(request[0], 3));
    ck_assert(queue_push(request[1], 2));
    ck_assert(queue_push(request[2], 1));
    static const struct { int owner, task; } order[] = {
        { 0, 0 }, { 1, 0 }, { 2, 0 }, { 0, 1 }, { 1, 1 }, { 2, -1 },
        { 0, 2 }, { 1, -1 }, { 0, -1 }
    };

    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        expect(&job, order[i].owner, order[i].task);
        finish(&job);
    }
    queue_close();
    ck_assert(!queue_next(&job));
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(ends[i], 1);
}
END_TEST

START_TEST(next_batch_is_prepared_when_the_last_task_is_finished)
{
    struct job other = { .request = NULL };

    ck_assert(queue_push(request[0], 2));
    expect(&job, 0, 0);
    expect(&other, 0, 1);
    ck_assert_int_ne(job.lane, other.lane);
    ck_assert(queue_push(request[1], 2));
    finish(&other);
    expect(&other, 1, 0);
    finish(&job);
    expect(&job, 1, 1);
    finish(&job);
    expect(&job, 0, -1);
    job.tasks = 1;
    finish(&other);
    expect(&other, 1, -1);
    expect(&job, 0, 0);
}
END_TEST

START_TEST(task_that_wants_to_go_on_keeps_its_lane)
{
    ck_assert(queue_push(request[0], 1));
    expect(&job, 0, 0);
    int lane = job.lane;

    for (int i = 0; i < 3; i++) {
        job.finished = false;
        expect(&job, 0, 0);
        ck_assert_int_eq(job.lane, lane);
    }
    finish(&job);
    expect(&job, 0, -1);
}
END_TEST

/* Two lanes: a third task has to wait for one of the first two. */
START_TEST(no_more_tasks_of_a_request_than_lanes_are_begun)
{
    struct job other = { .request = NULL };

    ck_assert(queue_push(request[0], 3));
    expect(&job, 0, 0);
    expect(&other, 0, 1);
    ck_assert(queue_push(request[1], 1));
    job.finished = false;
    expect(&job, 1, 0);
    other.finished = false;
    expect(&other, 0, 0);
    finish(&other);
    expect(&other, 0, 1);
}
END_TEST

START_TEST(more_than_the_bound_is_refused)
{
    for (int i = 0; i < 5; i++)
        ck_assert(queue_push(request[i], 1));
    ck_assert(queue_full());
    ck_assert(!queue_push(request[5], 1));
    queue_abort(request[0], PROBLEM_CANCELLED);
    ck_assert(!queue_full());
    ck_assert(queue_push(request[5], 1));
    ck_assert_int_eq(queue_length(), 5);
}
END_TEST

START_TEST(aborted_request_that_waits_ends_at_once)
{
    ck_assert(queue_push(request[0], 1));
    ck_assert(queue_push(request[1], 1));
    queue_abort(request[0], PROBLEM_DEADLINE);
    ck_assert_int_eq(ends[0], 1);
    ck_assert_int_eq(atomic_load(&request[0]->stop), PROBLEM_DEADLINE);
    expect(&job, 1, 0);
    queue_abort(request[0], PROBLEM_CANCELLED);
    ck_assert_int_eq(ends[0], 1);
    ck_assert_int_eq(atomic_load(&request[0]->stop), PROBLEM_DEADLINE);
}
END_TEST

START_TEST(aborted_request_in_work_ends_with_its_last_worker)
{
    struct job other = { .request = NULL };

    ck_assert(queue_push(request[0], 5));
    expect(&job, 0, 0);
    expect(&other, 0, 1);
    ck_assert(queue_push(request[1], 2));
    queue_abort(request[0], PROBLEM_CANCELLED);
    ck_assert_int_eq(ends[0], 0);
    finish(&job);
    expect(&job, 1, 0);
    ck_assert_int_eq(ends[0], 0);
    other.finished = false;
    expect(&other, 1, 1);
    ck_assert_int_eq(ends[0], 1);
}
END_TEST

START_TEST(request_stopped_before_it_is_pushed_is_not_taken)
{
    queue_abort(request[0], PROBLEM_DEADLINE);
    ck_assert(!queue_push(request[0], 1));
    ck_assert_int_eq(ends[0], 0);
    ck_assert_int_eq(queue_length(), 0);
}
END_TEST

/* A window of two: the third piece waits until the reader has the first. */
START_TEST(streamed_request_is_taken_no_further_than_its_window)
{
    ck_assert(queue_push(request[0], 0));
    expect(&job, 0, -1);
    queue_window(request[0], 2);
    ck_assert_int_eq(ends[0], 1);
    job.tasks = 3;
    ck_assert_int_eq(queue_look(request[0], false), QUEUE_PENDING);
    expect(&job, 0, 0);
    finish(&job);
    expect(&job, 0, 1);
    ck_assert_int_eq(queue_look(request[0], false), QUEUE_READY);
    ck_assert(queue_push(request[1], 1));
    finish(&job);
    expect(&job, 1, 0);
    queue_advance(request[0]);
    finish(&job);
    expect(&job, 0, 2);
    ck_assert_int_eq(queue_look(request[0], false), QUEUE_READY);
    queue_advance(request[0]);
    ck_assert_int_eq(queue_look(request[0], true), QUEUE_PENDING);
    finish(&job);
    expect(&job, 1, -1);
    ck_assert_int_eq(ends[0], 2);
    ck_assert_int_eq(queue_look(request[0], true), QUEUE_READY);
}
END_TEST

START_TEST(stopped_stream_wakes_its_reader)
{
    ck_assert(queue_push(request[0], 0));
    expect(&job, 0, -1);
    queue_window(request[0], 2);
    job.tasks = 3;
    ck_assert_int_eq(queue_look(request[0], true), QUEUE_PENDING);
    expect(&job, 0, 0);
    queue_abort(request[0], PROBLEM_DEADLINE);
    queue_close();
    finish(&job);
    ck_assert(!queue_next(&job));
    ck_assert_int_eq(ends[0], 2);
    ck_assert_int_eq(queue_look(request[0], false), QUEUE_STOPPED);
    ck_assert(queue_leave(request[0]));
}
END_TEST

/* ---------------------------------------------------------- its estimates */

static void rest_ms(long ms)
{
    nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL);
}

/* What it takes to serve request[0] alone, `ms` of work and as many without. */
static void serve_one(long ms)
{
    rest_ms(ms);
    ck_assert(queue_push(request[0], 1));
    expect(&job, 0, 0);
    rest_ms(ms);
    finish(&job);
    queue_abort(request[0], PROBLEM_CANCELLED);
    queue_push(request[1], 1);
    expect(&job, 1, 0);
}

START_TEST(new_request_waits_as_long_as_those_before_it_take)
{
    ck_assert_int_eq(queue_retry_after_s(), 1);
    serve_one(500);
    ck_assert_int_eq(queue_retry_after_s(), 1);
    for (int i = 2; i < 6; i++)
        ck_assert(queue_push(request[i], 1));
    ck_assert_int_ge(queue_retry_after_s(), 2);
    ck_assert_int_le(queue_retry_after_s(), 4);
}
END_TEST

START_TEST(new_request_waits_no_less_than_the_oldest_has_taken_already)
{
    ck_assert(queue_push(request[0], 1));
    rest_ms(1600);
    ck_assert_int_ge(queue_retry_after_s(), 2);
    queue_abort(request[0], PROBLEM_CANCELLED);
    ck_assert_int_eq(queue_retry_after_s(), 1);
}
END_TEST

/* ------------------------------------------------------------ with threads */

#define ROUNDS 300

static atomic_llong done;

static void *worker(void *none)
{
    struct job j = { .request = NULL };

    while (queue_next(&j)) {
        struct request *r = j.request;

        if (j.prepare) {
            j.tasks = r->phase++ < ROUNDS ? 1 + r->phase % 3 : 0;
            continue;
        }
        j.finished = atomic_fetch_add(&done, 1) % 5 != 0;
    }
    return none;
}

START_TEST(many_workers_do_every_task_and_end_every_request_once)
{
    pthread_t thread[4];
    int64_t expected = 0;

    queue_open(5, 4, on_end);
    for (int i = 0; i < 4; i++)
        pthread_create(&thread[i], NULL, worker, NULL);
    for (int i = 0; i < 5; i++)
        ck_assert(queue_push(request[i], 0));
    queue_abort(request[4], PROBLEM_CANCELLED);
    while (queue_length() > 0)
        continue;
    queue_close();
    for (int i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
    for (int phase = 1; phase <= ROUNDS; phase++)
        expected += 4 * (1 + phase % 3);
    for (int i = 0; i < 5; i++)
        ck_assert_int_eq(atomic_load(&ends[i]), 1);
    ck_assert_int_ge(atomic_load(&done), expected);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(request[i]->phase, ROUNDS + 1);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        each_round_takes_one_task_from_every_request,
        next_batch_is_prepared_when_the_last_task_is_finished,
        task_that_wants_to_go_on_keeps_its_lane,
        no_more_tasks_of_a_request_than_lanes_are_begun,
        more_than_the_bound_is_refused,
        aborted_request_that_waits_ends_at_once,
        aborted_request_in_work_ends_with_its_last_worker,
        request_stopped_before_it_is_pushed_is_not_taken,
        streamed_request_is_taken_no_further_than_its_window,
        stopped_stream_wakes_its_reader,
        new_request_waits_as_long_as_those_before_it_take,
        new_request_waits_no_less_than_the_oldest_has_taken_already,
        many_workers_do_every_task_and_end_every_request_once,
        NULL
    };

    return suite_run("queue", tests, setup, teardown, 20);
}
