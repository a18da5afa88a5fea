/* SPDX-License-Identifier: MIT */
/*
 * number_block - 64 bytes of a row judged as a whole, on words with a bit for
 * each byte: where numbers begin and end, and whether all of them are well
 * made, with a comma right behind and otherwise white space. No byte is
 * looked at by itself. For the wide readers of rows.
 */
#ifndef NUMBER_BLOCK_H
#define NUMBER_BLOCK_H

#include <stdbool.h>
#include <stdint.h>

enum { NUMBER_BLOCK = 64 };

/* Which bytes are one of 0-9, 0, '.', '-', '+', e or E, ',', white space. */
struct number_marks {
    uint64_t digits, zeros, points, minuses, pluses, exps, commas, spaces;
};

struct number_block {
    uint64_t firsts, ends;   /* first digit of a number, the byte after it */
    uint64_t digits, points; /* before an exponent, if there is one */
    uint64_t minuses;        /* in front of a number */
    uint64_t leads;          /* a 0 with a point behind */
    uint64_t exps;           /* where exponents begin; they are not judged */
    bool is_short;           /* no exponent, no more than 16 bytes a number */
};

/* The numbers that end in the block, which begins where a number may. False
 * if there are none or something is not as it should be. What lies behind the
 * last end may be anything. */
static inline __attribute__((always_inline)) bool
number_judge(struct number_marks m, struct number_block *b)
{
    uint64_t number = m.digits | m.points | m.minuses | m.pluses | m.exps;
    uint64_t other = ~(number | m.commas | m.spaces);
    uint64_t usable = other ^ (other - 1); /* up to the first other byte */
    uint64_t ends = ~number & number << 1 & usable;
    if (ends == 0)
        return false;
    uint64_t within = ((uint64_t)1 << (63 - __builtin_clzll(ends))) - 1;

    /* Adding a bit to a run of ones clears the run from there on. */
    uint64_t exponent = number & ~(number + m.exps);
    uint64_t digits = m.digits & ~exponent, points = m.points & ~exponent;
    uint64_t minuses = m.minuses & ~exponent;
    uint64_t starts = number & ~(number << 1);
    uint64_t firsts = (starts & ~minuses) | minuses << 1;
    uint64_t wrong = m.commas ^ ends;
    wrong |= (minuses & ~starts) | (m.pluses & ~exponent);
    wrong |= (points | minuses) & ~(digits >> 1);
    wrong |= (points | m.exps) & ~(digits << 1);
    wrong |= firsts & m.zeros & digits >> 1;
    wrong |= points & ((points << 1) + digits); /* a second one */
    if (wrong & within)
        return false;

    uint64_t run = number & number >> 1; /* of 2, then 4, 8, 16, 17 bytes */
    run &= run >> 2;
    run &= run >> 4;
    run &= run >> 8;
    run &= number << 1;
    *b = (struct number_block){
        firsts, ends, digits, points, minuses, m.zeros & points >> 1, m.exps,
        ((run | exponent) & within) == 0};
    return true;
}

#endif
