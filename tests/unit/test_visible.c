/* SPDX-License-Identifier: MIT */
/*
 * test_visible.c - which query sees which key: causal, window, offset,
 * key_lengths and mask, each said in another way, and the cache.
 */
#include "suite.h"
#include "trial.h"

#include <math.h>

static struct trial t, u;

static void setup(void)
{
    trial_open(&t, ATTN_FLOAT64);
    trial_open(&u, ATTN_FLOAT64);
    u.random.state = 2;
}

static void teardown(void)
{
    trial_close(&t);
    trial_close(&u);
}

static void copy_operands(void)
{
    for (enum attn_in name = ATTN_Q; name <= ATTN_V; name++)
        u.in.tensor[name] = t.in.tensor[name];
}

/* ---------------------------------------------------------- as a mask */

/* One batch item, the rule that its options stand for. */
struct rule {
    bool causal;
    int64_t left, right, offset, length;
};

static bool may_see(const struct rule *r, int64_t i, int64_t j)
{
    int64_t p = i + r->offset;
    return (!r->causal || j <= p) &&
           (r->left == ATTN_OPEN || p - j <= r->left) &&
           (r->right == ATTN_OPEN || j - p <= r->right) && j < r->length;
}

static void options_equal_mask(const struct rule *r, int64_t n_q, int64_t n_k)
{
    trial_operands(&t, (struct sizes){.n_q = n_q, .n_k = n_k, .d_k = 9,
                                      .d_v = 5});
    copy_operands();
    t.in.causal = r->causal;
    t.in.window_left = r->left;
    t.in.window_right = r->right;
    trial_same(&t, ATTN_OFFSET, SHAPE(1), (double)r->offset);
    trial_same(&t, ATTN_KEY_LENGTHS, SHAPE(1), (double)r->length);
    trial_same(&u, ATTN_MASK, SHAPE(n_q, n_k), 0);
    for (int64_t i = 0; i < n_q * n_k; i++)
        trial_set(&u, ATTN_MASK, i, may_see(r, i / n_k, i % n_k));
    trial_run(&t);
    trial_run(&u);
    ck_assert_int_eq(t.out.empty_rows, u.out.empty_rows);
    trial_expect_equal(&t, &u, ATTN_OUT_A, 1e-13);
    trial_expect_equal(&t, &u, ATTN_OUT_OUTPUT, 1e-13);
    trial_expect_equal(&t, &u, ATTN_OUT_LSE, 1e-13);
}

START_TEST(every_restriction_equals_its_mask)
{
    const int64_t open = ATTN_OPEN, n_k = 267;
    const struct rule rules[] = {
        {true, open, open, 0, n_k},       {true, open, open, 137, n_k},
        {true, open, open, -100, n_k},    {false, 2, open, 0, n_k},
        {false, open, 2, 0, n_k},         {false, 0, 0, 100, n_k},
        {false, 70, 3, -5, n_k},          {false, open, open, 0, 1},
        {false, open, open, 0, 0},        {false, open, open, 0, 128},
        {true, 16, open, 137, 200},       {true, 64, 64, 64, 65},
        {true, INT64_MAX, 5, 0, n_k},     {false, 5, INT64_MAX, 0, n_k},
        {true, open, open, 1000, n_k},    {true, open, open, -1000, n_k},
    };
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
        options_equal_mask(&rules[i], 130, n_k);
}
END_TEST

START_TEST(left_two_is_three_keys)
{
    trial_operands(&t, (struct sizes){.n_q = 9, .n_k = 9, .d_k = 5,
                                      .d_v = 5});
    t.in.window_left = 2;
    t.in.causal = true;
    trial_run(&t);
    for (int64_t i = 2; i < 9; i++)
        for (int64_t j = 0; j < 9; j++)
            ck_assert_int_eq(trial_out(&t, ATTN_OUT_A, i * 9 + j) > 0,
                             j >= i - 2 && j <= i);
}
END_TEST

/* ------------------------------------------------------------- offset */

/* "end" puts the last query on the last valid key of its item. */
START_TEST(end_is_valid_keys_less_queries)
{
    trial_operands(&t, (struct sizes){2, 1, 1, 7, 57, 9, 5});
    copy_operands();
    t.in.causal = u.in.causal = true;
    trial_values(&t, ATTN_KEY_LENGTHS, SHAPE(2), (double[]){57, 30});
    u.in.tensor[ATTN_KEY_LENGTHS] = t.in.tensor[ATTN_KEY_LENGTHS];
    t.in.offset_end = true;
    trial_values(&u, ATTN_OFFSET, SHAPE(2), (double[]){50, 23});
    trial_run(&t);
    trial_run(&u);
    trial_expect_equal(&t, &u, ATTN_OUT_A, 0);
}
END_TEST

START_TEST(offset_is_0_without_and_n_past_with_a_cache)
{
    trial_operands(&t, (struct sizes){.n_q = 3, .n_k = 4, .d_k = 2,
                                      .d_v = 2});
    t.in.causal = true;
    trial_run(&t);
    ck_assert(t.plan.assumed_offset_0);
    ck_assert_double_eq(trial_out(&t, ATTN_OUT_A, 0), 1);
    trial_random(&t, ATTN_PAST_K, SHAPE(5, 2), 1);
    trial_random(&t, ATTN_PAST_V, SHAPE(5, 2), 1);
    trial_run(&t);
    ck_assert(!t.plan.assumed_offset_0);
    ck_assert_double_gt(trial_out(&t, ATTN_OUT_A, 5), 0); /* query 0 */
    ck_assert_double_eq(trial_out(&t, ATTN_OUT_A, 6), 0);
}
END_TEST

/* Three queries on five keys: offset 0 is PyTorch's and ONNX's corner,
 * "end" is FlashAttention's. */
START_TEST(the_two_corners_of_causal)
{
    for (int end = 0; end < 2; end++) {
        trial_operands(&t, (struct sizes){.n_q = 3, .n_k = 5, .d_k = 2,
                                          .d_v = 2});
        t.in.causal = true;
        t.in.offset_end = end;
        trial_run(&t);
        for (int64_t i = 0; i < 15; i++)
            ck_assert_int_eq(trial_out(&t, ATTN_OUT_A, i) > 0,
                             i % 5 <= i / 5 + 2 * end);
    }
}
END_TEST

/* ---------------------------------------------------------- broadcasts */

/* Element [b,h,i,j] of a mask whose axes of size 1 are repeated. */
START_TEST(masks_of_rank_1_to_4_are_right_aligned)
{
    const int64_t full[] = {2, 3, 7, 57};
    for (int rank = 1; rank <= 4; rank++)
        for (int ones = 0; ones < 1 << rank; ones++) {
            int64_t dim[4];
            for (int axis = 0; axis < rank; axis++)
                dim[axis] = ones >> axis & 1 ? 1 : full[4 - rank + axis];
            trial_operands(&t, (struct sizes){2, 3, 1, 7, 57, 2, 2});
            trial_random(&t, ATTN_MASK, rank, dim, 1);
            for (int64_t i = 0; i < attn_tensor_elements(
                                        &t.in.tensor[ATTN_MASK]); i++)
                trial_set(&t, ATTN_MASK, i, random_below(&t.random, 2) > 0);
            trial_run(&t);
        }
}
END_TEST

/* --------------------------------------------------------------- cache */

/* u's name = rows first ... first + count - 1 of t's [2, n, d]. */
static void take_rows(enum attn_in name, enum attn_in from, int64_t first,
                      int64_t count)
{
    int64_t n = t.in.tensor[from].dim[1], d = t.in.tensor[from].dim[2];
    trial_same(&u, name, SHAPE(2, count, d), 0);
    for (int64_t i = 0; i < 2 * count * d; i++) {
        int64_t h = i / (count * d), row = i / d % count;
        trial_set(&u, name, i,
                  trial_get(&t, from, (h * n + first + row) * d + i % d));
    }
}

START_TEST(keys_split_through_a_cache_equal_one_call)
{
    trial_operands(&t, (struct sizes){0, 2, 2, 23, 130, 9, 5});
    t.in.causal = u.in.causal = true;
    t.in.offset_end = true; /* 107, of which the cache knows nothing */
    trial_run(&t);
    u.in.tensor[ATTN_Q] = t.in.tensor[ATTN_Q];
    take_rows(ATTN_PAST_K, ATTN_K, 0, 107);
    take_rows(ATTN_PAST_V, ATTN_V, 0, 107);
    take_rows(ATTN_K, ATTN_K, 107, 23);
    take_rows(ATTN_V, ATTN_V, 107, 23);
    u.in.returns |= ATTN_RETURN(ATTN_OUT_PRESENT_K);
    trial_run(&u);
    trial_expect_equal(&u, &t, ATTN_OUT_A, 1e-13);
    trial_expect_equal(&u, &t, ATTN_OUT_OUTPUT, 1e-13);
    trial_expect(&u, ATTN_OUT_PRESENT_K, t.in.tensor[ATTN_K].data, 0);
}
END_TEST

/* Token by token with present_K and present_V handed on as past_K and
 * past_V, rotation included: the rows of one causal call. */
START_TEST(decoding_step_by_step_equals_one_causal_call)
{
    const int64_t n = 23, d_k = 8, d_v = 5;
    trial_operands(&t, (struct sizes){0, 2, 2, n, n, d_k, d_v});
    t.in.causal = t.in.rope = u.in.rope = true;
    trial_run(&t);
    u.in.returns |= ATTN_RETURN(ATTN_OUT_PRESENT_K) |
                    ATTN_RETURN(ATTN_OUT_PRESENT_V);
    for (int64_t i = 0; i < n; i++) {
        take_rows(ATTN_Q, ATTN_Q, i, 1);
        take_rows(ATTN_K, ATTN_K, i, 1);
        take_rows(ATTN_V, ATTN_V, i, 1);
        trial_run(&u);
        for (int64_t c = 0; c < 2 * d_v; c++)
            ck_assert_double_eq_tol(
                trial_out(&u, ATTN_OUT_OUTPUT, c),
                trial_out(&t, ATTN_OUT_OUTPUT,
                          (c / d_v * n + i) * d_v + c % d_v), 1e-13);
        u.in.tensor[ATTN_PAST_K] = u.plan.output[ATTN_OUT_PRESENT_K];
        u.in.tensor[ATTN_PAST_V] = u.plan.output[ATTN_OUT_PRESENT_V];
        u.in.tensor[ATTN_PAST_K].data = u.out.data[ATTN_OUT_PRESENT_K];
        u.in.tensor[ATTN_PAST_V].data = u.out.data[ATTN_OUT_PRESENT_V];
    }
}
END_TEST

/* Few queries go line by line, and no line may write into another: of many
 * heads, or where the cache ends near the end of a range of keys. */
static void check_lines(enum attn_dtype dtype, int64_t heads, int64_t n,
                        int64_t past)
{
    const int64_t d = 3;
    trial_close(&t);
    trial_open(&t, dtype);
    trial_operands(&t, (struct sizes){0, heads, heads, n, n, d, d});
    trial_random(&t, ATTN_PAST_K, SHAPE(heads, past, d), 1);
    trial_random(&t, ATTN_PAST_V, SHAPE(heads, past, d), 1);
    trial_run(&t);
}

START_TEST(few_queries_behind_a_cache_of_any_length)
{
    for (int dtype = ATTN_FLOAT32; dtype <= ATTN_FLOAT64; dtype++) {
        for (int64_t n = 1; n <= 4; n++)
            for (int64_t past = 1; past <= 33; past++)
                check_lines((enum attn_dtype)dtype, 17, n, past);
        for (int64_t past = 8176; past <= 8192; past++)
            check_lines((enum attn_dtype)dtype, 1, 2, past);
    }
}
END_TEST

/* Two halves of the keys merge by their lse:
 * output = (e^l1 o1 + e^l2 o2) / (e^l1 + e^l2). */
START_TEST(halves_of_the_keys_merge_by_lse)
{
    double half[2][2 * 7 * 5], lse[2][2 * 7];
    trial_operands(&t, (struct sizes){0, 2, 2, 7, 130, 9, 5});
    trial_run(&t);
    u.in.tensor[ATTN_Q] = t.in.tensor[ATTN_Q];
    for (int64_t part = 0; part < 2; part++) {
        take_rows(ATTN_K, ATTN_K, part * 65, 65);
        take_rows(ATTN_V, ATTN_V, part * 65, 65);
        trial_run(&u);
        for (int64_t i = 0; i < 2 * 7 * 5; i++)
            half[part][i] = trial_out(&u, ATTN_OUT_OUTPUT, i);
        for (int64_t i = 0; i < 2 * 7; i++)
            lse[part][i] = trial_out(&u, ATTN_OUT_LSE, i);
    }
    for (int64_t i = 0; i < 2 * 7 * 5; i++) {
        double first = 1 / (1 + exp(lse[1][i / 5] - lse[0][i / 5]));
        ck_assert_double_eq_tol(
            trial_out(&t, ATTN_OUT_OUTPUT, i),
            first * half[0][i] + (1 - first) * half[1][i], 1e-13);
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        every_restriction_equals_its_mask,
        left_two_is_three_keys,
        end_is_valid_keys_less_queries,
        offset_is_0_without_and_n_past_with_a_cache,
        the_two_corners_of_causal,
        masks_of_rank_1_to_4_are_right_aligned,
        keys_split_through_a_cache_equal_one_call,
        decoding_step_by_step_equals_one_causal_call,
        few_queries_behind_a_cache_of_any_length,
        halves_of_the_keys_merge_by_lse,
        NULL};
    return suite_run("visible", tests, setup, teardown, 20);
}
