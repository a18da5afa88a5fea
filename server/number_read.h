/* SPDX-License-Identifier: MIT */
/*
 * number_read - what reading numbers one by one shares with the wide readers
 * of rows. Not for others: they include number.h.
 */
#ifndef NUMBER_READ_H
#define NUMBER_READ_H

#include <stdint.h>

#include "number.h"

/* Adds the exponent that begins at p with its 'e'; as number_read(). */
enum number_status number_read_exponent(const char *p, const char *end,
                                        int64_t *exponent, const char **next);

static inline const char *number_skip_space(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t'))
        p++;
    return p;
}

#endif
