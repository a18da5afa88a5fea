/* SPDX-License-Identifier: MIT */
/*
 * levels.c - a claim about the kernels, checked at every level.
 */
#include "levels.h"
#include "tensor.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

struct random level_dice = {7};
const struct kernel *kernel;
enum attn_dtype dtype;
double unit;

/* What numbers() gave, to be freed after each claim. */
static void *held[256];
static int n_held;

void everywhere(void (*claim)(void))
{
    for (size_t level = 0; attn_kernel_force(level); level++) {
        for (int type = 0; type < 2; type++) {
            dtype = (enum attn_dtype)type;
            kernel = attn_kernel(dtype);
            unit = dtype == ATTN_FLOAT32 ? 0x1p-24 : 0x1p-53;
            claim();
            while (n_held) {
                free(held[--n_held]);
            }
        }
    }
}

void *numbers(int64_t n)
{
    void *x = malloc((size_t)n * attn_dtype_bytes(dtype));

    ck_assert(x && n_held < 256);
    held[n_held++] = x;
    for (int64_t i = 0; i < n; i++) {
        tensor_set(x, dtype, i, random_normal(&level_dice));
    }
    return x;
}

void *constant(int64_t n, double value)
{
    void *x = numbers(n);

    for (int64_t i = 0; i < n; i++) {
        tensor_set(x, dtype, i, value);
    }
    return x;
}

double get(const void *x, int64_t i)
{
    return tensor_get(x, dtype, i);
}

void near(double got, double expected, double allowed)
{
    ck_assert_msg(number_near(got, expected, allowed),
                  "%s, %d lanes: %.17g, expected %.17g within %g",
                  kernel->level, kernel->lanes, got, expected, allowed);
}

void set_odd_nan(void *x, int64_t i)
{
    uint32_t small = 0x7fc01235;
    uint64_t large = 0x7ff8000000001235;

    if (dtype == ATTN_FLOAT32) {
        memcpy((float *)x + i, &small, sizeof small);
    } else {
        memcpy((double *)x + i, &large, sizeof large);
    }
}
