/* SPDX-License-Identifier: MIT */
/* number_level - the rows of number.h for one kind of CPU. */
#ifndef NUMBER_LEVEL_H
#define NUMBER_LEVEL_H

#include <stddef.h>

struct number_level {
    const char *name;
    size_t (*read_row_f32)(const char *p, const char *end, float *out,
                           size_t max, const char **next);
    size_t (*read_row_f64)(const char *p, const char *end, double *out,
                           size_t max, const char **next);
    size_t (*write_row_f32)(char *out, const float *values, size_t n);
    size_t (*write_row_f64)(char *out, const double *values, size_t n);
};

extern const struct number_level number_level_plain;

#endif
