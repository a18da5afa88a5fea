/* SPDX-License-Identifier: MIT */
/*
 * test_fields.c - the table of members, and the faults of the library as
 * problems with a place.
 */
#include "suite.h"

#include <math.h>
#include <string.h>

#include "fields.h"

START_TEST(tensors_are_numbered_and_named_as_in_the_library)
{
    for (int i = 0; i < ATTN_N_IN; i++)
        ck_assert_str_eq(fields[i].name, attn_in_name[i]);
}
END_TEST

START_TEST(every_member_is_found_by_its_name_in_its_group_alone)
{
    for (int id = 0; id < FIELD_COUNT; id++) {
        const char *name = fields[id].name;
        ck_assert_ptr_nonnull(name);
        ck_assert_uint_gt(strlen(fields[id].help), 0);
        for (int group = FIELD_CALL; group <= FIELD_SCORE; group++) {
            enum field_id found = field_find((enum field_group)group, name,
                                             strlen(name));
            bool own = group == (int)fields[id].group;
            ck_assert_int_eq((int)found, own ? id : FIELD_COUNT);
        }
        ck_assert_int_eq((int)field_find(FIELD_CALL, name, strlen(name) - 1),
                         strcmp(name, "") ? FIELD_COUNT : id);
    }
}
END_TEST

START_TEST(bounds_are_named_when_a_value_is_beyond)
{
    static const struct {
        int id;
        double value;
        const char *expected;      /* NULL: within */
    } rows[] = {
        {FIELD_NUM_HEADS, 1, NULL}, {FIELD_NUM_HEADS, 0, "at least 1"},
        {FIELD_NUM_KV_HEADS, -1, "at least 1"},
        {FIELD_NUM_HEADS, 1e300, "at most 9007199254740992"},
        {FIELD_SOFTCAP, 0, "above 0"}, {FIELD_SOFTCAP, 1e-300, NULL},
        {FIELD_SCALE, -1e300, NULL}, {FIELD_SCALE, 0, NULL},
        {FIELD_WINDOW_LEFT, 0, NULL}, {FIELD_WINDOW_RIGHT, -1, "at least 0"},
        {FIELD_ROPE_BASE, 0, "above 0"}, {FIELD_ROPE_DIM, 2, NULL},
        {FIELD_ROPE_DIM, 3, "at least 2 and even"},
        {FIELD_ROPE_DIM, 0, "at least 2 and even"},
        {ATTN_OFFSET, -5, NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[80] = "";
        bool within = field_within((enum field_id)rows[i].id, rows[i].value,
                                   text, sizeof text);
        ck_assert_int_eq(within, rows[i].expected == NULL);
        ck_assert_str_eq(text, within ? "" : rows[i].expected);
    }
}
END_TEST

START_TEST(a_value_is_stored_where_the_library_looks_for_it)
{
    struct attn_input in;
    attn_input_init(&in);
    ck_assert(!in.has_scale && !in.rope && !in.causal);
    field_store(FIELD_SCALE, &in, 0.5);
    field_store(FIELD_NUM_HEADS, &in, 4);
    field_store(FIELD_NUM_KV_HEADS, &in, 2);
    field_store(FIELD_WEIGHT_LAYOUT, &in, 1);
    field_store(FIELD_CAUSAL, &in, 1);
    field_store(FIELD_SOFTCAP, &in, 30);
    field_store(FIELD_DTYPE, &in, ATTN_FLOAT64);
    field_store(FIELD_WINDOW_LEFT, &in, 7);
    field_store(FIELD_WINDOW_RIGHT, &in, 8);
    field_store(FIELD_ROPE_OBJECT, &in, 1);
    field_store(FIELD_ROPE_BASE, &in, 100);
    field_store(FIELD_ROPE_DIM, &in, 6);
    field_store(FIELD_ROPE_INTERLEAVED, &in, 1);
    ck_assert(in.has_scale && in.weights_out_in && in.causal && in.rope &&
              in.rope_interleaved && in.dtype == ATTN_FLOAT64);
    ck_assert_double_eq(in.scale, 0.5);
    ck_assert_double_eq(in.softcap, 30);
    ck_assert_double_eq(in.rope_base, 100);
    ck_assert_int_eq(in.num_heads, 4);
    ck_assert_int_eq(in.num_kv_heads, 2);
    ck_assert_int_eq(in.window_left, 7);
    ck_assert_int_eq(in.window_right, 8);
    ck_assert_int_eq(in.rope_dim, 6);
}
END_TEST

START_TEST(pointer_names_the_object_around)
{
    char pointer[FAULT_POINTER_MAX];
    ck_assert_str_eq(field_pointer((enum field_id)ATTN_PAST_K, pointer),
                     "/past_K");
    ck_assert_str_eq(field_pointer((enum field_id)ATTN_V_A, pointer),
                     "/score/v_a");
    ck_assert_str_eq(field_pointer(FIELD_ROPE_BASE, pointer), "/rope/base");
    ck_assert_str_eq(field_pointer(FIELD_WINDOW_LEFT, pointer),
                     "/window/left");
}
END_TEST

START_TEST(what_is_expected_is_told_of_every_member)
{
    for (int id = 0; id < FIELD_COUNT; id++)
        ck_assert_msg(field_expected((enum field_id)id) != NULL, "%s",
                      fields[id].name);
    ck_assert_str_eq(field_expected((enum field_id)ATTN_Q),
                     "nested lists of numbers");
    ck_assert_str_eq(field_expected((enum field_id)ATTN_B_O),
                     "a list of numbers");
    ck_assert_str_eq(field_expected(FIELD_DTYPE), "`float32` or `float64`");
}
END_TEST

START_TEST(outputs_are_found_by_their_names_alone)
{
    ck_assert_int_eq(field_find_out("lse", 3), ATTN_OUT_LSE);
    ck_assert_int_eq(field_find_out("lsee", 4), ATTN_N_OUT);
}
END_TEST

START_TEST(faults_of_the_library_become_problems)
{
    static const struct {
        struct attn_error error;
        enum problem problem;
        const char *pointer;
    } rows[] = {
        {{ATTN_MISSING, "V", "Q", -1, -1, 0, 0, "x"},
         PROBLEM_MISSING_OPERAND, "/V"},
        {{ATTN_MISSING, "W_Q", "X", -1, -1, 0, 0, "x"},
         PROBLEM_MISSING_OPERAND, "/W_Q"},
        {{ATTN_MISSING, "past_V", "past_K", -1, -1, 0, 0, "x"},
         PROBLEM_MISSING_COMPANION, "/past_V"},
        {{ATTN_EXCLUDES, "X", "Q", -1, -1, 0, 0, "x"},
         PROBLEM_EXCLUSIVE, "/X"},
        {{ATTN_RANK, "K", "Q", -1, -1, 2, 3, "x"}, PROBLEM_RANK, "/K"},
        {{ATTN_SHAPE, "U_a", "Q", 0, -1, 2, 3, "x"},
         PROBLEM_SHAPE, "/score/U_a"},
        {{ATTN_BROADCAST, "mask", NULL, 0, -1, 2, 3, "x"},
         PROBLEM_BROADCAST, "/mask"},
        {{ATTN_HEADS, "K", "Q", 0, -1, 2, 3, "x"}, PROBLEM_HEADS, "/K"},
        {{ATTN_RANGE, "key_lengths", NULL, -1, 4, 2, 3, "x"},
         PROBLEM_OUT_OF_RANGE, "/key_lengths/4"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct fault f = {0};
        ck_assert_int_eq((int)field_fault(&f, &rows[i].error),
                         (int)rows[i].problem);
        ck_assert_str_eq(f.pointer, rows[i].pointer);
        ck_assert_str_eq(f.detail, "x.");
        ck_assert_int_eq(f.has_got, rows[i].error.got == 3);
        ck_assert(!f.has_got || (f.got == 3 && f.expected == 2));
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        tensors_are_numbered_and_named_as_in_the_library,
        every_member_is_found_by_its_name_in_its_group_alone,
        bounds_are_named_when_a_value_is_beyond,
        a_value_is_stored_where_the_library_looks_for_it,
        pointer_names_the_object_around,
        what_is_expected_is_told_of_every_member,
        outputs_are_found_by_their_names_alone,
        faults_of_the_library_become_problems,
        NULL};
    return suite_run("fields", tests, NULL, NULL, 20);
}
