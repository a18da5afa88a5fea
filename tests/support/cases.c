/* SPDX-License-Identifier: MIT */
/*
 * cases.c - see cases.h.
 */
#include "cases.h"

#include <check.h>
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *load(const char *path, size_t *length)
{
    FILE *file = fopen(path, "rb");
    ck_assert_msg(file != NULL, "no %s", path);
    char *text = malloc(1 << 20);
    *length = fread(text, 1, (1 << 20) - 1, file);
    text[*length] = '\0';
    fclose(file);
    return text;
}

void cases_each(const char *kind, int least,
                void (*check)(const struct a_case *c))
{
    const char *file = kind[0] == 'a' ? "reply.json" : "problem.json";
    char path[512];
    glob_t found;

    snprintf(path, sizeof path, "tests/cases/%s/*", kind);
    ck_assert_int_eq(glob(path, 0, NULL, &found), 0);
    ck_assert_uint_ge(found.gl_pathc, (size_t)least);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        struct a_case c;
        const char *folder = found.gl_pathv[i];
        snprintf(c.claim, sizeof c.claim, "%s", strrchr(folder, '/') + 1);
        snprintf(path, sizeof path, "%s/request.json", folder);
        c.request = load(path, &c.length);
        snprintf(path, sizeof path, "%s/%s", folder, file);
        c.expected = json_load_file(path, 0, NULL);
        ck_assert_msg(c.expected != NULL, "%s is missing or no JSON", path);
        check(&c);
        json_decref(c.expected);
        free(c.request);
    }
    globfree(&found);
}

/* --------------------------------------------------------------- replies */

static void compare(const char *where, const json_t *got, const json_t *want,
                    double allowed)
{
    char place[512];
    if (json_is_number(want)) {
        double x = json_number_value(want), y = json_number_value(got);
        ck_assert_msg(json_is_number(got), "%s: no number", where);
        ck_assert_msg(fabs(x - y) <= allowed * fmax(1, fabs(x)),
                      "%s: %.17g, expected %.17g", where, y, x);
        ck_assert_msg(x != 0 || !signbit(x) || signbit(y),
                      "%s: lost the sign of -0", where);
        return;
    }
    if (json_is_object(want)) {
        const char *name;
        json_t *value;
        ck_assert_msg(json_object_size(got) == json_object_size(want),
                      "%s: %zu members, expected %zu", where,
                      json_object_size(got), json_object_size(want));
        json_object_foreach((json_t *)want, name, value) {
            snprintf(place, sizeof place, "%s/%s", where, name);
            ck_assert_msg(json_object_get(got, name) != NULL, "no %s", place);
            compare(place, json_object_get(got, name), value, allowed);
        }
        return;
    }
    if (json_is_array(want)) {
        ck_assert_msg(json_array_size(got) == json_array_size(want),
                      "%s: %zu elements, expected %zu", where,
                      json_array_size(got), json_array_size(want));
        for (size_t i = 0; i < json_array_size(want); i++) {
            snprintf(place, sizeof place, "%s/%zu", where, i);
            compare(place, json_array_get(got, i), json_array_get(want, i),
                    allowed);
        }
        return;
    }
    ck_assert_msg(json_equal(got, want), "%s differs", where);
}

static void check_warnings(const struct a_case *c, const json_t *got)
{
    const json_t *want = json_object_get(c->expected, "warnings");
    ck_assert_msg(json_array_size(got) == json_array_size(want),
                  "%s: %zu warnings, expected %zu", c->claim,
                  json_array_size(got), json_array_size(want));
    for (size_t i = 0; i < json_array_size(want); i++) {
        const char *text = json_string_value(json_array_get(got, i));
        const char *word = json_string_value(json_array_get(want, i));
        ck_assert_msg(text && strstr(text, word), "%s: no \"%s\" in \"%s\"",
                      c->claim, word, text);
    }
}

void cases_check_reply(const struct a_case *c, const char *reply,
                       int with_warnings)
{
    json_error_t error;
    json_t *got = json_loads(
        reply, JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, &error);
    ck_assert_msg(got != NULL, "%s: the reply is no JSON: %s: %s", c->claim,
                  error.text, reply);
    ck_assert_msg(reply[strlen(reply) - 1] == '\n', "%s: no newline",
                  c->claim);
    if (with_warnings)
        check_warnings(c, json_object_get(got, "warnings"));
    json_object_del(got, "warnings");
    json_t *want = json_copy(c->expected);
    json_object_del(want, "warnings");
    compare(c->claim, got, want,
            strstr(c->request, "float64") ? 1e-12 : 2e-6);
    json_decref(want);
    json_decref(got);
}

/* -------------------------------------------------------------- problems */

void cases_check_problem(const struct a_case *c, const char *problem)
{
    json_error_t error;
    json_t *got = json_loads(problem, JSON_REJECT_DUPLICATES, &error);
    ck_assert_msg(got != NULL, "%s: the problem is no JSON: %s: %s", c->claim,
                  error.text, problem);
    const char *name, *detail = json_string_value(
        json_object_get(got, "detail"));
    json_t *want;
    ck_assert_ptr_nonnull(detail);
    ck_assert_str_eq(detail, json_string_value(json_object_get(got, "error")));

    json_object_foreach(c->expected, name, want) {
        if (json_is_array(want)) {
            for (size_t i = 0; i < json_array_size(want); i++) {
                const char *word = json_string_value(json_array_get(want, i));
                ck_assert_msg(strstr(detail, word), "%s: no \"%s\" in \"%s\"",
                              c->claim, word, detail);
            }
            continue;
        }
        if (json_is_string(want) && *json_string_value(want) == '\0') {
            ck_assert_msg(!json_object_get(got, name), "%s: %s in %s",
                          c->claim, name, problem);
            continue;
        }
        ck_assert_msg(json_equal(json_object_get(got, name), want),
                      "%s: wrong %s: %s", c->claim, name, problem);
    }
    json_decref(got);
}
