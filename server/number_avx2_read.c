/* SPDX-License-Identifier: MIT */
/*
 * number_avx2_read - rows of numbers for x86 CPUs with AVX2 (x86-64-v3). Block
 * by block (number_block.h), each number's digits are pressed together,
 * without their point, and multiplied up as a whole. Where there are longer
 * numbers than fit 16 bytes, or exponents, plain C is as fast.
 */
#if defined(__x86_64__)
#include <immintrin.h>

#include "number_block.h"
#include "number_level.h"
#include "number_read.h"

#define AVX2 __attribute__((target("avx2,bmi,bmi2,lzcnt,popcnt")))
#define AVX2_INLINE AVX2 __attribute__((always_inline)) static inline

enum {
    READ_AHEAD = NUMBER_BLOCK + 32, /* a block, and 32 bytes from its last */
    FEW = 16                        /* in plain C before the next block */
};

AVX2_INLINE uint64_t mask(__m256i low, __m256i high)
{
    return (uint32_t)_mm256_movemask_epi8(low) |
           (uint64_t)(uint32_t)_mm256_movemask_epi8(high) << 32;
}

AVX2_INLINE uint64_t equal(__m256i low, __m256i high, char c)
{
    __m256i all = _mm256_set1_epi8(c);
    return mask(_mm256_cmpeq_epi8(low, all), _mm256_cmpeq_epi8(high, all));
}

AVX2_INLINE __m256i is_digit(__m256i bytes)
{
    __m256i value = _mm256_sub_epi8(bytes, _mm256_set1_epi8('0'));
    return _mm256_cmpeq_epi8(_mm256_min_epu8(value, _mm256_set1_epi8(9)),
                             value);
}

AVX2_INLINE __m256i is_space(__m256i bytes)
{
    const __m256i by_low_half = _mm256_broadcastsi128_si256(_mm_setr_epi8(
        ' ', 0, 0, 0, 0, 0, 0, 0, 0, '\t', '\n', 0, 0, '\r', 0, 0));
    return _mm256_cmpeq_epi8(bytes, _mm256_shuffle_epi8(by_low_half, bytes));
}

AVX2_INLINE struct number_marks classify(const char *p)
{
    __m256i low = _mm256_loadu_si256((const void *)p);
    __m256i high = _mm256_loadu_si256((const void *)(p + 32));
    const __m256i lower = _mm256_set1_epi8(0x20);
    return (struct number_marks){
        .digits = mask(is_digit(low), is_digit(high)),
        .zeros = equal(low, high, '0'),
        .points = equal(low, high, '.'),
        .minuses = equal(low, high, '-'),
        .pluses = equal(low, high, '+'),
        .exps = equal(_mm256_or_si256(low, lower),
                      _mm256_or_si256(high, lower), 'e'),
        .commas = equal(low, high, ','),
        .spaces = mask(is_space(low), is_space(high)),
    };
}

/* The 16 digits that the first `length` bytes of a text have, as a whole: a
 * point before byte `point` is left out, what is missing is 0. */
AVX2_INLINE uint64_t whole(const char *p, unsigned length, unsigned point)
{
    static const unsigned char ones_then_zeros[32] = {
        255, 255, 255, 255, 255, 255, 255, 255,
        255, 255, 255, 255, 255, 255, 255, 255};
    const __m128i places = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11,
                                         12, 13, 14, 15);
    __m128i digits = _mm_and_si128(
        _mm_subs_epu8(_mm_loadu_si128((const void *)p), _mm_set1_epi8('0')),
        _mm_loadu_si128((const void *)(ones_then_zeros + 16 - length)));
    __m128i before = _mm_cmpgt_epi8(_mm_set1_epi8((char)point), places);
    __m128i from = _mm_add_epi8(places, _mm_andnot_si128(before,
                                                         _mm_set1_epi8(1)));
    from = _mm_or_si128(from, _mm_cmpgt_epi8(from, _mm_set1_epi8(15)));
    digits = _mm_shuffle_epi8(digits, from);
    __m128i fours = _mm_madd_epi16(
        _mm_maddubs_epi16(digits, _mm_set1_epi16(10 + (1 << 8))),
        _mm_set1_epi32(100 + (1 << 16)));
    __m128i eights = _mm_madd_epi16(_mm_packus_epi32(fours, fours),
                                    _mm_set1_epi32(10000 + (1 << 16)));
    uint64_t two = (uint64_t)_mm_cvtsi128_si64(eights);
    return (two & 0xffffffff) * 100000000 + (two >> 32);
}

static const double powers[] = {1e16, 1e15, 1e14, 1e13, 1e12, 1e11,
                                1e10, 1e9,  1e8,  1e7,  1e6,  1e5,
                                1e4,  1e3,  1e2,  1e1,  1};

/* A number of at most 16 bytes: see divide() in number_avx512_read.c for why
 * this is the nearest. */
AVX2_INLINE double divide(const char *p, unsigned length, unsigned point)
{
    return (double)(int64_t)whole(p, length, point) / powers[point];
}

/* By arithmetic: nobody can guess which numbers are negative. */
AVX2_INLINE double with_sign(double value, uint64_t minus)
{
    __m128d sign = _mm_castsi128_pd(_mm_cvtsi64_si128((int64_t)minus));
    return _mm_cvtsd_f64(_mm_xor_pd(_mm_set_sd(value), sign));
}

AVX2_INLINE void store(void *out, size_t at, double value, bool is_f32)
{
    if (is_f32)
        ((float *)out)[at] = (float)value;
    else
        ((double *)out)[at] = value;
}

/* The first k numbers of a block; the end of the last. No short one is too
 * large for a float32. */
AVX2_INLINE const char *take_block(const char *p, struct number_block b,
                                   size_t k, void *out, size_t at, bool is_f32)
{
    uint64_t points = b.points | b.ends;
    const char *end = p;
    for (size_t i = at; i < at + k; i++) {
        unsigned first = (unsigned)_tzcnt_u64(b.firsts);
        unsigned length = (unsigned)_tzcnt_u64(b.ends) - first;
        unsigned point = (unsigned)_tzcnt_u64(points >> first);
        double value = divide(p + first, length, point);
        store(out, i, with_sign(value, b.minuses << 1 >> first << 63), is_f32);
        end = p + first + length;
        b.firsts &= b.firsts - 1;
        b.ends &= b.ends - 1;
    }
    return end;
}

AVX2_INLINE size_t take_few(const char *p, const char *end, size_t max,
                            void *out, size_t at, bool is_f32,
                            const char **next)
{
    size_t k = max < FEW ? max : FEW;
    if (is_f32)
        return number_read_f32_plain(p, end, (float *)out + at, k, next);
    return number_read_f64_plain(p, end, (double *)out + at, k, next);
}

AVX2_INLINE size_t read_row(const char *p, const char *end, void *out,
                            size_t max, const char **next, bool is_f32)
{
    size_t n = 0, got;
    *next = p;
    while (n < max) {
        struct number_block b;
        const char *last;
        if (end - p >= READ_AHEAD && number_judge(classify(p), &b) &&
            b.is_short) {
            got = (size_t)_mm_popcnt_u64(b.ends);
            got = got < max - n ? got : max - n;
            last = take_block(p, b, got, out, n, is_f32);
        } else {
            got = take_few(p, end, max - n, out, n, is_f32, &last);
        }
        if (got == 0)
            break;
        n += got;
        *next = last;
        p = number_skip_space(last, end);
        if (p == end || *p++ != ',')
            break;
    }
    return n;
}

AVX2 size_t number_read_f32_avx2(const char *p, const char *end, float *out,
                                 size_t max, const char **next)
{
    return read_row(p, end, out, max, next, true);
}

AVX2 size_t number_read_f64_avx2(const char *p, const char *end, double *out,
                                 size_t max, const char **next)
{
    return read_row(p, end, out, max, next, false);
}
#endif
