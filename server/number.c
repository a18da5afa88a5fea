/* SPDX-License-Identifier: MIT */
/*
 * number - which way rows are read and written on this CPU: one table of
 * levels, the best of which is taken before main().
 */
#include "number.h"

#include "number_level.h"

static const struct number_level *const levels[] = {
    &number_level_plain,
};

static const struct number_level *level = &number_level_plain;

size_t number_levels(void)
{
    return 1;
}

const char *number_level_name(size_t i)
{
    return levels[i]->name;
}

void number_use(size_t i)
{
    level = levels[i];
}

size_t number_read_row_f32(const char *p, const char *end, float *out,
                           size_t max, const char **next)
{
    return level->read_row_f32(p, end, out, max, next);
}

size_t number_read_row_f64(const char *p, const char *end, double *out,
                           size_t max, const char **next)
{
    return level->read_row_f64(p, end, out, max, next);
}

size_t number_write_row_f32(char *out, const float *values, size_t n)
{
    return level->write_row_f32(out, values, n);
}

size_t number_write_row_f64(char *out, const double *values, size_t n)
{
    return level->write_row_f64(out, values, n);
}
