/* SPDX-License-Identifier: MIT */
/*
 * trial.c - one call under test, computed by attn_run() and by
 * attn_reference() and compared.
 */
#include "trial.h"

#include "suite.h"

#include "accuracy.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------- the memory */

void *trial_block(struct trial *t, size_t bytes)
{
    void *block = NULL;
    t->blocks = realloc(t->blocks,
                        (size_t)(t->n_blocks + 1) * sizeof(*t->blocks));
    ck_assert_ptr_nonnull(t->blocks);
    ck_assert_int_eq(posix_memalign(&block, 64, bytes ? bytes : 1), 0);
    memset(block, 0xff, bytes);
    t->blocks[t->n_blocks++] = block;
    return block;
}

void trial_open(struct trial *t, enum attn_dtype dtype)
{
    static bool ready;
    if (!ready)
        suite_init_library();
    ready = true;
    *t = (struct trial){.random = {1}};
    attn_input_init(&t->in);
    t->in.dtype = dtype;
    t->in.returns = ATTN_RETURN(ATTN_OUT_OUTPUT) | ATTN_RETURN(ATTN_OUT_A) |
                    ATTN_RETURN(ATTN_OUT_LSE);
}

void trial_close(struct trial *t)
{
    for (int i = 0; i < t->n_blocks; i++)
        free(t->blocks[i]);
    free(t->blocks);
    *t = (struct trial){0};
}

/* -------------------------------------------------------- the operands */

static bool holds_integers(enum attn_in name)
{
    return name == ATTN_KEY_LENGTHS || name == ATTN_OFFSET;
}

/* Gives the operand its shape and its memory; returns its elements. */
static int64_t make(struct trial *t, enum attn_in name, int rank,
                    const int64_t *dim)
{
    struct attn_tensor *tensor = &t->in.tensor[name];
    size_t each = holds_integers(name) ? sizeof(int64_t)
                  : name == ATTN_MASK  ? 1
                                       : attn_dtype_bytes(t->in.dtype);
    int64_t count = 1;
    *tensor = (struct attn_tensor){.rank = rank};
    for (int axis = 0; axis < rank; axis++)
        count *= tensor->dim[axis] = dim[axis];
    tensor->data = trial_block(t, (size_t)count * each);
    return count;
}

double trial_get(const struct trial *t, enum attn_in name, int64_t index)
{
    const void *data = t->in.tensor[name].data;
    if (holds_integers(name))
        return (double)((const int64_t *)data)[index];
    if (name == ATTN_MASK)
        return ((const unsigned char *)data)[index];
    return tensor_get(data, t->in.dtype, index);
}

void trial_set(struct trial *t, enum attn_in name, int64_t index, double x)
{
    void *data = t->in.tensor[name].data;
    if (holds_integers(name))
        ((int64_t *)data)[index] = (int64_t)x;
    else if (name == ATTN_MASK)
        ((unsigned char *)data)[index] = x != 0;
    else
        tensor_set(data, t->in.dtype, index, x);
}

void trial_values(struct trial *t, enum attn_in name, int rank,
                  const int64_t *dim, const double *values)
{
    int64_t count = make(t, name, rank, dim);
    for (int64_t i = 0; i < count; i++)
        trial_set(t, name, i, values[i]);
}

void trial_random(struct trial *t, enum attn_in name, int rank,
                  const int64_t *dim, double size)
{
    int64_t count = make(t, name, rank, dim);
    for (int64_t i = 0; i < count; i++)
        trial_set(t, name, i, size * random_normal(&t->random));
}

void trial_same(struct trial *t, enum attn_in name, int rank,
                const int64_t *dim, double value)
{
    int64_t count = make(t, name, rank, dim);
    for (int64_t i = 0; i < count; i++)
        trial_set(t, name, i, value);
}

void trial_operands(struct trial *t, struct sizes s)
{
    int skip = s.B ? 0 : s.H ? 1 : 2;
    const int64_t q[] = {s.B, s.H, s.n_q, s.d_k};
    const int64_t k[] = {s.B, s.G, s.n_k, s.d_k};
    const int64_t v[] = {s.B, s.G, s.n_k, s.d_v};
    trial_random(t, ATTN_Q, 4 - skip, q + skip, 1);
    trial_random(t, ATTN_K, 4 - skip, k + skip, 1);
    trial_random(t, ATTN_V, 4 - skip, v + skip, 1);
}

/* ------------------------------------------------------------- running */

enum attn_status trial_plan(struct trial *t)
{
    return attn_plan(&t->in, &t->plan, &t->error);
}

static void make_outputs(struct trial *t, struct attn_output *out)
{
    *out = (struct attn_output){0};
    for (int name = 0; name < ATTN_N_OUT; name++)
        if (t->plan.output[name].rank)
            out->data[name] = trial_block(t, t->plan.output_bytes[name]);
}

void trial_run(struct trial *t)
{
    struct attn_call call = {.in = &t->in, .plan = &t->plan, .out = &t->out};
    ck_assert_msg(trial_plan(t) == ATTN_OK, "%srefused: %s", t->label,
                  t->error.text);
    make_outputs(t, &t->out);
    make_outputs(t, &t->expected);
    attn_run(&call, trial_block(t, attn_run_bytes(&t->plan)));
    ck_assert(attn_reference(&t->in, &t->plan, &t->expected));
    accuracy_check(t);
}

/* --------------------------------------------------------- the outputs */

double trial_out(const struct trial *t, enum attn_out name, int64_t index)
{
    return tensor_get(t->out.data[name], t->in.dtype, index);
}

int64_t trial_out_count(const struct trial *t, enum attn_out name)
{
    const struct attn_tensor *shape = &t->plan.output[name];
    return shape->rank ? attn_tensor_elements(shape) : 0;
}

static void expect_near(const struct trial *t, enum attn_out name,
                        int64_t index, double x, double allowed)
{
    char place[ATTN_TEXT_MAX];
    double got = trial_out(t, name, index);
    if (!number_near(got, x, allowed * fmax(1, fabs(x))))
        ck_abort_msg("%s is %.17g, expected %.17g",
                     tensor_place(place, attn_out_name[name],
                                  &t->plan.output[name], index),
                     got, x);
}

void trial_expect(const struct trial *t, enum attn_out name,
                  const double *values, double allowed)
{
    for (int64_t i = 0; i < trial_out_count(t, name); i++)
        expect_near(t, name, i, values[i], allowed);
}

void trial_expect_equal(const struct trial *t, const struct trial *u,
                        enum attn_out name, double allowed)
{
    ck_assert_int_eq(trial_out_count(t, name), trial_out_count(u, name));
    for (int64_t i = 0; i < trial_out_count(t, name); i++)
        expect_near(t, name, i, trial_out(u, name, i), allowed);
}
