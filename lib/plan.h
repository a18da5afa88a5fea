/* SPDX-License-Identifier: MIT */
/*
 * plan.h - the private half of a plan: phases, borders of blocks, and where
 * in the shared memory and in a workspace things lie.
 *
 * Borders follow from one item's shape and options alone. That is what makes
 * results have the same bits.
 */
#ifndef PLAN_H
#define PLAN_H

#include "attention.h"

enum plan_phase {
    PLAN_PROJECT,   /* Q, K, V from X and context */
    PLAN_ROTATE,    /* Q and the new keys to their positions */
    PLAN_PREPARE,   /* copies asked for; terms of an additive score */
    PLAN_ATTEND,    /* the tiles */
    PLAN_MERGE,     /* ranges of keys into rows */
    PLAN_MEAN,      /* A over its heads */
    PLAN_OUTPUT,    /* W_O */
    PLAN_REFERENCE, /* all of it, when both engines are wrong */
};

/* Operations that take as long as reading a number of K or V, about. */
enum { PLAN_READ_COST = 16 };

/* What an independent part of PROJECT, ROTATE or PREPARE makes. */
enum plan_job {
    PLAN_Q, PLAN_K, PLAN_V,            /* project, rotate, copy a stage */
    PLAN_PRESENT_K, PLAN_PRESENT_V,
    PLAN_APART_K, PLAN_APART_V,        /* heads that lie packed, copied */
    PLAN_TERM_Q, PLAN_TERM_K,          /* Q W_a, K U_a */
    PLAN_N_JOBS
};

/* Offsets are in bytes and multiples of 64; -1: not there. */
/* may_alias: it lies in the public struct's words. */
struct __attribute__((may_alias)) plan_layout {
    int64_t phase[ATTN_MAX_PHASES]; /* enum plan_phase */

    /* PROJECT and OUTPUT: tiles of this many rows and columns, their depth
     * in slices. PREPARE and ROTATE: rows of a task. Jobs by their tasks. */
    int64_t project_tasks[PLAN_N_JOBS];
    int64_t rotate_tasks[PLAN_N_JOBS], rotate_rows[PLAN_N_JOBS];
    int64_t prepare_tasks[PLAN_N_JOBS], prepare_rows[PLAN_N_JOBS];
    int64_t mean_elements; /* of one task of MEAN */

    /* ATTEND: the rows of a block are queries of one head, or all queries
     * of the `stack` heads of a group; `vectors` of the kernels are shared
     * out among `row_blocks`, at most `lanes` rows for each. Its keys are
     * cut in ranges, they in tiles of `columns`. */
    int64_t vectors, lanes, columns, stack, row_blocks, groups;
    int64_t lines; /* 1: tiles are held line by line */
    int64_t ranges, range_keys;
    int64_t pair_cost; /* operations for one query and one key: for borders */
    int64_t step_cost; /* with what is done only since it is returned */

    /* shared memory */
    int64_t q_at, k_at, v_at;       /* projected, [B, n, heads*d and a line] */
    int64_t turned_q_at, turned_k_at; /* rotated, [B, heads, n, d_k] */
    int64_t apart_k_at, apart_v_at; /* [B, G, n, d] */
    int64_t term_q_at, term_k_at;   /* [B, H, n_q, a], [B, G, n_k, a] */
    int64_t a_at;                   /* A, when only A_mean is returned */
    int64_t mixed_at;               /* [B, n_q, H*d_v], before W_O */
    int64_t tally_at, tallies;      /* one a task of ATTEND and MERGE */
    int64_t partial_at, partial_bytes; /* one for each task of ATTEND */

    int64_t workspace_bytes; /* of ATTEND and MERGE */
};

_Static_assert(sizeof(struct plan_layout) <= sizeof(struct attn_layout),
               "the public struct has room for the private one");

static inline const struct plan_layout *plan_layout(const struct attn_plan *p)
{
    return (const struct plan_layout *)&p->layout;
}

/* Fills *plan, whose dimensions are set. */
enum attn_status plan_fill(const struct attn_input *in,
                           struct attn_plan *plan, struct attn_error *error);

#endif
