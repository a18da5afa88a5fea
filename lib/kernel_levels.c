/* SPDX-License-Identifier: MIT */
/*
 * kernel_levels.c - the compute kernels, compiled once for each CPU level:
 * LEVEL is v2, v3, v4 or base. kernel_body.h has the text for one type and is
 * included twice. Vector types of the compiler are used, no intrinsics (but
 * for maximum and fused sum), so that one source serves SSE, AVX2, AVX-512 and
 * NEON.
 */
#include "kernel.h"

#include <math.h>
#include <string.h>

#include "fuse.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#if defined(__AVX512F__)
#define VECTOR_BYTES 64
#define FLOATS 16
#define DOUBLES 8
#define MAX_FLOATS _mm512_max_ps
#define MAX_DOUBLES _mm512_max_pd
#define FUSE_FLOATS _mm512_fmadd_ps
#define FUSE_DOUBLES _mm512_fmadd_pd
#elif defined(__AVX2__)
#define VECTOR_BYTES 32
#define FLOATS 8
#define DOUBLES 4
#define MAX_FLOATS _mm256_max_ps
#define MAX_DOUBLES _mm256_max_pd
#define FUSE_FLOATS _mm256_fmadd_ps
#define FUSE_DOUBLES _mm256_fmadd_pd
#else
#define VECTOR_BYTES 16
#define FLOATS 4
#define DOUBLES 2
#define MAX_FLOATS _mm_max_ps
#define MAX_DOUBLES _mm_max_pd
#endif
#ifdef __aarch64__
#define FUSE_FLOATS(a, b, c) vfmaq_f32(c, a, b)
#define FUSE_DOUBLES(a, b, c) vfmaq_f64(c, a, b)
#endif

/* Sums held in registers: 8 x 3 of 32 vectors; 4 x 3, 4 x 2, 8 x 1 of 16. */
#if defined(__AVX512F__) || defined(__aarch64__)
#define ROWS(vecs) 8
#else
#define ROWS(vecs) ((vecs) == 1 ? 8 : 4)
#endif

/* Lines: keys that are scored together (of as many as a vector has lanes),
   keys that are mixed together, and how many keys before they are wanted. */
#define MOST_KEYS 4
#define FEW_KEYS 16
#define AHEAD 8

#define INLINE inline __attribute__((always_inline))

#define JOIN(a, b) a##b
#define JOINED(a, b) JOIN(a, b)
#define TEXT(x) #x
#define QUOTED(x) TEXT(x)

/* f of h and each lane of a vector. */
#define EACH_2(f, h) f(h, 0), f(h, 1)
#define EACH_4(f, h) EACH_2(f, h), f(h, 2), f(h, 3)
#define EACH_8(f, h) EACH_4(f, h), f(h, 4), f(h, 5), f(h, 6), f(h, 7)
#define EACH_16(f, h) \
    EACH_8(f, h), f(h, 8), f(h, 9), f(h, 10), f(h, 11), f(h, 12), f(h, 13), \
    f(h, 14), f(h, 15)

/* Of two vectors: blocks of h lanes, an n-th of a vector, every other one. */
#define EVEN(h, i) (2 * (i) - (i) % (h))
#define ODD(h, i) (EVEN(h, i) + (h))
#define PART(n) (LANES > (n) ? LANES / (n) : 1)
#define ALTERNATE(a, b, which, n) \
    __builtin_shufflevector(a, b, EACH(which, PART(n)))

#define LOG2E 1.44269504088896340736

/* exp(r) for |r| <= ln(2)/2 is 1 + r + r^2 (...), the rest chosen so that the
   largest relative error is least: 1.05e-7 here, 3.6e-18 for double. */
#define real float
#define whole int32_t
#define NAME(x) x##_f32
#define EACH JOINED(EACH_, FLOATS)
#ifdef __x86_64__
#define MAXIMUM MAX_FLOATS
#endif
#ifdef FUSE_FLOATS
#define FUSE FUSE_FLOATS
#endif
#define EXP_LEAST (-104.75f)
#define EXP_ROUND 0x1.8p23f
#define EXP_SHIFT 23
#define EXP_BIAS 127
#define EXP_LIFT 24
#define EXP_DROP 0x1p-24f
#define EXP_LN2_HIGH 0x1.63p-1f
#define EXP_LN2_LOW (-2.121944401e-4f)
#define EXP_TERMS \
    {8.312500815e-3f, 4.189033142e-2f, 1.666711539e-1f, 4.999923031e-1f, \
     1, 1}
#include "kernel_body.h"
#include "kernel_line.h"

#define real double
#define whole int64_t
#define NAME(x) x##_f64
#define EACH JOINED(EACH_, DOUBLES)
#ifdef __x86_64__
#define MAXIMUM MAX_DOUBLES
#endif
#ifdef FUSE_DOUBLES
#define FUSE FUSE_DOUBLES
#endif
#define EXP_LEAST (-746.0)
#define EXP_ROUND 0x1.8p52
#define EXP_SHIFT 52
#define EXP_BIAS 1023
#define EXP_LIFT 53
#define EXP_DROP 0x1p-53
#define EXP_LN2_HIGH 0x1.62e42feep-1
#define EXP_LN2_LOW 0x1.a39ef35793c76p-33
#define EXP_TERMS \
    {2.50000188530833413e-8, 2.76303062556478566e-7, \
     2.75575868038470710e-6, 2.48014929496170713e-5, \
     1.98412695057738060e-4, 1.38888889437599841e-3, \
     8.33333333349497649e-3, 4.16666666665297253e-2, \
     1.66666666666664104e-1, 5.00000000000001110e-1, 1, 1}
#include "kernel_body.h"
#include "kernel_line.h"

extern const struct kernel *const JOINED(attn_kernel_, LEVEL)[2];
const struct kernel *const JOINED(attn_kernel_, LEVEL)[2] = {
    &table_f32, &table_f64
};
