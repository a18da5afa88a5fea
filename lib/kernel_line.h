/* SPDX-License-Identifier: MIT */
/*
 * kernel_line.h - the kernels of a line, one query against many keys: limited
 * by how fast K and V arrive. Included by kernel_levels.c behind kernel_body.h,
 * with the same words. Sums run across lanes here, always in the same order.
 */

static INLINE vec NAME(dot)(int64_t d, const real *a, const real *b)
{
    vec sum = {0};
    int64_t c = 0;

    for (; c + LANES <= d; c += LANES) {
        sum += NAME(load)(a + c) * NAME(load)(b + c);
    }
    if (c < d) {
        sum += NAME(load_some)(a + c, d - c) * NAME(load_some)(b + c, d - c);
    }
    return sum;
}

/* Lane i of the result is the sum of all lanes of x[i]: each round zips the
   first half with the second and adds lower to upper. */
static INLINE vec NAME(sums)(vec x[LANES])
{
    UNROLL
    for (int half = LANES / 2; half > 0; half /= 2) {
        UNROLL
        for (int i = 0; i < half; i++) {
            vec a = x[i], b = x[i + half];
            x[i] = __builtin_shufflevector(a, b, LOWER)
                   + __builtin_shufflevector(a, b, UPPER);
        }
    }
    return x[0];
}

static void NAME(line_scores)(int64_t n, int64_t d, const void *q,
                              const void *k, int64_t k_row, double scale,
                              void *s)
{
    const real *key = k;
    real *to = s;

    for (int64_t j = 0; j < n; j += LANES) {
        vec x[LANES];

        for (int i = 0; i < LANES; i++) {
            x[i] = j + i < n ? NAME(dot)(d, q, key + (j + i) * k_row)
                             : (vec){0};
        }
        NAME(store)(to + j, NAME(sums)(x) * (real)scale);
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

static INLINE void NAME(line_mix_of)(int vecs, int64_t n, const real *p,
                                     const real *v, int64_t v_row, real *o)
{
    vec sum[MOST_ROWS][MOST_VECS];

    NAME(product)(1, vecs, n, p, 0, 1, v, v_row, sum);
    UNROLL
    for (int u = 0; u < vecs; u++) {
        real *at = o + u * LANES;
        NAME(store)(at, NAME(load)(at) + sum[0][u]);
    }
}

static void NAME(line_mix_few)(int64_t n, int64_t d, const real *p,
                               const real *v, int64_t v_row, real *o)
{
    int64_t c = 0;

    for (; c + 4 * LANES <= d; c += 4 * LANES) {
        NAME(line_mix_of)(4, n, p, v + c, v_row, o + c);
    }
    for (; c + LANES <= d; c += LANES) {
        NAME(line_mix_of)(1, n, p, v + c, v_row, o + c);
    }
    for (; c < d; c++) {
        real sum = 0;

        for (int64_t j = 0; j < n; j++) {
            sum += p[j] * v[j * v_row + c];
        }
        o[c] += sum;
    }
}

/* Few keys at a time, so that V comes in whole rows, one after the other. */
static void NAME(line_mix)(int64_t n, int64_t d, const void *p, const void *v,
                           int64_t v_row, const void *alpha, void *o)
{
    const int64_t few = 32;
    const real shrink = *(const real *)alpha;
    real *to = o;

    for (int64_t c = 0; c < d; c++) {
        to[c] *= shrink;
    }
    for (int64_t j = 0; j < n; j += few) {
        NAME(line_mix_few)(n - j < few ? n - j : few, d, (const real *)p + j,
                           (const real *)v + j * v_row, v_row, to);
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
#undef LOWER
#undef UPPER
#undef MAXIMUM
#undef EXP_LEAST
#undef EXP_ROUND
#undef EXP_SHIFT
#undef EXP_BIAS
#undef EXP_LIFT
#undef EXP_DROP
#undef EXP_LN2_HIGH
#undef EXP_LN2_LOW
#undef EXP_TERMS
