/* SPDX-License-Identifier: MIT */
/*
 * number_avx512_read - rows of numbers for x86 CPUs with AVX-512. Block by
 * block (number_block.h) the places of the numbers come into a batch, and the
 * batch becomes values, so that nothing is decided number by number. What a
 * block cannot show (its text is wrong, the end of the text is near) and what
 * a batch cannot round is left to number_read(). Narrow rows share a batch:
 * in a block the brackets between them pass for white space, in the batch it
 * turns out whether they stand where rows end.
 */
#if defined(__x86_64__)
#include <math.h>

#include "number_avx512_batch.h"
#include "number_level.h"
#include "number_read.h"

enum {
    READ_AHEAD = NUMBER_BLOCK + 8, /* a block, and behind an 'e' in it */
    FEW = 2,                       /* faster one after the other */
};

AVX512_INLINE uint64_t equal(__m512i bytes, char c)
{
    return _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(c));
}

AVX512_INLINE struct number_marks classify(__m512i bytes)
{
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

/* What stands between numbers: the bit of a row's last ']', and the last of
 * "," or "],[" or "], [". */
struct gaps {
    uint64_t row_ends, ends;
};

/* In the marks, where a row ends its ']' becomes the comma behind the number,
 * and what follows white space. A number whose row's end may lie partly beyond
 * the block is left to the next one. */
AVX512_INLINE struct gaps join_rows(__m512i bytes, struct number_marks *m)
{
    uint64_t closes = equal(bytes, ']'), opens = equal(bytes, '[');
    uint64_t open_next = opens >> 1 | (opens >> 1 & m->spaces) >> 1;
    uint64_t row_ends = closes & (m->commas & open_next) >> 1;
    uint64_t behind = row_ends << 2;
    uint64_t joins = behind + (behind & m->spaces);
    uint64_t commas = m->commas & ~(closes << 1);
    m->commas = commas | row_ends;
    m->spaces |= row_ends << 1 | joins;
    m->refused = closes & ~row_ends & (uint64_t)7 << 61;
    return (struct gaps){row_ends, commas | joins};
}

/* The last block of the text, or the one before. */
AVX512_INLINE __m512i load_last(const char *p, const char *end)
{
    unsigned left = end - p < 64 ? (unsigned)(end - p) : 64;
    return _mm512_maskz_loadu_epi8(_bzhi_u64(~(uint64_t)0, left), p);
}

/* Blocks into a batch, up to max numbers or something else that comes;
 * returns the end of the last number, or p. The next block begins behind the
 * last comma of this one: to wait for the end of its last number, which should
 * be the same place, would take longer than all other work. In rows it goes on
 * over their ends, as long as these are where `expected` has a bit. */
AVX512_INLINE const char *fill(const char *p, const char *end, size_t max,
                               uint64_t expected, bool in_rows,
                               struct batch *to)
{
    const char *last = p;
    uint64_t minuses = 0, found = 0;
    size_t n = 0;
    to->text = p;
    while (n < max && p < end) {
        struct number_block b;
        bool near = end - p < READ_AHEAD;
        __m512i bytes = near ? load_last(p, end) : _mm512_loadu_si512(p);
        struct number_marks marks = classify(bytes);
        struct gaps gaps = {0, marks.commas};
        if (in_rows)
            gaps = join_rows(bytes, &marks);
        const char *block = p;
        p += NUMBER_BLOCK - _lzcnt_u64(gaps.ends);
        __asm__("" : "+r"(p)); /* lest it be known as last + 1 */
        if ((near && marks.exps != 0) || !number_judge(marks, &b))
            break;
        collect(block, &b, to, n);
        minuses |= _pext_u64(marks.minuses, b.starts) << n;
        found |= _pext_u64(gaps.row_ends, b.ends) << n;
        n += (size_t)__builtin_popcountll(b.ends);
        last = block + NUMBER_BLOCK - 1 - __builtin_clzll(b.ends);
        if (_lzcnt_u64(b.ends) != _lzcnt_u64(marks.commas))
            break;
    }
    to->minuses = minuses;
    to->n = n < max ? n : max;
    if (in_rows && n > 1) {
        uint64_t wrong = _bzhi_u64(found ^ expected, (unsigned)(to->n - 1));
        if (wrong != 0)
            to->n = (size_t)__builtin_ctzll(wrong) + 1;
    }
    return n > to->n ? to->text + to->end[to->n - 1] : last;
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

/* Behind what stands between a number and the next, or NULL. */
static inline const char *pass_gap(const char *p, const char *end,
                                   bool row_ends)
{
    for (const char *c = row_ends ? "],[" : ","; *c != '\0'; c++) {
        p = number_skip_space(p, end);
        if (p == end || *p++ != *c)
            return NULL;
    }
    return p;
}

/* A load that ends with the number here may begin on the page before: none of
 * that is wanted, but where there is no such page it takes a fault's time. */
static inline bool starts_page(const char *p)
{
    return ((uintptr_t)p & 4095) < LONG_MAX_BYTES;
}

AVX512_INLINE size_t read_all(const char *p, const char *end, void *out,
                              struct number_rows rows, const char **next,
                              bool is_f32, bool in_rows)
{
    struct batch batch;
    size_t n = 0;
    double value;
    *next = p;
    while (n < rows.n && p != NULL) {
        size_t most = rows.n - n < BATCH ? rows.n - n : BATCH;
        uint64_t ends = in_rows ? row_ends(rows, n) : 0;
        const char *last = p;
        batch.n = 0;
        if (!starts_page(p))
            last = fill(p, end, most, ends, in_rows, &batch);
        size_t stored = 1;
        if (batch.n > 0) {
            stored = flush(&batch, end, out, n, is_f32);
            if (stored > 0)
                *next = batch.text + batch.end[stored - 1];
            if (stored < batch.n)
                return n + stored;
        } else {
            p = number_skip_space(p, end);
            if (number_read(p, end, &value, &last) != NUMBER_OK ||
                store_one(out, n, value, is_f32))
                break;
            *next = last;
        }
        n += stored;
        p = pass_gap(last, end, ends >> (stored - 1) & 1);
    }
    return n;
}

AVX512 size_t number_read_f32_avx512(const char *p, const char *end,
                                     float *out, size_t max,
                                     const char **next)
{
    if (max <= FEW)
        return number_read_f32_plain(p, end, out, max, next);
    return read_all(p, end, out, (struct number_rows){max, max, max}, next,
                    true, false);
}

AVX512 size_t number_read_f64_avx512(const char *p, const char *end,
                                     double *out, size_t max,
                                     const char **next)
{
    if (max <= FEW)
        return number_read_f64_plain(p, end, out, max, next);
    return read_all(p, end, out, (struct number_rows){max, max, max}, next,
                    false, false);
}

AVX512 size_t number_read_rows_f32_avx512(const char *p, const char *end,
                                          float *out, struct number_rows rows,
                                          const char **next)
{
    return read_all(p, end, out, rows, next, true, true);
}

AVX512 size_t number_read_rows_f64_avx512(const char *p, const char *end,
                                          double *out, struct number_rows rows,
                                          const char **next)
{
    return read_all(p, end, out, rows, next, false, true);
}
#endif
