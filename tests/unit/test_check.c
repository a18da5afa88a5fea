/* SPDX-License-Identifier: MIT */
/*
 * test_check.c - what does not fit is refused, with the place, what was found
 * and what was expected. Each case starts from a call that is right.
 */
#include "suite.h"

#include "attention.h"

#include <math.h>
#include <string.h>

static struct attn_input in;
static struct attn_plan plan;
static struct attn_error error;

#define SET(name, ...)                                                        \
    set(name, (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)),      \
        (int64_t[]){__VA_ARGS__})

static void set(enum attn_in name, int rank, const int64_t *dim)
{
    in.tensor[name].rank = rank;
    memcpy(in.tensor[name].dim, dim, (size_t)rank * sizeof *dim);
}

/* B 2, H 6, G 3, n_q 5, n_k 7, d_k 4, d_v 8 */
static void apart(void)
{
    attn_input_init(&in);
    SET(ATTN_Q, 2, 6, 5, 4);
    SET(ATTN_K, 2, 3, 7, 4);
    SET(ATTN_V, 2, 3, 7, 8);
}

static void packed(void)
{
    attn_input_init(&in);
    SET(ATTN_Q, 2, 5, 24);
    SET(ATTN_K, 2, 7, 12);
    SET(ATTN_V, 2, 7, 24);
    in.num_heads = 6;
    in.num_kv_heads = 3;
}

/* d 10, d_c 11 */
static void projected(void)
{
    attn_input_init(&in);
    SET(ATTN_X, 2, 5, 10);
    SET(ATTN_CONTEXT, 2, 7, 11);
    SET(ATTN_W_Q, 10, 24);
    SET(ATTN_W_K, 11, 12);
    SET(ATTN_W_V, 11, 24);
    SET(ATTN_W_O, 48, 9);
    in.num_heads = 6;
    in.num_kv_heads = 3;
}

static void expect(enum attn_status status, const char *name, const char *text)
{
    memset(&error, 0, sizeof error);
    ck_assert_msg(attn_plan(&in, &plan, &error) == status,
                  "status %d instead of %d for: %s", (int)error.status,
                  (int)status, text);
    ck_assert_int_eq(error.status, status);
    ck_assert_str_eq(error.text, text);
    ck_assert_str_eq(error.name, name);
}

static void expect_fine(void)
{
    ck_assert_msg(attn_plan(&in, &plan, &error) == ATTN_OK, "%s", error.text);
}

static void expect_place(const char *other, int axis, int64_t expected,
                         int64_t got)
{
    ck_assert_str_eq(error.other, other);
    ck_assert_int_eq(error.axis, axis);
    ck_assert_int_eq(error.expected, expected);
    ck_assert_int_eq(error.got, got);
}

START_TEST(the_calls_that_cases_start_from_are_right)
{
    apart();
    expect_fine();
    packed();
    expect_fine();
    projected();
    expect_fine();
}
END_TEST

/* ----------------------------------------------------------- presence */

START_TEST(no_operands_are_missing_operands)
{
    attn_input_init(&in);
    expect(ATTN_MISSING, "Q",
           "There are no operands: give Q, K, V or X, W_Q, W_K, W_V");
}
END_TEST

START_TEST(an_operand_left_out_is_named)
{
    apart();
    in.tensor[ATTN_V].rank = 0;
    expect(ATTN_MISSING, "V", "V is missing: give Q, K and V");
    projected();
    in.tensor[ATTN_W_K].rank = 0;
    expect(ATTN_MISSING, "W_K", "W_K is missing: give X, W_Q, W_K and W_V");
    projected();
    in.tensor[ATTN_X].rank = 0;
    expect(ATTN_MISSING, "X", "X is missing: give X, W_Q, W_K and W_V");
}
END_TEST

START_TEST(all_operands_left_out_are_named_at_once)
{
    attn_input_init(&in);
    SET(ATTN_Q, 5, 4);
    expect(ATTN_MISSING, "K", "K and V are missing: give Q, K and V");
    ck_assert_str_eq(error.other, "Q");
    attn_input_init(&in);
    SET(ATTN_V, 5, 4);
    expect(ATTN_MISSING, "Q", "Q and K are missing: give Q, K and V");
    attn_input_init(&in);
    SET(ATTN_W_O, 5, 4);
    expect(ATTN_MISSING, "X", "X, W_Q, W_K and W_V are missing: give X, W_Q, "
           "W_K and W_V");
    ck_assert_str_eq(error.other, "W_O");
}
END_TEST

START_TEST(the_two_forms_of_operands_exclude_each_other)
{
    apart();
    SET(ATTN_W_O, 48, 9);
    expect(ATTN_EXCLUDES, "W_O", "W_O and Q exclude each other: operands are "
           "either Q, K, V or X, W_Q, W_K, W_V");
    projected();
    SET(ATTN_K, 2, 7, 12);
    expect(ATTN_EXCLUDES, "X", "X and K exclude each other: operands are "
           "either Q, K, V or X, W_Q, W_K, W_V");
}
END_TEST

START_TEST(companions_are_asked_for)
{
    apart();
    SET(ATTN_PAST_K, 2, 3, 9, 4);
    expect(ATTN_MISSING, "past_V",
           "past_V is missing: past_K needs it");
    apart();
    SET(ATTN_V_A, 3);
    expect(ATTN_MISSING, "W_a", "W_a is missing: v_a needs it");
    apart();
    in.num_kv_heads = 3;
    expect(ATTN_MISSING, "num_heads",
           "num_heads is missing: num_kv_heads needs it");
    projected();
    SET(ATTN_B_O, 9);
    in.tensor[ATTN_W_O].rank = 0;
    expect(ATTN_MISSING, "W_O", "W_O is missing: b_O needs it");
}
END_TEST

START_TEST(options_that_exclude_each_other_are_refused)
{
    apart();
    SET(ATTN_PAST_K, 2, 3, 9, 4);
    SET(ATTN_PAST_V, 2, 3, 9, 8);
    SET(ATTN_KEY_LENGTHS, 2);
    expect(ATTN_EXCLUDES, "key_lengths", "key_lengths and past_K exclude "
           "each other: cached keys are all valid");
    apart();
    in.offset_end = true;
    SET(ATTN_OFFSET, 1);
    expect(ATTN_EXCLUDES, "offset", "offset is either \"end\" or a number");
}
END_TEST

/* -------------------------------------------------------------- shapes */

START_TEST(ranks_are_named)
{
    apart();
    SET(ATTN_K, 3, 7, 4);
    expect(ATTN_RANK, "K", "K has 3 axes, expected 4 (like Q)");
    apart();
    in.num_heads = 6;
    expect(ATTN_RANK, "Q", "Q has 4 axes, expected 2 or 3 since num_heads "
           "says that heads are packed in the last");
    projected();
    SET(ATTN_CONTEXT, 7, 11);
    expect(ATTN_RANK, "context", "context has 2 axes, expected 3 (like X)");
    apart();
    SET(ATTN_SINKS, 6, 1);
    expect(ATTN_RANK, "sinks", "sinks has 2 axes, expected 1");
    apart();
    in.tensor[ATTN_BIAS].rank = 5;
    expect(ATTN_RANK, "bias", "bias has 5 axes, expected at most 4");
}
END_TEST

START_TEST(an_axis_is_held_against_its_owner)
{
    apart();
    SET(ATTN_K, 2, 3, 7, 5);
    expect(ATTN_SHAPE, "K", "K has 5 columns, expected 4 (d_k of Q)");
    expect_place("Q", 3, 4, 5);
    apart();
    SET(ATTN_V, 2, 3, 6, 8);
    expect(ATTN_SHAPE, "V", "V has 6 rows, expected 7 (n_k of K)");
    expect_place("K", 2, 7, 6);
    apart();
    SET(ATTN_V, 2, 2, 7, 8);
    expect(ATTN_SHAPE, "V", "V has 2 heads, expected 3 (like K)");
    apart();
    SET(ATTN_K, 1, 3, 7, 4);
    expect(ATTN_SHAPE, "K", "K has 1 batch item, expected 2 (like Q)");
    packed();
    SET(ATTN_K, 2, 7, 24);
    expect(ATTN_SHAPE, "K", "K has 24 columns, expected 12 (key/value heads "
           "times d_k of Q)");
    projected();
    SET(ATTN_W_V, 10, 24);
    expect(ATTN_SHAPE, "W_V",
           "W_V has 10 rows, expected 11 (columns of context)");
    projected();
    in.weights_out_in = true;
    SET(ATTN_W_Q, 24, 9);
    SET(ATTN_W_K, 12, 11);
    SET(ATTN_W_V, 24, 11);
    SET(ATTN_W_O, 9, 48);
    expect(ATTN_SHAPE, "W_Q", "W_Q has 9 columns, expected 10 (columns of X)");
    apart();
    SET(ATTN_ALIBI, 3);
    expect(ATTN_SHAPE, "alibi",
           "alibi has 3 elements, expected 6 (one for each query head)");
    apart();
    SET(ATTN_OFFSET, 3);
    expect(ATTN_SHAPE, "offset", "offset has 3 elements, expected 1 or 2 "
           "(one for each batch item)");
}
END_TEST

START_TEST(one_is_counted_in_the_singular)
{
    attn_input_init(&in);
    SET(ATTN_Q, 4);
    SET(ATTN_K, 4);
    SET(ATTN_V, 4);
    expect(ATTN_RANK, "Q", "Q has 1 axis, expected 2 to 4");
    SET(ATTN_Q, 5, 4);
    SET(ATTN_K, 7, 1);
    SET(ATTN_V, 1, 8);
    expect(ATTN_SHAPE, "K", "K has 1 column, expected 4 (d_k of Q)");
    SET(ATTN_K, 7, 4);
    expect(ATTN_SHAPE, "V", "V has 1 row, expected 7 (n_k of K)");
    SET(ATTN_V, 7, 8);
    SET(ATTN_OFFSET, 3);
    expect(ATTN_SHAPE, "offset",
           "offset has 3 elements, expected 1 (one for each batch item)");
    in.tensor[ATTN_OFFSET].rank = 0;
    SET(ATTN_MASK, 2, 7);
    expect(ATTN_BROADCAST, "mask",
           "Axis 0 of mask is 2, expected 1 or 5 (queries)");
    SET(ATTN_MASK, 2, 5, 7);
    expect(ATTN_BROADCAST, "mask",
           "Axis 0 of mask is 2, expected 1 (query heads)");
    apart();
    SET(ATTN_ALIBI, 1);
    expect(ATTN_SHAPE, "alibi",
           "alibi has 1 element, expected 6 (one for each query head)");
    SET(ATTN_Q, 2, 1, 5, 4);
    expect(ATTN_HEADS, "K", "3 key/value heads do not divide 1 query head");
}
END_TEST

START_TEST(weights_stored_out_in_are_named_by_their_rows)
{
    projected();
    SET(ATTN_W_K, 11, 1);
    expect(ATTN_SHAPE, "W_K", "W_K has 1 column, expected 12 (key/value heads "
           "times d_k of W_Q)");
    projected();
    SET(ATTN_W_O, 47, 9);
    expect(ATTN_SHAPE, "W_O",
           "W_O has 47 rows, expected 48 (heads times d_v of W_V)");
    projected();
    in.weights_out_in = true;
    SET(ATTN_W_Q, 25, 10);
    expect(ATTN_HEADS, "W_Q",
           "W_Q has 25 rows, expected a multiple of its 6 heads");
    SET(ATTN_W_Q, 24, 10);
    SET(ATTN_W_K, 1, 11);
    SET(ATTN_W_V, 24, 11);
    expect(ATTN_SHAPE, "W_K",
           "W_K has 1 row, expected 12 (key/value heads times d_k of W_Q)");
    SET(ATTN_W_K, 12, 11);
    expect(ATTN_SHAPE, "W_O",
           "W_O has 9 columns, expected 48 (heads times d_v of W_V)");
}
END_TEST

START_TEST(a_cache_has_the_axes_of_the_stage_K)
{
    apart();
    SET(ATTN_PAST_K, 2, 3, 9, 4);
    SET(ATTN_PAST_V, 2, 3, 8, 8);
    expect(ATTN_SHAPE, "past_V",
           "past_V has 8 rows, expected 9 (like past_K)");
    SET(ATTN_PAST_V, 2, 3, 9, 8);
    expect_fine();
    ck_assert_int_eq(plan.n_k, 16);
    packed();
    SET(ATTN_PAST_K, 2, 9, 12);
    SET(ATTN_PAST_V, 2, 3, 9, 8);
    expect_fine();
    SET(ATTN_PAST_K, 9, 12);
    expect(ATTN_RANK, "past_K", "past_K has 2 axes, expected 4");
    projected();
    in.num_heads = in.num_kv_heads = 0;
    SET(ATTN_W_K, 11, 24);
    SET(ATTN_W_O, 24, 9);
    SET(ATTN_PAST_K, 2, 9, 24);
    SET(ATTN_PAST_V, 2, 9, 24);
    expect_fine();
}
END_TEST

START_TEST(heads_must_divide)
{
    apart();
    SET(ATTN_K, 2, 4, 7, 4);
    expect(ATTN_HEADS, "K", "4 key/value heads do not divide 6 query heads");
    packed();
    in.num_kv_heads = 4;
    expect(ATTN_HEADS, "num_kv_heads",
           "4 key/value heads do not divide 6 query heads");
    packed();
    SET(ATTN_Q, 2, 5, 25);
    expect(ATTN_HEADS, "Q",
           "Q has 25 columns, expected a multiple of its 6 heads");
}
END_TEST

START_TEST(mask_and_bias_broadcast_from_the_right)
{
    apart();
    SET(ATTN_MASK, 7);
    SET(ATTN_BIAS, 6, 1, 7);
    expect_fine();
    SET(ATTN_MASK, 2, 5, 7);
    expect(ATTN_BROADCAST, "mask",
           "Axis 0 of mask is 2, expected 1 or 6 (query heads); three axes "
           "are [H, n_q, n_k]: for one per batch item, [B, 1, n_q, n_k]");
    SET(ATTN_MASK, 1, 1, 5, 1);
    SET(ATTN_BIAS, 5);
    expect(ATTN_BROADCAST, "bias",
           "Axis 0 of bias is 5, expected 1 or 7 (keys)");
}
END_TEST

#define BATCH "; three axes of Q are [H, n, d]: for [B, n, d] give " \
              "num_heads: 1"

START_TEST(who_takes_an_axis_for_a_batch_is_told_how_to_say_it)
{
    apart();
    SET(ATTN_MASK, 2, 7);
    expect(ATTN_BROADCAST, "mask", "Axis 0 of mask is 2, expected 1 or 5 "
           "(queries); for one per batch item: [B, 1, 1, n_k]");
    SET(ATTN_MASK, 12, 5, 7);
    expect(ATTN_BROADCAST, "mask", "Axis 0 of mask is 12, expected 1 or 6 "
           "(query heads); [B*H, n_q, n_k] goes as [B, H, n_q, n_k]");
    attn_input_init(&in);
    SET(ATTN_Q, 2, 5, 4);
    SET(ATTN_K, 2, 7, 4);
    SET(ATTN_V, 2, 7, 8);
    SET(ATTN_KEY_LENGTHS, 2);
    expect(ATTN_SHAPE, "key_lengths", "key_lengths has 2 elements, expected 1 "
           "(one for each batch item)" BATCH);
    in.tensor[ATTN_KEY_LENGTHS].rank = 0;
    SET(ATTN_OFFSET, 2);
    expect(ATTN_SHAPE, "offset", "offset has 2 elements, expected 1 (one for "
           "each batch item)" BATCH);
    in.tensor[ATTN_OFFSET].rank = 0;
    SET(ATTN_MASK, 2, 7);
    expect(ATTN_BROADCAST, "mask",
           "Axis 0 of mask is 2, expected 1 or 5 (queries)" BATCH);
    SET(ATTN_MASK, 3, 5, 7);
    expect(ATTN_BROADCAST, "mask",
           "Axis 0 of mask is 3, expected 1 or 2 (query heads)" BATCH);
    SET(ATTN_MASK, 2, 1, 1, 7);
    expect(ATTN_BROADCAST, "mask",
           "Axis 0 of mask is 2, expected 1 (batch items)" BATCH);
    SET(ATTN_MASK, 2, 5, 6);
    expect(ATTN_BROADCAST, "mask",
           "Axis 2 of mask is 6, expected 1 or 7 (keys)");
    in.num_heads = 1;
    SET(ATTN_MASK, 2, 1, 1, 7);
    SET(ATTN_KEY_LENGTHS, 2);
    in.tensor[ATTN_KEY_LENGTHS].data = (int64_t[]){1, 2};
    expect_fine();
}
END_TEST

/* -------------------------------------------------------------- values */

START_TEST(values_out_of_range_are_refused)
{
    int64_t lengths[] = {7, 8};
    apart();
    SET(ATTN_KEY_LENGTHS, 2);
    in.tensor[ATTN_KEY_LENGTHS].data = lengths;
    expect(ATTN_RANGE, "key_lengths",
           "key_lengths[1] is 8, expected 0 to n_k = 7");
    ck_assert_int_eq(error.index, 1);
    lengths[1] = -1;
    expect(ATTN_RANGE, "key_lengths",
           "key_lengths[1] is -1, expected 0 to n_k = 7");
    apart();
    in.has_scale = true;
    in.scale = (double)NAN;
    expect(ATTN_RANGE, "scale", "scale is not finite in the call's dtype");
    in.scale = 0;
    in.softcap = -1;
    expect(ATTN_RANGE, "softcap", "softcap is not a finite number above 0 in the call's dtype");
    apart();
    in.window_left = -2;
    expect(ATTN_RANGE, "window",
           "a side of window is -2, expected at least 0");
    apart();
    in.num_heads = -6;
    expect(ATTN_RANGE, "num_heads", "num_heads is -6, expected at least 1");
    apart();
    in.returns = 0;
    expect(ATTN_RANGE, "return", "return names nothing that can be returned");
}
END_TEST

START_TEST(rope_turns_an_even_number_of_columns)
{
    static const int64_t wrong[] = {-2, 1, 3, 6};
    apart();
    in.rope = true;
    expect_fine();
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        in.rope_dim = wrong[i];
        ck_assert_int_eq(attn_plan(&in, &plan, &error), ATTN_RANGE);
        ck_assert_int_eq(error.got, wrong[i]);
    }
    in.rope_dim = 2;
    in.rope_base = 0;
    expect(ATTN_RANGE, "rope", "base of rope is not a finite number above 0");
}
END_TEST

START_TEST(presence_is_asked_before_shapes)
{
    apart();
    SET(ATTN_K, 2, 3, 7, 5);
    SET(ATTN_PAST_K, 2, 3, 9, 4);
    expect(ATTN_MISSING, "past_V",
           "past_V is missing: past_K needs it");
}
END_TEST

/* --------------------------------------------------------------- sizes */

START_TEST(products_that_overflow_are_refused)
{
    const int64_t huge = (int64_t)1 << 31;
    attn_input_init(&in);
    SET(ATTN_Q, huge, 1);
    SET(ATTN_K, huge, 1);
    SET(ATTN_V, huge, 1);
    in.returns = ATTN_RETURN(ATTN_OUT_OUTPUT);
    expect_fine();
    in.returns = ATTN_RETURN(ATTN_OUT_A);
    expect(ATTN_OVERFLOW, "A",
           "the size of A is beyond what a machine can address");
    SET(ATTN_Q, huge * huge, 4);
    SET(ATTN_K, 1, 4);
    SET(ATTN_V, 1, 4);
    expect(ATTN_OVERFLOW, "Q",
           "the size of Q is beyond what a machine can address");
    SET(ATTN_Q, 0, 1, huge * huge, 4); /* of no items */
    SET(ATTN_K, 0, 1, 1, 4);
    SET(ATTN_V, 0, 1, 1, 4);
    expect(ATTN_OVERFLOW, "Q",
           "the size of Q is beyond what a machine can address");
    SET(ATTN_Q, 0, 1, huge); /* of no heads */
    SET(ATTN_K, 0, 1, huge);
    SET(ATTN_V, 0, 1, 4);
    expect(ATTN_OVERFLOW, "Q",
           "the size of Q is beyond what a machine can address");
    SET(ATTN_Q, INT64_MAX, 0);
    SET(ATTN_K, 1, 0);
    SET(ATTN_V, 1, 4);
    expect(ATTN_OVERFLOW, "Q",
           "the size of Q is beyond what a machine can address");
}
END_TEST

START_TEST(elements_of_a_tensor_are_counted_or_refused)
{
    struct attn_tensor t = {NULL, 3, {3, 4, 5}};
    ck_assert_int_eq(attn_tensor_elements(&t), 60);
    t.dim[1] = 0;
    ck_assert_int_eq(attn_tensor_elements(&t), 0);
    t.dim[1] = INT64_MAX;
    ck_assert_int_eq(attn_tensor_elements(&t), -1);
    t.dim[1] = -1;
    ck_assert_int_eq(attn_tensor_elements(&t), -1);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        the_calls_that_cases_start_from_are_right,
        no_operands_are_missing_operands,
        an_operand_left_out_is_named,
        all_operands_left_out_are_named_at_once,
        the_two_forms_of_operands_exclude_each_other,
        companions_are_asked_for,
        options_that_exclude_each_other_are_refused,
        ranks_are_named,
        an_axis_is_held_against_its_owner,
        one_is_counted_in_the_singular,
        weights_stored_out_in_are_named_by_their_rows,
        a_cache_has_the_axes_of_the_stage_K,
        heads_must_divide,
        mask_and_bias_broadcast_from_the_right,
        who_takes_an_axis_for_a_batch_is_told_how_to_say_it,
        values_out_of_range_are_refused,
        rope_turns_an_even_number_of_columns,
        presence_is_asked_before_shapes,
        products_that_overflow_are_refused,
        elements_of_a_tensor_are_counted_or_refused,
        NULL};
    suite_init_library();
    return suite_run("check", tests, NULL, NULL, 10);
}
