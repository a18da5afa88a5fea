/* SPDX-License-Identifier: MIT */
/*
 * row.c - chooses the operations on a row that were compiled for a CPU level.
 */
#include "row.h"

#include <string.h>

struct level {
    const char *name;
    const struct row_ops *const *ops; /* by enum attn_dtype */
};

#if defined(__x86_64__)
extern const struct row_ops *const row_ops_v2[2];
extern const struct row_ops *const row_ops_v3[2];
extern const struct row_ops *const row_ops_v4[2];
static const struct level levels[] = {
    {"v2", row_ops_v2}, {"v3", row_ops_v3}, {"v4", row_ops_v4}};
#else
extern const struct row_ops *const row_ops_base[2];
static const struct level levels[] = {{"base", row_ops_base}};
#endif

static const struct row_ops *const *chosen;

void row_init(const char *level)
{
    chosen = levels[0].ops;
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
        if (!strcmp(levels[i].name, level))
            chosen = levels[i].ops;
}

const struct row_ops *row_ops(enum attn_dtype dtype)
{
    return chosen[dtype];
}

void moments_merge(struct moments *a, const struct moments *b)
{
    if (b->count == 0)
        return;
    double count = a->count + b->count;
    double far = b->mean - a->mean;
    a->squares += b->squares + far * far * a->count / count * b->count;
    a->mean += far * b->count / count;
    a->count = count;
}
