/* SPDX-License-Identifier: MIT */
/*
 * call.h - bodies of requests for the tests over HTTP.
 */
#ifndef CALL_H
#define CALL_H

#include <stdint.h>

/* SPEC's first worked example. */
#define CALL_EXAMPLE                                                          \
    "{\"Q\":[[1,0],[0,1]],\"K\":[[1,0],[0,1]],\"V\":[[10,0],[0,10]],"         \
    "\"dtype\":\"float64\"}"

/* Q, K and V of [n, d] with numbers within [-1, 1]; then `options`, members
 * without braces, or "". To be freed. */
char *call_json(int64_t n, int64_t d, const char *options);

/* The same with `heads` heads, packed. */
char *call_heads(int64_t n, int64_t d, int64_t heads, const char *options);

/* A short text that means much work: additive scores of [n, n] through 64
 * hyperbolic tangents each. To be freed. */
char *call_additive(int64_t n, const char *returns);

/* Seconds of it on two fast cores: n = 8000, and no long reply. */
char *call_slow(void);

#endif
