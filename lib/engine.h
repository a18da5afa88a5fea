/* SPDX-License-Identifier: MIT */
/*
 * engine.h - what multiplies the tiles of attention: our own kernels, the
 * BLAS, or, where both fail their test, the plain formula.
 */
#ifndef ENGINE_H
#define ENGINE_H

#include "kernel.h"

/* Known operands through every kernel of a table: small whole numbers, whose
 * products are exact; exp to a few ulp. True if all results are right. */
bool engine_test_kernels(const struct kernel *k, enum attn_dtype dtype);

/* Of those that are right the one that is wanted, or else the other. */
enum attn_engine engine_choose(enum attn_engine wanted, bool native_is_right,
                               bool openblas_is_right);

/* Constant after attn_init(); the tests may set it. */
enum attn_engine engine_in_use(void);
void engine_use(enum attn_engine engine);

#endif
