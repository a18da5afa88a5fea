/* SPDX-License-Identifier: MIT */
/*
 * number_block - 64 bytes of a row judged as a whole, on words with a bit for
 * each byte: each byte by its kind and the one before it. For the wide readers
 * of rows.
 */
#ifndef NUMBER_BLOCK_H
#define NUMBER_BLOCK_H

#include <stdbool.h>
#include <stdint.h>

enum { NUMBER_BLOCK = 64 };

/* Which bytes are one of 0-9, 0, '.', '-', '+', e or E, ',', white space; and
 * before which no number is taken. */
struct number_marks {
    uint64_t digits, zeros, points, minuses, pluses, exps, commas, spaces;
    uint64_t refused;
};

/* A bit for each number: its first byte, its first digit, where its exponent
 * begins or else its end, and the byte after it. */
struct number_block {
    uint64_t starts, firsts, stops, ends;
};

/* The numbers that end in the block, which begins where a number may, up to
 * the first byte that cannot be there; between them one comma, right behind
 * the number, and white space. False if there are none. What follows the last
 * may be anything. */
static inline __attribute__((always_inline)) bool
number_judge_any(struct number_marks m, struct number_block *b)
{
    uint64_t signs = m.minuses | m.pluses;
    uint64_t number = m.digits | m.points | signs | m.exps;
    uint64_t starts = number & ~(number << 1);
    uint64_t ends = ~number & number << 1;
    uint64_t minuses = m.minuses & starts, others = signs ^ minuses;
    uint64_t firsts = (starts & ~minuses) | minuses << 1;
    /* Adding a bit to a run of ones sets the one behind the run. */
    uint64_t fraction = (m.points << 1) + m.digits;
    uint64_t exponent = ((m.exps | others) << 1) + m.digits;

    uint64_t wrong = m.commas ^ ends;
    wrong |= ~(number | m.commas | m.spaces);
    wrong |= others & ~(m.exps << 1);
    wrong |= (m.points | m.exps) & ~(m.digits << 1);
    wrong |= (m.points | signs) << 1 & ~m.digits;
    wrong |= m.exps << 1 & ~(m.digits | signs);
    wrong |= (firsts & m.zeros) << 1 & m.digits;
    wrong |= (m.points & (fraction | exponent)) | (m.exps & exponent);

    ends &= m.digits << 1 & (wrong ^ (wrong - 1)) & ~m.refused;
    if (ends == 0)
        return false;
    uint64_t within = ~(uint64_t)0 >> __builtin_clzll(ends);
    *b = (struct number_block){starts & within, firsts & within,
                               (ends & ~exponent) | (m.exps & within), ends};
    return true;
}

/* Most text has no exponents, so that much of this need not be done. */
static inline __attribute__((always_inline)) bool
number_judge(struct number_marks m, struct number_block *b)
{
    if (m.exps != 0)
        return number_judge_any(m, b);
    m.exps = m.pluses = 0;
    return number_judge_any(m, b);
}

#endif
