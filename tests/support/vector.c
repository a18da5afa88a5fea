/* SPDX-License-Identifier: MIT */
/*
 * vector.c - the cases of tests/vectors. A tensor of a request may be a rule
 * that is expanded here; make_vectors.py tells what the rules mean.
 */
#include "vector.h"

#include "json_tensor.h"
#include "tensor.h"

#include <check.h>
#include <glob.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --------------------------------------------------------------- rules */

static int64_t integer(const json_t *rule, const char *name)
{
    return (int64_t)json_integer_value(json_object_get(rule, name));
}

static uint64_t draw(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static json_t *element(const json_t *rule, uint64_t *state, int64_t i)
{
    const char *kind = json_string_value(json_object_get(rule, "rule"));
    if (!strcmp(kind, "noise")) {
        int64_t steps = integer(rule, "steps");
        int64_t step = (int64_t)(draw(state) % (uint64_t)(2 * steps + 1));
        return json_real((double)(step - steps) *
                         json_number_value(json_object_get(rule, "size")));
    }
    if (!strcmp(kind, "coins"))
        return json_boolean((int64_t)(draw(state) % 100) <
                            integer(rule, "percent"));
    ck_assert_str_eq(kind, "band");
    const json_t *shape = json_object_get(rule, "shape");
    int64_t n = json_integer_value(json_array_get(shape, 1));
    return json_boolean(i % n <= i / n &&
                        i % n >= i / n - integer(rule, "left"));
}

static json_t *expanded(const json_t *rule)
{
    const json_t *shape = json_object_get(rule, "shape");
    uint64_t state = (uint64_t)integer(rule, "seed");
    int64_t count = 1;
    for (size_t axis = 0; axis < json_array_size(shape); axis++)
        count *= json_integer_value(json_array_get(shape, axis));
    json_t *flat = json_array();
    for (int64_t i = 0; i < count; i++)
        json_array_append_new(flat, element(rule, &state, i));

    size_t i;
    json_t *put;
    json_array_foreach(json_object_get(rule, "put"), i, put)
        json_array_set(flat,
                       (size_t)json_integer_value(json_array_get(put, 0)),
                       json_array_get(put, 1));
    json_t *list = json_tensor_nest(flat, shape);
    json_decref(flat);
    return list;
}

static void expand_rules(json_t *object)
{
    const char *name;
    json_t *value;
    json_object_foreach(object, name, value) {
        if (json_object_get(value, "rule"))
            json_object_set_new(object, name, expanded(value));
        else if (json_is_object(value))
            expand_rules(value);
    }
}

/* ---------------------------------------------------------- comparing */

/* What vector_compare() has to say where it fails. */
struct claim {
    const char *case_name, *output;
    double absolute, relative, size;
};

static void compare_one(const struct claim *c, const struct json_tensor *got,
                        int64_t index, double x)
{
    double size = c->size > 0 ? c->size : fabs(x);
    char place[ATTN_TEXT_MAX];
    struct attn_tensor shape = {.rank = got->rank};
    memcpy(shape.dim, got->dim, sizeof(shape.dim));
    if (!number_near(got->x[index], x, c->absolute + c->relative * size))
        ck_abort_msg("%s: %s is %.17g, expected %.17g", c->case_name,
                     tensor_place(place, c->output, &shape, index),
                     got->x[index], x);
}

static void compare_all(const struct claim *c, const struct json_tensor *got,
                        const struct json_tensor *x)
{
    ck_assert_msg(got->rank == x->rank, "%s: %s has rank %d, expected %d",
                  c->case_name, c->output, got->rank, x->rank);
    for (int axis = 0; axis < x->rank; axis++)
        ck_assert_msg(got->dim[axis] == x->dim[axis],
                      "%s: axis %d of %s is %d, expected %d", c->case_name,
                      axis, c->output, (int)got->dim[axis],
                      (int)x->dim[axis]);
    for (int64_t i = 0; i < x->count; i++)
        compare_one(c, got, i, x->x[i]);
}

static void compare_some(const struct claim *c, const struct json_tensor *got,
                         const json_t *expected)
{
    const json_t *shape = json_object_get(expected, "shape");
    struct json_tensor x =
        json_tensor_read(json_object_get(expected, "values"));
    ck_assert_msg(got->rank == (int)json_array_size(shape),
                  "%s: %s has rank %d", c->case_name, c->output, got->rank);
    for (int axis = 0; axis < got->rank; axis++)
        ck_assert_int_eq(got->dim[axis], json_integer_value(json_array_get(
                                             shape, (size_t)axis)));
    for (int64_t i = 0; i < x.count; i++)
        compare_one(c, got, i * integer(expected, "step"), x.x[i]);
    free(x.x);
}

void vector_compare(const char *case_name, const char *output,
                    const json_t *got, const json_t *expected,
                    double absolute, double relative, double size)
{
    struct claim claim = {case_name, output, absolute, relative, size};
    ck_assert_msg(got != NULL, "%s: no %s in the reply", case_name, output);
    if (json_is_null(expected)) {
        ck_assert_msg(json_is_null(got), "%s: %s is not null", case_name,
                      output);
        return;
    }
    struct json_tensor numbers = json_tensor_read(got);
    if (json_is_object(expected)) {
        compare_some(&claim, &numbers, expected);
    } else {
        struct json_tensor x = json_tensor_read(expected);
        compare_all(&claim, &numbers, &x);
        free(x.x);
    }
    free(numbers.x);
}

/* ------------------------------------------------------------ the cases */

static void compare_reply(const char *path, const json_t *vector,
                          const json_t *reply)
{
    const char *dtype = json_string_value(json_object_get(
        json_object_get(vector, "request"), "dtype"));
    bool wide = dtype && !strcmp(dtype, "float64");
    double absolute = wide ? 1e-13 : 1e-6, relative = wide ? 1e-13 : 1e-5;
    const char *name, *number;
    json_t *expected, *x;
    json_object_foreach(json_object_get(vector, "expected"), name, expected) {
        const json_t *got = json_object_get(reply, name);
        double size = json_number_value(
            json_object_get(json_object_get(vector, "size"), name));
        if (strcmp(name, "stats")) {
            vector_compare(path, name, got, expected, absolute, relative,
                           size);
            continue;
        }
        json_object_foreach(expected, number, x)
            vector_compare(path, number, json_object_get(got, number), x,
                           10 * absolute, 10 * relative, 0);
    }
}

void vectors_check(vector_answer *answer)
{
    glob_t files;
    ck_assert_int_eq(glob("tests/vectors/*.json", 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        json_error_t error;
        json_t *vector = json_load_file(files.gl_pathv[i], 0, &error);
        ck_assert_msg(vector != NULL, "%s: %s", files.gl_pathv[i],
                      error.text);
        expand_rules(json_object_get(vector, "request"));
        json_t *reply = answer(files.gl_pathv[i],
                               json_object_get(vector, "request"));
        compare_reply(files.gl_pathv[i], vector, reply);
        json_decref(reply);
        json_decref(vector);
    }
    globfree(&files);
}
