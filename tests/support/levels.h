/* SPDX-License-Identifier: MIT */
/*
 * levels.h - a claim about the kernels, checked at every level that this CPU
 * has, in float and in double.
 */
#ifndef LEVELS_H
#define LEVELS_H

#include "kernel.h"

/* What the claim is about; set by everywhere(). */
extern const struct kernel *kernel;
extern enum attn_dtype dtype;
extern double unit; /* half the distance from 1 to the next number */
extern struct random level_dice;

void everywhere(void (*claim)(void));

/*
 * n normal numbers, or n times the same: of the dtype, in a block of exactly
 * that size, so that a sanitizer sees a step beyond. Freed after the claim.
 */
void *numbers(int64_t n);
void *constant(int64_t n, double value);

/* Makes x[i] a NaN whose lowest bits are set: it may not become a number. */
void set_odd_nan(void *x, int64_t i);

double get(const void *x, int64_t i);

/* Fails the test unless |got - expected| <= allowed; NaN equals NaN. */
void near(double got, double expected, double allowed);

#endif
