/* SPDX-License-Identifier: MIT */
/*
 * tensor.c - numbers for the tests. Knows neither Check nor a call.
 */
#include "tensor.h"

#include <math.h>
#include <stdio.h>

/* SplitMix64: a counter stepped by the golden ratio, then mixed. */
uint64_t random_bits(struct random *random)
{
    uint64_t z = random->state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

int64_t random_below(struct random *random, int64_t n)
{
    return (int64_t)(random_bits(random) % (uint64_t)n);
}

double random_uniform(struct random *random)
{
    return (double)(random_bits(random) >> 11) * 0x1p-53;
}

/* Box and Muller: a radius from one number, a direction from another. */
double random_normal(struct random *random)
{
    double radius = sqrt(-2 * log(1 - random_uniform(random)));
    return radius * cos(2 * acos(-1.0) * random_uniform(random));
}

double tensor_get(const void *data, enum attn_dtype dtype, int64_t index)
{
    if (dtype == ATTN_FLOAT64)
        return ((const double *)data)[index];
    return (double)((const float *)data)[index];
}

void tensor_set(void *data, enum attn_dtype dtype, int64_t index, double x)
{
    if (dtype == ATTN_FLOAT64)
        ((double *)data)[index] = x;
    else
        ((float *)data)[index] = (float)x;
}

bool number_near(double got, double expected, double allowed)
{
    if (isnan(expected) || isnan(got))
        return isnan(expected) && isnan(got);
    if (isinf(expected) || isinf(got))
        return expected == got;
    return fabs(got - expected) <= allowed;
}

const char *tensor_place(char text[ATTN_TEXT_MAX], const char *name,
                         const struct attn_tensor *shape, int64_t index)
{
    int used = snprintf(text, ATTN_TEXT_MAX, "%s[", name);
    int64_t inner = 1;
    for (int axis = 0; axis < shape->rank; axis++)
        inner *= shape->dim[axis];
    for (int axis = 0; axis < shape->rank; axis++) {
        inner /= shape->dim[axis];
        used += snprintf(text + used, ATTN_TEXT_MAX - (size_t)used, "%s%lld",
                         axis ? "," : "", (long long)(index / inner));
        index %= inner;
    }
    snprintf(text + used, ATTN_TEXT_MAX - (size_t)used, "]");
    return text;
}
