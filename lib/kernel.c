/* SPDX-License-Identifier: MIT */
/*
 * kernel.c - chooses the compute kernels for this CPU: the levels that were
 * compiled in, from the plainest to the best, and the last of them whose
 * features it has. clang does not know the levels by name, so single features
 * are asked.
 */
#include "kernel.h"

#include <stdbool.h>

#include "kernel_blas.h"

#ifdef __x86_64__

extern const struct kernel *const attn_kernel_v2[2];
extern const struct kernel *const attn_kernel_v3[2];
extern const struct kernel *const attn_kernel_v4[2];

static bool has_v2(void)
{
    return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt");
}

static bool has_v3(void)
{
    return has_v2() && __builtin_cpu_supports("avx2")
           && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi")
           && __builtin_cpu_supports("bmi2");
}

static bool has_v4(void)
{
    return has_v3() && __builtin_cpu_supports("avx512f")
           && __builtin_cpu_supports("avx512bw")
           && __builtin_cpu_supports("avx512cd")
           && __builtin_cpu_supports("avx512dq")
           && __builtin_cpu_supports("avx512vl");
}

static const struct {
    const struct kernel *const *kernels; /* by enum attn_dtype */
    bool (*has)(void);
} levels[] = {
    {attn_kernel_v2, has_v2},
    {attn_kernel_v3, has_v3},
    {attn_kernel_v4, has_v4},
};

#else

extern const struct kernel *const attn_kernel_base[2];

static bool has_base(void)
{
    return true;
}

static const struct {
    const struct kernel *const *kernels;
    bool (*has)(void);
} levels[] = {
    {attn_kernel_base, has_base},
};

#endif

static const struct kernel *const *chosen; /* a level's, by type */
static struct kernel by_blas[2];
static enum kernel_products in_use;

const char *attn_kernel_force(size_t level)
{
    if (level >= sizeof levels / sizeof *levels || !levels[level].has()) {
        return NULL;
    }
    chosen = levels[level].kernels;
    attn_kernel_products(in_use);
    return chosen[0]->level;
}

void attn_kernel_init(void)
{
    for (size_t level = 0; attn_kernel_force(level); level++) {
    }
}

void attn_kernel_products(enum kernel_products products)
{
    in_use = products;
    for (int type = 0; type < 2; type++) {
        by_blas[type] = *chosen[type];
        kernel_by_blas(&by_blas[type], (enum attn_dtype)type,
                       products == KERNEL_BLAS);
    }
}

bool attn_kernel_is_tuned(void)
{
    return sizeof levels / sizeof *levels > 1;
}

const struct kernel *attn_kernel(enum attn_dtype dtype)
{
    return in_use == KERNEL_OWN ? chosen[dtype] : &by_blas[dtype];
}
