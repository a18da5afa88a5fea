/* SPDX-License-Identifier: MIT */
/*
 * kernel_line.h - the kernels of lines, few queries against many keys: limited
 * by how fast K and V arrive. Included by kernel_levels.c behind kernel_body.h,
 * with the same words. Sums run across lanes here, always in the same order. A
 * function called ..._of has rows as a constant where it is inlined.
 */

/* Asks for n rows of x, before they are wanted: some rows further on. The CPU
   guesses by itself where row after row is read from its begin to its end, and
   is only held up then, but not where several rows are read together. */
static INLINE void NAME(ask_for)(int64_t n, int64_t d, const real *x,
                                 int64_t x_row)
{
    const uintptr_t line = 64, row = (uintptr_t)x_row * sizeof *x;
    uintptr_t at = (uintptr_t)x + AHEAD * row;

    for (int64_t j = 0; j < n; j++) {
        for (uintptr_t c = 0; c < (uintptr_t)d * sizeof *x; c += line) {
            __builtin_prefetch((const void *)(at + c));
        }
        at += row;
    }
}

#define FEW (LANES < MOST_KEYS ? LANES : MOST_KEYS)

/* The sums of blocks of LANES / n lanes and their neighbours: a's, then b's. */
#define FOLD(a, b, n) (ALTERNATE(a, b, EVEN, n) + ALTERNATE(a, b, ODD, n))

/* Lane i of the result is the sum of all lanes of x[i], i < LANES, in two
   steps: some vectors become one that has a block of lanes for each... */
static INLINE vec NAME(sums_of_few)(const vec x[FEW])
{
    vec a = FOLD(x[0], x[1], 2);

    return FEW > 2 ? FOLD(a, FOLD(x[2], x[3], 2), 4) : a;
}

/* ... and these blocks become a lane. */
static INLINE vec NAME(sums)(const vec x[LANES / FEW])
{
    vec a = x[0];

    if (LANES > 8) {
        a = FOLD(FOLD(x[0], x[1], 8), FOLD(x[2], x[3], 8), 16);
    } else if (LANES > 4) {
        a = FOLD(x[0], x[1], 8);
    }
    return a;
}

/* sum[i][r] += the terms of k[i] . q[r] in the columns of one vector */
static INLINE void NAME(dot)(int keys, int rows, int64_t d, int64_t some,
                             const real *q, const real *k, int64_t k_row,
                             vec sum[MOST_KEYS][KERNEL_LINES])
{
    vec x[KERNEL_LINES];

    UNROLL
    for (int r = 0; r < rows; r++) {
        x[r] = some < LANES ? NAME(load_some)(q + r * d, some)
                            : NAME(load)(q + r * d);
    }
    UNROLL
    for (int i = 0; i < keys; i++) {
        vec y = some < LANES ? NAME(load_some)(k + i * k_row, some)
                             : NAME(load)(k + i * k_row);
        UNROLL
        for (int r = 0; r < rows; r++) {
            sum[i][r] = NAME(fuse_each)(x[r], y, sum[i][r]);
        }
    }
}

/* to[r][i] = the terms of k[i] . q[r], not yet summed across lanes */
static INLINE void NAME(dots)(int keys, int rows, int64_t d, const real *q,
                              const real *k, int64_t k_row,
                              vec to[KERNEL_LINES][FEW])
{
    vec sum[MOST_KEYS][KERNEL_LINES];
    int64_t c = 0;

    UNROLL
    for (int i = 0; i < keys; i++) {
        UNROLL
        for (int r = 0; r < rows; r++) {
            sum[i][r] = (vec){0};
        }
    }
    for (; c + LANES <= d; c += LANES) {
        NAME(dot)(keys, rows, d, LANES, q + c, k + c, k_row, sum);
    }
    if (c < d) {
        NAME(dot)(keys, rows, d, d - c, q + c, k + c, k_row, sum);
    }
    UNROLL
    for (int i = 0; i < keys; i++) {
        UNROLL
        for (int r = 0; r < rows; r++) {
            to[r][i] = sum[i][r];
        }
    }
}

/* The same for fewer than FEW keys, none included: in memory, that x of all
   others may stay in registers. */
static INLINE void NAME(last_dots)(int64_t keys, int rows, int64_t d,
                                   const real *q, const real *k,
                                   int64_t k_row, vec to[KERNEL_LINES][FEW])
{
    vec some[KERNEL_LINES][FEW] = {{{0}}};

    for (int64_t i = 0; i < keys; i++) {
        vec one[KERNEL_LINES][FEW];

        NAME(dots)(1, rows, d, q, k + i * k_row, k_row, one);
        UNROLL
        for (int r = 0; r < rows; r++) {
            some[r][i] = one[r][0];
        }
    }
    memcpy(to, some, sizeof some);
}

/* to[r] = the sums of few keys, fewer at the end of K */
static INLINE void NAME(score_line)(int64_t keys, int rows, int64_t d,
                                    const real *q, const real *k,
                                    int64_t k_row, vec to[KERNEL_LINES])
{
    vec x[KERNEL_LINES][FEW];

    if (keys >= FEW) {
        NAME(ask_for)(FEW, d, k, k_row);
        NAME(dots)(FEW, rows, d, q, k, k_row, x);
    } else {
        NAME(last_dots)(keys, rows, d, q, k, k_row, x);
    }
    UNROLL
    for (int r = 0; r < rows; r++) {
        to[r] = NAME(sums_of_few)(x[r]);
    }
}

static INLINE void NAME(line_scores_of)(int rows, int64_t n, int64_t d,
                                        const real *q, const real *k,
                                        int64_t k_row, real scale, real *s,
                                        int64_t s_row)
{
    for (int64_t j = 0; j < n; j += LANES) {
        vec x[KERNEL_LINES][LANES / FEW];

        for (int part = 0; part < LANES / FEW; part++) {
            int64_t first = j + part * FEW;
            vec sum[KERNEL_LINES];

            NAME(score_line)(n - first, rows, d, q, k + first * k_row, k_row,
                             sum);
            UNROLL
            for (int r = 0; r < rows; r++) {
                x[r][part] = sum[r];
            }
        }
        UNROLL
        for (int r = 0; r < rows; r++) {
            NAME(store)(s + r * s_row + j, NAME(sums)(x[r]) * scale);
        }
    }
}

static void NAME(line_scores)(int rows, int64_t n, int64_t d, const void *q,
                              const void *k, int64_t k_row, double scale,
                              void *s, int64_t s_row)
{
    const real by = (real)scale;

    if (rows == 4) {
        NAME(line_scores_of)(4, n, d, q, k, k_row, by, s, s_row);
    } else if (rows == 3) {
        NAME(line_scores_of)(3, n, d, q, k, k_row, by, s, s_row);
    } else if (rows == 2) {
        NAME(line_scores_of)(2, n, d, q, k, k_row, by, s, s_row);
    } else {
        NAME(line_scores_of)(1, n, d, q, k, k_row, by, s, s_row);
    }
}

static void NAME(line_softmax)(int64_t n, void *s, void *m, void *l,
                               void *alpha)
{
    real *line = s, *top = m, *sum = l;
    real base, before = *top;
    vec most = NAME(splat)(before), total = {0}, shrink;

    /* 1. the largest score, the last vector filled up with -Infinity */
    for (int64_t j = n; j % LANES; j++) {
        line[j] = -(real)INFINITY;
    }
    for (int64_t j = 0; j < n; j += LANES) {
        most = NAME(larger)(NAME(load)(line + j), most);
    }
    for (int i = 0; i < LANES; i++) {
        *top = most[i] > *top ? most[i] : *top;
    }

    /* 2. what the sums so far shrink by */
    base = *top == -(real)INFINITY ? 0 : *top;
    shrink = NAME(exp)(NAME(splat)(before - base));
    *(real *)alpha = shrink[0];

    /* 3. exp and sum */
    for (int64_t j = 0; j < n; j += LANES) {
        vec p = NAME(exp)(NAME(load)(line + j) - base);
        NAME(store)(line + j, p);
        total += p;
    }
    *sum *= shrink[0];
    for (int i = 0; i < LANES; i++) {
        *sum += total[i];
    }
}

static INLINE void NAME(line_mix_block)(int rows, int vecs, int64_t n,
                                     int64_t d, const real *p, int64_t p_row,
                                     const real *v, int64_t v_row, real *o)
{
    vec sum[MOST_ROWS][MOST_VECS];

    NAME(product)(rows, vecs, n, p, p_row, 1, v, v_row, sum);
    UNROLL
    for (int r = 0; r < rows; r++) {
        UNROLL
        for (int u = 0; u < vecs; u++) {
            real *at = o + r * d + u * LANES;
            NAME(store)(at, NAME(load)(at) + sum[r][u]);
        }
    }
}

static INLINE void NAME(line_mix_few)(int rows, int64_t n, int64_t d,
                                      const real *p, int64_t p_row,
                                      const real *v, int64_t v_row, real *o)
{
    int64_t c = 0;

    for (; c + 4 * LANES <= d; c += 4 * LANES) {
        NAME(line_mix_block)(rows, 4, n, d, p, p_row, v + c, v_row, o + c);
    }
    for (; c + LANES <= d; c += LANES) {
        NAME(line_mix_block)(rows, 1, n, d, p, p_row, v + c, v_row, o + c);
    }
    for (; c < d; c++) {
        for (int r = 0; r < rows; r++) {
            real sum = 0;

            for (int64_t j = 0; j < n; j++) {
                sum = NAME(fuse)(p[r * p_row + j], v[j * v_row + c], sum);
            }
            o[r * d + c] += sum;
        }
    }
}

/* Few keys at a time, so that V comes in rows, one after the other; those that
   are too wide for the sums' registers, in parts. */
static INLINE void NAME(line_mix_of)(int rows, int64_t n, int64_t d,
                                      const real *p, int64_t p_row,
                                      const real *v, int64_t v_row,
                                      const real *alpha, real *o)
{
    for (int r = 0; r < rows; r++) {
        for (int64_t c = 0; c < d; c++) {
            o[r * d + c] *= alpha[r];
        }
    }
    for (int64_t j = 0; j < n; j += FEW_KEYS) {
        int64_t keys = n - j < FEW_KEYS ? n - j : FEW_KEYS;

        if (d > 4 * LANES) {
            NAME(ask_for)(keys, d, v + j * v_row, v_row);
        }
        NAME(line_mix_few)(rows, keys, d, p + j, p_row, v + j * v_row, v_row,
                           o);
    }
}

static void NAME(line_mix)(int rows, int64_t n, int64_t d, const void *p,
                           int64_t p_row, const void *v, int64_t v_row,
                           const void *alpha, void *o)
{
    if (rows == 4) {
        NAME(line_mix_of)(4, n, d, p, p_row, v, v_row, alpha, o);
    } else if (rows == 3) {
        NAME(line_mix_of)(3, n, d, p, p_row, v, v_row, alpha, o);
    } else if (rows == 2) {
        NAME(line_mix_of)(2, n, d, p, p_row, v, v_row, alpha, o);
    } else {
        NAME(line_mix_of)(1, n, d, p, p_row, v, v_row, alpha, o);
    }
}

static const struct kernel NAME(table) = {
    .level = QUOTED(LEVEL),
    .lanes = LANES,
    .columns = NAME(columns),
    .scores = NAME(scores),
    .hide = NAME(hide),
    .softmax = NAME(softmax),
    .mix = NAME(mix),
    .rows = NAME(rows),
    .gather = NAME(gather),
    .add = NAME(add),
    .line_scores = NAME(line_scores),
    .line_softmax = NAME(line_softmax),
    .line_mix = NAME(line_mix),
};

#undef LANES
#undef MOST_ROWS
#undef MOST_VECS
#undef vec
#undef bits
#undef loose
#undef real
#undef whole
#undef NAME
#undef EACH
#undef FOLD
#undef TURN
#undef FEW
#undef MAXIMUM
#undef FUSE
#undef EXP_LEAST
#undef EXP_ROUND
#undef EXP_SHIFT
#undef EXP_BIAS
#undef EXP_LIFT
#undef EXP_DROP
#undef EXP_LN2_HIGH
#undef EXP_LN2_LOW
#undef EXP_TERMS
