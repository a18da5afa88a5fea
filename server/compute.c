/* SPDX-License-Identifier: MIT */
/*
 * compute - see compute.h. What the library says is wrong becomes a problem
 * with a pointer; what the plan wants is held against the limits before any
 * memory is taken.
 */
#include "compute.h"

#include <stdio.h>
#include <string.h>

#include "capacity.h"
#include "config.h"
#include "encode.h"
#include "fields.h"
#include "plans.h"
#include "work.h"

/* Constant after start. A request alone finds its connection in use. */
static size_t budget, alone;

void compute_set_budget(size_t bytes)
{
    size_t reserve = bytes / 16;

    budget = bytes;
    block_set_budget(bytes - reserve, reserve);
    alone = bytes - reserve;
    alone -= alone > CONNECTION_BYTES ? CONNECTION_BYTES : 0;
}

size_t compute_budget(void)
{
    return budget;
}

size_t compute_alone(void)
{
    return alone;
}

/* ------------------------------------------------------------- refusals */

static void refuse_size(struct request *r, enum problem problem,
                        const char *what, const char *setting, double got,
                        double limit)
{
    struct fault *f = &r->fault;

    fault_set(f, problem, NULL, "The request takes %.0f %s; the limit is %.0f "
              "(%s).", got, what, limit, setting);
    f->has_got = f->has_limit = true;
    f->got = got;
    f->limit = limit;
}

static double elements(const struct request *r)
{
    double sum = 0.0;

    for (int i = 0; i < ATTN_N_IN; i++)
        if (r->input.tensor[i].rank > 0)
            sum += (double)attn_tensor_elements(&r->input.tensor[i]);
    for (int o = 0; o < ATTN_N_OUT; o++)
        if (r->plan.output[o].rank > 0)
            sum += (double)attn_tensor_elements(&r->plan.output[o]);
    return sum;
}

enum problem compute_refuse_memory(struct request *r, size_t bytes)
{
    if (budget > 0 && bytes > alone)
        refuse_size(r, PROBLEM_TOO_MUCH_MEMORY, "bytes of memory",
                    COMPUTE_ALONE, (double)bytes, (double)alone);
    else
        fault_set(&r->fault, PROBLEM_MEMORY_BUDGET, NULL, "There is no memory "
                  "left for this request now (--memory-bytes).");
    return r->fault.problem;
}

static int lanes_of(const struct request *r)
{
    int64_t most = 1;

    for (int phase = 0; phase < r->plan.n_phases; phase++)
        if (r->plan.tasks[phase] > most)
            most = r->plan.tasks[phase];
    return most < work_lanes() ? (int)most : work_lanes();
}

/* A piece of the arena: small ones share blocks. */
static double piece(size_t bytes)
{
    return (double)(bytes > ARENA_SMALL_BYTES ? block_bytes(bytes) : bytes);
}

/* As a double: what the plan asks for may be beyond any size_t. Two blocks
 * for what is small are enough, lists and texts of the reply included. */
double compute_memory(const struct request *r)
{
    double sum = 2 * ARENA_BLOCK_BYTES + piece(r->plan.shared_bytes);

    if (r->plan.worker_bytes > 0)
        sum += (double)block_bytes(r->plan.worker_bytes) * lanes_of(r);
    for (int o = 0; o < ATTN_N_OUT; o++)
        sum += piece(r->plan.output_bytes[o]);
    return sum + (double)encode_memory(r);
}

static void check_memory(struct request *r)
{
    double held = (double)(r->arena.bytes + r->body.capacity);
    double wanted = compute_memory(r);

    if (budget == 0)
        return;
    if (held + wanted > (double)alone)
        refuse_size(r, PROBLEM_TOO_MUCH_MEMORY, "bytes of memory",
                    COMPUTE_ALONE, held + wanted, (double)alone);
    else if (wanted > (double)block_free_bytes())
        refuse_size(r, PROBLEM_MEMORY_BUDGET, "bytes of memory, which others "
                    "use now", COMPUTE_ALONE, wanted, (double)alone);
}

static void check_limits(struct request *r)
{
    double numbers = elements(r);

    if (numbers > (double)config.elements)
        refuse_size(r, PROBLEM_TOO_MANY_ELEMENTS, "numbers", "--elements",
                    numbers, (double)config.elements);
    else if (r->plan.operations > config.operations)
        refuse_size(r, PROBLEM_TOO_MUCH_WORK, "operations", "--operations",
                    r->plan.operations, config.operations);
    else
        check_memory(r);
}

/* --------------------------------------------------------------- stages */

static bool take_memory(struct request *r)
{
    size_t lanes = (size_t)work_lanes() * sizeof *r->lanes;
    struct attn_call *call = &r->call;

    for (int o = 0; o < ATTN_N_OUT; o++) {
        if (r->plan.output_bytes[o] == 0)
            continue;
        r->output.data[o] = arena_alloc(&r->arena, r->plan.output_bytes[o]);
        if (r->output.data[o] == NULL)
            return false;
    }
    *call = (struct attn_call){ .in = &r->input, .plan = &r->plan,
                                .out = &r->output };
    call->shared = arena_alloc(&r->arena, r->plan.shared_bytes);
    r->lanes = arena_alloc(&r->arena, lanes);
    if (call->shared == NULL || r->lanes == NULL)
        return false;
    memset(r->lanes, 0, lanes);
    return true;
}

static void begin(struct request *r)
{
    struct attn_error error;

    buffer_free(&r->body);
    if (plans_of(&r->input, &r->plan, &error) != ATTN_OK) {
        field_fault(&r->fault, &error);
        return;
    }
    r->planned = true;
    encode_size(r);
    check_limits(r);
    if (r->fault.problem != PROBLEM_NONE)
        return;
    if (!take_memory(r)) {
        fault_set(&r->fault, PROBLEM_MEMORY_BUDGET, NULL, "There is no memory "
                  "left for this request now (--memory-bytes).");
        return;
    }
    attn_begin(&r->call);
}

static void warn(struct request *r, const char *text)
{
    const char *copy = arena_text(&r->arena, text, strlen(text));

    if (copy != NULL && r->n_warnings < REQUEST_WARNINGS_MAX)
        r->warnings[r->n_warnings++] = copy;
}

static void warn_of_empty_rows(struct request *r)
{
    long long empty = (long long)r->output.empty_rows;
    char text[FAULT_DETAIL_MAX];

    if (empty == 0)
        return;
    snprintf(text, sizeof text, empty == 1
             ? "%lld row sees no key: it is zero, not NaN"
             : "%lld rows see no key: they are zero, not NaN", empty);
    warn(r, text);
}

static void warn_of_offset(struct request *r)
{
    const struct attn_input *in = &r->input;
    const struct attn_plan *p = &r->plan;
    bool given = in->offset_end || in->tensor[ATTN_OFFSET].rank > 0;
    bool used = in->causal || in->rope || in->tensor[ATTN_ALIBI].rank > 0
        || in->window_left != ATTN_OPEN || in->window_right != ATTN_OPEN;
    char text[FAULT_DETAIL_MAX];

    if (given && !used)
        warn(r, "offset has no effect without causal, window, alibi or rope");
    if (!p->assumed_offset_0)
        return;
    snprintf(text, sizeof text, "offset 0 was assumed although n_q (%lld) "
             "is not n_k (%lld): query i stands at key i; say \"offset\": "
             "\"end\" if the queries are the last positions",
             (long long)p->n_q, (long long)p->n_k);
    warn(r, text);
}

/* [H, n, d] with num_heads: H fits too, as a batch, but means something
 * else. */
static void warn_of_heads(struct request *r)
{
    const struct attn_tensor *q = &r->input.tensor[ATTN_Q];
    long long heads = (long long)r->input.num_heads;
    long long kv_heads = (long long)r->input.num_kv_heads;
    char text[FAULT_DETAIL_MAX];

    if (heads < 2 || q->rank != 3 || q->dim[0] != heads
        || (kv_heads != 0 && kv_heads != heads))
        return;
    snprintf(text, sizeof text, "Q was read as %lld batch items of %lld packed "
             "heads, [B, n, H*d]; leave num_heads out if its first axis is "
             "the heads, [H, n, d]", heads, heads);
    warn(r, text);
}

static void end(struct request *r)
{
    attn_end(&r->call);
    compute_free(r);
    warn_of_empty_rows(r);
    warn_of_offset(r);
    warn_of_heads(r);
}

int64_t compute_next(struct request *r)
{
    if (!r->planned)
        begin(r);
    else
        r->phase++;
    if (r->fault.problem != PROBLEM_NONE)
        return 0;
    if (r->phase < r->plan.n_phases)
        return r->plan.tasks[r->phase];
    end(r);
    return 0;
}

bool compute_task(struct request *r, int64_t task, int lane)
{
    struct lane *l = &r->lanes[lane];

    if (atomic_load_explicit(&r->stop, memory_order_relaxed))
        return true;
    if (l->memory == NULL && r->plan.worker_bytes > 0) {
        l->memory = block_take(r->plan.worker_bytes, &l->bytes);
        if (l->memory == NULL) {
            work_stop_request(r, PROBLEM_MEMORY_BUDGET);
            return true;
        }
    }
    if (!attn_run_task(&r->call, r->phase, task, l->memory, &l->resume))
        return false;
    l->resume = 0;
    return true;
}

void compute_free(struct request *r)
{
    for (int i = 0; r->lanes != NULL && i < work_lanes(); i++) {
        if (r->lanes[i].memory != NULL)
            block_give(r->lanes[i].memory, r->lanes[i].bytes);
        r->lanes[i].memory = NULL;
    }
}
