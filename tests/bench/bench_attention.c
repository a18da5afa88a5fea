/* SPDX-License-Identifier: MIT */
/*
 * bench_attention.c - how long whole calls of the library take.
 *
 * Each shape is timed by turns with a product of two 1024 x 1024 matrices
 * by the BLAS on one thread (or, for decoding, with a plain sum over the bytes
 * of K and V on as many): medians of 7 and their ratio. Then times as parts of other
 * times: what tiles that are not computed save, what two threads save, what
 * the double n and a plan for each call cost. --json prints one object a line instead of a table;
 * another argument is part of a case's name.
 */
#include "attention.h"

#include <cblas.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "engine.h"

enum { ROUNDS = 7, SIDE = 1024, MOST_THREADS = 2 };

/* PLANNED: anew before each run. LAYER: from X [n, H d], with four weights
 * [H d, H d]; LINEAR: the same, timed without the attention between them. */
struct shape {
    const char *name;
    enum attn_dtype dtype;
    int64_t H, G, n_q, n_k, d;
    bool causal;
    int64_t left; /* of the window */
    unsigned returns;
    int threads;
    enum part { ATTENTION, PLANNED, LINEAR, LAYER } part;
};

/* What one thread does is timed by its own clock, that others do not move. */
static clockid_t watch;

static double now(void)
{
    struct timespec t;
    clock_gettime(watch, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* On huge pages and touched: the first touch is not what is measured. */
static void *memory(size_t bytes)
{
    size_t huge = (size_t)2 << 20, size = (bytes / huge + 1) * huge;
    void *p = aligned_alloc(huge, size);
    if (!p) {
        perror("bench_attention");
        exit(EXIT_FAILURE);
    }
    madvise(p, size, MADV_HUGEPAGE);
    memset(p, 0, size);
    return p;
}

/* ---------------------------------------------------------- the calls */

struct call {
    struct attn_input in;
    struct attn_plan plan;
    struct attn_output out;
    struct attn_call call;
    enum part part;
    void *workspace[MOST_THREADS];
};

static void add_operand(struct attn_input *in, enum attn_in name,
                        int64_t heads, int64_t n, int64_t d)
{
    int64_t count = heads * n * d;
    char *data = memory((size_t)count * attn_dtype_bytes(in->dtype));
    in->tensor[name] = (struct attn_tensor){data, 3, {heads, n, d}};
    for (int64_t i = 0; i < count; i++) {
        double x = (double)(rand() % 2001 - 1000) / 577; /* variance 1 */
        if (in->dtype == ATTN_FLOAT64)
            ((double *)(void *)data)[i] = x;
        else
            ((float *)(void *)data)[i] = (float)x;
    }
}

static void add_projections(struct attn_input *in, const struct shape *s)
{
    static const enum attn_in weights[] = {ATTN_W_Q, ATTN_W_K, ATTN_W_V,
                                           ATTN_W_O};
    int64_t width = s->H * s->d;
    in->num_heads = s->H;
    add_operand(in, ATTN_X, 1, s->n_q, width);
    for (int i = 0; i < 4; i++) {
        add_operand(in, weights[i], 1, width, width);
        in->tensor[weights[i]].rank = 2;
        in->tensor[weights[i]].dim[0] = width;
    }
}

static void plan_call(struct call *c)
{
    struct attn_error error;
    if (attn_plan(&c->in, &c->plan, &error) != ATTN_OK) {
        fprintf(stderr, "bench_attention: %s\n", error.text);
        exit(EXIT_FAILURE);
    }
}

static void open_call(struct call *c, const struct shape *s)
{
    memset(c, 0, sizeof *c);
    attn_input_init(&c->in);
    c->part = s->part;
    c->in.dtype = s->dtype;
    c->in.returns = s->returns;
    c->in.causal = s->causal;
    c->in.window_left = s->left ? s->left : ATTN_OPEN;
    if (s->part >= LINEAR) {
        add_projections(&c->in, s);
    } else {
        add_operand(&c->in, ATTN_Q, s->H, s->n_q, s->d);
        add_operand(&c->in, ATTN_K, s->G, s->n_k, s->d);
        add_operand(&c->in, ATTN_V, s->G, s->n_k, s->d);
    }
    plan_call(c);
    for (int out = 0; out < ATTN_N_OUT; out++)
        if (c->plan.output[out].rank)
            c->out.data[out] = memory(c->plan.output_bytes[out]);
    for (int i = 0; i < MOST_THREADS; i++)
        c->workspace[i] = memory(c->plan.worker_bytes);
    c->call = (struct attn_call){&c->in, &c->plan, &c->out,
                                 memory(c->plan.shared_bytes)};
}

static void close_call(struct call *c)
{
    for (int name = 0; name < ATTN_N_IN; name++)
        free(c->in.tensor[name].data);
    for (int out = 0; out < ATTN_N_OUT; out++)
        free(c->out.data[out]);
    for (int i = 0; i < MOST_THREADS; i++)
        free(c->workspace[i]);
    free(c->call.shared);
}

/* ------------------------------------------------------------ threads */

static struct call *current;
static void (*work)(int thread); /* on the current call */
static int helping;              /* threads at it */
static int rounds;
static atomic_long next_task;

/* Spins: how long a sleeping thread takes to wake is not the library's. */
static struct meeting {
    atomic_int here, met;
} begin, middle;

/* Whoever comes last lets tasks begin anew. */
static void meet(struct meeting *m)
{
    int met = m->met;
    if (atomic_fetch_add(&m->here, 1) + 1 < helping) {
        while (m->met == met)
            sched_yield();
        return;
    }
    m->here = 0;
    next_task = 0;
    m->met = met + 1;
}

static void run_phases(int thread)
{
    const struct attn_plan *plan = &current->plan;
    int skip = current->part == LINEAR ? plan->n_phases - 1 : 1;
    for (int phase = 0; phase < plan->n_phases; phase += phase ? 1 : skip) {
        long task;
        while ((task = atomic_fetch_add(&next_task, 1)) < plan->tasks[phase]) {
            int64_t resume = 0;
            while (!attn_run_task(&current->call, phase, task,
                                  current->workspace[thread], &resume))
                ;
        }
        meet(&middle);
    }
}

static void *helper(void *unused)
{
    meet(&begin);
    for (int i = 0; i < rounds; i++) {
        meet(&begin);
        work(1);
    }
    return unused;
}

static double time_of_work(void (*what)(int), struct call *c, int threads,
                           int times)
{
    pthread_t thread;
    work = what;
    current = c;
    helping = threads;
    rounds = times;
    watch = threads > 1 ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID;
    if (threads > 1)
        pthread_create(&thread, NULL, helper, NULL);
    meet(&begin);
    double start = now();
    for (int i = 0; i < times; i++) {
        if (c->part == PLANNED)
            plan_call(c);
        attn_begin(&c->call);
        meet(&begin);
        work(0);
        attn_end(&c->call);
    }
    double end = now();
    if (threads > 1)
        pthread_join(thread, NULL);
    return (end - start) / times;
}

static double time_of(struct call *c, int threads, int times)
{
    return time_of_work(run_phases, c, threads, times);
}

/* ------------------------------------------------- what stands beside */

static void *matrix[3];

static double time_of_product(enum attn_dtype dtype)
{
    watch = CLOCK_THREAD_CPUTIME_ID;
    double start = now();
    if (dtype == ATTN_FLOAT64)
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, SIDE, SIDE,
                    SIDE, 1, matrix[0], SIDE, matrix[1], SIDE, 0, matrix[2],
                    SIDE);
    else
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, SIDE, SIDE,
                    SIDE, 1, matrix[0], SIDE, matrix[1], SIDE, 0, matrix[2],
                    SIDE);
    return now() - start;
}

static float total[MOST_THREADS];

typedef float many __attribute__((vector_size(64)));

#ifdef __x86_64__
__attribute__((target_clones("avx512f", "avx2", "default")))
#endif
static void add_up(const many *x, int64_t n, float *to)
{
    many a = {0}, b = {0}, c = {0}, d = {0};
    for (int64_t i = 0; i + 4 <= n; i += 4) {
        a += x[i];
        b += x[i + 1];
        c += x[i + 2];
        d += x[i + 3];
    }
    a += b + c + d;
    *to += a[0] + a[7];
}

/* K and V, each thread its part. */
static void run_sum(int thread)
{
    for (int name = ATTN_K; name <= ATTN_V; name++) {
        const struct attn_tensor *t = &current->in.tensor[name];
        int64_t part = attn_tensor_elements(t) / 16 / helping;
        add_up((const many *)t->data + thread * part, part, &total[thread]);
    }
    meet(&middle);
}

/* ----------------------------------------------------------- measuring */

#define OUTPUT ATTN_RETURN(ATTN_OUT_OUTPUT)
#define BOTH (OUTPUT | ATTN_RETURN(ATTN_OUT_A))

static const enum attn_engine engines[] = {ATTN_ENGINE_NATIVE,
                                           ATTN_ENGINE_OPENBLAS};
static bool json;

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *x)
{
    qsort(x, ROUNDS, sizeof *x, compare);
    return x[ROUNDS / 2];
}

static double operations(const struct shape *s)
{
    double width = (double)(s->H * s->d), n = (double)s->n_q;
    double attention = 4.0 * n * (double)s->n_k * width;
    double linear = 8.0 * n * width * width;
    return (s->part != LINEAR ? attention : 0) +
           (s->part >= LINEAR ? linear : 0);
}

/* GFLOP/s of ONNX Runtime 1.30 for the same on the same kind of machine, from
 * a run that was stored; "" where there is none. */
static const char *stored(const struct shape *s)
{
    bool plain = s->dtype == ATTN_FLOAT32 && s->d == 64 && !s->causal &&
                 s->part == ATTENTION && !(s->returns & ~OUTPUT) &&
                 s->n_q == s->n_k;
    if (plain && s->H == 1 && s->n_q >= 512)
        return s->threads > 1 ? "278-300" : "150-159";
    if (plain && s->H == 8 && s->n_q == 64)
        return s->threads > 1 ? "131" : "96";
    return "";
}

static void print(const struct shape *s, enum attn_engine engine,
                  double seconds, double rate, const char *unit, double ratio)
{
    const char *type = s->dtype == ATTN_FLOAT64 ? "float64" : "float32";
    printf(json ? "{\"name\": \"%s\", \"engine\": \"%s\", "
                  "\"dtype\": \"%s\", \"threads\": %d, "
                  "\"H\": %ld, \"G\": %ld, \"n_q\": %ld, \"n_k\": %ld, "
                  "\"d\": %ld, \"us\": %.2f, \"rate\": %.2f, "
                  "\"unit\": \"%s\", \"ratio\": %.3f, \"stored\": \"%s\"}\n"
                : "%-8s %-8s %s %d  %3ld %3ld %6ld %8ld %4ld %12.1f us %7.1f %s "
                  "%6.2f %s\n",
           s->name, attn_engine_name(engine), type, s->threads, (long)s->H, (long)s->G, (long)s->n_q,
           (long)s->n_k, (long)s->d, seconds * 1e6, rate, unit, ratio,
           stored(s));
    fflush(stdout);
}

/* Against the product, or for one query against the sum: both engines by
 * turns. */
static void measure(const struct shape *s)
{
    struct call c;
    double got[2][ROUNDS], beside[ROUNDS];
    bool decode = s->n_q == 1;
    double bytes = 8.0 * (double)(s->G * s->n_k * s->d);
    int times = 1 + (int)(decode ? 1e8 / bytes : 5e8 / operations(s));
    open_call(&c, s);
    for (int i = -1; i < ROUNDS; i++) {
        int round = i < 0 ? 0 : i;
        beside[round] = decode ? time_of_work(run_sum, &c, s->threads, times)
                               : time_of_product(s->dtype);
        for (int e = 0; e < 2; e++) {
            engine_use(engines[e]);
            got[e][round] = time_of(&c, s->threads, i < 0 ? 1 : times);
        }
    }
    double other = median(beside);
    double product = 2.0 * (double)((int64_t)SIDE * SIDE * SIDE) / other * 1e-9;
    for (int e = 0; e < 2; e++) {
        double seconds = median(got[e]);
        double rate = operations(s) / seconds * 1e-9;
        if (decode)
            print(s, engines[e], seconds, bytes / seconds * 1e-9, "GB/s",
                  other / seconds);
        else
            print(s, engines[e], seconds, rate, "GF/s", rate / product);
    }
    engine_use(ATTN_ENGINE_NATIVE);
    close_call(&c);
}

/* Time of one shape as a part of the time of another. */
static void relate(const struct shape *s, const struct shape *to)
{
    struct call c, whole;
    double got[ROUNDS], beside[ROUNDS];
    int times = 1 + (int)(5e8 / operations(to));
    open_call(&c, s);
    open_call(&whole, to);
    for (int i = 0; i < ROUNDS; i++) {
        beside[i] = time_of(&whole, to->threads, times);
        got[i] = time_of(&c, s->threads, times);
    }
    double seconds = median(got);
    print(s, ATTN_ENGINE_NATIVE, seconds, operations(s) / seconds * 1e-9,
          "GF/s", seconds / median(beside));
    close_call(&c);
    close_call(&whole);
}

#define HEADS(name, dtype, H, n, d, returns, threads) \
    {name, dtype, H, H, n, n, d, false, 0, returns, threads, ATTENTION}
#define SQUARE(name, dtype, n, d, returns, threads) \
    HEADS(name, dtype, 1, n, d, returns, threads)
#define F32 ATTN_FLOAT32
#define F64 ATTN_FLOAT64

static const struct shape shapes[] = {
    SQUARE("square", F32, 16, 64, OUTPUT, 1),
    SQUARE("square", F32, 64, 64, OUTPUT, 1),
    SQUARE("square", F32, 128, 64, OUTPUT, 1),
    SQUARE("square", F32, 256, 64, OUTPUT, 1),
    SQUARE("square", F32, 512, 64, OUTPUT, 1),
    SQUARE("square", F32, 1024, 64, OUTPUT, 1),
    SQUARE("square", F32, 2048, 64, OUTPUT, 1),
    SQUARE("square", F32, 4096, 64, OUTPUT, 1),
    SQUARE("square", F32, 8192, 64, OUTPUT, 1),
    SQUARE("square", F32, 256, 128, OUTPUT, 1),
    SQUARE("square", F32, 1024, 128, OUTPUT, 1),
    SQUARE("square", F32, 4096, 128, OUTPUT, 1),
    SQUARE("square", F32, 8192, 128, OUTPUT, 1),
    SQUARE("square", F64, 256, 64, OUTPUT, 1),
    SQUARE("square", F64, 1024, 64, OUTPUT, 1),
    SQUARE("square", F64, 4096, 64, OUTPUT, 1),
    SQUARE("square", F32, 256, 64, OUTPUT, 2),
    SQUARE("square", F32, 1024, 64, OUTPUT, 2),
    SQUARE("square", F32, 4096, 64, OUTPUT, 2),
    HEADS("heads", F32, 8, 64, 64, OUTPUT, 1),
    HEADS("heads", F32, 8, 64, 64, OUTPUT, 2),
    SQUARE("with A", F32, 256, 64, BOTH, 1),
    SQUARE("with A", F32, 1024, 64, BOTH, 1),
    SQUARE("with A", F32, 4096, 64, BOTH, 1),
    {"project", F32, 8, 8, 512, 512, 64, false, 0, OUTPUT, 1, LINEAR},
    {"project", F32, 8, 8, 2048, 2048, 64, false, 0, OUTPUT, 1, LINEAR},
    {"project", F32, 8, 8, 512, 512, 64, false, 0, OUTPUT, 2, LINEAR},
    {"layer", F32, 8, 8, 512, 512, 64, false, 0, OUTPUT, 1, LAYER},
    {"layer", F32, 8, 8, 2048, 2048, 64, false, 0, OUTPUT, 1, LAYER},
    {"decode", F32, 1, 1, 1, 4096, 64, false, 0, OUTPUT, 1, ATTENTION},
    {"decode", F32, 1, 1, 1, 1000000, 64, false, 0, OUTPUT, 1, ATTENTION},
    {"decode", F32, 1, 1, 1, 1000000, 64, false, 0, OUTPUT, 2, ATTENTION},
    {"decode", F32, 32, 8, 1, 100000, 64, false, 0, OUTPUT, 1, ATTENTION},
    {"decode", F32, 32, 8, 1, 100000, 64, false, 0, OUTPUT, 2, ATTENTION},
};

static const struct shape relations[][2] = {
    {{"planned", F32, 1, 1, 16, 16, 64, false, 0, OUTPUT, 1, PLANNED},
     SQUARE("", F32, 16, 64, OUTPUT, 1)},
    {{"causal", F32, 1, 1, 4096, 4096, 64, true, 0, OUTPUT, 1, ATTENTION},
     SQUARE("", F32, 4096, 64, OUTPUT, 1)},
    {{"window", F32, 1, 1, 8192, 8192, 64, true, 256, OUTPUT, 1, ATTENTION},
     SQUARE("", F32, 8192, 64, OUTPUT, 1)},
    {SQUARE("doubled", F32, 8192, 64, OUTPUT, 1),
     SQUARE("", F32, 4096, 64, OUTPUT, 1)},
    {SQUARE("2 to 1", F32, 512, 64, OUTPUT, 2),
     SQUARE("", F32, 512, 64, OUTPUT, 1)},
    {SQUARE("2 to 1", F32, 768, 64, OUTPUT, 2),
     SQUARE("", F32, 768, 64, OUTPUT, 1)},
    {SQUARE("2 to 1", F32, 4096, 64, OUTPUT, 2),
     SQUARE("", F32, 4096, 64, OUTPUT, 1)},
};

int main(int count, char **argument)
{
    const char *wanted = "";
    for (int i = 1; i < count; i++) {
        if (!strcmp(argument[i], "--json"))
            json = true;
        else
            wanted = argument[i];
    }
    attn_init(ATTN_ENGINE_NATIVE);
    for (int i = 0; i < 3; i++)
        matrix[i] = memory(SIDE * SIDE * sizeof(double));
    printf(json ? "{\"note\": \"%s\"}\n" : "%s\n",
           "stored: GF/s of ONNX Runtime 1.30, same kind of machine");
    if (!json)
        printf("%s, kernels %s\n%-8s %-8s %-7s %s %3s %3s %6s %8s %4s %15s %12s "
               "%6s stored\n", attn_blas_name(), attn_cpu_level(), "", "", "",
               "thr", "H", "G", "n_q", "n_k", "d", "", "", "ratio");
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (strstr(shapes[i].name, wanted))
            measure(&shapes[i]);
    for (size_t i = 0; i < sizeof relations / sizeof *relations; i++)
        if (strstr(relations[i][0].name, wanted))
            relate(&relations[i][0], &relations[i][1]);
    return EXIT_SUCCESS;
}
