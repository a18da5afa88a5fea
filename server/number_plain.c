/* SPDX-License-Identifier: MIT */
/* number_plain - rows of numbers in plain C, for every CPU. */
#include <math.h>

#include "number_level.h"
#include "number_read.h"
#include "number_write.h"

size_t number_read_f64_plain(const char *p, const char *end, double *out,
                             size_t max, const char **next)
{
    size_t n = 0;
    *next = p;
    while (n < max) {
        p = number_skip_space(p, end);
        if (number_read(p, end, &out[n], &p) != NUMBER_OK)
            break;
        n++;
        *next = p;
        p = number_skip_space(p, end);
        if (p == end || *p++ != ',')
            break;
    }
    return n;
}

size_t number_read_f32_plain(const char *p, const char *end, float *out,
                             size_t max, const char **next)
{
    size_t n = 0;
    *next = p;
    while (n < max) {
        double value;
        p = number_skip_space(p, end);
        if (number_read(p, end, &value, &p) != NUMBER_OK)
            break;
        out[n] = (float)value;
        if (isinf(out[n]))
            break;
        n++;
        *next = p;
        p = number_skip_space(p, end);
        if (p == end || *p++ != ',')
            break;
    }
    return n;
}

size_t number_write_f32_plain(char *out, const float *values, size_t n)
{
    char *p = out;
    for (size_t i = 0; i < n; i++) {
        p += number_write_f32(p, values[i]);
        if (i + 1 < n)
            *p++ = ',';
    }
    return (size_t)(p - out);
}

size_t number_write_f64_plain(char *out, const double *values, size_t n)
{
    char *p = out;
    for (size_t i = 0; i < n; i++) {
        p += number_write_f64(p, values[i]);
        if (i + 1 < n)
            *p++ = ',';
    }
    return (size_t)(p - out);
}
