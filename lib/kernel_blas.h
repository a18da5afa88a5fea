/* SPDX-License-Identifier: MIT */
/*
 * kernel_blas.h - the second engine: kernels whose products are the BLAS's.
 */
#ifndef KERNEL_BLAS_H
#define KERNEL_BLAS_H

#include "kernel.h"

/* Puts the BLAS's products of tiles in place of those in k, kernels of that
 * type; of lines, too, if asked. */
void kernel_by_blas(struct kernel *k, enum attn_dtype dtype, bool lines);

#endif
