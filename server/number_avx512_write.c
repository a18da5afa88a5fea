/* SPDX-License-Identifier: MIT */
/*
 * number_avx512_write - rows of numbers as text for x86 CPUs with AVX-512:
 * number_write.h for eight numbers at once, step by step the same. Their
 * digits become bytes, which one permutation a number puts around its point;
 * an exponent out of a table goes behind. What is not finite, and the rare
 * number with few digits, is left to number_write_f32() and _f64().
 */
#if defined(__x86_64__)
#include "number_avx512.h"
#include "number_level.h"
#include "number_write.h"

enum {
    LEAD_MIN = NUMBER_PLAIN_MIN,
    LEAD_MAX = NUMBER_PLAIN_MAX,
    POWER_MIN = -330,
    POWER_MAX = 310,
    FIRST = 16, /* places in a source: the 1st digit, after 16 others */
    POINT = 17,
    ZERO = 18,
    BATCH = 32, /* four times eight, in pairs: one computes while the other
                   waits */
    FEW = 4,    /* numbers that are not worth a batch */
    BATCH_BYTES = BATCH * (NUMBER_F64_MAX + 3) + 64,
};

/* Eight decimals of 17 digits. */
struct decimals {
    __m512i first, high, low; /* 1, 8 and 8 digits, the latter as bytes */
    __m512i lead;             /* the power of ten of the first */
    __mmask8 negative;
    __mmask8 refused;         /* not to be written here */
};

/* How to write a batch. */
struct layout {
    uint64_t source[BATCH][4];  /* digits, point and zero, as text */
    uint64_t row[BATCH];        /* of places */
    uint64_t length[BATCH];     /* before an exponent, without sign */
    uint64_t exponent[BATCH];   /* row of exponents */
    unsigned negative, refused, scaled; /* a bit for each; scaled: has an
                                           exponent */
};

/* For each power of the first digit the places its text is taken from. */
static uint8_t places[LEAD_MAX - LEAD_MIN + 1][32];

/* "e-5" and its like for each power, the length last; 0 if there is none. */
static char exponents[POWER_MAX - POWER_MIN + 1][8];

static uint8_t place(int lead, int i)
{
    int point = lead < 0 ? 1 : lead + 1;
    int digit = (i < point ? i : i - 1) + (lead < 0 ? lead : 0);
    if (i == point)
        return POINT;
    if (digit < 0 || digit > 16)
        return ZERO;
    return (uint8_t)(digit == 0 ? FIRST : digit - 1);
}

__attribute__((constructor)) static void make_tables(void)
{
    for (int lead = LEAD_MIN; lead <= LEAD_MAX; lead++)
        for (int i = 0; i < 32; i++)
            places[lead - LEAD_MIN][i] = place(lead, i);
    for (int power = POWER_MIN; power <= POWER_MAX; power++) {
        char *text = exponents[power - POWER_MIN];
        if (power < LEAD_MIN || power > LEAD_MAX)
            text[7] = (char)(number_write_exponent(text, power) - text);
    }
}

/* number_choose(), with 10 floor(s / 10) given */
AVX512_INLINE __m512i choose(__m512i v4, __m512i lower, __m512i upper,
                             __mmask8 odd, __m512i ten)
{
    const __m512i one = lanes(1);
    __m512i s = _mm512_srli_epi64(v4, 2);
    __m512i s4 = _mm512_slli_epi64(s, 2), ten4 = _mm512_slli_epi64(ten, 2);
    __m512i half = _mm512_add_epi64(s4, lanes(2));
    lower = _mm512_mask_add_epi64(lower, odd, lower, one);
    upper = _mm512_mask_sub_epi64(upper, odd, upper, one);
    __mmask8 ten_in = _mm512_cmple_epu64_mask(lower, ten4);
    __mmask8 next_ten_in = _mm512_cmple_epu64_mask(
        _mm512_add_epi64(ten4, lanes(40)), upper);
    __mmask8 in = _mm512_cmple_epu64_mask(lower, s4);
    __mmask8 next_in = _mm512_cmple_epu64_mask(
        _mm512_add_epi64(s4, lanes(4)), upper);
    __mmask8 nearer = _mm512_cmpgt_epu64_mask(v4, half) |
        (_mm512_cmpeq_epi64_mask(v4, half) & _mm512_test_epi64_mask(s, one));
    __mmask8 both = (__mmask8)~(in ^ next_in);
    __mmask8 up = (both & nearer) | (__mmask8)(next_in & ~both);
    s = _mm512_mask_add_epi64(s, up, s, one);
    ten = _mm512_mask_add_epi64(ten, next_ten_in, ten, lanes(10));
    return _mm512_mask_mov_epi64(s, ten_in ^ next_ten_in, ten);
}

/* 8 digits as bytes, the first one lowest: as fours, twos and ones, each
 * quotient below its remainder. */
AVX512_INLINE __m512i eight_digits(__m512i x)
{
    __m512i q = _mm512_srli_epi64(_mm512_mul_epu32(x, lanes(3518437209)), 45);
    __m512i r = _mm512_sub_epi64(x, _mm512_mul_epu32(q, lanes(10000)));
    x = _mm512_or_si512(q, _mm512_slli_epi64(r, 32));
    q = _mm512_srli_epi16(_mm512_mulhi_epu16(x, _mm512_set1_epi16(5243)), 3);
    r = _mm512_sub_epi32(x, _mm512_madd_epi16(q, _mm512_set1_epi32(100)));
    x = _mm512_or_si512(q, _mm512_slli_epi32(r, 16));
    q = _mm512_mulhi_epu16(x, _mm512_set1_epi16(6554));
    r = _mm512_sub_epi16(x, _mm512_maddubs_epi16(q, _mm512_set1_epi16(10)));
    return _mm512_or_si512(q, _mm512_slli_epi16(r, 8));
}

AVX512_INLINE __m512i times_ten(__m512i x)
{
    return _mm512_slli_epi64(
        _mm512_add_epi64(x, _mm512_slli_epi64(x, 2)), 1);
}

/* x / 10^8 */
AVX512_INLINE __m512i over_1e8(__m512i x)
{
    return _mm512_srli_epi64(
        multiply_high(x, lanes((int64_t)0xabcc77118461cefd)), 26);
}

/* x % 10^8, where q = x / 10^8 */
AVX512_INLINE __m512i rest_1e8(__m512i x, __m512i q)
{
    return _mm512_sub_epi64(x, _mm512_mul_epu32(q, lanes(100000000)));
}

/* A value is c 2^q; its scale is a power of ten 10^-k. */
struct scale {
    __m512i c, q, k, h;
    __mmask8 odd, nearer_below;
};

AVX512_INLINE struct scale scale_of(__m512i fraction, __m512i biased,
                                    int bits, int bias)
{
    const __m512i one = lanes(1), zero = _mm512_setzero_si512();
    struct scale s;
    s.odd = _mm512_test_epi64_mask(fraction, one);
    s.nearer_below = _mm512_testn_epi64_mask(fraction, fraction) &
                     _mm512_cmpgt_epi64_mask(biased, one);
    s.c = _mm512_mask_or_epi64(fraction,
                               _mm512_test_epi64_mask(biased, biased),
                               fraction, lanes((int64_t)1 << bits));
    s.q = _mm512_sub_epi64(_mm512_max_epi64(biased, one), lanes(bias));
    s.k = scaled(s.q, 1262611,
                 _mm512_maskz_mov_epi64(s.nearer_below, lanes(-524031)), 22);
    s.h = _mm512_add_epi64(_mm512_add_epi64(s.q, one),
                           log2_of_power10(_mm512_sub_epi64(zero, s.k)));
    return s;
}

/* number_scale_f32() */
AVX512_INLINE __m512i scale_f32(__m512i g, __m512i cp)
{
    __m512i product = _mm512_add_epi64(
        _mm512_mul_epu32(_mm512_srli_epi64(g, 32), cp),
        _mm512_srli_epi64(_mm512_mul_epu32(g, cp), 32));
    __mmask8 rest = _mm512_test_epi64_mask(product, lanes(0xfffffffe));
    __m512i high = _mm512_srli_epi64(product, 32);
    return _mm512_mask_or_epi64(high, rest, high, lanes(1));
}

/* number_scale_f64() */
AVX512_INLINE __m512i scale_f64(__m512i g1, __m512i g0, __m512i cp)
{
    const __m512i one = lanes(1);
    __m512i high, low;
    multiply(g1, cp, &high, &low);
    __m512i sum = _mm512_add_epi64(low, multiply_high(g0, cp));
    __mmask8 carry = _mm512_cmplt_epu64_mask(sum, low);
    high = _mm512_mask_add_epi64(high, carry, high, one);
    return _mm512_mask_or_epi64(high, _mm512_cmpgt_epu64_mask(sum, one), high,
                                one);
}

/* Digits of at most n places, n - 1 or n - 2 too, as n; 0 stays. */
AVX512_INLINE void normalise(__m512i *digits, __m512i *lead, int64_t least)
{
    for (int i = 0; i < 2; i++) {
        __mmask8 less = _mm512_cmplt_epu64_mask(*digits, lanes(least));
        *digits = _mm512_mask_mov_epi64(*digits, less, times_ten(*digits));
        *lead = _mm512_mask_sub_epi64(*lead, less, *lead, lanes(1));
    }
}

AVX512_INLINE struct decimals shortest_f32(const float *values)
{
    __m512i bits = _mm512_cvtepu32_epi64(
        _mm256_loadu_si256((const void *)values));
    __m512i size = _mm512_and_si512(bits, lanes(0x7fffffff));
    __m512i fraction = _mm512_and_si512(bits, lanes(0x7fffff));
    __mmask8 zero = _mm512_testn_epi64_mask(size, size);
    struct scale s = scale_of(fraction, _mm512_srli_epi64(size, 23), 23, 150);
    __m512i power = _mm512_sub_epi64(_mm512_setzero_si512(), s.k);
    __m512i g = _mm512_add_epi64(
        power_word(power, &number_powers[0].high), lanes(1));
    __m512i cp = _mm512_sllv_epi64(_mm512_slli_epi64(s.c, 2), s.h);
    __m512i step = _mm512_sllv_epi64(lanes(2), s.h);
    __m512i v4 = scale_f32(g, cp);
    __m512i upper = scale_f32(g, _mm512_add_epi64(cp, step));
    step = _mm512_mask_srli_epi64(step, s.nearer_below, step, 1);
    __m512i lower = scale_f32(g, _mm512_sub_epi64(cp, step));
    __m512i ten = times_ten(_mm512_srli_epi64(
        _mm512_mul_epu32(_mm512_srli_epi64(v4, 2), lanes(3435973837)), 35));

    __m512i digits = choose(v4, lower, upper, s.odd, ten);
    __m512i lead = _mm512_add_epi64(s.k, lanes(8));
    normalise(&digits, &lead, 100000000);
    __mmask8 few = _mm512_cmplt_epu64_mask(digits, lanes(100000000));
    digits = _mm512_mask_mov_epi64(digits, zero, size);
    __m512i first = _mm512_srli_epi64(
        _mm512_mul_epu32(digits, lanes(1441151881)), 57);
    __mmask8 negative = _mm512_test_epi64_mask(bits, lanes(0x80000000));
    return (struct decimals){
        .first = first,
        .high = eight_digits(rest_1e8(digits, first)),
        .low = _mm512_setzero_si512(),
        .lead = _mm512_mask_mov_epi64(lead, zero, size),
        .negative = negative,
        .refused = (__mmask8)(few & ~zero) | (__mmask8)(zero & negative) |
            _mm512_cmpge_epu64_mask(size, lanes(0x7f800000)) |
            _mm512_cmpeq_epi64_mask(size, lanes(NUMBER_TWICE_ROUNDED)),
    };
}

AVX512_INLINE struct decimals shortest_f64(const double *values)
{
    const __m512i hidden = lanes((int64_t)1 << 52);
    __m512i bits = _mm512_loadu_si512(values);
    __m512i size = _mm512_and_si512(bits, lanes(INT64_MAX));
    __m512i biased = _mm512_srli_epi64(size, 52);
    __mmask8 zero = _mm512_testn_epi64_mask(size, size);
    struct scale s = scale_of(
        _mm512_and_si512(bits, _mm512_sub_epi64(hidden, lanes(1))), biased,
        52, 1075);
    __m512i power = _mm512_sub_epi64(_mm512_setzero_si512(), s.k);
    __m512i g1 = power_word(power, &number_powers[0].high);
    __m512i g0 = power_word(power, &number_powers[0].low);
    __m512i cp = _mm512_sllv_epi64(_mm512_slli_epi64(s.c, 2), s.h);
    __m512i step = _mm512_sllv_epi64(lanes(2), s.h);
    __m512i v4 = scale_f64(g1, g0, cp);
    __m512i upper = scale_f64(g1, g0, _mm512_add_epi64(cp, step));
    step = _mm512_mask_srli_epi64(step, s.nearer_below, step, 1);
    __m512i lower = scale_f64(g1, g0, _mm512_sub_epi64(cp, step));
    __m512i ten = times_ten(_mm512_srli_epi64(multiply_high(
        _mm512_srli_epi64(v4, 2), lanes((int64_t)0xcccccccccccccccd)), 3));

    __m512i digits = choose(v4, lower, upper, s.odd, ten);
    __m512i lead = _mm512_add_epi64(s.k, lanes(16));
    normalise(&digits, &lead, 10000000000000000);
    __mmask8 few = _mm512_cmplt_epu64_mask(digits, lanes(10000000000000000));
    digits = _mm512_mask_mov_epi64(digits, zero, size);
    __m512i nine = over_1e8(digits), first = over_1e8(nine);
    __mmask8 negative = _mm512_movepi64_mask(bits);
    return (struct decimals){
        .first = first,
        .high = eight_digits(rest_1e8(nine, first)),
        .low = eight_digits(rest_1e8(digits, nine)),
        .lead = _mm512_mask_mov_epi64(lead, zero, size),
        .negative = negative,
        .refused = (__mmask8)(few & ~zero) | (__mmask8)(zero & negative) |
                   _mm512_cmpeq_epi64_mask(biased, lanes(0x7ff)),
    };
}

AVX512_INLINE struct decimals shortest(const void *values, size_t at,
                                       bool is_f32)
{
    return is_f32 ? shortest_f32((const float *)values + at)
                  : shortest_f64((const double *)values + at);
}

/* How many digits there are up to the last that is not 0, at least one. */
AVX512_INLINE __m512i count_digits(struct decimals d)
{
    __m512i used = _mm512_sub_epi64(
        lanes(9), _mm512_srli_epi64(_mm512_lzcnt_epi64(d.high), 3));
    __m512i all = _mm512_sub_epi64(
        lanes(17), _mm512_srli_epi64(_mm512_lzcnt_epi64(d.low), 3));
    return _mm512_mask_mov_epi64(
        used, _mm512_test_epi64_mask(d.low, d.low), all);
}

AVX512_INLINE void lay_out(struct decimals d, struct layout *to, size_t at)
{
    const __m512i one = lanes(1), zero = _mm512_setzero_si512();
    const __m512i zeros = lanes(0x3030303030303030);
    __mmask8 plain = _mm512_cmpge_epi64_mask(d.lead, lanes(LEAD_MIN)) &
                     _mm512_cmple_epi64_mask(d.lead, lanes(LEAD_MAX));
    __m512i lead = _mm512_maskz_mov_epi64(plain, d.lead);
    __m512i n = count_digits(d), whole = _mm512_add_epi64(lead, one);
    __m512i length = _mm512_mask_add_epi64(
        whole, _mm512_cmpgt_epi64_mask(n, whole), n, one);
    length = _mm512_mask_sub_epi64(
        length, _mm512_cmplt_epi64_mask(lead, zero), length, lead);
    _mm512_storeu_si512(to->row + at,
                        _mm512_sub_epi64(lead, lanes(LEAD_MIN)));
    _mm512_storeu_si512(to->length + at, length);
    _mm512_storeu_si512(to->exponent + at,
                        _mm512_sub_epi64(d.lead, lanes(POWER_MIN)));
    to->negative |= (unsigned)d.negative << at;
    to->refused |= (unsigned)d.refused << at;
    to->scaled |= (unsigned)(uint8_t)~plain << at;

    /* Numbers side by side: high, low, then what comes to FIRST and behind. */
    __m512i high = _mm512_add_epi64(d.high, zeros);
    __m512i low = _mm512_add_epi64(d.low, zeros);
    __m512i last = _mm512_add_epi64(d.first, lanes(0x302e30)); /* "0.0" */
    __m512i even = _mm512_unpacklo_epi64(high, low);
    __m512i odd = _mm512_unpackhi_epi64(high, low);
    for (int i = 0; i < 4; i++) {
        __m512i pick = _mm512_add_epi64(
            lanes(2 * i), _mm512_setr_epi64(0, 1, 0, 0, 8, 9, 0, 0));
        __m512i both = _mm512_permutex2var_epi64(even, pick, odd);
        both = _mm512_mask_permutexvar_epi64(
            both, 0x44, _mm512_add_epi64(
                lanes(2 * i), _mm512_setr_epi64(0, 0, 0, 0, 0, 0, 1, 0)),
            last);
        _mm512_storeu_si512(to->source[at + 2 * (size_t)i], both);
    }
}

/* Without its exponent; up to 32 bytes beyond the text are written too. */
AVX512_INLINE char *put(char *p, const struct layout *from, size_t i)
{
    *p = '-';
    p += from->negative >> i & 1;
    __m256i text = _mm256_permutexvar_epi8(
        _mm256_loadu_si256((const void *)places[from->row[i]]),
        _mm256_loadu_si256((const void *)from->source[i]));
    _mm256_storeu_si256((void *)p, text);
    return p + from->length[i];
}

AVX512_INLINE char *put_exponent(char *p, const struct layout *from, size_t i)
{
    const char *exponent = exponents[from->exponent[i]];
    memcpy(p, exponent, 8);
    return p + exponent[7];
}

/* "],[" where a row ends, elsewhere a comma, and anything. */
AVX512_INLINE char *separate(char *p, bool row_ends)
{
    memcpy(p, row_ends ? "],[" : ",,,", 4);
    return p + (row_ends ? 3 : 1);
}

/* A batch with exponents, or with numbers that are refused. */
AVX512_INLINE char *put_each(char *p, const void *values,
                             const struct layout *from, size_t k,
                             uint64_t ends, bool is_f32)
{
    for (size_t i = 0; i < k; i++) {
        if (!(from->refused >> i & 1))
            p = put_exponent(put(p, from, i), from, i);
        else if (is_f32)
            p += number_write_f32(p, ((const float *)values)[i]);
        else
            p += number_write_f64(p, ((const double *)values)[i]);
        p = separate(p, ends >> i & 1);
    }
    return p;
}

/* The first k of a batch, a comma behind each, or more where a row ends. */
AVX512_INLINE char *write_batch(char *p, const void *values, size_t k,
                                uint64_t ends, bool is_f32)
{
    struct layout to;
    to.negative = to.refused = to.scaled = 0;
    for (size_t i = 0; i < k; i += 16) {
        struct decimals one = shortest(values, i, is_f32);
        struct decimals two = shortest(values, i + 8, is_f32);
        lay_out(one, &to, i);
        lay_out(two, &to, i + 8);
    }
    if ((to.refused | to.scaled) != 0)
        return put_each(p, values, &to, k, ends, is_f32);
    for (size_t i = 0; i < k; i++)
        p = separate(put(p, &to, i), ends >> i & 1);
    return p;
}

/* The last batch is read from and written to elsewhere, as eight are loaded at
 * a time and put() needs more room. */
AVX512_INLINE size_t write_all(char *out, const void *values,
                               struct number_rows r, bool is_f32, bool in_rows)
{
    union {
        double f64[BATCH];
        float f32[BATCH];
    } rest = {{0}};
    char *p = out, last[BATCH_BYTES];
    const size_t size = is_f32 ? sizeof(float) : sizeof(double);
    for (size_t i = 0; i < r.n; i += BATCH) {
        size_t k = r.n - i < BATCH ? r.n - i : BATCH;
        const void *from = (const char *)values + i * size;
        bool is_last = i + k == r.n;
        uint64_t ends = in_rows ? row_ends(r, i) : 0;
        ends = _bzhi_u64(ends, (unsigned)(k - is_last));
        if (is_last)
            from = memcpy(&rest, from, k * size);
        char *to = is_last ? last : p;
        size_t length = (size_t)(
            write_batch(to, from, k, ends, is_f32) - to) - is_last;
        if (is_last)
            memcpy(p, last, length);
        p += length;
    }
    return (size_t)(p - out);
}

AVX512 size_t number_write_f32_avx512(char *out, const float *values, size_t n)
{
    if (n < FEW)
        return number_write_f32_plain(out, values, n);
    return write_all(out, values, (struct number_rows){n, n, n}, true, false);
}

AVX512 size_t number_write_f64_avx512(char *out, const double *values,
                                      size_t n)
{
    if (n < FEW)
        return number_write_f64_plain(out, values, n);
    return write_all(out, values, (struct number_rows){n, n, n}, false, false);
}

AVX512 size_t number_write_rows_f32_avx512(char *out, const float *values,
                                           struct number_rows rows)
{
    return write_all(out, values, rows, true, true);
}

AVX512 size_t number_write_rows_f64_avx512(char *out, const double *values,
                                           struct number_rows rows)
{
    return write_all(out, values, rows, false, true);
}
#endif
