/* SPDX-License-Identifier: MIT */
/*
 * number_avx512 - what the readers and writers of rows for x86 CPUs with
 * AVX-512 (up to VBMI2: Ice Lake, Zen 4) share: arithmetic on eight lanes of
 * 64 bits, and where rows end. Included by them alone.
 */
#ifndef NUMBER_AVX512_H
#define NUMBER_AVX512_H

#include <immintrin.h>
#include <stdint.h>

#include "number.h"
#include "number_power.h"

#define AVX512                                                                \
    __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512cd,"      \
                          "avx512vbmi,avx512vbmi2,bmi,bmi2,lzcnt,popcnt")))
#define AVX512_INLINE AVX512 __attribute__((always_inline)) static inline

AVX512_INLINE __m512i lanes(int64_t value)
{
    return _mm512_set1_epi64(value);
}

/* A bit for each of 64 numbers from the nth on that is the last of its row. */
AVX512_INLINE uint64_t row_ends(struct number_rows rows, size_t n)
{
    uint64_t ends = 1;
    for (size_t by = rows.width; by < 64; by *= 2)
        ends |= ends << by;
    size_t column = (n + rows.width - rows.left) % rows.width;
    size_t first = rows.width - 1 - column;
    return first < 64 ? ends << first : 0;
}

/* All 128 bits of the products. */
AVX512_INLINE void multiply(__m512i a, __m512i b, __m512i *high, __m512i *low)
{
    const __m512i half = lanes(0xffffffff);
    __m512i a1 = _mm512_srli_epi64(a, 32), b1 = _mm512_srli_epi64(b, 32);
    __m512i p0 = _mm512_mul_epu32(a, b), p1 = _mm512_mul_epu32(a, b1);
    __m512i p2 = _mm512_mul_epu32(a1, b), p3 = _mm512_mul_epu32(a1, b1);
    __m512i mid = _mm512_add_epi64(p1, _mm512_srli_epi64(p0, 32));
    __m512i mid2 = _mm512_add_epi64(p2, _mm512_and_si512(mid, half));
    *high = _mm512_add_epi64(_mm512_add_epi64(p3, _mm512_srli_epi64(mid, 32)),
                             _mm512_srli_epi64(mid2, 32));
    *low = _mm512_or_si512(_mm512_slli_epi64(mid2, 32),
                           _mm512_and_si512(p0, half));
}

/* Their upper 64 bits. */
AVX512_INLINE __m512i multiply_high(__m512i a, __m512i b)
{
    __m512i high, low;
    multiply(a, b, &high, &low);
    return high;
}

/* The words of the powers 10^k. */
AVX512_INLINE __m512i power_word(__m512i k, const uint64_t *first)
{
    __m512i at = _mm512_slli_epi64(
        _mm512_sub_epi64(k, lanes(NUMBER_POWER_MIN)), 1);
    return _mm512_i64gather_epi64(at, first, 8);
}

/* floor((x * factor + addend) / 2^shift) for signed x of 32 bits */
AVX512_INLINE __m512i scaled(__m512i x, int64_t factor, __m512i addend,
                             unsigned shift)
{
    __m512i sum = _mm512_add_epi64(_mm512_mul_epi32(x, lanes(factor)), addend);
    return _mm512_srai_epi64(sum, shift);
}

/* number_log2_of_power10() */
AVX512_INLINE __m512i log2_of_power10(__m512i k)
{
    return scaled(k, 1741647, _mm512_setzero_si512(), 19);
}

#endif
