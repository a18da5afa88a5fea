/* SPDX-License-Identifier: MIT */
/*
 * number - which way rows are read and written on this CPU: one table of
 * levels, the best of which is taken before main().
 */
#include "number.h"

#include <string.h>

#include "number_level.h"

/* Rows up to this are read together; longer ones faster one by one. */
enum { NARROW_TO_READ = 16 };

static const struct level {
    const char *name;
    number_read_f32 *read_f32;
    number_read_f64 *read_f64;
    number_write_f32s *write_f32;
    number_write_f64s *write_f64;
    number_read_f32_rows *read_f32_rows; /* together; NULL: one by one */
    number_read_f64_rows *read_f64_rows;
    number_write_f32_rows *write_f32_rows;
    number_write_f64_rows *write_f64_rows;
} levels[] = {
    {"plain", number_read_f32_plain, number_read_f64_plain,
     number_write_f32_plain, number_write_f64_plain, NULL, NULL, NULL, NULL},
#if defined(__x86_64__)
    {"avx2", number_read_f32_avx2, number_read_f64_avx2,
     number_write_f32_avx2, number_write_f64_plain, NULL, NULL, NULL, NULL},
    {"avx512", number_read_f32_avx512, number_read_f64_avx512,
     number_write_f32_avx512, number_write_f64_avx512,
     number_read_rows_f32_avx512, number_read_rows_f64_avx512,
     number_write_rows_f32_avx512, number_write_rows_f64_avx512},
#endif
};

static const struct level *level = &levels[0];

size_t number_levels(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512vbmi2") &&
        __builtin_cpu_supports("avx512vbmi") &&
        __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("bmi2"))
        return 3;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
        __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt"))
        return 2;
#endif
    return 1;
}

const char *number_level_name(size_t i)
{
    return levels[i].name;
}

void number_use(size_t i)
{
    level = &levels[i];
}

__attribute__((constructor)) static void use_best(void)
{
    number_use(number_levels() - 1);
}

size_t number_read_row_f32(const char *p, const char *end, float *out,
                           size_t max, const char **next)
{
    return level->read_f32(p, end, out, max, next);
}

size_t number_read_row_f64(const char *p, const char *end, double *out,
                           size_t max, const char **next)
{
    return level->read_f64(p, end, out, max, next);
}

static bool several(struct number_rows rows)
{
    return rows.n > rows.left;
}

static size_t rest_of_row(struct number_rows rows)
{
    return rows.n < rows.left ? rows.n : rows.left;
}

size_t number_read_rows_f32(const char *p, const char *end, float *out,
                            struct number_rows rows, const char **next)
{
    if (level->read_f32_rows != NULL && several(rows) &&
        rows.width <= NARROW_TO_READ)
        return level->read_f32_rows(p, end, out, rows, next);
    return level->read_f32(p, end, out, rest_of_row(rows), next);
}

size_t number_read_rows_f64(const char *p, const char *end, double *out,
                            struct number_rows rows, const char **next)
{
    if (level->read_f64_rows != NULL && several(rows) &&
        rows.width <= NARROW_TO_READ)
        return level->read_f64_rows(p, end, out, rows, next);
    return level->read_f64(p, end, out, rest_of_row(rows), next);
}

size_t number_write_row_f32(char *out, const float *values, size_t n)
{
    return level->write_f32(out, values, n);
}

size_t number_write_row_f64(char *out, const double *values, size_t n)
{
    return level->write_f64(out, values, n);
}

static size_t write_row_by_row(char *out, const void *values,
                               struct number_rows rows, bool is_f32)
{
    char *p = out;
    for (size_t at = 0, n; rows.n > 0; at += n, rows.n -= n) {
        if (at > 0) {
            p = mempcpy(p, "],[", 3);
            rows.left = rows.width;
        }
        n = rest_of_row(rows);
        p += is_f32 ? level->write_f32(p, (const float *)values + at, n)
                    : level->write_f64(p, (const double *)values + at, n);
    }
    return (size_t)(p - out);
}

size_t number_write_rows_f32(char *out, const float *values,
                             struct number_rows rows)
{
    if (level->write_f32_rows != NULL && several(rows))
        return level->write_f32_rows(out, values, rows);
    return write_row_by_row(out, values, rows, true);
}

size_t number_write_rows_f64(char *out, const double *values,
                             struct number_rows rows)
{
    if (level->write_f64_rows != NULL && several(rows))
        return level->write_f64_rows(out, values, rows);
    return write_row_by_row(out, values, rows, false);
}
