/* SPDX-License-Identifier: MIT */
/*
 * number_avx2_read - rows of numbers for x86 CPUs with AVX2 (x86-64-v3). Block
 * by block (number_block.h), each number's digits are pressed together,
 * without their point, and multiplied up as a whole. What this cannot read is
 * left to number_read().
 */
#if defined(__x86_64__)
#include <immintrin.h>
#include <math.h>
#include <string.h>

#include "number_block.h"
#include "number_level.h"
#include "number_read.h"

#define AVX2 __attribute__((target("avx2,bmi,bmi2,lzcnt,popcnt")))
#define AVX2_INLINE AVX2 __attribute__((always_inline)) static inline

enum {
    READ_AHEAD = NUMBER_BLOCK + 32, /* a block, and 32 bytes from its last */
    SHORT = 16                      /* bytes of a number */
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

/* Loaded from byte 32 - n on, the first n bytes are all ones. */
static const unsigned char ones_then_zeros[64] = {
    255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
    255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
    255, 255, 255, 255, 255, 255, 255, 255, 255, 255};

AVX2_INLINE __m256i first_bytes(unsigned n)
{
    return _mm256_loadu_si256((const void *)(ones_then_zeros + 32 - n));
}

/* As fours, in words of 32 bits, the digits that the first `length` bytes of a
 * text have, up to 32: a point before byte `point` is left out, what is missing
 * is 0. */
AVX2_INLINE __m256i fours(const char *p, unsigned length, unsigned point)
{
    __m256i text = _mm256_blendv_epi8(
        _mm256_loadu_si256((const void *)(p + 1)),
        _mm256_loadu_si256((const void *)p), first_bytes(point));
    __m256i digits = _mm256_and_si256(
        _mm256_subs_epu8(text, _mm256_set1_epi8('0')),
        first_bytes(length - (point < length)));
    return _mm256_madd_epi16(
        _mm256_maddubs_epi16(digits, _mm256_set1_epi16(10 + (1 << 8))),
        _mm256_set1_epi32(100 + (1 << 16)));
}

/* Of four fours. */
AVX2_INLINE uint64_t whole(__m128i four)
{
    __m128i eights = _mm_madd_epi16(_mm_packus_epi32(four, four),
                                    _mm_set1_epi32(10000 + (1 << 16)));
    uint64_t two = (uint64_t)_mm_cvtsi128_si64(eights);
    return (two & 0xffffffff) * 100000000 + (two >> 32);
}

static const double powers[] = {1e16, 1e15, 1e14, 1e13, 1e12, 1e11,
                                1e10, 1e9,  1e8,  1e7,  1e6,  1e5,
                                1e4,  1e3,  1e2,  1e1,  1};

/* A number of at most 16 bytes, over a power of ten. Both are exact binary64,
 * so the quotient is the nearest: with a point there are 15 digits and a 0,
 * which are even and below 2^54; without, the power is 1 and only the
 * conversion rounds. */
AVX2_INLINE double divide(const char *p, unsigned length, unsigned point)
{
    __m128i four = _mm256_castsi256_si128(fours(p, length, point));
    return (double)(int64_t)whole(four) / powers[point];
}

/* Up to 19 digits, not counting a 0 in front of the point, and an exponent;
 * false if it is something else or cannot be rounded here. */
AVX2_INLINE bool multiply_up(const char *p, unsigned length, unsigned point,
                             int64_t exponent, double *value)
{
    unsigned zero = ((unsigned)(*p ^ '0') - 1) >> 31;
    uint64_t bits;
    p += zero;
    length -= zero;
    point -= zero;
    if (length - (point < length) > 19)
        return false;
    __m256i all = fours(p, length, point);
    uint64_t w = whole(_mm256_castsi256_si128(all)) * 1000 +
                 (uint32_t)_mm256_extract_epi32(all, 4) / 10;
    if (!number_round_product(w, exponent + point - 19, &bits))
        return false;
    memcpy(value, &bits, sizeof bits);
    return true;
}

/* By arithmetic: nobody can guess which numbers are negative. */
AVX2_INLINE double with_sign(double value, uint64_t minus)
{
    __m128d sign = _mm_castsi128_pd(_mm_cvtsi64_si128((int64_t)minus));
    return _mm_cvtsd_f64(_mm_xor_pd(_mm_set_sd(value), sign));
}

/* Returns whether it is finite. */
AVX2_INLINE bool store(void *out, size_t at, double value, bool is_f32)
{
    if (!is_f32) {
        ((double *)out)[at] = value;
        return !isinf(value);
    }
    ((float *)out)[at] = (float)value;
    return !isinf((float)value);
}

/* The numbers of a block without exponents and without any longer than SHORT.
 * None is too large for a float32. */
AVX2_INLINE void take_short(const char *p, const struct number_marks *m,
                            struct number_block b, size_t k, void *out,
                            size_t at, bool is_f32)
{
    for (size_t i = at; i < at + k; i++) {
        unsigned first = (unsigned)_tzcnt_u64(b.firsts);
        unsigned length = (unsigned)_tzcnt_u64(b.stops) - first;
        unsigned point = (unsigned)_tzcnt_u64((m->points | b.stops) >> first);
        double value = divide(p + first, length, point);
        store(out, i, with_sign(value, m->minuses << 1 >> first << 63), is_f32);
        b.firsts &= b.firsts - 1;
        b.stops &= b.stops - 1;
    }
}

/* Any numbers; returns how many, up to one that overflows. */
AVX2_INLINE size_t take_long(const char *p, const char *end,
                             const struct number_marks *m,
                             struct number_block b, size_t k, void *out,
                             size_t at, bool is_f32)
{
    for (size_t i = 0; i < k; i++) {
        unsigned first = (unsigned)_tzcnt_u64(b.firsts);
        unsigned stop = (unsigned)_tzcnt_u64(b.stops);
        unsigned point = (unsigned)_tzcnt_u64((m->points | b.stops) >> first);
        const char *next;
        int64_t exponent = 0;
        double value = INFINITY;
        if (m->exps >> stop & 1)
            number_read_exponent(p + stop, end, &exponent, &next);
        if (!multiply_up(p + first, stop - first, point, exponent, &value))
            number_read(p + first, end, &value, &next);
        value = with_sign(value, m->minuses << 1 >> first << 63);
        if (!store(out, at + i, value, is_f32))
            return i;
        b.firsts &= b.firsts - 1;
        b.stops &= b.stops - 1;
    }
    return k;
}

/* No exponent, and no more than SHORT bytes, that is no run of SHORT + 1. */
AVX2_INLINE bool all_short(const struct number_marks *m,
                           const struct number_block *b)
{
    uint64_t text = ~(m->commas | m->spaces), run = text & text >> 1;
    run &= run >> 2;
    run &= run >> 4;
    run &= run >> 8;
    run &= text << 1;
    return (run & ~(uint64_t)0 >> _lzcnt_u64(b->ends)) == 0 &&
           b->stops == b->ends;
}

/* Up to max numbers of a block; *last is the end of the last. */
AVX2_INLINE size_t take_block(const char *p, const char *end,
                              const struct number_marks *m,
                              const struct number_block *b, size_t max,
                              void *out, size_t at, bool is_f32,
                              const char **last)
{
    size_t count = (size_t)_mm_popcnt_u64(b->ends);
    size_t k = count < max ? count : max;
    if (all_short(m, b))
        take_short(p, m, *b, k, out, at, is_f32);
    else
        k = take_long(p, end, m, *b, k, out, at, is_f32);
    if (k == count)
        *last = p + NUMBER_BLOCK - 1 - _lzcnt_u64(b->ends);
    else if (k > 0)
        *last = p + _tzcnt_u64(_pdep_u64((uint64_t)1 << (k - 1), b->ends));
    return k;
}

AVX2_INLINE size_t read_row(const char *p, const char *end, void *out,
                            size_t max, const char **next, bool is_f32)
{
    size_t n = 0, got;
    double value;
    *next = p;
    while (n < max) {
        struct number_marks m;
        struct number_block b;
        if (end - p >= READ_AHEAD && number_judge(m = classify(p), &b)) {
            got = take_block(p, end, &m, &b, max - n, out, n, is_f32, next);
        } else {
            p = number_skip_space(p, end);
            got = number_read(p, end, &value, &p) == NUMBER_OK &&
                  store(out, n, value, is_f32);
            if (got > 0)
                *next = p;
        }
        n += got;
        p = number_skip_space(*next, end);
        if (got == 0 || p == end || *p++ != ',')
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
