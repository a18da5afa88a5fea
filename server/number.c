/* SPDX-License-Identifier: MIT */
/*
 * number - which way rows are read and written on this CPU: one table of
 * levels, the best of which is taken before main().
 */
#include "number.h"

#include "number_level.h"

static const struct level {
    const char *name;
    number_read_f32 *read_f32;
    number_read_f64 *read_f64;
    number_write_f32s *write_f32;
    number_write_f64s *write_f64;
} levels[] = {
    {"plain", number_read_f32_plain, number_read_f64_plain,
     number_write_f32_plain, number_write_f64_plain},
#if defined(__x86_64__)
    {"avx2", number_read_f32_avx2, number_read_f64_avx2,
     number_write_f32_avx2, number_write_f64_plain},
    {"avx512", number_read_f32_avx512, number_read_f64_avx512,
     number_write_f32_avx512, number_write_f64_avx512},
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

size_t number_write_row_f32(char *out, const float *values, size_t n)
{
    return level->write_f32(out, values, n);
}

size_t number_write_row_f64(char *out, const double *values, size_t n)
{
    return level->write_f64(out, values, n);
}
