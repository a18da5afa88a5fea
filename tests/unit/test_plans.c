/* SPDX-License-Identifier: MIT */
/*
 * test_plans.c - whatever was asked before, the plan is attn_plan()'s.
 */
#include "suite.h"
#include "trial.h"

#include <string.h>

#include "plans.h"

static struct trial t;
static int64_t lengths[2], offset[1];

static void setup(void)
{
    trial_open(&t, ATTN_FLOAT32);
    trial_operands(&t, (struct sizes){2, 4, 4, 5, 7, 8, 8});
    lengths[0] = lengths[1] = 7;
    offset[0] = 3;
}

static void teardown(void)
{
    trial_close(&t);
}

static void tensor(struct attn_input *in, enum attn_in name, void *data,
                   int rank, const int64_t *dim)
{
    in->tensor[name] = (struct attn_tensor){.data = data, .rank = rank};
    memcpy(in->tensor[name].dim, dim, (size_t)rank * sizeof *dim);
}

/* Changes a thing, so that the plan is another or there is none; false: no such
 * change. */
static bool change(struct attn_input *in, int what)
{
    switch (what) {
    case 0: in->dtype = ATTN_FLOAT64; break;
    case 1: in->returns |= ATTN_RETURN(ATTN_OUT_S); break;
    case 2: in->causal = true; break;
    case 3: in->offset_end = in->causal = true; break;
    case 4: in->window_left = 1; break;
    case 5: in->window_right = 1; break;
    case 6: in->softcap = 5; break;
    case 7: in->rope = true; break;
    case 8: in->rope = true, in->rope_dim = 3; break;
    case 9: in->has_scale = true, in->scale = 0.0 / 0.0; break;
    case 10: in->num_heads = 1; break;
    case 11: in->num_kv_heads = 3; break;
    case 12: in->tensor[ATTN_Q].dim[2] = 6; break;
    case 13: in->tensor[ATTN_K].dim[3] = 9; break;
    case 14: in->tensor[ATTN_V].rank = 0; break;
    case 15: tensor(in, ATTN_ALIBI, lengths, SHAPE(4)); break;
    case 16: tensor(in, ATTN_KEY_LENGTHS, lengths, SHAPE(2)); break;
    case 17: tensor(in, ATTN_OFFSET, offset, SHAPE(1)); break;
    default: return false;
    }
    return true;
}

static enum attn_status expect_plan(const struct attn_input *in)
{
    static struct attn_plan expected, plan;
    struct attn_error why, error;
    enum attn_status status = attn_plan(in, &expected, &why);

    ck_assert_int_eq(plans_of(in, &plan, &error), status);
    if (status == ATTN_OK)
        ck_assert_mem_eq(&plan, &expected, sizeof plan);
    else
        ck_assert_str_eq(error.text, why.text);
    return status;
}

START_TEST(a_plan_is_that_of_the_call_at_hand)
{
    int plans = 0, changes = 0;

    for (struct attn_input in = t.in; change(&in, changes); in = t.in) {
        ck_assert_int_eq(expect_plan(&t.in), ATTN_OK);
        plans += expect_plan(&in) == ATTN_OK;
        expect_plan(&in);
        changes++;
    }
    ck_assert_int_eq(changes, 18);
    ck_assert_int_gt(plans, 9);
}
END_TEST

START_TEST(data_changes_the_plan_where_it_is_read)
{
    struct attn_input in = t.in;

    change(&in, 16);
    for (int64_t keys = 0; keys <= 7; keys++) {
        lengths[0] = lengths[1] = keys;
        ck_assert_int_eq(expect_plan(&in), ATTN_OK);
    }
    lengths[0] = 8;
    ck_assert_int_eq(expect_plan(&in), ATTN_RANGE);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        a_plan_is_that_of_the_call_at_hand,
        data_changes_the_plan_where_it_is_read,
        NULL};
    suite_init_library();
    return suite_run("plans", tests, setup, teardown, 10);
}
