/* SPDX-License-Identifier: MIT */
/*
 * bench_kernel.c - how fast the kernels can go: a tile loop with nothing
 * around it, timed next to a product of two 1024 x 1024 matrices by the BLAS
 * (or, for decoding, next to a sum over the same bytes), by turns; medians of
 * 7 and their ratio. Arguments: keys in a tile (128), part of a case's name.
 * Run it by `env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE`.
 */
#include "kernel.h"

#include <cblas.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { ROUNDS = 7, SIDE = 1024, MOST = 4 };

static int64_t tile = 128;

/* One call: heads of n_q x n_k, d columns, by `threads`. */
struct job {
    const char *name;
    double aim;
    enum attn_dtype dtype;
    int64_t heads, n_q, n_k, d;
    bool weights; /* write A too */
    int threads;
};

static char *q, *k, *v, *out, *weights; /* of all jobs */
static char *scratch[2];                /* of each thread */
static void *matrix[3];

/* A thread counts its own time, whoever else uses the core; of two the one
   that needs longer counts. */
static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Touched, on huge pages where there are any: a fresh page is dear. */
static void *memory(size_t bytes)
{
    size_t huge = (size_t)2 << 20, size = (bytes + huge - 1) / huge * huge;
    void *p = aligned_alloc(huge, size);

    if (!p) {
        exit(EXIT_FAILURE);
    }
    madvise(p, size, MADV_HUGEPAGE);
    memset(p, 0, size);
    return p;
}

static void fill(void *x, int64_t n, enum attn_dtype dtype)
{
    for (int64_t i = 0; i < n; i++) {
        double y = (double)(rand() % 2001 - 1000) / 577;
        if (dtype == ATTN_FLOAT64) {
            ((double *)x)[i] = y;
        } else {
            ((float *)x)[i] = (float)y;
        }
    }
}

static void invert(enum attn_dtype dtype, void *l, int64_t w)
{
    for (int64_t i = 0; i < w; i++) {
        if (dtype == ATTN_FLOAT64) {
            ((double *)l)[i] = 1 / ((double *)l)[i];
        } else {
            ((float *)l)[i] = 1 / ((float *)l)[i];
        }
    }
}

static void reset(enum attn_dtype dtype, void *m, void *l, int64_t w)
{
    for (int64_t i = 0; i < w; i++) {
        if (dtype == ATTN_FLOAT64) {
            ((double *)m)[i] = -INFINITY;
        } else {
            ((float *)m)[i] = -(float)INFINITY;
        }
    }
    memset(l, 0, (size_t)w * attn_dtype_bytes(dtype));
}

static void multiply(enum attn_dtype dtype, void *x, const void *y, int64_t w)
{
    for (int64_t i = 0; i < w; i++) {
        if (dtype == ATTN_FLOAT64) {
            ((double *)x)[i] *= ((const double *)y)[i];
        } else {
            ((float *)x)[i] *= ((const float *)y)[i];
        }
    }
}

struct operands { /* of one head */
    const char *q, *k, *v;
    char *out, *a;
};

/* Up to KERNEL_VECS vectors of queries, and where their numbers lie. */
struct block {
    int vecs;
    int64_t first, rows, w;
    char *q, *o, *m, *l;
    char *alpha; /* [tiles, W] */
    char *s;     /* [tile, W], with weights [n_k, W] */
};

/* The queries from `first` on: 4 vectors as 2 and 2, not 3 and 1. */
static struct block next_block(const struct job *job, int64_t first)
{
    int lanes = attn_kernel(job->dtype)->lanes;
    int64_t rest = job->n_q - first, left = (rest + lanes - 1) / lanes;
    struct block b = {.first = first};

    b.vecs = left == 4 ? 2 : left < 3 ? (int)left : 3;
    b.w = b.vecs * lanes;
    b.rows = rest < b.w ? rest : b.w;
    return b;
}

/* Lays it out in `work`; returns what is left of that. */
static char *open_block(const struct job *job, struct block *b,
                        const char *from, char *work)
{
    int64_t size = (int64_t)attn_dtype_bytes(job->dtype);
    int64_t tiles = (job->n_k + tile - 1) / tile;

    b->q = work;
    b->o = b->q + job->d * b->w * size;
    b->m = b->o + job->d * b->w * size;
    b->l = b->m + b->w * size;
    b->alpha = b->l + b->w * size;
    b->s = b->alpha + tiles * b->w * size;
    attn_kernel(job->dtype)->columns(b->vecs, b->rows, job->d,
                                     from + b->first * job->d * size, job->d,
                                     b->q);
    memset(b->o, 0, (size_t)(job->d * b->w * size));
    reset(job->dtype, b->m, b->l, b->w);
    return b->s + (job->weights ? job->n_k : tile) * b->w * size;
}

static void run_tile(const struct job *job, struct block *b, int64_t t,
                     const char *keys, const char *values)
{
    const struct kernel *kernel = attn_kernel(job->dtype);
    int64_t size = (int64_t)attn_dtype_bytes(job->dtype), d = job->d;
    int64_t j = t * tile, n = job->n_k - j < tile ? job->n_k - j : tile;
    char *p = b->s + (job->weights ? j * b->w * size : 0);
    char *alpha = b->alpha + t * b->w * size;

    kernel->scores(b->vecs, n, d, b->q, keys + j * d * size, d,
                   1 / sqrt((double)d), p);
    kernel->softmax(b->vecs, n, p, b->m, b->l, alpha);
    kernel->mix(b->vecs, n, d, p, values + j * d * size, d, alpha, b->o);
}

/* output = O / l. Each tile of A is P, shrunk by the alphas of all the tiles
   behind it and by 1 / l. */
static void close_block(const struct job *job, struct block *b, char *to,
                        char *a)
{
    const struct kernel *kernel = attn_kernel(job->dtype);
    int64_t size = (int64_t)attn_dtype_bytes(job->dtype), n_k = job->n_k;
    int64_t t = (n_k + tile - 1) / tile;

    invert(job->dtype, b->l, b->w);
    kernel->rows(b->vecs, b->rows, job->d, b->o, b->l,
                 to + b->first * job->d * size, job->d);
    while (job->weights && t-- > 0) {
        int64_t j = t * tile, n = n_k - j < tile ? n_k - j : tile;
        kernel->rows(b->vecs, b->rows, n, b->s + j * b->w * size, b->l,
                     a + (b->first * n_k + j) * size, n_k);
        multiply(job->dtype, b->l, b->alpha + t * b->w * size, b->w);
    }
}

static void line(const struct job *job, char *work, const struct operands *x)
{
    const struct kernel *kernel = attn_kernel(job->dtype);
    int64_t size = (int64_t)attn_dtype_bytes(job->dtype);
    int64_t d = job->d, n_k = job->n_k;
    double scale = 1 / sqrt((double)d);
    char *m = work, *l = m + 64, *alpha = l + 64, *s = alpha + 64;

    memset(x->out, 0, (size_t)(d * size));
    reset(job->dtype, m, l, 1);
    for (int64_t j = 0; j < n_k; j += tile) {
        int64_t n = n_k - j < tile ? n_k - j : tile;
        kernel->line_scores(n, d, x->q, x->k + j * d * size, d, scale, s);
        kernel->line_softmax(n, s, m, l, alpha);
        kernel->line_mix(n, d, s, x->v + j * d * size, d, alpha, x->out);
    }
    invert(job->dtype, l, 1);
    for (int64_t c = 0; c < d; c++) {
        multiply(job->dtype, x->out + c * size, l, 1);
    }
}

/* Blocks that go through the tiles together: K and V come from afar once
   for all of them, where they do not stay in the second cache. */
static int together(const struct job *job)
{
    int64_t size = (int64_t)attn_dtype_bytes(job->dtype);

    return !job->weights && 2 * job->n_k * job->d * size > 1 << 20 ? MOST : 1;
}

static void run_blocks(const struct job *job, struct block *blocks, int n,
                       char *work, const struct operands *x)
{
    for (int i = 0; i < n; i++) {
        work = open_block(job, &blocks[i], x->q, work);
    }
    for (int64_t t = 0; t * tile < job->n_k; t++) {
        for (int i = 0; i < n; i++) {
            run_tile(job, &blocks[i], t, x->k, x->v);
        }
    }
    for (int i = 0; i < n; i++) {
        close_block(job, &blocks[i], x->out, x->a);
    }
}

/* Threads share the heads, or the blocks of the only head. */
static void attend(const struct job *job, int thread)
{
    int64_t size = (int64_t)attn_dtype_bytes(job->dtype);
    int turn = 0;

    for (int64_t h = 0; h < job->heads; h++) {
        int64_t at = h * job->n_q * job->d * size;
        int64_t kv = h * job->n_k * job->d * size;
        struct operands x = {q + at, k + kv, v + kv, out + at,
                             weights + h * job->n_q * job->n_k * size};
        for (int64_t first = 0; first < job->n_q; turn++) {
            struct block blocks[MOST];
            int n = 0, mine;
            while (n < together(job) && first < job->n_q) {
                blocks[n] = next_block(job, first);
                first += blocks[n++].rows;
            }
            mine = (job->heads > 1 ? (int)h : turn) % job->threads == thread;
            if (mine && job->n_q == 1) {
                line(job, scratch[thread], &x);
            } else if (mine) {
                run_blocks(job, blocks, n, scratch[thread], &x);
            }
        }
    }
}

static pthread_barrier_t go, done;
static const struct job *shared;
static int repeats;
static double taken[2];

static void work_off(int thread)
{
    double start = now();

    for (int i = 0; i < repeats; i++) {
        attend(shared, thread);
    }
    taken[thread] = (now() - start) / repeats;
}

static void *second(void *unused)
{
    for (;;) {
        pthread_barrier_wait(&go);
        if (!shared) {
            return unused;
        }
        work_off(1);
        pthread_barrier_wait(&done);
    }
}

static double run(const struct job *job, int times)
{
    repeats = times;
    shared = job;
    taken[1] = 0;
    if (job->threads == 2) {
        pthread_barrier_wait(&go);
    }
    work_off(0);
    if (job->threads == 2) {
        pthread_barrier_wait(&done);
    }
    return fmax(taken[0], taken[1]);
}

static volatile float sink;

/* Seconds for a plain sum over K and V. */
static double sum(const struct job *job, int times)
{
    typedef float four __attribute__((vector_size(16)));
    int64_t n = job->heads * job->n_k * job->d / 4;
    double start = now();

    for (int i = 0; i < 2 * times; i++) {
        const four *x = (const four *)(i % 2 ? v : k);
        four s[8] = {{0}};
        for (int64_t t = 0; t < n; t += 8) {
#pragma GCC unroll 8
            for (int u = 0; u < 8; u++) {
                s[u] += x[t + u];
            }
        }
        for (int u = 0; u < 8; u++) {
            sink = sink + s[u][0];
        }
    }
    return (now() - start) / times;
}

static double gemm(enum attn_dtype dtype)
{
    double start = now();

    if (dtype == ATTN_FLOAT64) {
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, SIDE, SIDE, SIDE,
                    1, matrix[0], SIDE, matrix[1], SIDE, 0, matrix[2], SIDE);
    } else {
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, SIDE, SIDE, SIDE,
                    1, matrix[0], SIDE, matrix[1], SIDE, 0, matrix[2], SIDE);
    }
    return 2.0 * SIDE * SIDE * SIDE / (now() - start) * 1e-9;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double x[ROUNDS])
{
    qsort(x, ROUNDS, sizeof *x, compare);
    return x[ROUNDS / 2];
}

static void measure(const struct job *job)
{
    double work = 4.0 * (double)job->heads * (double)job->n_q
                  * (double)job->n_k * (double)job->d;
    double bytes = 2.0 * (double)(job->heads * job->n_k * job->d)
                   * (double)attn_dtype_bytes(job->dtype);
    int times = 1 + (int)(2e9 * job->threads / work);
    double got[ROUNDS], beside[ROUNDS], x, y;
    int64_t kv = job->heads * job->n_k * job->d;

    fill(q, job->heads * job->n_q * job->d, job->dtype);
    fill(k, kv, job->dtype);
    fill(v, kv, job->dtype);
    for (int i = 0; i < 2; i++) {
        fill(matrix[i], SIDE * SIDE, job->dtype);
    }
    times = job->n_q == 1 ? 1 + (int)(4e8 / bytes) : times;
    run(job, 1);
    for (int i = 0; i < ROUNDS; i++) {
        if (job->n_q == 1) {
            beside[i] = bytes / sum(job, times) * 1e-9;
            got[i] = bytes / run(job, times) * 1e-9;
        } else {
            beside[i] = gemm(job->dtype);
            got[i] = work / run(job, times) * 1e-9;
        }
    }
    x = median(got);
    y = median(beside);
    printf("%-12s %2d thread  heads %lld n %5lld d %3lld  %7.1f %s beside %5.1f"
           "  ratio %.2f aim %.2f",
           job->name, job->threads, (long long)job->heads, (long long)job->n_k,
           (long long)job->d, x, job->n_q == 1 ? "GB/s" : "GF/s", y, x / y,
           job->aim);
    printf("  %9.2f us\n", (job->n_q == 1 ? bytes : work) / x * 1e-3);
    fflush(stdout);
}

static const struct job jobs[] = {
    {"float32", 0.85, ATTN_FLOAT32, 1, 256, 256, 64, false, 1},
    {"float32", 0.85, ATTN_FLOAT32, 1, 512, 512, 64, false, 1},
    {"float32", 0.85, ATTN_FLOAT32, 1, 1024, 1024, 64, false, 1},
    {"float32", 0.85, ATTN_FLOAT32, 1, 2048, 2048, 64, false, 1},
    {"float32", 0.85, ATTN_FLOAT32, 1, 8192, 8192, 64, false, 1},
    {"float32", 0.90, ATTN_FLOAT32, 1, 256, 256, 128, false, 1},
    {"float32", 0.90, ATTN_FLOAT32, 1, 1024, 1024, 128, false, 1},
    {"float32", 0.90, ATTN_FLOAT32, 1, 8192, 8192, 128, false, 1},
    {"float64", 0.85, ATTN_FLOAT64, 1, 256, 256, 64, false, 1},
    {"float64", 0.85, ATTN_FLOAT64, 1, 1024, 1024, 64, false, 1},
    {"float64", 0.85, ATTN_FLOAT64, 1, 4096, 4096, 128, false, 1},
    {"weights", 0.65, ATTN_FLOAT32, 1, 256, 256, 64, true, 1},
    {"weights", 0.65, ATTN_FLOAT32, 1, 1024, 1024, 64, true, 1},
    {"weights", 0.65, ATTN_FLOAT32, 1, 2048, 2048, 64, true, 1},
    {"weights", 0.65, ATTN_FLOAT32, 1, 8192, 8192, 64, true, 1},
    {"weights", 0.65, ATTN_FLOAT32, 1, 1024, 1024, 128, true, 1},
    {"weights64", 0.65, ATTN_FLOAT64, 1, 1024, 1024, 64, true, 1},
    {"small", 0.70, ATTN_FLOAT32, 8, 64, 64, 64, false, 1},
    {"small", 0.70, ATTN_FLOAT32, 8, 64, 64, 128, false, 1},
    {"tiny", 0, ATTN_FLOAT32, 1, 16, 16, 64, false, 1},
    {"decode", 0.80, ATTN_FLOAT32, 1, 1, 4096, 64, false, 1},
    {"decode", 0.80, ATTN_FLOAT32, 8, 1, 4096, 64, false, 1},
    {"decode", 0.80, ATTN_FLOAT32, 8, 1, 16384, 128, false, 1},
    {"float32", 1.60, ATTN_FLOAT32, 1, 512, 512, 64, false, 2},
    {"float32", 1.60, ATTN_FLOAT32, 1, 1024, 1024, 64, false, 2},
    {"float32", 1.60, ATTN_FLOAT32, 1, 8192, 8192, 64, false, 2},
    {"small", 1.20, ATTN_FLOAT32, 8, 64, 64, 64, false, 2},
    {"decode", 1.60, ATTN_FLOAT32, 8, 1, 16384, 128, false, 2},
};

int main(int count, char **argument)
{
    size_t large = (size_t)8 * 16384 * 128 * sizeof(float);
    pthread_t thread;

    openblas_set_num_threads(1);
    attn_kernel_init();
    tile = count > 1 ? atoi(argument[1]) : tile;
    q = memory(large);
    k = memory(large);
    v = memory(large);
    out = memory(large);
    weights = memory((size_t)8192 * 8192 * sizeof(float));
    for (int i = 0; i < 2; i++) {
        scratch[i] = memory((size_t)4 << 20);
    }
    for (int i = 0; i < 3; i++) {
        matrix[i] = memory(SIDE * SIDE * sizeof(double));
    }
    pthread_barrier_init(&go, NULL, 2);
    pthread_barrier_init(&done, NULL, 2);
    pthread_create(&thread, NULL, second, NULL);
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
        if (count < 3 || strstr(jobs[i].name, argument[2])) {
            measure(&jobs[i]);
        }
    }
    shared = NULL;
    pthread_barrier_wait(&go);
    pthread_join(thread, NULL);
    return EXIT_SUCCESS;
}
