/* SPDX-License-Identifier: MIT */
/*
 * library.c - see library.h.
 */
#include "library.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "http.h"

bool library_is_0_9(int port)
{
    struct http_reply r;

    http_request(port, "GET", "/info", NULL, NULL, 0, &r);
    ck_assert_int_eq(r.status, 200);
    const char *version = strstr(r.body, "\"libmicrohttpd\":\"");
    ck_assert_ptr_nonnull(version);
    bool old = version[strlen("\"libmicrohttpd\":\"")] == '0';
    http_free(&r);
    return old;
}

bool library_or_code(int port, const char *reply, const char *code)
{
    char member[64];

    snprintf(member, sizeof member, "\"code\":\"%s\"", code);
    if (strstr(reply, member) != NULL)
        return true;
    return strstr(reply, "\r\n\r\n<html>") != NULL && !library_is_0_9(port);
}
