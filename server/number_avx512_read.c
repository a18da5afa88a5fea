/* SPDX-License-Identifier: MIT */
/*
 * number_avx512_read - rows of numbers for x86 CPUs with AVX-512. Block by
 * block (number_block.h) the digits of each number are pressed together,
 * without their point, into a batch; the batch then becomes values, eight at
 * a time. What a block cannot show (its text is wrong, a number is too long,
 * the end of the text is near) is left to number_read().
 */
#if defined(__x86_64__)
#include <math.h>

#include "number_avx512.h"
#include "number_block.h"
#include "number_level.h"
#include "number_read.h"

enum {
    READ_AHEAD = NUMBER_BLOCK + 32, /* a block, and 32 bytes from its last */
    BATCH = 32,                     /* is full; a block may add as many */
    BATCH_MAX = 2 * BATCH,
};

struct batch {
    __m128i digits[BATCH_MAX];          /* the first 16, as text */
    int64_t point[BATCH_MAX];           /* how many digits are before it */
    uint64_t minuses;                   /* a bit for each */
    size_t n;
    bool is_short;                      /* if not, also: */
    uint32_t more[BATCH_MAX];           /* three digits more */
    const char *start[BATCH_MAX];
    uint64_t refused;                   /* has more than 19 digits */
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

/* Takes the first k numbers of a short block into the batch. */
AVX512_INLINE void collect_short(const char *p, struct number_block b,
                                 size_t k, struct batch *batch)
{
    uint64_t points = b.points | b.ends;
    for (size_t i = batch->n; i < batch->n + k; i++) {
        unsigned first = (unsigned)_tzcnt_u64(b.firsts);
        unsigned length = (unsigned)_tzcnt_u64(b.ends) - first;
        __m128i text = _mm_loadu_si128((const void *)(p + first));
        __mmask16 mask = (__mmask16)_bzhi_u64(b.digits >> first, length);
        batch->digits[i] = _mm_maskz_compress_epi8(mask, text);
        batch->point[i] = (int64_t)_tzcnt_u64(points >> first);
        b.firsts &= b.firsts - 1;
        b.ends &= b.ends - 1;
    }
    batch->n += k;
}

/* The same of any block, up to an exponent that is not well made; returns
 * how many. */
AVX512_INLINE size_t collect_long(const char *p, const char *end,
                                  struct number_block b, size_t k,
                                  struct batch *batch)
{
    uint64_t stops = b.ends | b.exps;
    for (size_t i = batch->n; i < batch->n + k; i++) {
        unsigned first = (unsigned)_tzcnt_u64(b.firsts);
        unsigned stop = (unsigned)_tzcnt_u64(b.ends);
        unsigned text = first + (unsigned)(b.leads >> first & 1);
        unsigned length = (unsigned)_tzcnt_u64(stops >> text);
        uint64_t mask = _bzhi_u64(b.digits >> text, length);
        int64_t point = (int64_t)_tzcnt_u64((stops | b.points) >> text);
        const char *next = p + text + length;
        if (next != p + stop &&
            (number_read_exponent(next, end, &point, &next) != NUMBER_OK ||
             next != p + stop)) {
            k = i - batch->n;
            break;
        }
        __m256i bytes = _mm256_maskz_compress_epi8(
            (__mmask32)mask, _mm256_loadu_si256((const void *)(p + text)));
        batch->digits[i] = _mm256_castsi256_si128(bytes);
        batch->more[i] = (uint32_t)_mm_cvtsi128_si32(
            _mm256_extracti128_si256(bytes, 1));
        batch->point[i] = point;
        batch->start[i] = p + first;
        batch->refused |= (uint64_t)(_mm_popcnt_u64(mask) > 19) << i;
        b.firsts &= b.firsts - 1;
        b.ends &= b.ends - 1;
    }
    batch->n += k;
    return k;
}

/* The first k numbers of a block, or less: the end of the last, or p. */
AVX512_INLINE const char *collect(const char *p, const char *end,
                                  struct number_block b, size_t k,
                                  struct batch *batch)
{
    size_t count = (size_t)_mm_popcnt_u64(b.ends);
    uint64_t minuses = _pext_u64(b.minuses << 1, b.firsts);
    batch->minuses |= minuses << batch->n;
    batch->is_short = b.is_short;
    k = k < count ? k : count;
    if (b.is_short)
        collect_short(p, b, k, batch);
    else
        k = collect_long(p, end, b, k, batch);
    if (k == count)
        return p + 63 - __builtin_clzll(b.ends);
    batch->minuses &= _bzhi_u64(~(uint64_t)0, (unsigned)batch->n);
    return k == 0 ? p : p + _tzcnt_u64(_pdep_u64((uint64_t)1 << (k - 1),
                                                 b.ends));
}

/* The eight wholes that 16 digits make: as pairs, as fours, as eights. */
AVX512_INLINE __m512i wholes(const __m128i *digits)
{
    __m512i fours[2];
    for (int i = 0; i < 2; i++) {
        __m512i ones = _mm512_subs_epu8(_mm512_loadu_si512(digits + 4 * i),
                                        _mm512_set1_epi8('0'));
        fours[i] = _mm512_madd_epi16(
            _mm512_maddubs_epi16(ones, _mm512_set1_epi16(10 + (1 << 8))),
            _mm512_set1_epi32(100 + (1 << 16)));
    }
    __m512i eights = _mm512_madd_epi16(_mm512_packus_epi32(fours[0], fours[1]),
                                       _mm512_set1_epi32(10000 + (1 << 16)));
    __m512i whole = _mm512_add_epi64(
        _mm512_mul_epu32(eights, lanes(100000000)),
        _mm512_srli_epi64(eights, 32));
    return _mm512_permutexvar_epi64(
        _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), whole);
}

/* Numbers of at most 16 bytes: their digits over a power of ten. Both are
 * exact binary64, so the quotient is the nearest: 15 digits and a 0 are even
 * and below 2^54; 16 digits have no point, so that their power is 1 and only
 * the conversion rounds. */
AVX512_INLINE __m512d divide(const struct batch *batch, size_t i)
{
    const __m512d low = _mm512_setr_pd(1, 1e15, 1e14, 1e13, 1e12, 1e11, 1e10,
                                       1e9);
    const __m512d high = _mm512_setr_pd(1e8, 1e7, 1e6, 1e5, 1e4, 1e3, 1e2, 10);
    __m512i point = _mm512_loadu_si512(batch->point + i); /* 1 ... 16 */
    __m512d power = _mm512_permutex2var_pd(low, point, high);
    return _mm512_div_pd(_mm512_cvtepi64_pd(wholes(batch->digits + i)), power);
}

/* The same step in number_read.c, of 19 digits, as far as 64 bits of the power
 * decide: w 10^q lies in (P - 1, P + 2), in units of the last bit of P. */
AVX512_INLINE __m512d round_product(const struct batch *batch, size_t i,
                                    __mmask8 *refused)
{
    const __m512i one = lanes(1), zero = _mm512_setzero_si512();
    __m256i more = _mm256_subs_epu8(
        _mm256_loadu_si256((const void *)(batch->more + i)),
        _mm256_set1_epi8('0'));
    more = _mm256_madd_epi16(
        _mm256_maddubs_epi16(more, _mm256_set1_epi32(0x00010a64)),
        _mm256_set1_epi16(1));
    __m512i w = _mm512_add_epi64(
        _mm512_mullo_epi64(wholes(batch->digits + i), lanes(1000)),
        _mm512_cvtepu32_epi64(more));
    __m512i q = _mm512_sub_epi64(_mm512_loadu_si512(batch->point + i),
                                 lanes(19));
    __mmask8 not_zero = _mm512_test_epi64_mask(w, w);
    __mmask8 undecided =
        _mm512_cmpgt_epi64_mask(_mm512_abs_epi64(q), lanes(280));
    q = _mm512_min_epi64(_mm512_max_epi64(q, lanes(-280)), lanes(280));

    __m512i zeros = _mm512_lzcnt_epi64(w);
    __m512i product = multiply_high(
        _mm512_sllv_epi64(w, zeros),
        power_word(q, &number_powers[0].high));
    __m512i top = _mm512_srli_epi64(product, 63);
    __m512i exponent = _mm512_sub_epi64(
        _mm512_add_epi64(log2_of_power10(q), lanes(1085)),
        _mm512_sub_epi64(zeros, top));
    __m512i half = _mm512_sllv_epi64(lanes(1 << 9), top);
    __m512i mask = _mm512_sub_epi64(_mm512_slli_epi64(half, 1), one);
    __m512i rest = _mm512_and_si512(product, mask);
    __m512i above = _mm512_sub_epi64(rest, half);
    undecided |= _mm512_cmple_epu64_mask(_mm512_add_epi64(above, one), one);
    __m512i bits = _mm512_add_epi64(
        _mm512_slli_epi64(exponent, 52),
        _mm512_srlv_epi64(product, _mm512_add_epi64(top, lanes(10))));
    bits = _mm512_mask_add_epi64(bits, _mm512_cmpgt_epi64_mask(above, zero),
                                 bits, one);
    *refused |= undecided & not_zero;
    return _mm512_castsi512_pd(_mm512_maskz_mov_epi64(not_zero, bits));
}

/* Reads again what is refused; what overflows is infinite. */
AVX512 static __attribute__((noinline)) __m512d
read_refused(const struct batch *batch, size_t i, const char *end,
             unsigned refused, __m512d v)
{
    double values[8];
    const char *next;
    _mm512_storeu_pd(values, v);
    for (; refused != 0; refused &= refused - 1) {
        unsigned j = (unsigned)__builtin_ctz(refused);
        if (number_read(batch->start[i + j], end, &values[j], &next) !=
            NUMBER_OK)
            values[j] = INFINITY;
    }
    return _mm512_loadu_pd(values);
}

/* Stores the first k of eight; returns a bit for each that is infinite. */
AVX512_INLINE __mmask8 store(void *out, size_t at, size_t k, __m512d v,
                             bool is_f32)
{
    __mmask8 mask = (__mmask8)(0xff >> (8 - k));
    if (!is_f32) {
        _mm512_mask_storeu_pd((double *)out + at, mask, v);
        return _mm512_mask_fpclass_pd_mask(mask, v, 0x18);
    }
    __m256 f = _mm512_cvtpd_ps(v);
    _mm256_mask_storeu_ps((float *)out + at, mask, f);
    return _mm256_mask_fpclass_ps_mask(mask, f, 0x18);
}

/* Makes values of the batch; returns how many came before one that
 * overflows, or all. The batch is empty then, but its texts stay. */
AVX512_INLINE size_t flush(struct batch *batch, const char *end, void *out,
                           size_t at, bool is_f32)
{
    size_t n = batch->n;
    for (size_t i = 0; i < n; i += 8) {
        size_t k = n - i < 8 ? n - i : 8;
        __mmask8 refused = (__mmask8)(batch->refused >> i);
        __m512d v = batch->is_short ? divide(batch, i)
                                    : round_product(batch, i, &refused);
        refused &= (__mmask8)(0xff >> (8 - k));
        if (!batch->is_short && refused != 0)
            v = read_refused(batch, i, end, refused, v);
        v = _mm512_mask_xor_pd(v, (__mmask8)(batch->minuses >> i), v,
                               _mm512_set1_pd(-0.0));
        __mmask8 infinite = store(out, at + i, k, v, is_f32);
        if (infinite != 0) {
            n = i + (size_t)__builtin_ctz(infinite);
            break;
        }
    }
    batch->n = 0;
    batch->minuses = batch->refused = 0;
    return n;
}

/* Blocks of one kind into an empty batch, until it is full or something else
 * comes; returns the end of the last number, or p. */
AVX512_INLINE const char *fill(const char *p, const char *end, size_t max,
                               struct batch *batch)
{
    const char *last = p;
    struct number_block b;
    while (batch->n < BATCH && batch->n < max && end - p >= READ_AHEAD &&
           number_judge(classify(p), &b) &&
           (batch->n == 0 || b.is_short == batch->is_short)) {
        const char *stop = collect(p, end, b, max - batch->n, batch);
        if (stop == p)
            break;
        last = stop;
        if (*stop != ',')
            break;
        p = stop + 1;
    }
    return last;
}

AVX512_INLINE size_t read_row(const char *p, const char *end, void *out,
                              size_t max, const char **next, bool is_f32)
{
    struct batch batch;
    size_t n = 0;
    double value;
    batch.n = 0;
    batch.minuses = batch.refused = 0;
    *next = p;
    while (n < max) {
        const char *last = fill(p, end, max - n, &batch);
        size_t taken = batch.n;
        if (taken > 0) {
            size_t stored = flush(&batch, end, out, n, is_f32);
            n += stored;
            if (stored > 0 && stored < taken)
                number_read(batch.start[stored - 1], end, &value, next);
            if (stored < taken)
                break;
        } else {
            p = number_skip_space(p, end);
            if (number_read(p, end, &value, &last) != NUMBER_OK ||
                store(out, n, 1, _mm512_set1_pd(value), is_f32) != 0)
                break;
            n++;
        }
        *next = last;
        p = number_skip_space(last, end);
        if (p == end || *p++ != ',')
            break;
    }
    return n;
}

/* A block for so few takes longer than one number after the other. */
enum { SHORT_ROW = 2 };

AVX512 size_t number_read_f32_avx512(const char *p, const char *end,
                                     float *out, size_t max,
                                     const char **next)
{
    if (max <= SHORT_ROW)
        return number_read_f32_plain(p, end, out, max, next);
    return read_row(p, end, out, max, next, true);
}

AVX512 size_t number_read_f64_avx512(const char *p, const char *end,
                                     double *out, size_t max,
                                     const char **next)
{
    if (max <= SHORT_ROW)
        return number_read_f64_plain(p, end, out, max, next);
    return read_row(p, end, out, max, next, false);
}
#endif
