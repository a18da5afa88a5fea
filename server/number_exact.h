/* SPDX-License-Identifier: MIT */
/*
 * number_exact - the last word on a decimal that 128 bits cannot round: any
 * number of digits, compared exactly with the midpoints between neighbouring
 * binary64. Slow (microseconds) and rarely asked.
 */
#ifndef NUMBER_EXACT_H
#define NUMBER_EXACT_H

#include <stdint.h>

/* The digits in [p, end), among them perhaps a point that is passed over,
 * times 10^exponent, rounded to the nearest binary64, ties to even. `bits` is
 * a guess, best within a step or two; the result is as a bit pattern too,
 * that of infinity on overflow. The value must lie between 1e-342 and 1e330. */
uint64_t number_round_exactly(const char *p, const char *end,
                              int64_t exponent, uint64_t bits);

#endif
