/* SPDX-License-Identifier: MIT */
/*
 * json_tensor.c - nested JSON lists <-> flat numbers, for the tests.
 */
#include "json_tensor.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static double number_of(const json_t *value)
{
    if (json_is_number(value))
        return json_number_value(value);
    if (json_is_boolean(value))
        return json_is_true(value);
    const char *text = json_string_value(value);
    ck_assert_msg(text != NULL, "neither number, boolean nor string");
    if (!strcmp(text, "Infinity"))
        return INFINITY;
    if (!strcmp(text, "-Infinity"))
        return -INFINITY;
    ck_assert_str_eq(text, "NaN");
    return NAN;
}

static void fill(struct json_tensor *t, const json_t *value, int axis)
{
    if (axis == t->rank) {
        t->x[t->count++] = number_of(value);
        return;
    }
    ck_assert_msg(json_array_size(value) == (size_t)t->dim[axis], "ragged");
    for (size_t i = 0; i < json_array_size(value); i++)
        fill(t, json_array_get(value, i), axis + 1);
}

struct json_tensor json_tensor_read(const json_t *value)
{
    struct json_tensor t = {0};
    int64_t count = 1;
    for (const json_t *v = value; json_is_array(v); v = json_array_get(v, 0)) {
        ck_assert_int_lt(t.rank, ATTN_MAX_RANK);
        t.dim[t.rank] = (int64_t)json_array_size(v);
        count *= t.dim[t.rank++];
    }
    t.x = calloc((size_t)count + 1, sizeof(double));
    ck_assert_ptr_nonnull(t.x);
    fill(&t, value, 0);
    return t;
}

static json_t *take(const json_t *flat, const json_t *shape, size_t axis,
                    size_t *next)
{
    if (axis == json_array_size(shape))
        return json_incref(json_array_get(flat, (*next)++));
    json_t *list = json_array();
    json_int_t n = json_integer_value(json_array_get(shape, axis));
    for (json_int_t i = 0; i < n; i++)
        json_array_append_new(list, take(flat, shape, axis + 1, next));
    return list;
}

json_t *json_tensor_nest(const json_t *flat, const json_t *shape)
{
    size_t next = 0;
    return take(flat, shape, 0, &next);
}

static json_t *written(double x)
{
    if (isfinite(x))
        return json_real(x);
    return json_string(isnan(x) ? "NaN" : x > 0 ? "Infinity" : "-Infinity");
}

static json_t *nest(int rank, const int64_t *dim,
                    double (*value)(const void *from, int64_t i),
                    const void *from, int64_t *next)
{
    if (!rank)
        return written(value(from, (*next)++));
    json_t *list = json_array();
    for (int64_t i = 0; i < dim[0]; i++)
        json_array_append_new(list, nest(rank - 1, dim + 1, value, from,
                                         next));
    return list;
}

json_t *json_tensor_write(int rank, const int64_t *dim,
                          double (*value)(const void *from, int64_t i),
                          const void *from)
{
    int64_t next = 0;
    return nest(rank, dim, value, from, &next);
}
