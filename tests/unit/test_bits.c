/* SPDX-License-Identifier: MIT */
/*
 * test_bits.c - the same bits: output does not depend on what else is
 * returned, on the other items of the batch, on the number of threads, on
 * the order of tasks or on where a task is stopped.
 */
#include "suite.h"
#include "trial.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static struct trial t, u;

static void setup(void)
{
    trial_open(&t, ATTN_FLOAT32);
    trial_open(&u, ATTN_FLOAT32);
}

static void teardown(void)
{
    trial_close(&t);
    trial_close(&u);
}

/* ----------------------------------------------------------- the calls */

/* Many tiles; few queries on many keys; projections; most options; rows of
 * all heads, which are copied. */
enum shape {
    TILES, DECODE, DECODE_ALONE, PROJECTED, OPTIONS, WIDE, PACKED, N_SHAPES
};

static void project(void)
{
    trial_random(&t, ATTN_X, SHAPE(3, 130, 57), 1);
    trial_random(&t, ATTN_CONTEXT, SHAPE(3, 267, 23), 1);
    trial_random(&t, ATTN_W_Q, SHAPE(57, 4 * 15), 0.13);
    trial_random(&t, ATTN_W_K, SHAPE(23, 2 * 15), 0.2);
    trial_random(&t, ATTN_W_V, SHAPE(23, 2 * 9), 0.2);
    trial_random(&t, ATTN_B_Q, SHAPE(4 * 15), 1);
    trial_random(&t, ATTN_W_O, SHAPE(4 * 9, 23), 0.2);
    t.in.num_heads = 4;
    t.in.num_kv_heads = 2;
}

/* u's name = t's [B, heads, n, d] as [B, n, heads * d] */
static void pack(enum attn_in name)
{
    const int64_t *dim = t.in.tensor[name].dim;
    int64_t heads = dim[1], n = dim[2], d = dim[3];
    trial_same(&u, name, SHAPE(dim[0], n, heads * d), 0);
    for (int64_t i = 0; i < dim[0] * heads * n * d; i++) {
        int64_t c = i % d, row = i / d % n, h = i / d / n % heads;
        int64_t b = i / d / n / heads;
        trial_set(&u, name, ((b * n + row) * heads + h) * d + c,
                  trial_get(&t, name, i));
    }
}

static void pack_all(void)
{
    u.in = t.in;
    for (enum attn_in name = ATTN_Q; name <= ATTN_V; name++)
        pack(name);
    u.in.num_heads = 4;
    u.in.num_kv_heads = 2;
}

static void make(enum shape shape)
{
    const struct sizes sizes[] = {[TILES] = {2, 2, 1, 267, 514, 64, 64},
                                  [DECODE] = {2, 4, 2, 1, 20000, 16, 9},
                                  [DECODE_ALONE] = {1, 1, 1, 2, 30000, 5, 3},
                                  [OPTIONS] = {3, 4, 2, 130, 267, 16, 9},
                                  [WIDE] = {3, 1, 1, 7, 57, 257, 130},
                                  [PACKED] = {2, 4, 2, 520, 267, 16, 9}};
    teardown();
    setup();
    t.in.returns = ATTN_RETURN(ATTN_OUT_OUTPUT);
    if (shape == PROJECTED)
        project();
    else
        trial_operands(&t, sizes[shape]);
    if (shape == PACKED) {
        pack_all();
        t.in = u.in;
    }
    if (shape != OPTIONS)
        return;
    trial_random(&t, ATTN_BIAS, SHAPE(130, 267), 1);
    trial_random(&t, ATTN_ALIBI, SHAPE(4), 0.1);
    trial_random(&t, ATTN_SINKS, SHAPE(4), 1);
    t.in.causal = t.in.offset_end = t.in.rope = true;
    t.in.window_left = 100;
    t.in.softcap = 5;
}

/* Into memory of its own, all of it NaN before. */
static void run(struct trial *trial)
{
    struct attn_call call = {.in = &trial->in, .plan = &trial->plan,
                             .out = &trial->out};
    ck_assert_msg(trial_plan(trial) == ATTN_OK, "%s", trial->error.text);
    for (int name = 0; name < ATTN_N_OUT; name++)
        trial->out.data[name] =
            trial_block(trial, trial->plan.output_bytes[name]);
    attn_run(&call, trial_block(trial, attn_run_bytes(&trial->plan)));
}

static void expect_same_bits(enum attn_out name)
{
    ck_assert_uint_eq(t.plan.output_bytes[name], u.plan.output_bytes[name]);
    ck_assert_msg(!memcmp(t.out.data[name], u.out.data[name],
                          t.plan.output_bytes[name]),
                  "%s has other bits", attn_out_name[name]);
}

/* --------------------------------------------------- what is returned */

START_TEST(output_does_not_know_what_else_is_returned)
{
    for (enum shape shape = 0; shape < N_SHAPES; shape++) {
        make(shape);
        run(&t);
        for (int name = 1; name < ATTN_N_OUT; name++) {
            u.in = t.in;
            u.in.returns |= ATTN_RETURN(name);
            run(&u);
            expect_same_bits(ATTN_OUT_OUTPUT);
        }
    }
}
END_TEST

/* ------------------------------------------------------------- layout */

static void expect_heads_apart_in_rows_of_all_heads(void)
{
    int64_t n = t.plan.n_q, H = t.plan.H, d = t.plan.d_v;
    const float *apart = t.out.data[ATTN_OUT_OUTPUT];
    const float *packed = u.out.data[ATTN_OUT_OUTPUT];
    for (int64_t row = 0; row < t.plan.B * H * n; row++) {
        int64_t i = row % n, h = row / n % H, b = row / n / H;
        ck_assert_msg(!memcmp(apart + row * d,
                              packed + ((b * n + i) * H + h) * d,
                              (size_t)d * sizeof *apart),
                      "row %d of head %d", (int)i, (int)h);
    }
}

START_TEST(packed_heads_have_the_bits_of_heads_apart)
{
    const int64_t queries[] = {130, 520}; /* read where they lie; copied */
    for (int i = 0; i < 4; i++) {
        make(TILES);
        trial_operands(&t, (struct sizes){2, 4, 2, queries[i / 2], 267, 16, 9});
        trial_random(&t, ATTN_PAST_K, SHAPE(2, 2, 33, 16), 1);
        trial_random(&t, ATTN_PAST_V, SHAPE(2, 2, 33, 9), 1);
        t.in.rope = i % 2;
        pack_all();
        run(&t);
        run(&u);
        expect_heads_apart_in_rows_of_all_heads();
    }
}
END_TEST

/* ------------------------------------------------------------ batches */

/* u = item b of t, alone. */
static void take_item(int64_t b)
{
    u.in = t.in;
    for (int name = 0; name < ATTN_N_IN; name++) {
        struct attn_tensor *tensor = &u.in.tensor[name];
        bool batched = name <= ATTN_CONTEXT && tensor->rank >= 3;
        if (!batched)
            continue;
        tensor->dim[0] = 1;
        tensor->data = (char *)tensor->data +
                       (size_t)(b * attn_tensor_elements(tensor)) *
                           attn_dtype_bytes(u.in.dtype);
    }
}

START_TEST(an_item_alone_has_the_bits_it_has_in_a_batch)
{
    for (enum shape shape = 0; shape < N_SHAPES; shape++) {
        make(shape);
        run(&t);
        for (int64_t b = 0; b < t.plan.B; b++) {
            take_item(b);
            run(&u);
            size_t bytes = u.plan.output_bytes[ATTN_OUT_OUTPUT];
            const char *all = t.out.data[ATTN_OUT_OUTPUT];
            ck_assert_msg(!memcmp(all + (size_t)b * bytes,
                                  u.out.data[ATTN_OUT_OUTPUT], bytes),
                          "shape %d, item %d", (int)shape, (int)b);
        }
    }
}
END_TEST

/* ------------------------------------------------------ tasks, threads */

struct crew {
    struct attn_call call;
    int phase;
    atomic_llong next;
};

static void *work(void *argument)
{
    struct crew *crew = argument;
    const struct attn_plan *plan = crew->call.plan;
    void *workspace = NULL;
    if (posix_memalign(&workspace, 64, plan->worker_bytes + 1))
        return NULL;
    for (;;) {
        int64_t task = atomic_fetch_add(&crew->next, 1), resume = 0;
        if (task >= plan->tasks[crew->phase])
            break;
        while (!attn_run_task(&crew->call, crew->phase, task, workspace,
                              &resume))
            ;
    }
    free(workspace);
    return NULL;
}

static void run_on(int threads)
{
    struct crew crew = {.call = {.in = &u.in, .plan = &u.plan,
                                 .out = &u.out}};
    ck_assert_int_eq(trial_plan(&u), ATTN_OK);
    u.out.data[ATTN_OUT_OUTPUT] =
        trial_block(&u, u.plan.output_bytes[ATTN_OUT_OUTPUT]);
    crew.call.shared = trial_block(&u, u.plan.shared_bytes);
    attn_begin(&crew.call);
    for (crew.phase = 0; crew.phase < u.plan.n_phases; crew.phase++) {
        pthread_t thread[5];
        crew.next = 0;
        for (int i = 0; i < threads; i++)
            ck_assert(!pthread_create(&thread[i], NULL, work, &crew));
        for (int i = 0; i < threads; i++)
            pthread_join(thread[i], NULL);
    }
    attn_end(&crew.call);
}

START_TEST(any_number_of_threads_gives_the_same_bits)
{
    const int threads[] = {1, 2, 5};
    for (enum shape shape = 0; shape < N_SHAPES; shape++) {
        make(shape);
        run(&t);
        u.in = t.in;
        for (int i = 0; i < 3; i++) {
            run_on(threads[i]);
            expect_same_bits(ATTN_OUT_OUTPUT);
        }
    }
}
END_TEST

/* Tasks from last to first; each is resumed only after a stop of another. */
static void run_backwards(void)
{
    struct attn_call call = {.in = &u.in, .plan = &u.plan, .out = &u.out};
    ck_assert_int_eq(trial_plan(&u), ATTN_OK);
    u.out.data[ATTN_OUT_OUTPUT] =
        trial_block(&u, u.plan.output_bytes[ATTN_OUT_OUTPUT]);
    call.shared = trial_block(&u, u.plan.shared_bytes);
    attn_begin(&call);
    void *space[2] = {trial_block(&u, u.plan.worker_bytes),
                      trial_block(&u, u.plan.worker_bytes)};
    for (int phase = 0; phase < u.plan.n_phases; phase++) {
        int64_t next = u.plan.tasks[phase] - 3, resume[2] = {0, 0};
        int64_t task[2] = {next + 2, next + 1};
        while (task[0] >= 0 || task[1] >= 0)
            for (int lane = 0; lane < 2; lane++) {
                if (task[lane] < 0)
                    continue;
                if (!attn_run_task(&call, phase, task[lane], space[lane],
                                   &resume[lane]))
                    continue;
                task[lane] = next--;
                resume[lane] = 0;
            }
    }
    attn_end(&call);
}

START_TEST(any_order_of_tasks_gives_the_same_bits)
{
    for (enum shape shape = 0; shape < N_SHAPES; shape++) {
        make(shape);
        run(&t);
        u.in = t.in;
        run_backwards();
        expect_same_bits(ATTN_OUT_OUTPUT);
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        output_does_not_know_what_else_is_returned,
        packed_heads_have_the_bits_of_heads_apart,
        an_item_alone_has_the_bits_it_has_in_a_batch,
        any_number_of_threads_gives_the_same_bits,
        any_order_of_tasks_gives_the_same_bits,
        NULL};
    return suite_run("bits", tests, setup, teardown, 60);
}
