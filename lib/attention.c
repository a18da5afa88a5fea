/* SPDX-License-Identifier: MIT */
/*
 * attention.c - the public calls: check -> plan -> run.
 */
#include "attention.h"

#include <string.h>

#include "blas.h"
#include "check.h"
#include "forward.h"
#include "kernel.h"
#include "prepare.h"
#include "project.h"
#include "reference.h"
#include "size.h"
#include "stats.h"

const char *attn_blas_name(void)
{
    return blas_name();
}

const char *attn_cpu_level(void)
{
    return attn_kernel(ATTN_FLOAT32)->level;
}

size_t attn_dtype_bytes(enum attn_dtype dtype)
{
    return dtype == ATTN_FLOAT64 ? sizeof(double) : sizeof(float);
}

int64_t attn_tensor_elements(const struct attn_tensor *t)
{
    int64_t elements = 1;
    for (int axis = 0; axis < t->rank; axis++) {
        if (t->dim[axis] < 0)
            return -1;
        elements = size_mul(elements, t->dim[axis]);
    }
    return size_fits(elements) ? elements : -1;
}

void attn_input_init(struct attn_input *in)
{
    *in = (struct attn_input){
        .window_left = ATTN_OPEN,
        .window_right = ATTN_OPEN,
        .rope_base = 10000,
        .returns = ATTN_RETURN(ATTN_OUT_OUTPUT) | ATTN_RETURN(ATTN_OUT_A),
    };
}

/* ------------------------------------------------- check -> plan -> run */

enum attn_status attn_plan(const struct attn_input *in,
                           struct attn_plan *plan, struct attn_error *error)
{
    memset(plan, 0, sizeof *plan);
    enum attn_status status = check_input(in, plan, error);
    return status ? status : plan_fill(in, plan, error);
}

void attn_begin(struct attn_call *call)
{
    call->out->empty_rows = 0;
}

/* A unit at a time, by one worker: none of it can be told apart before. */
static bool run_reference(const struct attn_call *call, int64_t *resume)
{
    struct reference *r = call->shared;
    if (*resume == 0)
        r = reference_open(call->shared, call->in, call->plan, call->out);
    *resume = 1;
    return reference_step(r);
}

bool attn_run_task(const struct attn_call *call, int phase, int64_t task,
                   void *workspace, int64_t *resume)
{
    switch ((enum plan_phase)plan_layout(call->plan)->phase[phase]) {
    case PLAN_PROJECT:
        return project_operand(call, task, workspace, resume);
    case PLAN_ROTATE:
        rotate_rows(call, task);
        return true;
    case PLAN_PREPARE:
        prepare_rows(call, task);
        return true;
    case PLAN_ATTEND:
        return forward_attend(call, task, workspace, resume);
    case PLAN_MERGE:
        return forward_merge(call, task, workspace, resume);
    case PLAN_MEAN:
        prepare_mean(call, task);
        return true;
    case PLAN_OUTPUT:
        return project_output(call, task, workspace, resume);
    case PLAN_REFERENCE:
        return run_reference(call, resume);
    }
    return true;
}

void attn_end(struct attn_call *call)
{
    if (plan_layout(call->plan)->phase[0] != PLAN_REFERENCE)
        stats_join(call);
}

static size_t rounded(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

size_t attn_run_bytes(const struct attn_plan *plan)
{
    return rounded(plan->shared_bytes) + rounded(plan->worker_bytes);
}

void attn_run(struct attn_call *call, void *memory)
{
    void *workspace = (char *)memory + rounded(call->plan->shared_bytes);
    call->shared = memory;
    attn_begin(call);
    for (int phase = 0; phase < call->plan->n_phases; phase++)
        for (int64_t task = 0; task < call->plan->tasks[phase]; task++) {
            int64_t resume = 0;
            while (!attn_run_task(call, phase, task, workspace, &resume))
                ;
        }
    attn_end(call);
}
