/* SPDX-License-Identifier: MIT */
/*
 * number_avx2_write - rows of float32 as text for x86 CPUs with AVX2: the
 * shortest digits of four at once, step by step as in number_write.h; each is
 * then put around its point by number_put_digits(). What has no digits, and
 * the rare number with few, is left to number_write_f32(). Doubles take half
 * as many lanes and twice as many steps, and are as fast in plain C.
 */
#if defined(__x86_64__)
#include <immintrin.h>

#include "number_level.h"
#include "number_write.h"

#define AVX2 __attribute__((target("avx2,bmi,bmi2,lzcnt,popcnt")))
#define AVX2_INLINE AVX2 __attribute__((always_inline)) static inline

enum {
    LANES = 4,
    SPARE = LANES + NUMBER_TEXT_MAX / (NUMBER_F32_MAX + 1) + 1,
};

/* Four decimals of nine digits. */
struct decimals {
    uint64_t first[LANES], others[LANES]; /* the latter as bytes */
    int64_t lead[LANES];                  /* the first one's power of ten */
    unsigned refused;                     /* a bit for each */
};

AVX2_INLINE __m256i lanes(int64_t value)
{
    return _mm256_set1_epi64x(value);
}

AVX2_INLINE __m256i times_ten(__m256i x)
{
    return _mm256_slli_epi64(_mm256_add_epi64(x, _mm256_slli_epi64(x, 2)), 1);
}

/* 1 where x is negative */
AVX2_INLINE __m256i is_negative(__m256i x)
{
    return _mm256_srli_epi64(x, 63);
}

AVX2_INLINE __m256i minus(__m256i a, __m256i b)
{
    return _mm256_sub_epi64(a, b);
}

/* number_scale_f32() */
AVX2_INLINE __m256i scale(__m256i g, __m128i cp)
{
    __m256i wide = _mm256_cvtepu32_epi64(cp);
    __m256i product = _mm256_add_epi64(
        _mm256_mul_epu32(_mm256_srli_epi64(g, 32), wide),
        _mm256_srli_epi64(_mm256_mul_epu32(g, wide), 32));
    __m256i exact = _mm256_cmpeq_epi64(
        _mm256_and_si256(product, lanes(0xfffffffe)), _mm256_setzero_si256());
    return _mm256_or_si256(_mm256_srli_epi64(product, 32),
                           _mm256_andnot_si256(exact, lanes(1)));
}

/* number_choose() */
AVX2_INLINE __m256i choose(__m256i v4, __m256i lower, __m256i upper,
                           __m256i odd)
{
    const __m256i one = lanes(1);
    __m256i s = _mm256_srli_epi64(v4, 2), s4 = _mm256_slli_epi64(s, 2);
    __m256i ten = times_ten(_mm256_srli_epi64(
        _mm256_mul_epu32(s, lanes(3435973837)), 35));
    __m256i ten4 = _mm256_slli_epi64(ten, 2);
    lower = _mm256_add_epi64(lower, odd);
    upper = minus(upper, odd);
    __m256i ten_out = is_negative(minus(ten4, lower));
    __m256i next_ten_out = is_negative(minus(minus(upper, ten4), lanes(40)));
    __m256i out = is_negative(minus(s4, lower));
    __m256i next_out = is_negative(minus(minus(upper, s4), lanes(4)));
    __m256i nearer = _mm256_srli_epi64(
        _mm256_add_epi64(_mm256_add_epi64(minus(v4, s4), one),
                         _mm256_and_si256(s, one)), 2);
    __m256i up = _mm256_xor_si256(nearer, _mm256_and_si256(
        _mm256_xor_si256(out, next_out), _mm256_xor_si256(nearer, out)));
    s = _mm256_add_epi64(s, up);
    ten = _mm256_add_epi64(ten, _mm256_and_si256(lanes(10),
                                                 minus(next_ten_out, one)));
    __m256i take_ten = minus(_mm256_setzero_si256(),
                             _mm256_xor_si256(ten_out, next_ten_out));
    return _mm256_blendv_epi8(s, ten, take_ten);
}

/* Eight digits as bytes, the first one lowest: as eight_bytes() of plain C. */
AVX2_INLINE __m256i eight_digits(__m256i x)
{
    __m256i q = _mm256_srli_epi64(_mm256_mul_epu32(x, lanes(3518437209)), 45);
    __m256i r = minus(x, _mm256_mul_epu32(q, lanes(10000)));
    x = _mm256_or_si256(q, _mm256_slli_epi64(r, 32));
    q = _mm256_srli_epi16(_mm256_mulhi_epu16(x, _mm256_set1_epi16(5243)), 3);
    r = _mm256_sub_epi32(x, _mm256_madd_epi16(q, _mm256_set1_epi32(100)));
    x = _mm256_or_si256(q, _mm256_slli_epi32(r, 16));
    q = _mm256_mulhi_epu16(x, _mm256_set1_epi16(6554));
    r = _mm256_sub_epi16(x, _mm256_mullo_epi16(q, _mm256_set1_epi16(10)));
    return _mm256_or_si256(q, _mm256_slli_epi16(r, 8));
}

/* As nine digits; the rest of what number_write.c does before the text. */
AVX2_INLINE void take_apart(__m256i digits, __m128i k, struct decimals *to)
{
    const __m256i least = lanes(100000000);
    __m256i lead = _mm256_add_epi64(_mm256_cvtepi32_epi64(k), lanes(8));
    for (int i = 0; i < 2; i++) {
        __m256i less = _mm256_cmpgt_epi64(least, digits);
        digits = _mm256_blendv_epi8(digits, times_ten(digits), less);
        lead = _mm256_add_epi64(lead, less);
    }
    __m256i few = _mm256_cmpgt_epi64(least, digits);
    __m256i first = _mm256_srli_epi64(
        _mm256_mul_epu32(digits, lanes(1441151881)), 57);
    __m256i others = minus(digits, _mm256_mul_epu32(first, least));
    to->refused = (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(few));
    _mm256_storeu_si256((void *)to->first, first);
    _mm256_storeu_si256((void *)to->others, eight_digits(others));
    _mm256_storeu_si256((void *)to->lead, lead);
}

/* number_shortest_f32() */
AVX2_INLINE void shortest(const float *values, struct decimals *to)
{
    const __m128i one = _mm_set1_epi32(1), zero = _mm_setzero_si128();
    __m128i bits = _mm_loadu_si128((const void *)values);
    __m128i size = _mm_and_si128(bits, _mm_set1_epi32(0x7fffffff));
    __m128i c = _mm_and_si128(bits, _mm_set1_epi32(0x7fffff));
    __m128i biased = _mm_srli_epi32(size, 23);
    __m128i nearer_below = _mm_and_si128(_mm_cmpeq_epi32(c, zero),
                                         _mm_cmpgt_epi32(biased, one));
    __m128i normal = _mm_cmpgt_epi32(biased, zero);
    c = _mm_or_si128(c, _mm_and_si128(normal, _mm_set1_epi32(1 << 23)));
    __m128i q = _mm_sub_epi32(_mm_max_epi32(biased, one), _mm_set1_epi32(150));
    __m128i k = _mm_srai_epi32(_mm_sub_epi32(
        _mm_mullo_epi32(q, _mm_set1_epi32(1262611)),
        _mm_and_si128(nearer_below, _mm_set1_epi32(524031))), 22);
    __m128i power = _mm_sub_epi32(zero, k);
    __m128i h = _mm_add_epi32(_mm_add_epi32(q, one), _mm_srai_epi32(
        _mm_mullo_epi32(power, _mm_set1_epi32(1741647)), 19));
    __m256i g = _mm256_i32gather_epi64(
        (const void *)&number_powers[-NUMBER_POWER_MIN].high,
        _mm_slli_epi32(power, 1), 8);
    g = _mm256_add_epi64(g, lanes(1));
    __m128i c4 = _mm_slli_epi32(c, 2), two = _mm_set1_epi32(2);
    __m128i below = _mm_add_epi32(two, nearer_below);
    __m256i digits = choose(
        scale(g, _mm_sllv_epi32(c4, h)),
        scale(g, _mm_sllv_epi32(_mm_sub_epi32(c4, below), h)),
        scale(g, _mm_sllv_epi32(_mm_add_epi32(c4, two), h)),
        _mm256_cvtepu32_epi64(_mm_and_si128(c, one)));
    take_apart(digits, k, to);
    __m128i other = _mm_or_si128(
        _mm_cmpgt_epi32(size, _mm_set1_epi32(0x7f7fffff)),
        _mm_or_si128(_mm_cmpeq_epi32(size, zero), _mm_cmpeq_epi32(
            size, _mm_set1_epi32(NUMBER_TWICE_ROUNDED))));
    to->refused |= (unsigned)_mm_movemask_ps(_mm_castsi128_ps(other));
}

AVX2_INLINE char *put(char *p, float value, const struct decimals *from,
                      unsigned i)
{
    if (from->refused >> i & 1)
        return p + number_write_f32(p, value);
    uint64_t others = from->others[i];
    *p = '-';
    p += __builtin_signbit(value) != 0;
    return number_put_digits(p, (struct number_digits){
        .first = (char)('0' + from->first[i]),
        .high = others | NUMBER_ZEROS, .low = NUMBER_ZEROS,
        .count = 9 - (int)_lzcnt_u64(others) / 8,
        .lead = (int)from->lead[i]});
}

/* The last are written one by one, as the others may overwrite their room. */
AVX2 size_t number_write_f32_avx2(char *out, const float *values, size_t n)
{
    char *p = out;
    size_t i = 0;
    for (; n - i >= SPARE; i += LANES) {
        struct decimals decimals;
        shortest(values + i, &decimals);
        for (unsigned j = 0; j < LANES; j++) {
            p = put(p, values[i + j], &decimals, j);
            *p++ = ',';
        }
    }
    return (size_t)(p - out) + number_write_f32_plain(p, values + i, n - i);
}
#endif
