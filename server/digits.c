/* SPDX-License-Identifier: MIT */
/*
 * digits - see digits.h.
 */
#include "digits.h"

char *digits_put(char *at, int64_t value, int least)
{
    char reversed[DIGITS_MAX];
    int n = 0;

    for (; value > 0 || n < least; value /= 10)
        reversed[n++] = (char)('0' + value % 10);
    while (n > 0)
        *at++ = reversed[--n];
    return at;
}

char *digits_put_ms(char *at, int64_t ns)
{
    at = digits_put(at, ns / 1000000, 1);
    *at++ = '.';
    return digits_put(at, ns / 1000 % 1000, 3);
}
