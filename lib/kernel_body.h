/* SPDX-License-Identifier: MIT */
/*
 * kernel_body.h - the kernels of one type, for the CPU the compiler is aiming
 * at; what each does is said in kernel.h. kernel_levels.c includes this twice
 * and defines real, whole (the integer of that size), NAME, EACH and
 * the numbers of exp. A function called ..._of has vecs as a constant where it
 * is inlined; the one without fans out to three copies of it.
 */
#define LANES ((int)(VECTOR_BYTES / sizeof(real)))
#define MOST_ROWS 8
#define MOST_VECS 4
#define vec NAME(vec)
#define bits NAME(bits)
#define loose NAME(loose)

typedef real vec __attribute__((vector_size(VECTOR_BYTES)));
typedef whole bits __attribute__((vector_size(VECTOR_BYTES)));
typedef real loose __attribute__((vector_size(VECTOR_BYTES), may_alias,
                                  aligned(sizeof(real))));

/* --- vectors ------------------------------------------------------------- */

static INLINE vec NAME(load)(const real *p)
{
    return (vec)*(const loose *)p;
}

static INLINE void NAME(store)(real *p, vec x)
{
    *(loose *)p = (loose)x;
}

static INLINE vec NAME(splat)(real x)
{
    return x - (vec){0};
}

/* The first n < LANES of a vector, the rest zero. */
static INLINE vec NAME(load_some)(const real *p, int64_t n)
{
    vec x = {0};

    memcpy(&x, p, (size_t)n * sizeof *p);
    return x;
}

static INLINE vec NAME(load_up_to)(const real *p, int64_t n)
{
    return n < LANES ? NAME(load_some)(p, n) : NAME(load)(p);
}

static INLINE vec NAME(choose)(bits which, vec yes, vec no)
{
    return (vec)((which & (bits)yes) | (~which & (bits)no));
}

/* a > b ? a : b in each lane: b where one of them is NaN. Of the plain form
   gcc 12 makes three slow instructions where one would do: 6 % of all. */
static INLINE vec NAME(larger)(vec a, vec b)
{
#ifdef MAXIMUM
    return MAXIMUM(a, b);
#else
    return NAME(choose)(a > b, a, b);
#endif
}

/* a b + c in each lane, to the bits of fuse.h */
static INLINE vec NAME(fuse_each)(vec a, vec b, vec c)
{
#ifdef FUSE
    return FUSE(a, b, c);
#else
    return a * b + c;
#endif
}

/* exp(x) for x <= 0 or NaN:  x = e ln 2 + r,  exp(x) = 2^e P(r).
   Adding EXP_ROUND leaves e, and what lifts it above the subnormals, in the
   lowest bits of t; shifted up they are the exponent of a power of two. P is
   summed up 2^-EXP_LIFT times too small, so that the one last product brings
   it back, rounding to a subnormal where it must, and keeps a NaN. EXP_LEAST
   is where that power of two becomes 0: a product with it is an exact 0, one
   that falls below the subnormals costs a CPU many times as much. */
static INLINE vec NAME(exp)(vec x)
{
    static const real term[] = EXP_TERMS;
    const real round = EXP_ROUND + EXP_BIAS + EXP_LIFT;
    vec t, e, r, y;

    x = NAME(larger)(NAME(splat)(EXP_LEAST), x);
    t = NAME(fuse_each)(x, NAME(splat)((real)LOG2E), NAME(splat)(round));
    e = t - round;
    r = NAME(fuse_each)(e, NAME(splat)(-EXP_LN2_HIGH), x);
    r = NAME(fuse_each)(e, NAME(splat)(-EXP_LN2_LOW), r);
    y = NAME(splat)(term[0] * EXP_DROP);
    UNROLL
    for (int i = 1; i < (int)(sizeof term / sizeof *term); i++) {
        y = NAME(fuse_each)(y, r, NAME(splat)(term[i] * EXP_DROP));
    }
    return y * (vec)((bits)t << EXP_SHIFT);
}

/* Vectors `step` apart become one of their even blocks and one of their odd
   ones. From halves to single lanes that transposes LANES of them, but for the
   order: what was to be number 1 (0001) comes out as number 8 (1000). */
#define TURN(x, step) \
    UNROLL \
    for (int i = 0; i < LANES; i++) { \
        if (!(i & (step)) && (step) < LANES) { \
            vec a = x[i], b = x[i + (step)]; \
            x[i] = ALTERNATE(a, b, EVEN, 2 * (step)); \
            x[i + (step)] = ALTERNATE(a, b, ODD, 2 * (step)); \
        } \
    }

static INLINE void NAME(transpose)(vec x[LANES])
{
    vec y[LANES];

    TURN(x, 1)
    TURN(x, 2)
    TURN(x, 4)
    TURN(x, 8)
    UNROLL
    for (int i = 0; i < LANES; i++) {
        int from = 0;

        UNROLL
        for (int bit = 1; bit < LANES; bit *= 2) {
            from = 2 * from + !!(i & bit);
        }
        y[i] = x[from];
    }
    UNROLL
    for (int i = 0; i < LANES; i++) {
        x[i] = y[i];
    }
}

/* --- the product --------------------------------------------------------- */

/* sum[i][u] = over t < n, upwards:  a[i*a_row + t*a_step] * b[t*b_step + u],
   u < vecs vectors. rows and vecs are constants; the sums stay in registers. */
static INLINE void NAME(product)(int rows, int vecs, int64_t n, const real *a,
                                 int64_t a_row, int64_t a_step, const real *b,
                                 int64_t b_step, vec sum[MOST_ROWS][MOST_VECS])
{
    UNROLL
    for (int i = 0; i < rows; i++) {
        UNROLL
        for (int u = 0; u < vecs; u++) {
            sum[i][u] = (vec){0};
        }
    }
    for (int64_t t = 0; t < n; t++) {
        vec x[MOST_VECS];

        UNROLL
        for (int u = 0; u < vecs; u++) {
            x[u] = NAME(load)(b + t * b_step + u * LANES);
        }
        UNROLL
        for (int i = 0; i < rows; i++) {
            vec y = NAME(splat)(a[i * a_row + t * a_step]);
            UNROLL
            for (int u = 0; u < vecs; u++) {
                sum[i][u] = NAME(fuse_each)(y, x[u], sum[i][u]);
            }
        }
    }
}

/* --- a tile -------------------------------------------------------------- */

/* scores of a few keys */
static INLINE void NAME(score_few)(int keys, int vecs, int64_t d,
                                   const real *q, const real *k, int64_t k_row,
                                   real scale, real *s)
{
    vec sum[MOST_ROWS][MOST_VECS];

    NAME(product)(keys, vecs, d, k, k_row, 1, q, vecs * LANES, sum);
    UNROLL
    for (int i = 0; i < keys; i++) {
        UNROLL
        for (int u = 0; u < vecs; u++) {
            NAME(store)(s + (i * vecs + u) * LANES, sum[i][u] * scale);
        }
    }
}

static INLINE void NAME(scores_of)(int vecs, int64_t n, int64_t d,
                                   const real *q, const real *k, int64_t k_row,
                                   real scale, real *s)
{
    const int few = ROWS(vecs);
    int64_t w = vecs * LANES, j = 0;

    for (; j + few <= n; j += few) {
        NAME(score_few)(few, vecs, d, q, k + j * k_row, k_row, scale,
                        s + j * w);
    }
    for (; j < n; j++) {
        NAME(score_few)(1, vecs, d, q, k + j * k_row, k_row, scale, s + j * w);
    }
}

static void NAME(scores)(int vecs, int64_t n, int64_t d, const void *q,
                         const void *k, int64_t k_row, double scale, void *s)
{
    if (vecs == 3) {
        NAME(scores_of)(3, n, d, q, k, k_row, (real)scale, s);
    } else if (vecs == 2) {
        NAME(scores_of)(2, n, d, q, k, k_row, (real)scale, s);
    } else {
        NAME(scores_of)(1, n, d, q, k, k_row, (real)scale, s);
    }
}

/* 1. the largest score; 2. what the sums so far shrink by; 3. exp and sum. */
static INLINE void NAME(softmax_of)(int vecs, int64_t n, real *s, real *m,
                                    real *l, real *alpha)
{
    const vec lowest = NAME(splat)(-(real)INFINITY);
    vec top[MOST_VECS], base[MOST_VECS], sum[MOST_VECS];

    UNROLL
    for (int u = 0; u < vecs; u++) {
        top[u] = NAME(load)(m + u * LANES);
        sum[u] = (vec){0};
    }
    for (int64_t j = 0; j < n; j++) {
        UNROLL
        for (int u = 0; u < vecs; u++) {
            vec x = NAME(load)(s + (j * vecs + u) * LANES);
            top[u] = NAME(larger)(x, top[u]);
        }
    }
    UNROLL
    for (int u = 0; u < vecs; u++) {
        vec before = NAME(load)(m + u * LANES);
        base[u] = NAME(choose)(top[u] == lowest, (vec){0}, top[u]);
        NAME(store)(alpha + u * LANES, NAME(exp)(before - base[u]));
        NAME(store)(m + u * LANES, top[u]);
    }
    for (int64_t j = 0; j < n; j++) {
        UNROLL
        for (int u = 0; u < vecs; u++) {
            real *at = s + (j * vecs + u) * LANES;
            vec p = NAME(exp)(NAME(load)(at) - base[u]);
            NAME(store)(at, p);
            sum[u] += p;
        }
    }
    UNROLL
    for (int u = 0; u < vecs; u++) {
        vec before = NAME(load)(l + u * LANES);
        vec shrink = NAME(load)(alpha + u * LANES);
        NAME(store)(l + u * LANES, NAME(fuse_each)(before, shrink, sum[u]));
    }
}

static void NAME(softmax)(int vecs, int64_t n, void *s, void *m, void *l,
                          void *alpha)
{
    if (vecs == 3) {
        NAME(softmax_of)(3, n, s, m, l, alpha);
    } else if (vecs == 2) {
        NAME(softmax_of)(2, n, s, m, l, alpha);
    } else {
        NAME(softmax_of)(1, n, s, m, l, alpha);
    }
}

static void NAME(hide)(int vecs, int64_t n, const int64_t *low,
                       const int64_t *high, void *s)
{
    const vec lowest = NAME(splat)(-(real)INFINITY);

    for (int u = 0; u < vecs; u++) {
        bits from, to;

        for (int i = 0; i < LANES; i++) {
            int64_t l = low[u * LANES + i], h = high[u * LANES + i];
            from[i] = (whole)(l < 0 ? 0 : l > n ? n : l);
            to[i] = (whole)(h < 0 ? 0 : h > n ? n : h);
        }
        for (int64_t j = 0; j < n; j++) {
            real *at = (real *)s + (j * vecs + u) * LANES;
            bits seen = (from <= (whole)j) & (to > (whole)j);
            NAME(store)(at, NAME(choose)(seen, NAME(load)(at), lowest));
        }
    }
}

/* a few columns of V */
static INLINE void NAME(mix_few)(int columns, int vecs, int64_t n,
                                 const real *p, const real *v, int64_t v_row,
                                 const real *alpha, real *o)
{
    vec sum[MOST_ROWS][MOST_VECS];

    NAME(product)(columns, vecs, n, v, 1, v_row, p, vecs * LANES, sum);
    UNROLL
    for (int i = 0; i < columns; i++) {
        UNROLL
        for (int u = 0; u < vecs; u++) {
            real *at = o + (i * vecs + u) * LANES;
            vec shrink = NAME(load)(alpha + u * LANES);
            vec before = NAME(load)(at);
            NAME(store)(at, NAME(fuse_each)(before, shrink, sum[i][u]));
        }
    }
}

static INLINE void NAME(mix_of)(int vecs, int64_t n, int64_t d, const real *p,
                                const real *v, int64_t v_row,
                                const real *alpha, real *o)
{
    const int few = ROWS(vecs);
    int64_t w = vecs * LANES, c = 0;

    for (; c + few <= d; c += few) {
        NAME(mix_few)(few, vecs, n, p, v + c, v_row, alpha, o + c * w);
    }
    for (; c < d; c++) {
        NAME(mix_few)(1, vecs, n, p, v + c, v_row, alpha, o + c * w);
    }
}

static void NAME(mix)(int vecs, int64_t n, int64_t d, const void *p,
                      const void *v, int64_t v_row, const void *alpha, void *o)
{
    if (vecs == 3) {
        NAME(mix_of)(3, n, d, p, v, v_row, alpha, o);
    } else if (vecs == 2) {
        NAME(mix_of)(2, n, d, p, v, v_row, alpha, o);
    } else {
        NAME(mix_of)(1, n, d, p, v, v_row, alpha, o);
    }
}

/* --- between rows and lanes ---------------------------------------------- */

/* One vector of queries: rows <= LANES. */
static void NAME(columns_of)(int64_t rows, int64_t n, const real *x,
                             int64_t x_row, real *t, int64_t w)
{
    int64_t c = 0;

    for (; c + LANES <= n; c += LANES) {
        vec y[LANES];

        UNROLL
        for (int i = 0; i < LANES; i++) {
            y[i] = i < rows ? NAME(load)(x + i * x_row + c) : (vec){0};
        }
        NAME(transpose)(y);
        UNROLL
        for (int i = 0; i < LANES; i++) {
            NAME(store)(t + (c + i) * w, y[i]);
        }
    }
    for (; c < n; c++) {
        for (int i = 0; i < LANES; i++) {
            t[c * w + i] = i < rows ? x[i * x_row + c] : 0;
        }
    }
}

static void NAME(columns)(int vecs, int64_t rows, int64_t n, const void *x,
                          int64_t x_row, void *t)
{
    for (int u = 0; u < vecs; u++) {
        int64_t first = u * LANES;
        NAME(columns_of)(rows - first, n, (const real *)x + first * x_row,
                         x_row, (real *)t + first, vecs * LANES);
    }
}

static void NAME(rows_of)(int64_t rows, int64_t n, const real *t, int64_t w,
                          const real *factor, real *x, int64_t x_row)
{
    const vec by = NAME(load)(factor);
    int64_t c = 0;

    for (; c + LANES <= n; c += LANES) {
        vec y[LANES];

        UNROLL
        for (int i = 0; i < LANES; i++) {
            y[i] = NAME(load)(t + (c + i) * w) * by;
        }
        NAME(transpose)(y);
        UNROLL
        for (int i = 0; i < LANES; i++) {
            if (i < rows) {
                NAME(store)(x + i * x_row + c, y[i]);
            }
        }
    }
    for (; c < n; c++) {
        for (int i = 0; i < LANES && i < rows; i++) {
            x[i * x_row + c] = t[c * w + i] * factor[i];
        }
    }
}

static void NAME(rows)(int vecs, int64_t rows, int64_t n, const void *t,
                       const void *factor, void *x, int64_t x_row)
{
    for (int u = 0; u < vecs; u++) {
        int64_t first = u * LANES;
        NAME(rows_of)(rows - first, n, (const real *)t + first, vecs * LANES,
                      (const real *)factor + first, (real *)x + first * x_row,
                      x_row);
    }
}

/* --- the panels of a linear layer ---------------------------------------- */

static void NAME(gather)(int vecs, int64_t columns, int64_t n, const void *x,
                         int64_t x_row, void *t)
{
    for (int64_t c = 0; c < n; c++) {
        for (int64_t i = 0; i < vecs * LANES; i += LANES) {
            const real *from = (const real *)x + c * x_row + i;
            NAME(store)((real *)t + c * vecs * LANES + i,
                        NAME(load_up_to)(from, columns - i));
        }
    }
}

static void NAME(add)(int vecs, int64_t columns, int64_t n, const void *s,
                      const void *x, int64_t x_row, void *y, int64_t y_row)
{
    for (int64_t j = 0; j < n; j++) {
        for (int64_t i = 0; i < columns; i += LANES) {
            const real *more = x ? (const real *)x + j * x_row + i : NULL;
            real *to = (real *)y + j * y_row + i;
            const real *from = (const real *)s + j * vecs * LANES + i;
            vec sum = NAME(load_up_to)(from, columns - i);

            if (more) {
                sum += NAME(load_up_to)(more, columns - i);
            }
            if (columns - i < LANES) {
                memcpy(to, &sum, (size_t)(columns - i) * sizeof *to);
            } else {
                NAME(store)(to, sum);
            }
        }
    }
}
