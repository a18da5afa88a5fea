/* SPDX-License-Identifier: MIT */
/*
 * test_plan.c - shapes, bytes, phases and estimates of a plan.
 */
#include "suite.h"
#include "trial.h"

#include <string.h>

#include "kernel.h"

static struct trial t;

static void setup(void)
{
    trial_open(&t, ATTN_FLOAT32);
}

static void teardown(void)
{
    trial_close(&t);
}

static void plan(void)
{
    ck_assert_msg(trial_plan(&t) == ATTN_OK, "%s", t.error.text);
}

static void return_all(void)
{
    t.in.returns = ATTN_RETURN(ATTN_N_OUT) - 1;
}

static void expect_shape(enum attn_out name, int rank, const int64_t *dim)
{
    const struct attn_tensor *shape = &t.plan.output[name];
    size_t bytes = 4;
    ck_assert_msg(shape->rank == rank, "%s has rank %d", attn_out_name[name],
                  shape->rank);
    for (int axis = 0; axis < rank; axis++) {
        ck_assert_msg(shape->dim[axis] == dim[axis], "axis %d of %s is %d",
                      axis, attn_out_name[name], (int)shape->dim[axis]);
        bytes *= (size_t)dim[axis];
    }
    ck_assert_uint_eq(t.plan.output_bytes[name], bytes);
}

START_TEST(rank_2_has_no_axis_of_heads)
{
    trial_operands(&t, (struct sizes){0, 0, 0, 5, 7, 4, 8});
    return_all();
    plan();
    expect_shape(ATTN_OUT_OUTPUT, SHAPE(5, 8));
    expect_shape(ATTN_OUT_A, SHAPE(5, 7));
    expect_shape(ATTN_OUT_A_MEAN, SHAPE(5, 7));
    expect_shape(ATTN_OUT_LSE, SHAPE(5));
    expect_shape(ATTN_OUT_PRESENT_V, SHAPE(7, 8));
    ck_assert_int_eq(t.plan.output[ATTN_OUT_STATS].rank, 0);
}
END_TEST

START_TEST(rank_4_has_all_axes)
{
    trial_operands(&t, (struct sizes){2, 6, 3, 5, 7, 4, 8});
    return_all();
    plan();
    expect_shape(ATTN_OUT_OUTPUT, SHAPE(2, 6, 5, 8));
    expect_shape(ATTN_OUT_S_SCALED, SHAPE(2, 6, 5, 7));
    expect_shape(ATTN_OUT_A_MEAN, SHAPE(2, 5, 7));
    expect_shape(ATTN_OUT_LSE, SHAPE(2, 6, 5));
    expect_shape(ATTN_OUT_Q, SHAPE(2, 6, 5, 4));
    expect_shape(ATTN_OUT_V, SHAPE(2, 3, 7, 8));
}
END_TEST

START_TEST(projected_heads_are_packed_in_output_and_apart_in_stages)
{
    trial_random(&t, ATTN_X, SHAPE(5, 10), 1);
    trial_random(&t, ATTN_W_Q, SHAPE(10, 24), 1);
    trial_random(&t, ATTN_W_K, SHAPE(10, 12), 1);
    trial_random(&t, ATTN_W_V, SHAPE(10, 24), 1);
    t.in.num_heads = 6;
    t.in.num_kv_heads = 3;
    return_all();
    plan();
    expect_shape(ATTN_OUT_OUTPUT, SHAPE(5, 48));
    expect_shape(ATTN_OUT_A, SHAPE(6, 5, 5));
    expect_shape(ATTN_OUT_K, SHAPE(3, 5, 4));
    trial_random(&t, ATTN_W_O, SHAPE(48, 9), 1);
    plan();
    expect_shape(ATTN_OUT_OUTPUT, SHAPE(5, 9));
    ck_assert_int_eq(t.plan.d_out, 9);
}
END_TEST

START_TEST(what_is_not_asked_for_has_no_bytes)
{
    trial_operands(&t, (struct sizes){2, 6, 3, 5, 7, 4, 8});
    t.in.returns = ATTN_RETURN(ATTN_OUT_LSE);
    plan();
    for (int name = 0; name < ATTN_N_OUT; name++)
        if (name != ATTN_OUT_LSE)
            ck_assert_uint_eq(t.plan.output_bytes[name], 0);
    expect_shape(ATTN_OUT_LSE, SHAPE(2, 6, 5));
}
END_TEST

/* -------------------------------------------------------------- memory */

static size_t memory_of(int64_t n, unsigned returns)
{
    const int64_t dim[] = {n, 64};
    memset(t.in.tensor, 0, sizeof t.in.tensor);
    for (int name = ATTN_Q; name <= ATTN_V; name++) {
        t.in.tensor[name].rank = 2;
        memcpy(t.in.tensor[name].dim, dim, sizeof dim);
    }
    t.in.returns = returns;
    plan();
    return attn_run_bytes(&t.plan);
}

START_TEST(without_A_memory_does_not_grow_with_its_size)
{
    unsigned output = ATTN_RETURN(ATTN_OUT_OUTPUT);
    unsigned all = ATTN_RETURN(ATTN_N_OUT) - 1;
    size_t block = KERNEL_VECS * (size_t)attn_kernel(ATTN_FLOAT32)->lanes;
    for (int64_t n = 64; n <= 1 << 20; n *= 2)
        ck_assert_uint_lt(memory_of(n, output), 500000 + 30 * (size_t)n);
    ck_assert_uint_gt(memory_of(8192, all), 8192 * block * sizeof(float));
}
END_TEST

START_TEST(few_keys_with_A_take_little_memory)
{
    ck_assert_uint_lt(memory_of(16, ATTN_RETURN(ATTN_OUT_A)), 64 << 10);
}
END_TEST

/* --------------------------------------------------------------- tasks */

START_TEST(one_head_of_512_queries_makes_at_least_8_tasks)
{
    trial_operands(&t, (struct sizes){0, 0, 0, 512, 512, 64, 64});
    plan();
    ck_assert_int_eq(t.plan.n_phases, 1);
    ck_assert_int_ge(t.plan.tasks[0], 8);
}
END_TEST

START_TEST(one_query_on_many_keys_makes_tasks_of_ranges)
{
    trial_operands(&t, (struct sizes){0, 0, 0, 1, 100000, 4, 4});
    plan();
    ck_assert_int_eq(t.plan.n_phases, 2);
    ck_assert_int_ge(t.plan.tasks[0], 8);
    ck_assert_int_eq(t.plan.tasks[1], 1);
}
END_TEST

START_TEST(every_phase_has_a_task)
{
    static const struct sizes sizes[] = {{2, 6, 3, 0, 7, 4, 8},
                                         {2, 6, 3, 5, 0, 4, 8},
                                         {2, 6, 3, 5, 7, 0, 8},
                                         {2, 6, 3, 5, 7, 4, 0},
                                         {2, 6, 3, 5, 7, 4, 8}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        trial_operands(&t, sizes[i]);
        return_all();
        plan();
        ck_assert_int_le(t.plan.n_phases, ATTN_MAX_PHASES);
        for (int phase = 0; phase < t.plan.n_phases; phase++)
            ck_assert_int_ge(t.plan.tasks[phase], 1);
    }
}
END_TEST

/* ----------------------------------------------------------- estimates */

START_TEST(operations_are_those_of_the_formula)
{
    trial_operands(&t, (struct sizes){2, 6, 3, 5, 7, 4, 8});
    plan();
    ck_assert_double_eq(t.plan.operations, 2. * 2 * 6 * 5 * 7 * (4 + 8));
}
END_TEST

START_TEST(skipped_tiles_are_no_work)
{
    trial_operands(&t, (struct sizes){0, 0, 0, 4096, 4096, 64, 64});
    plan();
    double all = t.plan.work;
    t.in.causal = true;
    plan();
    ck_assert_double_lt(t.plan.work, 0.55 * all);
    ck_assert_double_gt(t.plan.work, 0.45 * all);
    t.in.window_left = 255;
    plan();
    ck_assert_double_lt(t.plan.work, 0.12 * all);
}
END_TEST

START_TEST(an_offset_that_was_assumed_is_said)
{
    trial_operands(&t, (struct sizes){0, 0, 0, 5, 7, 4, 8});
    plan();
    ck_assert(!t.plan.assumed_offset_0);
    t.in.causal = true;
    plan();
    ck_assert(t.plan.assumed_offset_0);
    t.in.offset_end = true;
    plan();
    ck_assert(!t.plan.assumed_offset_0);
    t.in.offset_end = false;
    trial_same(&t, ATTN_OFFSET, SHAPE(1), 0);
    plan();
    ck_assert(!t.plan.assumed_offset_0);
    trial_operands(&t, (struct sizes){0, 0, 0, 7, 7, 4, 8});
    t.in.tensor[ATTN_OFFSET].rank = 0;
    plan();
    ck_assert(!t.plan.assumed_offset_0);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        rank_2_has_no_axis_of_heads,
        rank_4_has_all_axes,
        projected_heads_are_packed_in_output_and_apart_in_stages,
        what_is_not_asked_for_has_no_bytes,
        without_A_memory_does_not_grow_with_its_size,
        few_keys_with_A_take_little_memory,
        one_head_of_512_queries_makes_at_least_8_tasks,
        one_query_on_many_keys_makes_tasks_of_ranges,
        every_phase_has_a_task,
        operations_are_those_of_the_formula,
        skipped_tiles_are_no_work,
        an_offset_that_was_assumed_is_said,
        NULL};
    suite_init_library();
    return suite_run("plan", tests, setup, teardown, 10);
}
