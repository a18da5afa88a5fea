/* SPDX-License-Identifier: MIT */
/*
 * tensor.h - numbers for the tests: drawn at random from a seed, read and
 * written as double whatever the dtype, compared with the place named.
 */
#ifndef TENSOR_H
#define TENSOR_H

#include "attention.h"

/* Draws the same numbers from the same seed on every machine. */
struct random {
    uint64_t state;
};

uint64_t random_bits(struct random *random);
int64_t random_below(struct random *random, int64_t n); /* 0 ... n-1 */
double random_uniform(struct random *random);           /* [0, 1) */
double random_normal(struct random *random);

/* Element index of data, which holds numbers of the dtype. */
double tensor_get(const void *data, enum attn_dtype dtype, int64_t index);
void tensor_set(void *data, enum attn_dtype dtype, int64_t index, double x);

/* |got - expected| <= allowed; NaN equals NaN, Infinity itself alone. */
bool number_near(double got, double expected, double allowed);

/* Writes the place of element index: "A[0,2,17]". Returns text. */
const char *tensor_place(char text[ATTN_TEXT_MAX], const char *name,
                         const struct attn_tensor *shape, int64_t index);

#endif
