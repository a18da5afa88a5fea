/* SPDX-License-Identifier: MIT */
/*
 * number_avx512_batch - values from numbers whose places in a text are known,
 * for x86 CPUs with AVX-512. Their digits are laid side by side, without their
 * points, each in 16 or 32 bytes that end where its digits do; then they are
 * multiplied up, eight numbers at a time. Included by number_avx512_read.c.
 */
#ifndef NUMBER_AVX512_BATCH_H
#define NUMBER_AVX512_BATCH_H

#include "number_avx512.h"
#include "number_block.h"

enum {
    BATCH = 64,
    BLOCK_MAX = NUMBER_BLOCK / 2, /* numbers that end in a block */
    SHORT_MAX = 16,               /* bytes of a number, without exponent */
    LONG_MAX_BYTES = 31,
};

/* Numbers by their place in the text: struct number_block's bits. */
struct batch {
    const char *text;
    uint16_t start[BATCH + BLOCK_MAX];
    uint16_t stop[BATCH + BLOCK_MAX];
    uint16_t end[BATCH + BLOCK_MAX];
    size_t n;
    uint64_t minuses; /* a bit for each */
};

/* The digits of a batch, in one or two pieces of 16 bytes a number, the last
 * digit last, and how many of them are behind the point. */
struct digits {
    __m128i text[2 * BATCH];
    uint64_t fraction[BATCH];
};

/* Up to 16 bytes; what is in front of the point moves over it. Without a point
 * the fraction is 16. */
AVX512_INLINE void take_short(const struct batch *b, size_t i,
                              struct digits *to)
{
    const char *stop = b->text + b->stop[i];
    unsigned missing = 16 - (unsigned)(b->stop[i] - b->start[i]);
    __m128i text = _mm_maskz_loadu_epi8((__mmask16)(0xffffu << missing),
                                        stop - 16);
    unsigned point = _mm_cmpeq_epi8_mask(text, _mm_set1_epi8('.'));
    unsigned fraction = _lzcnt_u32(point) - 16;
    to->text[i] = _mm_mask_alignr_epi8(text, (__mmask16)(0xffffu >> fraction),
                                       text, _mm_setzero_si128(), 15);
    to->fraction[i] = fraction;
}

/* The same of up to 31 bytes, and 32. A longer one gives nonsense. */
AVX512_INLINE void take_long(const struct batch *b, size_t i,
                             struct digits *to)
{
    const __m256i before = _mm256_setr_epi8(
        0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18,
        19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30);
    const char *stop = b->text + b->stop[i];
    unsigned missing = 32 - (unsigned)(b->stop[i] - b->start[i]);
    __m256i text = _mm256_maskz_loadu_epi8(~0u << (missing & 31), stop - 32);
    unsigned point = _mm256_cmpeq_epi8_mask(text, _mm256_set1_epi8('.'));
    uint64_t fraction = _lzcnt_u32(point);
    text = _mm256_mask_permutexvar_epi8(
        text, (__mmask32)((uint64_t)0xffffffff >> fraction), before, text);
    _mm256_storeu_si256((void *)(to->text + 2 * i), text);
    to->fraction[i] = fraction;
}

/* The wholes that 16 digits make, of pieces 0, 4, 1, 5, 2, 6, 3 and 7: as
 * pairs, as fours, as eights. */
AVX512_INLINE __m512i wholes(const __m128i *text)
{
    __m512i fours[2];
    for (int i = 0; i < 2; i++) {
        __m512i ones = _mm512_subs_epu8(_mm512_loadu_si512(text + 4 * i),
                                        _mm512_set1_epi8('0'));
        fours[i] = _mm512_madd_epi16(
            _mm512_maddubs_epi16(ones, _mm512_set1_epi16(10 + (1 << 8))),
            _mm512_set1_epi32(100 + (1 << 16)));
    }
    __m512i eights = _mm512_madd_epi16(_mm512_packus_epi32(fours[0], fours[1]),
                                       _mm512_set1_epi32(10000 + (1 << 16)));
    return _mm512_add_epi64(_mm512_mul_epu32(eights, lanes(100000000)),
                            _mm512_srli_epi64(eights, 32));
}

/* Numbers of at most 16 bytes: their digits over a power of ten. Both are
 * exact binary64, so the quotient is the nearest: with a point there are no
 * more than 15 digits; without, the power is 1 and only the conversion
 * rounds. */
AVX512_INLINE __m512d divide(const struct digits *d, size_t i)
{
    const __m512d low = _mm512_setr_pd(1, 10, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7);
    const __m512d high = _mm512_setr_pd(1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14,
                                        1e15);
    __m512i whole = _mm512_permutexvar_epi64(
        _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), wholes(d->text + i));
    __m512i fraction = _mm512_loadu_si512(d->fraction + i); /* modulo 16 */
    __m512d power = _mm512_permutex2var_pd(low, fraction, high);
    return _mm512_div_pd(_mm512_cvtepu64_pd(whole), power);
}

/* The same step in number_read.c, as far as g, 64 bits of 10^q, decide: w 10^q
 * lies in (P - 1, P + 2), in units of the last bit of P. */
AVX512_INLINE __m512d round_product(__m512i w, __m512i q, __m512i g,
                                    __mmask8 *refused)
{
    const __m512i one = lanes(1), zero = _mm512_setzero_si512();
    __mmask8 not_zero = _mm512_test_epi64_mask(w, w);
    __m512i zeros = _mm512_lzcnt_epi64(w);
    __m512i product = multiply_high(_mm512_sllv_epi64(w, zeros), g);
    __m512i top = _mm512_srli_epi64(product, 63);
    __m512i exponent = _mm512_sub_epi64(
        _mm512_add_epi64(log2_of_power10(q), lanes(1085)),
        _mm512_sub_epi64(zeros, top));
    __m512i half = _mm512_sllv_epi64(lanes(1 << 9), top);
    __m512i mask = _mm512_sub_epi64(_mm512_slli_epi64(half, 1), one);
    __m512i rest = _mm512_and_si512(product, mask);
    __m512i above = _mm512_sub_epi64(rest, half);
    *refused |= not_zero &
        _mm512_cmple_epu64_mask(_mm512_add_epi64(above, one), one);
    __m512i bits = _mm512_add_epi64(
        _mm512_slli_epi64(exponent, 52),
        _mm512_srlv_epi64(product, _mm512_add_epi64(top, lanes(10))));
    bits = _mm512_mask_add_epi64(bits, _mm512_cmpgt_epi64_mask(above, zero),
                                 bits, one);
    return _mm512_castsi512_pd(_mm512_maskz_mov_epi64(not_zero, bits));
}

/* 10^-f for f below 32 */
AVX512_INLINE __m512i power_of_fraction(__m512i f)
{
    const uint64_t *words = number_fractions;
    __m512i below_16 = _mm512_permutex2var_epi64(
        _mm512_loadu_si512(words), f, _mm512_loadu_si512(words + 8));
    __m512i others = _mm512_permutex2var_epi64(
        _mm512_loadu_si512(words + 16), f, _mm512_loadu_si512(words + 24));
    return _mm512_mask_mov_epi64(
        below_16, _mm512_test_epi64_mask(f, lanes(16)), others);
}

/* Adds what exponents of up to seven characters behind their 'e' say, which
 * may give up to 280, or down to -280. */
AVX512_INLINE __m512i add_exponents(__m512i q, const struct batch *b, size_t i,
                                    __mmask8 mask, __mmask8 *refused)
{
    const __m512i zero = _mm512_setzero_si512();
    __m512i stop = _mm512_cvtepu16_epi64(
        _mm_loadu_si128((const void *)(b->stop + i)));
    __m512i end = _mm512_cvtepu16_epi64(
        _mm_loadu_si128((const void *)(b->end + i)));
    __m512i length = _mm512_sub_epi64(end, stop);
    mask &= _mm512_test_epi64_mask(length, length);
    __m512i text = _mm512_srli_epi64(_mm512_mask_i64gather_epi64(
        zero, mask, stop, b->text, 1), 8);
    __mmask8 minus = _mm512_cmpeq_epi64_mask(
        _mm512_and_si512(text, lanes(0xff)), lanes('-'));
    *refused |= _mm512_cmpgt_epi64_mask(length, lanes(8));
    __m512i missing = _mm512_slli_epi64(_mm512_sub_epi64(lanes(9), length), 3);
    __m512i ones = _mm512_subs_epu8(_mm512_sllv_epi64(text, missing),
                                    _mm512_set1_epi8('0'));
    __m512i fours = _mm512_madd_epi16(
        _mm512_maddubs_epi16(ones, _mm512_set1_epi16(10 + (1 << 8))),
        _mm512_set1_epi32(100 + (1 << 16)));
    __m512i value = _mm512_add_epi64(_mm512_mul_epu32(fours, lanes(10000)),
                                     _mm512_srli_epi64(fours, 32));
    value = _mm512_mask_sub_epi64(value, minus, zero, value);
    q = _mm512_add_epi64(q, value);
    *refused |= _mm512_cmpgt_epi64_mask(_mm512_abs_epi64(q), lanes(280));
    return _mm512_min_epi64(_mm512_max_epi64(q, lanes(-280)), lanes(280));
}

/* Numbers of up to 31 bytes, and an exponent, with 19 digits that count. */
AVX512_INLINE __m512d multiply_up(const struct batch *b,
                                  const struct digits *d, size_t i,
                                  __mmask8 mask, bool have_exponents,
                                  __mmask8 *refused)
{
    __m512i first = wholes(d->text + 2 * i);
    __m512i second = wholes(d->text + 2 * i + 8);
    __m512i high = _mm512_permutex2var_epi64(
        first, _mm512_setr_epi64(0, 4, 1, 5, 8, 12, 9, 13), second);
    __m512i low = _mm512_permutex2var_epi64(
        first, _mm512_setr_epi64(2, 6, 3, 7, 10, 14, 11, 15), second);
    __m512i w = _mm512_add_epi64(
        _mm512_mullo_epi64(high, lanes(10000000000000000)), low);
    *refused = _mm512_cmpgt_epi64_mask(high, lanes(999)) |
        _mm_cmpgt_epu16_mask(
            _mm_sub_epi16(_mm_loadu_si128((const void *)(b->stop + i)),
                          _mm_loadu_si128((const void *)(b->start + i))),
            _mm_set1_epi16(LONG_MAX_BYTES));
    __m512i fraction = _mm512_and_si512(
        _mm512_loadu_si512(d->fraction + i), lanes(31));
    __m512i q = _mm512_sub_epi64(_mm512_setzero_si512(), fraction);
    if (!have_exponents)
        return round_product(w, q, power_of_fraction(fraction), refused);
    q = add_exponents(q, b, i, mask, refused);
    return round_product(w, q, power_word(q, &number_powers[0].high), refused);
}

/* Stores the lanes of the mask; returns a bit for each that is infinite. */
AVX512_INLINE __mmask8 store(void *out, size_t at, __mmask8 mask, __m512d v,
                             bool is_f32)
{
    if (!is_f32) {
        _mm512_mask_storeu_pd((double *)out + at, mask, v);
        return _mm512_mask_fpclass_pd_mask(mask, v, 0x18);
    }
    __m256 f = _mm512_cvtpd_ps(v);
    _mm256_mask_storeu_ps((float *)out + at, mask, f);
    return _mm256_mask_fpclass_ps_mask(mask, f, 0x18);
}

/* What the batch's numbers are. */
struct kinds {
    bool are_long, have_exponents;
};

AVX512_INLINE struct kinds look_over(const struct batch *b)
{
    struct kinds found = {false, false};
    for (size_t i = 0; i < b->n; i += 32) {
        __mmask32 mask = _bzhi_u32(~0u, (unsigned)(b->n - i));
        __m512i start = _mm512_maskz_loadu_epi16(mask, b->start + i);
        __m512i stop = _mm512_maskz_loadu_epi16(mask, b->stop + i);
        __m512i end = _mm512_maskz_loadu_epi16(mask, b->end + i);
        found.are_long |= _mm512_cmpgt_epu16_mask(
            _mm512_sub_epi16(stop, start), _mm512_set1_epi16(SHORT_MAX)) != 0;
        found.have_exponents |= _mm512_cmpneq_epi16_mask(stop, end) != 0;
    }
    found.are_long |= found.have_exponents;
    return found;
}

/* A bit for each value that is infinite, and for each that could not be
 * rounded and may be anything. */
struct outcome {
    uint64_t infinite, refused;
};

/* Makes values of the batch. */
AVX512_INLINE struct outcome convert(const struct batch *b, void *out,
                                     size_t at, bool is_f32)
{
    struct digits digits;
    struct outcome o = {0, 0};
    struct kinds kinds = look_over(b);
    const size_t n = b->n;
    for (size_t i = 0; i < n && kinds.are_long; i++)
        take_long(b, i, &digits);
    for (size_t i = 0; i < n && !kinds.are_long; i++)
        take_short(b, i, &digits);
    for (size_t i = 0; i < n; i += 8) {
        __mmask8 mask = (__mmask8)_bzhi_u32(255, (unsigned)(n - i)), no = 0;
        __m512d v = kinds.are_long ? multiply_up(b, &digits, i, mask,
                                                 kinds.have_exponents, &no)
                                   : divide(&digits, i);
        v = _mm512_mask_xor_pd(v, (__mmask8)(b->minuses >> i), v,
                               _mm512_set1_pd(-0.0));
        o.infinite |= (uint64_t)store(out, at + i, mask, v, is_f32) << i;
        o.refused |= (uint64_t)(no & mask) << i;
    }
    return o;
}

#endif
