/* SPDX-License-Identifier: MIT */
/*
 * fuse.h - a b + c of one number: one rounding where the CPU level that is
 * compiled for can do that, two where it cannot.
 *
 * Everywhere else a product is rounded before it is added to something. A
 * compiler that may choose (-ffp-contract=fast) does so anew in each copy of
 * a loop, and a number would have other bits at the end of a row than within.
 */
#ifndef FUSE_H
#define FUSE_H

#if defined(__FMA__) || defined(__aarch64__)
#define FUSES 1
#else
#define FUSES 0
#endif

/* Before a loop whose number of turns is a constant. */
#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

static inline float fuse_f32(float a, float b, float c)
{
    return FUSES ? __builtin_fmaf(a, b, c) : a * b + c;
}

static inline double fuse_f64(double a, double b, double c)
{
    return FUSES ? __builtin_fma(a, b, c) : a * b + c;
}

#endif
