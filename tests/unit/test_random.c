/* SPDX-License-Identifier: MIT */
/*
 * test_random.c - thousands of calls with options drawn at random, computed
 * by attn_run() and held against the formula in plain loops.
 *
 * A failure names its seed: SEED=<seed> repeats that call alone,
 * SEED=<seed> ROUNDS=<n> draws n calls from there on.
 */
#include "suite.h"
#include "trial.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ROUNDS 4000
#define SECONDS 20

static struct random *dice;
static struct trial t;

static bool chance(int percent)
{
    return random_below(dice, 100) < percent;
}

static int64_t between(int64_t low, int64_t high)
{
    return low + random_below(dice, high - low + 1);
}

static int64_t pick(const int64_t *from, int64_t count)
{
    return from[random_below(dice, count)];
}

/* ------------------------------------------------------------ the sizes */

enum layout { APART_2, APART_3, APART_4, PACKED_2, PACKED_3, X_2, X_3 };

struct draw {
    struct sizes s; /* n_k counts the new keys alone */
    enum layout layout;
    bool heads;    /* the stages have a head axis */
    int64_t n_past;
    double size;   /* of the numbers in Q */
};

static double cost(const struct draw *d)
{
    const struct sizes *s = &d->s;
    return (double)(s->B * s->H * s->n_q * (s->n_k + d->n_past)) *
           (double)(s->d_k + s->d_v + 10);
}

static bool batched(const struct draw *d)
{
    return d->layout == APART_4 || d->layout == PACKED_3 || d->layout == X_3;
}

static void draw_heads(struct draw *d)
{
    static const int64_t pairs[][2] = {{1, 1}, {2, 2}, {3, 1},  {4, 2},
                                       {6, 3}, {5, 1}, {17, 17}, {40, 20}};
    const int64_t *pair = pairs[random_below(dice, 8)];
    d->heads = d->layout != APART_2 &&
               ((d->layout != X_2 && d->layout != X_3) || chance(70));
    d->s.H = d->heads ? pair[0] : 1;
    d->s.G = d->heads ? pair[1] : 1;
}

static struct draw draw_sizes(void)
{
    static const int64_t queries[] = {1, 2, 3, 4, 7, 23, 65, 130, 267};
    static const int64_t keys[] = {1, 7, 23, 57, 64, 130, 267, 514, 1030};
    static const int64_t widths[] = {1, 2, 5, 8, 9, 15, 57, 64, 257};
    static const int64_t ranges[] = {8192, 8193, 16384, 20001}; /* split */
    struct draw d;
    bool few = chance(5);
    do {
        d.layout = (enum layout)random_below(dice, 7);
        draw_heads(&d);
        d.s.B = batched(&d) ? between(1, 3) : 1;
        d.s.n_q = few ? between(1, 2) : pick(queries, 9);
        d.s.n_k = few ? pick(ranges, 4) : pick(keys, 9);
        d.s.d_k = pick(widths, 9);
        d.s.d_v = pick(widths, 9);
        d.n_past = chance(25) ? pick(keys, 6) : 0;
        d.size = chance(10) ? 100 : 1;
    } while (cost(&d) > 2e6);
    return d;
}

/* --------------------------------------------------------- the operands */

/* [B, n, heads * d], [B, heads, n, d], or the same with fewer axes. */
static void draw_rows(const struct draw *d, enum attn_in name, bool packed,
                      int64_t heads, int64_t n, int64_t width, double size)
{
    int64_t dim[4];
    int rank = 0;
    if (batched(d))
        dim[rank++] = d->s.B;
    if (d->heads && !packed)
        dim[rank++] = heads;
    dim[rank++] = n;
    dim[rank++] = packed ? heads * width : width;
    trial_random(&t, name, rank, dim, size);
}

static void draw_weights(enum attn_in name, int64_t rows, int64_t columns)
{
    double size = 1 / sqrt((double)rows);
    if (t.in.weights_out_in)
        trial_random(&t, name, SHAPE(columns, rows), size);
    else
        trial_random(&t, name, SHAPE(rows, columns), size);
}

static void draw_bias_of(enum attn_in name, int64_t width)
{
    if (chance(50))
        trial_random(&t, name, SHAPE(width), 0.5);
}

static void draw_projections(struct draw *d)
{
    struct sizes *s = &d->s;
    int64_t width = between(1, 20), c_width = width, d_out = between(1, 20);
    t.in.weights_out_in = chance(50);
    draw_rows(d, ATTN_X, true, 1, s->n_q, width, d->size);
    if (chance(50)) {
        c_width = between(1, 20);
        draw_rows(d, ATTN_CONTEXT, true, 1, s->n_k, c_width, 1);
    } else {
        s->n_k = s->n_q;
    }
    draw_weights(ATTN_W_Q, width, s->H * s->d_k);
    draw_weights(ATTN_W_K, c_width, s->G * s->d_k);
    draw_weights(ATTN_W_V, c_width, s->G * s->d_v);
    draw_bias_of(ATTN_B_Q, s->H * s->d_k);
    draw_bias_of(ATTN_B_K, s->G * s->d_k);
    draw_bias_of(ATTN_B_V, s->G * s->d_v);
    if (chance(50)) {
        draw_weights(ATTN_W_O, s->H * s->d_v, d_out);
        draw_bias_of(ATTN_B_O, d_out);
    }
}

static void draw_operands(struct draw *d)
{
    struct sizes *s = &d->s;
    bool packed = d->layout == PACKED_2 || d->layout == PACKED_3;
    bool x = d->layout == X_2 || d->layout == X_3;
    if (d->heads && (packed || x)) {
        t.in.num_heads = s->H;
        t.in.num_kv_heads = s->G == s->H && chance(50) ? 0 : s->G;
    }
    if (x) {
        draw_projections(d);
    } else {
        draw_rows(d, ATTN_Q, packed, s->H, s->n_q, s->d_k, d->size);
        draw_rows(d, ATTN_K, packed, s->G, s->n_k, s->d_k, 1);
        draw_rows(d, ATTN_V, packed, s->G, s->n_k, s->d_v, 1);
    }
    if (d->n_past) {
        bool packed_past = d->heads && (packed || x) && chance(50);
        draw_rows(d, ATTN_PAST_K, packed_past, s->G, d->n_past, s->d_k, 1);
        draw_rows(d, ATTN_PAST_V, packed_past, s->G, d->n_past, s->d_v, 1);
    }
}

/* ---------------------------------------------------------- the options */

/* A shape that broadcasts to [B, H, n_q, n_k]; returns its rank. */
static int draw_broadcast(const struct draw *d, int64_t dim[4])
{
    const int64_t full[4] = {d->s.B, d->s.H, d->s.n_q, d->s.n_k + d->n_past};
    int rank = (int)between(1, 4);
    for (int axis = 0; axis < rank; axis++)
        dim[axis] = chance(75) ? full[4 - rank + axis] : 1;
    return rank;
}

/* Single keys, or whole runs of them, or whole rows are hidden. */
static void draw_hidden(const struct draw *d, enum attn_in name, double hide)
{
    int64_t n_k = d->s.n_k + d->n_past;
    int64_t count = attn_tensor_elements(&t.in.tensor[name]);
    int kind = (int)random_below(dice, 3);
    int64_t run = between(1, 2 * n_k);
    bool hidden = false;
    for (int64_t i = 0; i < count; i++) {
        if (kind == 0 || i % run == 0)
            hidden = chance(40);
        if (hidden)
            trial_set(&t, name, i, hide);
    }
}

static void draw_restrictions(const struct draw *d)
{
    int64_t dim[4], n_k = d->s.n_k + d->n_past;
    if (chance(30)) {
        int rank = draw_broadcast(d, dim);
        trial_same(&t, ATTN_MASK, rank, dim, 1);
        draw_hidden(d, ATTN_MASK, 0);
    }
    if (chance(30)) {
        int rank = draw_broadcast(d, dim);
        trial_random(&t, ATTN_BIAS, rank, dim, 1);
        if (chance(50))
            draw_hidden(d, ATTN_BIAS, -INFINITY);
    }
    if (!d->n_past && chance(30)) {
        trial_same(&t, ATTN_KEY_LENGTHS, SHAPE(d->s.B), 0);
        for (int64_t b = 0; b < d->s.B; b++)
            trial_set(&t, ATTN_KEY_LENGTHS, b, (double)between(0, n_k));
    }
    t.in.causal = chance(30);
    if (chance(25))
        t.in.window_left = between(0, chance(50) ? 3 : n_k);
    if (chance(25))
        t.in.window_right = between(0, chance(50) ? 3 : n_k);
}

static void draw_offset(const struct draw *d)
{
    int64_t n_k = d->s.n_k + d->n_past, count = chance(50) ? 1 : d->s.B;
    if (chance(25)) {
        t.in.offset_end = true;
    } else if (chance(50)) {
        trial_same(&t, ATTN_OFFSET, SHAPE(count), 0);
        for (int64_t b = 0; b < count; b++)
            trial_set(&t, ATTN_OFFSET, b, (double)between(-n_k, n_k));
    }
}

static void draw_rope(const struct draw *d)
{
    t.in.rope = true;
    t.in.rope_interleaved = chance(50);
    t.in.rope_base = chance(50) ? 10000 : 100;
    if (d->s.d_k % 2 || chance(50))
        t.in.rope_dim = 2 * between(1, d->s.d_k / 2);
}

static void draw_scores(const struct draw *d)
{
    const struct sizes *s = &d->s;
    t.in.has_scale = chance(30);
    t.in.scale = t.in.has_scale && chance(90) ? random_normal(dice) : 0;
    t.in.softcap = chance(25) ? 0.5 + 20 * random_uniform(dice) : 0;
    if (chance(25))
        trial_random(&t, ATTN_ALIBI, SHAPE(s->H), 0.1);
    if (chance(25))
        trial_random(&t, ATTN_SINKS, SHAPE(s->H), 1);
    if (s->d_k > 1 && chance(25))
        draw_rope(d);
    if (chance(15) && cost(d) < 2e5) {
        int64_t width = between(1, 9);
        double size = 1 / sqrt((double)s->d_k);
        trial_random(&t, ATTN_W_A, SHAPE(s->d_k, width), size);
        trial_random(&t, ATTN_U_A, SHAPE(s->d_k, width), size);
        trial_random(&t, ATTN_V_A, SHAPE(width), 1);
    }
}

/* NaN or Infinity in places of Q and K, NaN in V or bias. */
static void spoil(enum attn_in name, bool infinite)
{
    if (!t.in.tensor[name].rank || chance(50))
        return;
    int64_t count = attn_tensor_elements(&t.in.tensor[name]);
    for (int64_t n = between(1, 3); n > 0; n--)
        trial_set(&t, name, random_below(dice, count),
                  !infinite || chance(50) ? NAN
                  : chance(50)            ? INFINITY
                                          : -INFINITY);
}

static void draw_call(void)
{
    trial_open(&t, chance(50) ? ATTN_FLOAT32 : ATTN_FLOAT64);
    t.random = *dice;
    struct draw d = draw_sizes();
    draw_operands(&d);
    draw_restrictions(&d);
    draw_offset(&d);
    draw_scores(&d);
    do
        t.in.returns = (unsigned)random_below(dice, 1 << ATTN_N_OUT);
    while (!t.in.returns);
    if (chance(15)) {
        spoil(ATTN_Q, true);
        spoil(ATTN_K, true);
        spoil(ATTN_V, false);
        spoil(ATTN_BIAS, false);
        spoil(ATTN_PAST_V, false);
    }
}

/* ---------------------------------------------------------- the rounds */

static uint64_t variable(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 10) : otherwise;
}

START_TEST(any_combination_of_options_meets_the_formula)
{
    uint64_t seed = variable("SEED", 1);
    uint64_t rounds = variable("ROUNDS", getenv("SEED") ? 1 : ROUNDS);
    time_t end = time(NULL) + SECONDS;
    for (uint64_t i = 0; i < rounds && time(NULL) < end; i++, seed++) {
        struct random random = {seed * 1000003};
        dice = &random;
        draw_call();
        snprintf(t.label, sizeof(t.label), "SEED=%llu: ",
                 (unsigned long long)seed);
        trial_run(&t);
        trial_close(&t);
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        any_combination_of_options_meets_the_formula, NULL};
    return suite_run("random", tests, NULL, NULL, 120);
}
