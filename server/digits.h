/* SPDX-License-Identifier: MIT */
/*
 * digits - integers and times as text, for what is written with every
 * request: snprintf() of five such takes as long as reading a hundred
 * numbers. The end of the text is returned; no NUL is put there.
 */
#ifndef DIGITS_H
#define DIGITS_H

#include <stdint.h>

#define DIGITS_MAX 24   /* bytes that one of these needs at most */

/* value >= 0, with at least `least` digits (up to 19), zeros in front. */
char *digits_put(char *at, int64_t value, int least);

/* ns >= 0 as milliseconds with three decimals, cut off, not rounded. */
char *digits_put_ms(char *at, int64_t ns);

#endif
