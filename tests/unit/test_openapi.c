/* SPDX-License-Identifier: MIT */
/*
 * test_openapi.c - openapi.yaml, as it is built into the daemon, lists what
 * the tables hold: codes of problems, members of a call with their bounds and
 * words, names of outputs, paths.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "fields.h"
#include "problem.h"
#include "route.h"
#include "suite.h"

extern const char embed_openapi_json[], embed_openapi_json_end[];

static json_t *openapi;

static void setup(void)
{
    openapi = json_loadb(embed_openapi_json,
                         (size_t)(embed_openapi_json_end - embed_openapi_json),
                         JSON_REJECT_DUPLICATES, NULL);
    ck_assert_ptr_nonnull(openapi);
}

static void teardown(void)
{
    json_decref(openapi);
}

static json_t *schema(const char *name)
{
    json_t *found = NULL;
    json_unpack(openapi, "{s{s{so}}}", "components", "schemas", name, &found);
    ck_assert_msg(found != NULL, "no schema %s", name);
    return found;
}

static json_t *properties(const char *name)
{
    return json_object_get(schema(name), "properties");
}

/* ---------------------------------------------------------- sets of names */

static bool is_in(const json_t *list, const char *word)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (strcmp(json_string_value(json_array_get(list, i)), word) == 0)
            return true;
    }
    return false;
}

static void check_enum(const json_t *list, const char *const *words, size_t n)
{
    ck_assert_uint_eq(json_array_size(list), n);
    for (size_t i = 0; i < n; i++)
        ck_assert_msg(is_in(list, words[i]), "no %s", words[i]);
}

START_TEST(every_code_of_a_problem_is_listed)
{
    const char *codes[PROBLEM_COUNT];
    size_t n = 0;

    for (int p = PROBLEM_NONE + 1; p < PROBLEM_COUNT; p++) {
        if (p != PROBLEM_CANCELLED)    /* is never sent */
            codes[n++] = problem_row((enum problem)p)->code;
    }
    check_enum(json_object_get(schema("ProblemCode"), "enum"), codes, n);
}
END_TEST

START_TEST(every_status_of_a_problem_is_a_response_of_attention)
{
    json_t *responses = NULL;
    json_unpack(openapi, "{s{s{s{so}}}}", "paths", "/attention", "post",
                "responses", &responses);
    for (int p = PROBLEM_NONE + 1; p < PROBLEM_CANCELLED; p++) {
        char status[16];
        if (p == PROBLEM_NOT_FOUND || p == PROBLEM_METHOD)
            continue;
        snprintf(status, sizeof status, "%d",
                 problem_row((enum problem)p)->status);
        ck_assert_msg(json_object_get(responses, status) != NULL, "no %s",
                      status);
    }
}
END_TEST

START_TEST(every_output_can_be_returned_and_is_in_a_reply)
{
    json_t *names = NULL, *reply = properties("AttentionReply");
    json_unpack(schema("Return"), "{s{so}}", "items", "enum", &names);
    check_enum(names, attn_out_name, ATTN_N_OUT);
    for (int out = 0; out < ATTN_N_OUT; out++)
        ck_assert_ptr_nonnull(json_object_get(reply, attn_out_name[out]));
    ck_assert_ptr_nonnull(json_object_get(reply, "warnings"));
    ck_assert_uint_eq(json_object_size(reply), ATTN_N_OUT + 1);
}
END_TEST

START_TEST(every_path_is_listed)
{
    int n;
    const char *const *paths = route_paths(&n);
    json_t *listed = json_object_get(openapi, "paths");
    for (int i = 0; i < n; i++)
        ck_assert_msg(json_object_get(listed, paths[i]) != NULL, "no %s",
                      paths[i]);
    ck_assert_int_eq((int)json_object_size(listed), n);
}
END_TEST

/* --------------------------------------------------------------- members */

static const char *const schema_of[] = {
    [FIELD_CALL] = "AttentionRequest", [FIELD_WINDOW] = "Window",
    [FIELD_ROPE] = "Rope", [FIELD_SCORE] = "Score"};

#define GROUPS ((int)(sizeof schema_of / sizeof *schema_of))

START_TEST(every_member_of_a_call_is_a_property)
{
    size_t count[GROUPS] = {0};

    for (int id = 0; id < FIELD_COUNT; id++) {
        enum field_group group = fields[id].group;
        json_t *members = properties(schema_of[group]);
        ck_assert_msg(json_object_get(members, fields[id].name) != NULL,
                      "no %s in %s", fields[id].name, schema_of[group]);
        count[group]++;
    }
    for (int group = 0; group < GROUPS; group++) {
        json_t *closed = json_object_get(schema(schema_of[group]),
                                         "additionalProperties");
        ck_assert_uint_eq(json_object_size(properties(schema_of[group])),
                          count[group]);
        ck_assert_msg(json_is_false(closed), "%s is open", schema_of[group]);
    }
}
END_TEST

static const char *type_of(const struct field *f)
{
    switch (f->type) {
    case FIELD_NUMBER: return "number";
    case FIELD_INTEGER: return "integer";
    case FIELD_SIDE: return "integer";
    case FIELD_BOOLEAN: return "boolean";
    case FIELD_WORD: return "string";
    default: return NULL;
    }
}

static void check_scalar(const struct field *f, const json_t *property)
{
    const char *type = json_string_value(json_object_get(property, "type"));
    bool nullable = json_is_true(json_object_get(property, "nullable"));
    bool above = json_is_true(json_object_get(property, "exclusiveMinimum"));
    const json_t *minimum = json_object_get(property, "minimum");
    size_t n = 0;

    ck_assert_msg(type && strcmp(type, type_of(f)) == 0, "type of %s",
                  f->name);
    ck_assert_msg(nullable == (f->type == FIELD_SIDE), "null of %s", f->name);
    ck_assert_msg(above == f->above, "bound of %s", f->name);
    ck_assert_msg((minimum != NULL) == (f->min > -INFINITY), "least %s",
                  f->name);
    ck_assert_msg(!minimum || json_number_value(minimum) == f->min,
                  "least %s is not %g", f->name, f->min);
    while (f->words && f->words[n])
        n++;
    check_enum(json_object_get(property, "enum"), f->words, n);
}

START_TEST(types_bounds_and_words_are_those_of_the_table)
{
    int scalars = 0;

    for (int id = 0; id < FIELD_COUNT; id++) {
        const struct field *f = &fields[id];
        if (!type_of(f))
            continue;
        json_t *members = properties(schema_of[f->group]);
        check_scalar(f, json_object_get(members, f->name));
        scalars++;
    }
    ck_assert_int_ge(scalars, 13);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        every_code_of_a_problem_is_listed,
        every_status_of_a_problem_is_a_response_of_attention,
        every_output_can_be_returned_and_is_in_a_reply,
        every_path_is_listed,
        every_member_of_a_call_is_a_property,
        types_bounds_and_words_are_those_of_the_table, NULL};
    return suite_run("openapi", tests, setup, teardown, 10);
}
