/* SPDX-License-Identifier: MIT */
/*
 * number_avx512_read - rows of numbers for x86 CPUs with AVX-512. Block by
 * block (number_block.h) the places of the numbers come into a batch, and the
 * batch becomes values, so that nothing is decided number by number. What a
 * block cannot show (its text is wrong, the end of the text is near) and what
 * a batch cannot round is left to number_read().
 */
#if defined(__x86_64__)
#include <math.h>

#include "number_avx512_batch.h"
#include "number_level.h"
#include "number_read.h"

enum {
    READ_AHEAD = NUMBER_BLOCK + 32, /* a block, and what is behind its last */
    FEW = 2,                        /* faster one after the other */
};

AVX512_INLINE uint64_t equal(__m512i bytes, char c)
{
    return _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(c));
}

AVX512_INLINE struct number_marks classify(const char *p)
{
    __m512i bytes = _mm512_loadu_si512(p);
    __m512i lower = _mm512_or_si512(bytes, _mm512_set1_epi8(0x20));
    __m512i value = _mm512_sub_epi8(bytes, _mm512_set1_epi8('0'));
    __m512i space_by_low_half = _mm512_broadcast_i32x4(_mm_setr_epi8(
        ' ', 0, 0, 0, 0, 0, 0, 0, 0, '\t', '\n', 0, 0, '\r', 0, 0));
    return (struct number_marks){
        .digits = _mm512_cmple_epu8_mask(value, _mm512_set1_epi8(9)),
        .zeros = equal(bytes, '0'),
        .points = equal(bytes, '.'),
        .minuses = equal(bytes, '-'),
        .pluses = equal(bytes, '+'),
        .exps = equal(lower, 'e'),
        .commas = equal(bytes, ','),
        .spaces = _mm512_cmpeq_epi8_mask(
            bytes, _mm512_shuffle_epi8(space_by_low_half, bytes)),
    };
}

/* The places of the bits, `base` added. */
AVX512_INLINE __m512i places(uint64_t bits, __m512i base)
{
    const __m512i all = _mm512_set_epi8(
        63, 62, 61, 60, 59, 58, 57, 56, 55, 54, 53, 52, 51, 50, 49, 48, 47, 46,
        45, 44, 43, 42, 41, 40, 39, 38, 37, 36, 35, 34, 33, 32, 31, 30, 29, 28,
        27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10,
        9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    __m512i found = _mm512_maskz_compress_epi8(bits, all);
    found = _mm512_cvtepu8_epi16(_mm512_castsi512_si256(found));
    return _mm512_add_epi16(found, base);
}

/* Stores the places of a block's numbers from the nth on; what is behind the
 * last, BLOCK_MAX in all, is overwritten. */
AVX512_INLINE void collect(const char *p, const struct number_block *b,
                           struct batch *to, size_t n)
{
    __m512i base = _mm512_set1_epi16((short)(p - to->text));
    __m512i ends = places(b->ends, base);
    _mm512_storeu_si512(to->start + n, places(b->starts, base));
    _mm512_storeu_si512(to->end + n, ends);
    if (b->stops != b->ends)
        ends = places(b->stops, base);
    _mm512_storeu_si512(to->stop + n, ends);
}

/* Blocks into a batch, up to max numbers or something else that comes;
 * returns the end of the last number, or p. The next block begins behind the
 * last comma of this one: to wait for the end of its last number, which should
 * be the same place, would take longer than all other work. */
AVX512_INLINE const char *fill(const char *p, const char *end, size_t max,
                               struct batch *to)
{
    const char *last = p;
    uint64_t minuses = 0;
    size_t n = 0;
    to->text = p;
    while (n < max && end - p >= READ_AHEAD) {
        struct number_block b;
        struct number_marks marks = classify(p);
        if (!number_judge(marks, &b))
            break;
        collect(p, &b, to, n);
        minuses |= _pext_u64(marks.minuses, b.starts) << n;
        n += (size_t)__builtin_popcountll(b.ends);
        last = p + NUMBER_BLOCK - 1 - __builtin_clzll(b.ends);
        p += NUMBER_BLOCK - _lzcnt_u64(marks.commas);
        __asm__("" : "+r"(p)); /* lest it be known as last + 1 */
        if (last + 1 != p)
            break;
    }
    to->minuses = minuses;
    to->n = n < max ? n : max;
    return n > max ? to->text + to->end[max - 1] : last;
}

/* Returns whether it is infinite. */
static inline bool store_one(void *out, size_t at, double value, bool is_f32)
{
    if (!is_f32) {
        ((double *)out)[at] = value;
        return isinf(value);
    }
    float rounded = (float)value;
    ((float *)out)[at] = rounded;
    return isinf(rounded);
}

/* Reads again what is refused; returns those that overflow. */
static inline uint64_t read_refused(const struct batch *b, uint64_t refused,
                                    const char *end, void *out, size_t at,
                                    bool is_f32)
{
    uint64_t infinite = 0;
    for (; refused != 0; refused &= refused - 1) {
        unsigned i = (unsigned)__builtin_ctzll(refused);
        double value = INFINITY;
        const char *next;
        number_read(b->text + b->start[i], end, &value, &next);
        infinite |= (uint64_t)store_one(out, at + i, value, is_f32) << i;
    }
    return infinite;
}

/* Returns how many came before one that overflows, or all. */
AVX512_INLINE size_t flush(const struct batch *b, const char *end, void *out,
                           size_t at, bool is_f32)
{
    struct outcome o = convert(b, out, at, is_f32);
    if (o.refused != 0)
        o.infinite = (o.infinite & ~o.refused) |
                     read_refused(b, o.refused, end, out, at, is_f32);
    return o.infinite == 0 ? b->n : (size_t)__builtin_ctzll(o.infinite);
}

AVX512_INLINE size_t read_row(const char *p, const char *end, void *out,
                              size_t max, const char **next, bool is_f32)
{
    struct batch batch;
    size_t n = 0;
    double value;
    *next = p;
    while (n < max) {
        const char *last = fill(p, end, max - n < BATCH ? max - n : BATCH,
                                &batch);
        if (batch.n > 0) {
            size_t stored = flush(&batch, end, out, n, is_f32);
            n += stored;
            if (stored > 0)
                *next = batch.text + batch.end[stored - 1];
            if (stored < batch.n)
                break;
        } else {
            p = number_skip_space(p, end);
            if (number_read(p, end, &value, &last) != NUMBER_OK ||
                store_one(out, n, value, is_f32))
                break;
            n++;
            *next = last;
        }
        p = number_skip_space(last, end);
        if (p == end || *p++ != ',')
            break;
    }
    return n;
}

AVX512 size_t number_read_f32_avx512(const char *p, const char *end,
                                     float *out, size_t max,
                                     const char **next)
{
    if (max <= FEW)
        return number_read_f32_plain(p, end, out, max, next);
    return read_row(p, end, out, max, next, true);
}

AVX512 size_t number_read_f64_avx512(const char *p, const char *end,
                                     double *out, size_t max,
                                     const char **next)
{
    if (max <= FEW)
        return number_read_f64_plain(p, end, out, max, next);
    return read_row(p, end, out, max, next, false);
}
#endif
