/* SPDX-License-Identifier: MIT */
/*
 * test_foreign.c - names of other libraries lead to ours, and with a warning
 * where the same value would mean something else here.
 */
#include "suite.h"

#include <stdio.h>
#include <string.h>

#include "foreign.h"

static const char *member(const char *name)
{
    static char advice[FOREIGN_ADVICE_MAX];
    return foreign_member(FIELD_CALL, name, strlen(name), advice);
}

static const char *output(const char *name)
{
    static char advice[FOREIGN_ADVICE_MAX];
    return foreign_output(name, strlen(name), advice);
}

#define EXPECT_IN(text, part)                                                 \
    ck_assert_msg(strstr(text, part) != NULL, "no %s in %s", part, text)

START_TEST(names_of_other_libraries_lead_to_ours)
{
    static const char *const rows[][2] = {
        {"query", "Q"}, {"key", "K"}, {"value", "V"}, {"attn_mask", "mask"},
        {"is_causal", "causal"}, {"softmax_scale", "scale"},
        {"window_size", "window"}, {"alibi_slopes", "alibi"},
        {"past_key", "past_K"}, {"past_value", "past_V"},
        {"attn_bias", "bias"}, {"kv_num_heads", "num_kv_heads"},
        {"q_num_heads", "num_heads"}, {"sink", "sinks"},
        {"nonpad_kv_seqlen", "key_lengths"}, {"causal_mask", "causal"},
        {"out_proj.weight", "W_O"}, {"local_window_size", "window"},
        {"softmax_precision", "dtype"}, {"cache_seqlens", "key_lengths"},
        {"attn_logit_softcapping", "softcap"}, {"Query", "Q"},
        {"key_value_seq_lengths", "key_lengths"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[64];
        sprintf(text, ": did you mean `%s`?", rows[i][1]);
        ck_assert_msg(strncmp(member(rows[i][0]), text, strlen(text)) == 0,
                      "%s%s", rows[i][0], member(rows[i][0]));
    }
}
END_TEST

START_TEST(masks_of_another_polarity_are_told_to_be_inverted)
{
    static const char *const inverted[] = {
        "key_padding_mask", "keyPaddingMask", "src_key_padding_mask",
        "memory_key_padding_mask", "tgt_mask", "padding_mask",
        "encoder_padding_mask", "attn_mask",
    };
    for (size_t i = 0; i < sizeof inverted / sizeof *inverted; i++)
        EXPECT_IN(member(inverted[i]), "nvert ");
    EXPECT_IN(member("key_padding_mask"), "[B, 1, 1, n_k]");
    EXPECT_IN(member("attention_mask"), "[B, 1, 1, n_k]");
    EXPECT_IN(member("temperature"), "divides");
    EXPECT_IN(member("softmax_temperature"), "divides");
    EXPECT_IN(member("invalid_mask"), "True means may attend");
    EXPECT_IN(member("masks"), "True means may attend");
}
END_TEST

START_TEST(what_would_change_the_result_is_said_beside_our_name)
{
    EXPECT_IN(member("causal_lower_right"), "\"offset\": \"end\"");
    EXPECT_IN(member("sliding_window"), "{\"left\": 2}");
    ck_assert_ptr_null(strstr(member("query_lengths"), "key_lengths"));
    ck_assert_ptr_null(strstr(member("bias_k"), "`"));
    EXPECT_IN(member("k_bias"), "`b_K`");
    EXPECT_IN(member("attention_dropout"), "no dropout");
}
END_TEST

START_TEST(case_and_underscores_do_not_count_and_all_else_does)
{
    ck_assert_str_eq(member("DROPOUT_P"), member("dropoutp"));
    ck_assert_ptr_null(strstr(member("dropouts_p"), "no dropout"));
    ck_assert_ptr_null(strstr(member("dropou"), "no dropout"));
    EXPECT_IN(member("__use__cache__"), "present_K");
    EXPECT_IN(member(""), "/openapi.yaml");
    EXPECT_IN(member("_"), "/openapi.yaml");
    char advice[FOREIGN_ADVICE_MAX];
    foreign_member(FIELD_CALL, "dropout\0x", 9, advice);
    ck_assert_ptr_null(strstr(advice, "no dropout"));
}
END_TEST

START_TEST(members_of_an_object_are_all_named)
{
    char advice[FOREIGN_ADVICE_MAX];
    ck_assert_str_eq(foreign_member(FIELD_WINDOW, "size", 4, advice),
                     ": window has `left` and `right`.");
    ck_assert_str_eq(foreign_member(FIELD_SCORE, "query", 5, advice),
                     ": score has `W_a`, `U_a`, `v_a` and `type`.");
}
END_TEST

START_TEST(every_advice_on_an_output_ends_in_the_whole_list)
{
    static const char *const names[] = {"attn_weights", "scores", "past_V",
                                        "s_mask", "zzz", "all", "logits"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        EXPECT_IN(output(names[i]), "Known are `output`, `A`, ");
        EXPECT_IN(output(names[i]), " and `stats`.");
    }
    EXPECT_IN(output("s_mask"), "did you mean `S_masked`?");
    EXPECT_IN(output("past_V"), "did you mean `present_V`?");
    EXPECT_IN(output("attn_weights"), "did you mean `A`?");
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        names_of_other_libraries_lead_to_ours,
        masks_of_another_polarity_are_told_to_be_inverted,
        what_would_change_the_result_is_said_beside_our_name,
        case_and_underscores_do_not_count_and_all_else_does,
        members_of_an_object_are_all_named,
        every_advice_on_an_output_ends_in_the_whole_list,
        NULL};
    return suite_run("foreign", tests, NULL, NULL, 10);
}
