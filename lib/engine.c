/* SPDX-License-Identifier: MIT */
/*
 * engine.c - tests both engines at the start and takes one; see engine.h. A
 * fault of a library or of a compiler is found here, by known answers, and
 * costs speed, not right results.
 */
#include "engine.h"

#include <math.h>

#include "blas.h"
#include "real.h"
#include "row.h"

enum { MOST_D = 19, MOST_N = 21, MOST_W = KERNEL_VECS * 16 };

static enum attn_engine in_use = ATTN_ENGINE_REFERENCE;
static bool failed[ATTN_ENGINE_REFERENCE + 1];

/* Operands and results of one test, either type. */
struct known {
    const struct kernel *kernel;
    enum attn_dtype dtype;
    int64_t size;
    double a[MOST_N * MOST_W], b[MOST_N * MOST_W], c[MOST_N * MOST_W];
    double alpha[MOST_W];
};

static double known_a(int64_t i)
{
    return (double)(i * 7 % 11 - 5);
}

static double known_b(int64_t i)
{
    return (double)(i * 5 % 13 - 6);
}

static void fill(const struct known *t, void *to, double (*of)(int64_t))
{
    for (int64_t i = 0; i < MOST_N * MOST_W; i++)
        real_put(to, i, t->size, of(i));
}

static double one(int64_t i)
{
    (void)i;
    return 1;
}

static double a_at(int64_t row, int64_t stride, int64_t column)
{
    return known_a(row * stride + column);
}

static double b_at(int64_t row, int64_t stride, int64_t column)
{
    return known_b(row * stride + column);
}

static bool is(const struct known *t, int64_t at, double expected)
{
    return real_get(t->c, at, t->size) == expected;
}

/* ------------------------------------------------------------ the products */

static bool test_scores(struct known *t, int vecs, int64_t n, int64_t d)
{
    int64_t w = vecs * t->kernel->lanes;
    bool right = true;

    fill(t, t->a, known_a);
    fill(t, t->b, known_b);
    t->kernel->scores(vecs, n, d, t->b, t->a, d, 0.5, t->c);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < w; i++) {
            double sum = 0;
            for (int64_t c = 0; c < d; c++)
                sum += a_at(j, d, c) * b_at(c, w, i);
            right &= is(t, j * w + i, 0.5 * sum);
        }
    return right;
}

static bool test_mix(struct known *t, int vecs, int64_t n, int64_t d)
{
    int64_t w = vecs * t->kernel->lanes;
    bool right = true;

    fill(t, t->a, known_a);
    fill(t, t->b, known_b);
    fill(t, t->c, one);
    for (int64_t i = 0; i < w; i++)
        real_put(t->alpha, i, t->size, (double)(i % 3));
    t->kernel->mix(vecs, n, d, t->b, t->a, d, t->alpha, t->c);
    for (int64_t c = 0; c < d; c++)
        for (int64_t i = 0; i < w; i++) {
            double sum = (double)(i % 3);
            for (int64_t j = 0; j < n; j++)
                sum += a_at(j, d, c) * b_at(j, w, i);
            right &= is(t, c * w + i, sum);
        }
    return right;
}

static bool test_line_scores(struct known *t, int rows, int64_t n, int64_t d)
{
    int64_t apart = MOST_W;
    bool right = true;

    fill(t, t->a, known_a);
    fill(t, t->b, known_b);
    t->kernel->line_scores(rows, n, d, t->b, t->a, d, 0.5, t->c, apart);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t j = 0; j < n; j++) {
            double sum = 0;
            for (int64_t c = 0; c < d; c++)
                sum += a_at(j, d, c) * b_at(r, d, c);
            right &= is(t, r * apart + j, 0.5 * sum);
        }
    return right;
}

static bool test_line_mix(struct known *t, int rows, int64_t n, int64_t d)
{
    bool right = true;

    fill(t, t->a, known_a);
    fill(t, t->b, known_b);
    fill(t, t->c, one);
    for (int64_t r = 0; r < rows; r++)
        real_put(t->alpha, r, t->size, (double)r);
    t->kernel->line_mix(rows, n, d, t->b, MOST_W, t->a, d, t->alpha, t->c);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < d; c++) {
            double sum = (double)r;
            for (int64_t j = 0; j < n; j++)
                sum += a_at(j, d, c) * b_at(r, MOST_W, j);
            right &= is(t, r * d + c, sum);
        }
    return right;
}

/* ------------------------------------------------------------ the softmax */

/* Scores 0, -1 ... in each lane, then a second step with larger ones. */
static bool test_softmax(struct known *t, int vecs)
{
    enum { N = 7 };
    int64_t w = vecs * t->kernel->lanes;
    double *m = t->b, *l = t->b + MOST_W;
    double tolerance = t->dtype == ATTN_FLOAT64 ? 1e-14 : 1e-6, sum = 0;
    bool right = true;

    for (int64_t i = 0; i < w; i++) {
        real_put(m, i, t->size, -INFINITY);
        real_put(l, i, t->size, 0);
    }
    for (int64_t j = 0; j < N; j++)
        sum += exp((double)-j);
    for (int step = 0; step < 2; step++) {
        for (int64_t i = 0; i < N * w; i++)
            real_put(t->c, i, t->size, (double)(step - i / w));
        t->kernel->softmax(vecs, N, t->c, m, l, t->alpha);
    }
    for (int64_t i = 0; i < w; i++) {
        double whole = sum + sum * exp(-1);
        right &= real_get(m, i, t->size) == 1
            && fabs(real_get(t->alpha, i, t->size) - exp(-1)) <= tolerance
            && fabs(real_get(l, i, t->size) - whole) <= whole * tolerance;
    }
    return right;
}

bool engine_test_kernels(const struct kernel *k, enum attn_dtype dtype)
{
    static const int64_t shapes[][2] = {
        { 1, 1 }, { 3, 5 }, { MOST_N, 1 }, { 8, MOST_D }, { MOST_N, MOST_D }
    };
    static struct known t;
    bool right = true;

    t.kernel = k;
    t.dtype = dtype;
    t.size = (int64_t)attn_dtype_bytes(dtype);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        int64_t n = shapes[i][0], d = shapes[i][1];

        for (int vecs = 1; vecs <= KERNEL_VECS; vecs++)
            right &= test_scores(&t, vecs, n, d) && test_mix(&t, vecs, n, d);
        for (int rows = 1; rows <= KERNEL_LINES; rows++)
            right &= test_line_scores(&t, rows, n, d)
                && test_line_mix(&t, rows, n, d);
    }
    for (int vecs = 1; vecs <= KERNEL_VECS; vecs++)
        right &= test_softmax(&t, vecs);
    return right;
}

/* -------------------------------------------------------------- the choice */

enum attn_engine engine_choose(enum attn_engine wanted, bool native_is_right,
                               bool openblas_is_right)
{
    enum attn_engine other = ATTN_ENGINE_OPENBLAS;
    bool right = native_is_right, other_is_right = openblas_is_right;

    if (wanted == ATTN_ENGINE_OPENBLAS) {
        other = ATTN_ENGINE_NATIVE;
        right = openblas_is_right;
        other_is_right = native_is_right;
    }
    return right ? wanted : other_is_right ? other : ATTN_ENGINE_REFERENCE;
}

void engine_use(enum attn_engine engine)
{
    enum kernel_products by_blas = failed[ATTN_ENGINE_NATIVE]
        ? KERNEL_BLAS : KERNEL_BLAS_TILES;

    in_use = engine;
    attn_kernel_products(engine == ATTN_ENGINE_OPENBLAS ? by_blas
                                                        : KERNEL_OWN);
}

enum attn_engine engine_in_use(void)
{
    return in_use;
}

static bool are_right(enum kernel_products products)
{
    bool right = true;

    attn_kernel_products(products);
    for (int type = ATTN_FLOAT32; type <= ATTN_FLOAT64; type++)
        right &= engine_test_kernels(attn_kernel((enum attn_dtype)type),
                                     (enum attn_dtype)type);
    return right;
}

enum attn_engine attn_init(enum attn_engine wanted)
{
    attn_kernel_init();
    row_init(attn_cpu_level());
    failed[ATTN_ENGINE_NATIVE] = !are_right(KERNEL_OWN);
    failed[ATTN_ENGINE_OPENBLAS] = !blas_init() || !are_right(KERNEL_BLAS);
    if (wanted == ATTN_ENGINE_AUTO)
        wanted = attn_kernel_is_tuned() ? ATTN_ENGINE_NATIVE
                                        : ATTN_ENGINE_OPENBLAS;
    engine_use(engine_choose(wanted, !failed[ATTN_ENGINE_NATIVE],
                             !failed[ATTN_ENGINE_OPENBLAS]));
    return in_use;
}

bool attn_engine_failed(enum attn_engine engine)
{
    return failed[engine];
}

const char *attn_engine_name(enum attn_engine engine)
{
    static const char *const names[] = { "auto", "native", "openblas",
                                         "reference" };
    return names[engine];
}
