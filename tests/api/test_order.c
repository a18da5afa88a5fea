/* SPDX-License-Identifier: MIT */
/*
 * test_order.c - which of several faults is told: 400 before 422 in whatever
 * order they stand, however far apart; of several of the latter that of the
 * first operand.
 */
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "daemon.h"
#include "http.h"
#include "stretch.h"
#include "suite.h"

#define QKV "\"Q\":[[1]],\"K\":[[1]],\"V\":[[1]]"
#define EACH(i, rows) size_t i = 0; i < sizeof rows / sizeof *rows; i++

static struct daemon d;

static void setup(void)
{
    daemon_start(&d, NULL);
}

static void teardown(void)
{
    daemon_stop(&d);
}

/* Posts it and fails unless the answer has these; pointer NULL: any. */
static void check(const char *body, int status, const char *code,
                  const char *pointer)
{
    struct http_reply r = http_post(d.port, body);
    json_t *problem = json_loads(r.body, 0, NULL);
    const char *there = json_string_value(json_object_get(problem, "code"));

    ck_assert_msg(r.status == status && there && strcmp(there, code) == 0,
                  "%s instead of %d %s for %.200s", r.body, status, code,
                  body);
    if (pointer)
        ck_assert_msg(json_equal(json_object_get(problem, "pointer"),
                                 json_string(pointer)),
                      "%s instead of %s", r.body, pointer);
    json_decref(problem);
    http_free(&r);
}

/* ------------------------------------------------------------ 400 before 422 */

static const struct {
    const char *member, *code;
} form[] = {
    {"\"attn_mask\":1", "unknown_member"},
    {"\"K\":[[1]]", "duplicate_member"},
    {"\"causal\":5", "wrong_type"},
    {"\"causal\":1e999", "wrong_type"},
    {"\"dtype\":1e999", "wrong_type"},
    {"\"dtype\":\"half\"", "unknown_member"},
    {"\"weight_layout\":[[[[[{}]]]]]", "wrong_type"},
    {"\"num_kv_heads\":1.5", "wrong_type"},
    {"\"return\":[1e999]", "wrong_type"},
    {"\"return\":[\"A\",\"B\"]", "unknown_member"},
    {"\"return\":[\"A\",\"A\",1e999]", "duplicate_member"},
    {"\"rope\":1e999", "wrong_type"},
    {"\"window\":{\"right\":{\"a\":{}}}", "wrong_type"},
    {"\"mask\":[[1]]", "wrong_type"},
    {"\"mask\":[[[[[true,[1]]]]]]", "wrong_type"},
    {"\"alibi\":[[[[[[\"x\"]]]]]]", "wrong_type"},
    {"\"alibi\":[[],{}]", "wrong_type"},
    {"\"key_lengths\":[[[[1,[[2.5]]]]]]", "wrong_type"},
    {"\"past_K\":[[1]]", "missing_companion"},
    {"\"b_O\":[1]", "exclusive_members"},
    {"\"score\":{\"type\":\"additive\"}", "missing_companion"},
    {"\"score\":{\"v_a\":[1]}", "exclusive_members"},
    {"\"softcap\":[-1,x]", "not_json"},
};

static const struct {
    const char *member, *code;
} value[] = {
    {"\"softcap\":-1", "out_of_range"},
    {"\"scale\":1e999", "number_overflow"},
    {"\"num_heads\":0", "out_of_range"},
    {"\"num_heads\":1e999", "number_overflow"},
    {"\"return\":[]", "ragged"},
    {"\"window\":{\"left\":-1}", "out_of_range"},
    {"\"rope\":{\"dim\":3}", "out_of_range"},
    {"\"offset\":1e17", "out_of_range"},
    {"\"bias\":[[1],[1,2]]", "ragged"},
    {"\"bias\":[1,[2]]", "ragged"},
    {"\"sinks\":[]", "ragged"},
    {"\"mask\":[[[[[true]]]]]", "rank_mismatch"},
    {"\"sinks\":[1e39]", "number_overflow"},
    {"\"key_lengths\":[1e300]", "out_of_range"},
    {"\"sinks\":[1,2,3]", "shape_mismatch"},
};

static bool same_name(const char *a, const char *b)
{
    size_t n = strcspn(a, ":");
    return strncmp(a, b, n + 1) == 0;
}

/* Each member alone, so that the tables are right. */
START_TEST(each_fault_alone_has_its_code)
{
    char body[400];

    for (EACH(i, form)) {
        sprintf(body, "{" QKV ",%s}", form[i].member);
        check(body, 400, form[i].code, NULL);
    }
    for (EACH(i, value)) {
        sprintf(body, "{" QKV ",%s}", value[i].member);
        check(body, 422, value[i].code, NULL);
    }
}
END_TEST

static void check_apart(const char *body, const char *code, size_t blanks)
{
    size_t length = strlen(body);
    size_t at = (size_t)(strstr(body, "\"Q\":") - body);
    char *text = stretch_by_blanks(body, length, at, blanks);

    check(text, 400, code, NULL);
    free(text);
}

START_TEST(fault_of_form_goes_before_one_of_value_wherever_they_stand)
{
    char body[400];

    for (EACH(i, form))
        for (EACH(k, value)) {
            if (same_name(form[i].member, value[k].member))
                continue;
            sprintf(body, "{%s," QKV ",%s}", value[k].member, form[i].member);
            check_apart(body, form[i].code, 0);
            check_apart(body, form[i].code, 400000);
            sprintf(body, "{%s," QKV ",%s}", form[i].member, value[k].member);
            check_apart(body, form[i].code, 0);
            check_apart(body, form[i].code, 140000);
        }
}
END_TEST

/* num_kv_heads needs num_heads, which is there though out of its range. */
START_TEST(option_out_of_its_range_is_not_missing)
{
    check("{" QKV ",\"num_heads\":0,\"num_kv_heads\":1}", 422, "out_of_range",
          "/num_heads");
    check("{\"num_kv_heads\":1,\"num_heads\":1e999," QKV "}", 422,
          "number_overflow", "/num_heads");
}
END_TEST

/* ------------------------------------------------------- long and deep values */

/* A value of n times `open`, a string, and n times `close`. */
static char *deep(const char *member, const char *open, const char *close,
                  size_t n)
{
    char *body = malloc(400 + n * (strlen(open) + strlen(close)));
    char *p = body + sprintf(body, "{" QKV ",%s", member);

    for (size_t i = 0; i < n; i++)
        p = stpcpy(p, open);
    p = stpcpy(p, "\"A\"");
    for (size_t i = 0; i < n; i++)
        p = stpcpy(p, close);
    strcpy(p, strchr(member, '{') ? "}}" : "}");
    return body;
}

START_TEST(value_of_the_wrong_type_is_told_so_however_long_or_deep)
{
    static const char *const members[][2] = {
        {"\"scale\":", "/scale"}, {"\"causal\":", "/causal"},
        {"\"dtype\":", "/dtype"}, {"\"num_heads\":", "/num_heads"},
        {"\"window\":{\"left\":", "/window/left"},
        {"\"rope\":{\"interleaved\":", "/rope/interleaved"},
        {"\"score\":{\"type\":", "/score/type"}, {"\"mask\":", NULL},
        {"\"bias\":", NULL}, {"\"return\":", NULL},
        {"\"key_lengths\":", NULL}, {"\"offset\":", NULL},
    };
    static const char *const brackets[][2] = {
        {"{\"a\":", "}"}, {"[", "]"}, {"[\"A\",", "]"}, {"[[1,2,3],", "]"}};
    static const size_t times[] = {2, 9000, 20000, 140000};

    for (EACH(i, members))
        for (EACH(k, brackets))
            for (EACH(t, times)) {
                char *body = deep(members[i][0], brackets[k][0],
                                  brackets[k][1], times[t]);
                check(body, 400, "wrong_type", members[i][1]);
                free(body);
            }
}
END_TEST

START_TEST(word_without_end_is_unknown)
{
    static const char *const members[][3] = {
        {"\"dtype\":\"", "\"", "/dtype"}, {"\"offset\":\"", "\"", "/offset"},
        {"\"return\":[\"A\",\"", "\"]", "/return/1"},
        {"\"", "\":1", NULL}};
    static const size_t sizes[] = {100, 70000, 90000, 140000, 400000};
    char body[200];

    for (EACH(i, members))
        for (EACH(k, sizes)) {
            size_t at = (size_t)sprintf(body, "{" QKV ",%s", members[i][0]);
            sprintf(body + at, "%s}", members[i][1]);
            char *text = stretch_by_blanks(body, strlen(body), at, sizes[k]);
            check(text, 400, "unknown_member", members[i][2]);
            free(text);
        }
}
END_TEST

/* ---------------------------------------------------------- several operands */

START_TEST(what_is_wrong_with_several_operands_is_told_of_the_first)
{
    static const char *const rows[][2] = {
        {"\"num_heads\":2,\"Q\":[[1,2]],\"K\":[[1,2,3]],\"V\":[[1,2,3]]", "/K"},
        {"\"num_heads\":2,\"Q\":[[1,2]],\"K\":[[1,2]],\"V\":[[1,2,3]]", "/V"},
        {"\"num_heads\":2,\"Q\":[[1,2,3]],\"K\":[[1]],\"V\":[[1]]", "/Q"},
        {"\"Q\":[[[[1]]],[[[1]]]],\"K\":[[[[1]]]],"
         "\"V\":[[[[1]],[[1]]],[[[1]],[[1]]]]", "/K"},
        {"\"num_heads\":2,\"X\":[[1]],\"W_Q\":[[1,2],[3,4]],\"W_K\":[[1,2]],"
         "\"W_V\":[[1]]", "/W_Q"},
        {"\"num_heads\":2,\"X\":[[1]],\"W_Q\":[[1,2]],\"W_K\":[[1,2],[3,4]],"
         "\"W_V\":[[1]]", "/W_K"},
        {"\"X\":[[[1]]],\"context\":[[[1]],[[1]]],\"W_Q\":[[1],[2]],"
         "\"W_K\":[[1]],\"W_V\":[[1]]", "/context"},
        {QKV ",\"score\":{\"type\":\"additive\",\"W_a\":[[1,2]],"
         "\"U_a\":[[1],[2]],\"v_a\":[1]}", "/score/W_a"},
    };

    for (EACH(i, rows)) {
        char body[400];
        sprintf(body, "{%s}", rows[i][0]);
        struct http_reply r = http_post(d.port, body);
        ck_assert_int_eq(r.status, 422);
        json_t *problem = json_loads(r.body, 0, NULL);
        const char *pointer =
            json_string_value(json_object_get(problem, "pointer"));
        ck_assert_msg(strcmp(pointer, rows[i][1]) == 0, "%s instead of %s: %s",
                      pointer, rows[i][1], body);
        json_decref(problem);
        http_free(&r);
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        each_fault_alone_has_its_code,
        fault_of_form_goes_before_one_of_value_wherever_they_stand,
        option_out_of_its_range_is_not_missing,
        value_of_the_wrong_type_is_told_so_however_long_or_deep,
        word_without_end_is_unknown,
        what_is_wrong_with_several_operands_is_told_of_the_first, NULL};
    return suite_run("order of refusals", tests, setup, teardown, 60);
}
