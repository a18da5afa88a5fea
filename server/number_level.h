/* SPDX-License-Identifier: MIT */
/* number_level - the rows of number.h as each kind of CPU does them. */
#ifndef NUMBER_LEVEL_H
#define NUMBER_LEVEL_H

#include <stddef.h>

#include "number.h"

typedef size_t number_read_f32(const char *p, const char *end, float *out,
                               size_t max, const char **next);
typedef size_t number_read_f64(const char *p, const char *end, double *out,
                               size_t max, const char **next);
typedef size_t number_write_f32s(char *out, const float *values, size_t n);
typedef size_t number_write_f64s(char *out, const double *values, size_t n);

typedef size_t number_read_f32_rows(const char *p, const char *end, float *out,
                                    struct number_rows rows,
                                    const char **next);
typedef size_t number_read_f64_rows(const char *p, const char *end,
                                    double *out, struct number_rows rows,
                                    const char **next);
typedef size_t number_write_f32_rows(char *out, const float *values,
                                     struct number_rows rows);
typedef size_t number_write_f64_rows(char *out, const double *values,
                                     struct number_rows rows);

number_read_f32 number_read_f32_plain, number_read_f32_avx2,
    number_read_f32_avx512;
number_read_f64 number_read_f64_plain, number_read_f64_avx2,
    number_read_f64_avx512;
number_write_f32s number_write_f32_plain, number_write_f32_avx2,
    number_write_f32_avx512;
number_write_f64s number_write_f64_plain, number_write_f64_avx512;
/* Of several rows, which are narrow: of no more than 64 numbers. */
number_read_f32_rows number_read_rows_f32_avx512;
number_read_f64_rows number_read_rows_f64_avx512;
number_write_f32_rows number_write_rows_f32_avx512;
number_write_f64_rows number_write_rows_f64_avx512;

#endif
