/* SPDX-License-Identifier: MIT */
/*
 * trial.h - one call under test. A test sets operands and options, calls
 * trial_run(), and looks at the outputs. The call is computed both by
 * attn_run() and by attn_reference(), and the test fails there and then if
 * the two differ by more than SPEC's "Accuracy" allows. Memory lies in blocks
 * of their exact size, filled with NaN before use, so what is read too far
 * or never written shows.
 */
#ifndef TRIAL_H
#define TRIAL_H

#include "tensor.h"

/* The two arguments rank and dim of the functions below: SHAPE(2, 3). */
#define SHAPE(...)                                                            \
    (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)),                \
        (int64_t[]){__VA_ARGS__}

struct trial {
    struct attn_input in;
    struct attn_plan plan;
    struct attn_error error;
    struct attn_output out;      /* by attn_run() */
    struct attn_output expected; /* by attn_reference() */
    struct random random;
    char label[80];              /* begins each message of a failure */
    void **blocks;
    int n_blocks;
};

/* Starts a trial with default options; return: output, A and lse. */
void trial_open(struct trial *t, enum attn_dtype dtype);
void trial_close(struct trial *t);

/* A block of exactly so many bytes, aligned to 64, all of them 0xff. */
void *trial_block(struct trial *t, size_t bytes);

/* Makes the operand name: from values, at random normal times size, or all
 * the same. Each replaces what was there. */
void trial_values(struct trial *t, enum attn_in name, int rank,
                  const int64_t *dim, const double *values);
void trial_random(struct trial *t, enum attn_in name, int rank,
                  const int64_t *dim, double size);
void trial_same(struct trial *t, enum attn_in name, int rank,
                const int64_t *dim, double value);

/* Q, K, V at random, of variance 1: rank 4, or 3 with B = 0, or 2 with
 * H = 0 as well. */
struct sizes {
    int64_t B, H, G, n_q, n_k, d_k, d_v;
};
void trial_operands(struct trial *t, struct sizes s);

/* key_lengths and offset. */
void trial_integers(struct trial *t, enum attn_in name, int rank,
                    const int64_t *dim, const int64_t *values);

/* One element of an operand, whatever its type. */
double trial_get(const struct trial *t, enum attn_in name, int64_t index);
void trial_set(struct trial *t, enum attn_in name, int64_t index, double x);

/* Plans, runs twice, compares. Fails the test that calls it. */
void trial_run(struct trial *t);

/* Plans only; gives the status, with t->error filled. */
enum attn_status trial_plan(struct trial *t);

/* One element of an output by attn_run(); the number of elements. */
double trial_out(const struct trial *t, enum attn_out name, int64_t index);
int64_t trial_out_count(const struct trial *t, enum attn_out name);

/* Fails the test unless all elements lie within allowed * max(1, |x|). */
void trial_expect(const struct trial *t, enum attn_out name,
                  const double *values, double allowed);

/* Fails the test unless both have the same numbers in name, bit for bit or
 * within allowed * max(1, |x|). */
void trial_expect_equal(const struct trial *t, const struct trial *u,
                        enum attn_out name, double allowed);

#endif
