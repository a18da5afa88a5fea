/* SPDX-License-Identifier: MIT */
/*
 * json_tensor.h - nested JSON lists <-> flat numbers, for the tests.
 */
#ifndef JSON_TENSOR_H
#define JSON_TENSOR_H

#include "attention.h"

#include <jansson.h>

/* Numbers, booleans (0 and 1) and "NaN", "Infinity", "-Infinity". */
struct json_tensor {
    int rank; /* 0: a single value */
    int64_t dim[ATTN_MAX_RANK];
    int64_t count;
    double *x; /* free() it */
};

/* Fails the running test if the lists are ragged or hold something else. */
struct json_tensor json_tensor_read(const json_t *value);

/* The flat list of JSON values as lists of lists of that shape. */
json_t *json_tensor_nest(const json_t *flat, const json_t *shape);

/* The opposite of reading; x[i] comes from value(from, i). */
json_t *json_tensor_write(int rank, const int64_t *dim,
                          double (*value)(const void *from, int64_t i),
                          const void *from);

#endif
