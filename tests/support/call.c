/* SPDX-License-Identifier: MIT */
/*
 * call.c - see call.h.
 */
#include "call.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

static char *add_matrix(char *at, const char *name, int64_t n, int64_t width,
                        uint32_t *random)
{
    at += sprintf(at, "\"%s\":[", name);
    for (int64_t i = 0; i < n; i++) {
        *at++ = i > 0 ? ',' : '[';
        if (i > 0)
            *at++ = '[';
        for (int64_t j = 0; j < width; j++) {
            *random = *random * 1664525 + 1013904223;
            at += sprintf(at, "%s%.3f", j > 0 ? "," : "",
                          (double)(*random >> 8) / 8388608.0 - 1.0);
        }
        *at++ = ']';
    }
    *at++ = ']';
    *at++ = ',';
    return at;
}

char *call_heads(int64_t n, int64_t d, int64_t heads, const char *options)
{
    char *text = malloc((size_t)(3 * n * (d * heads * 8 + 4) + 16384));
    char *at = text;
    uint32_t random = 1;

    ck_assert_ptr_nonnull(text);
    *at++ = '{';
    at = add_matrix(at, "Q", n, d * heads, &random);
    at = add_matrix(at, "K", n, d * heads, &random);
    at = add_matrix(at, "V", n, d * heads, &random);
    if (heads > 1)
        at += sprintf(at, "\"num_heads\":%lld,", (long long)heads);
    if (*options == '\0')
        at--;
    sprintf(at, "%s}", options);
    return text;
}

char *call_additive(int64_t n, const char *returns)
{
    enum { WIDTH = 64 };
    char options[8192], *at = options;
    uint32_t random = 1;

    at += sprintf(at, "\"return\":[\"%s\"],\"score\":{\"type\":\"additive\","
                  "\"v_a\":[1", returns);
    for (int i = 1; i < WIDTH; i++)
        at += sprintf(at, ",1");
    at += sprintf(at, "],");
    at = add_matrix(at, "W_a", 2, WIDTH, &random);
    at = add_matrix(at, "U_a", 2, WIDTH, &random);
    sprintf(at - 1, "}");
    return call_json(n, 2, options);
}

char *call_slow(void)
{
    return call_additive(8000, "lse");
}

char *call_json(int64_t n, int64_t d, const char *options)
{
    return call_heads(n, d, 1, options);
}
