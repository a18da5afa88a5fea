/* SPDX-License-Identifier: MIT */
/*
 * row_body.h - the operations on a row, for one type.
 *
 * row_levels.c includes this twice, with `real`, the unsigned `whole` of its
 * size, NAME(x) and the numbers of exp. Loops are plain and branchless where
 * the compiler is to vectorise them; sums run in LANES fixed lanes, so that
 * their order does not depend on the CPU.
 */

static void NAME(scale)(void *x_, int64_t n, double a_)
{
    real *x = x_, a = (real)a_;
    for (int64_t j = 0; j < n; j++)
        x[j] *= a;
}

static void NAME(combine)(void *y_, double a_, const void *x_, double b_,
                          int64_t n)
{
    real *y = y_, a = (real)a_, b = (real)b_;
    const real *x = x_;
    for (int64_t j = 0; j < n; j++)
        y[j] = y[j] * a + x[j] * b;
}

static void NAME(combine_lanes)(void *y_, const void *a_, const void *x_,
                                const void *b_, int64_t n)
{
    real *y = y_;
    const real *a = a_, *x = x_, *b = b_;
    for (int64_t j = 0; j < n; j++)
        y[j] = y[j] * a[j] + x[j] * b[j];
}

static void NAME(scale_lanes)(void *y_, int64_t rows, const void *a_,
                              int64_t n)
{
    real *y = y_;
    const real *a = a_;
    int64_t ones = 0;
    for (int64_t j = 0; j < n; j++)
        ones += a[j] == 1;
    for (int64_t r = 0; r < rows && ones < n; r++)
        for (int64_t j = 0; j < n; j++)
            y[r * n + j] *= a[j];
}

static void NAME(fill)(void *x_, int64_t n, double value)
{
    real *x = x_;
    for (int64_t j = 0; j < n; j++)
        x[j] = (real)value;
}

/* ------------------------------------------------------- exp and tanh */

/*
 * exp(x) = 2^k exp(r), x = k ln 2 + r, |r| <= ln 2 / 2. Adding and taking
 * away EXP_SHIFT rounds to a whole number, which then stands in the low bits
 * of the sum. Returns exp(r) - 1 by its series, so that it is exact to the
 * last bits also near 0, and sets *two_k = 2^k.
 */
static inline real NAME(exp_parts)(real x, real *two_k)
{
    static const real term[] = EXP_SERIES;
    union { real r; whole w; } shifted, power;
    shifted.r = NAME(fuse)(x, EXP_LOG2E, EXP_SHIFT);
    real k = shifted.r - EXP_SHIFT;
    real r = NAME(fuse)(k, -EXP_LN2_HIGH, x);
    r = NAME(fuse)(k, -EXP_LN2_LOW, r);
    real y = term[0];
    UNROLL
    for (int i = 1; i < (int)(sizeof term / sizeof *term); i++)
        y = NAME(fuse)(y, r, term[i]);
    power.w = (whole)((shifted.w + EXP_BIAS) << EXP_MANTISSA);
    *two_k = power.r;
    return NAME(fuse)(r * r, y, r);
}

/* tanh|x| = -E / (E + 2), E = exp(-2|x|) - 1 */
static inline real NAME(tanh)(real x)
{
    real two_k, positive = x < 0 ? -x : x;
    real far = positive > TANH_ONE ? TANH_ONE : positive;
    real e = NAME(exp_parts)(-2 * far, &two_k);
    e = NAME(fuse)(two_k, e, two_k - 1);
    real t = -e / (e + 2);
    return x < 0 ? -t : t;
}

static void NAME(softcap)(void *s_, int64_t n, double cap_)
{
    real *s = s_, cap = (real)cap_;
    for (int64_t j = 0; j < n; j++)
        s[j] = cap * NAME(tanh)(s[j] / cap);
}

static void NAME(add)(void *s_, int64_t n, const void *x_, int64_t step)
{
    real *s = s_;
    const real *x = x_;
    if (step)
        for (int64_t j = 0; j < n; j++)
            s[j] += x[j];
    else
        for (int64_t j = 0; j < n; j++)
            s[j] += *x;
}

static void NAME(alibi)(void *s_, int64_t n, double slope_, double p)
{
    real *s = s_, slope = (real)slope_;
    for (int64_t j = 0; j < n; j++)
        s[j] = NAME(fuse)(-slope, (real)fabs(p - (double)j), s[j]);
}

static void NAME(additive)(void *s_, int64_t n, const void *q_,
                           const void *k_, int64_t k_row, const void *v_,
                           int64_t width)
{
    real *s = s_;
    const real *q = q_, *v = v_;
    for (int64_t j = 0; j < n; j++) {
        const real *k = (const real *)k_ + j * k_row;
        real sum[LANES] = {0};
        int64_t e = 0;
        for (; e + LANES <= width; e += LANES)
            for (int t = 0; t < LANES; t++)
                sum[t] = NAME(fuse)(v[e + t], NAME(tanh)(q[e + t] + k[e + t]),
                                    sum[t]);
        for (int t = 0; e < width; e++, t++)
            sum[t] = NAME(fuse)(v[e], NAME(tanh)(q[e] + k[e]), sum[t]);
        for (int t = 1; t < LANES; t++)
            sum[0] += sum[t];
        s[j] = sum[0];
    }
}

/* --------------------------------------------------------- visibility */

static int64_t NAME(see_bias)(unsigned char *map, int64_t n, const void *b_,
                              int64_t step)
{
    const real *bias = b_;
    int64_t count = 0;
    if (!step) {
        for (int64_t j = 0; j < n && *bias == (real)-INFINITY; j++)
            map[j] = 0;
    } else {
        for (int64_t j = 0; j < n; j++)
            map[j] = (unsigned char)(map[j] & (bias[j] != (real)-INFINITY));
    }
    for (int64_t j = 0; j < n; j++)
        count += map[j];
    return count;
}

static void NAME(hide)(void *s_, int64_t n, const unsigned char *map)
{
    real *s = s_;
    for (int64_t j = 0; j < n; j++)
        s[j] = map[j] ? s[j] : (real)-INFINITY;
}

static void NAME(clear_hidden)(void *x_, int64_t n, const unsigned char *map)
{
    real *x = x_;
    for (int64_t j = 0; j < n; j++)
        x[j] = map[j] ? x[j] : 0;
}

/* ------------------------------------------------------------ softmax */

static double NAME(max)(const void *s_, int64_t n)
{
    const real *s = s_;
    real top[LANES];
    int64_t j = 0;
    for (int t = 0; t < LANES; t++)
        top[t] = (real)-INFINITY;
    for (; j + LANES <= n; j += LANES)
        for (int t = 0; t < LANES; t++)
            top[t] = s[j + t] > top[t] ? s[j + t] : top[t];
    for (; j < n; j++)
        top[0] = s[j] > top[0] ? s[j] : top[0];
    for (int t = 1; t < LANES; t++)
        top[0] = top[t] > top[0] ? top[t] : top[0];
    return (double)top[0];
}

static void NAME(entropy)(const void *s_, int64_t n, const unsigned char *map,
                          double m, double *sum, double *weighted)
{
    const real *s = s_;
    for (int64_t j = 0; j < n; j++) {
        double x = (double)s[j] - m;
        double e = exp(x);
        if ((map && !map[j]) || e == 0)
            continue;
        *sum += e;
        *weighted += e * x;
    }
}

static void NAME(moments)(const void *x_, int64_t n, const unsigned char *map,
                          struct moments *all)
{
    const real *x = x_;
    struct moments row = {0, 0, 0};
    for (int64_t j = 0; j < n; j++) {
        double seen = map ? map[j] : 1;
        row.count += seen;
        row.mean += seen > 0 ? (double)x[j] : 0;
    }
    row.mean /= row.count > 0 ? row.count : 1;
    for (int64_t j = 0; j < n; j++) {
        double far = map && !map[j] ? 0 : (double)x[j] - row.mean;
        row.squares += far * far;
    }
    moments_merge(all, &row);
}

/* ------------------------------------------------------------- others */

/* x - x is 0 unless x is NaN or infinite */
static bool NAME(finite)(const void *x_, int64_t n)
{
    const real *x = x_;
    real sum[LANES] = {0};
    int64_t j = 0;
    for (; j + LANES <= n; j += LANES)
        for (int t = 0; t < LANES; t++)
            sum[t] += x[j + t] - x[j + t];
    for (; j < n; j++)
        sum[0] += x[j] - x[j];
    for (int t = 1; t < LANES; t++)
        sum[0] += sum[t];
    return sum[0] == 0;
}

static void NAME(make_finite)(void *y_, const void *x_, int64_t n)
{
    real *y = y_;
    const real *x = x_;
    for (int64_t j = 0; j < n; j++)
        y[j] = x[j] - x[j] == 0 ? x[j] : 0;
}

static void NAME(add_spoilt)(void *y_, int64_t step, double a, const void *x_,
                             int64_t n)
{
    real *y = y_;
    const real *x = x_;
    for (int64_t j = 0; j < n; j++)
        if (x[j] - x[j] != 0)
            y[j * step] += (real)a * x[j];
}

static void NAME(rotate)(void *y_, const void *x_,
                         const struct row_turn *turn)
{
    real *y = y_;
    const real *x = x_;
    int64_t step = turn->interleaved ? 2 : 1;
    int64_t other = turn->interleaved ? 1 : turn->dim / 2;
    for (int64_t t = 0; t < turn->count; t++) {
        int64_t c = (turn->first + t) * step;
        double a = (double)x[c], b = (double)x[c + other];
        y[c] = (real)(a * turn->cos[t] - b * turn->sin[t]);
        y[c + other] = (real)(a * turn->sin[t] + b * turn->cos[t]);
    }
    for (int64_t c = turn->dim; c < turn->width && turn->first == 0; c++)
        y[c] = x[c];
}

static const struct row_ops NAME(ops) = {
    .scale = NAME(scale),
    .combine = NAME(combine),
    .combine_lanes = NAME(combine_lanes),
    .scale_lanes = NAME(scale_lanes),
    .fill = NAME(fill),
    .softcap = NAME(softcap),
    .add = NAME(add),
    .alibi = NAME(alibi),
    .additive = NAME(additive),
    .see_mask = see_mask,
    .see_bias = NAME(see_bias),
    .hide = NAME(hide),
    .clear_hidden = NAME(clear_hidden),
    .max = NAME(max),
    .entropy = NAME(entropy),
    .moments = NAME(moments),
    .finite = NAME(finite),
    .make_finite = NAME(make_finite),
    .add_spoilt = NAME(add_spoilt),
    .rotate = NAME(rotate),
};

#undef real
#undef whole
#undef NAME
#undef LANES
#undef EXP_LOG2E
#undef EXP_SHIFT
#undef EXP_LN2_HIGH
#undef EXP_LN2_LOW
#undef EXP_BIAS
#undef EXP_MANTISSA
#undef EXP_SERIES
#undef TANH_ONE
