/* SPDX-License-Identifier: MIT */
/*
 * test_docs.c - what docs/attention.md, README.md and openapi.yaml show is
 * what a real daemon answers. In Markdown a block "json request" is followed
 * by a block "json reply", of four decimals, or "json problem".
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "daemon.h"
#include "http.h"
#include "suite.h"

#define FOUR_DECIMALS 6e-5
#define FENCE "\n```"

extern const char embed_openapi_json[], embed_openapi_json_end[];

static struct daemon d;

static void setup(void)
{
    daemon_start(&d, NULL);
}

static void teardown(void)
{
    daemon_stop(&d);
}

/* ------------------------------------------------------------- comparing */

static void compare(const char *where, const json_t *got, const json_t *want)
{
    const char *name;
    json_t *value;
    char place[512];

    ck_assert_msg(json_typeof(got) == json_typeof(want), "%s: type", where);
    if (json_is_real(want)) {
        double x = json_real_value(want), y = json_real_value(got);
        ck_assert_msg(fabs(x - y) <= FOUR_DECIMALS, "%s: %.17g, shown is %g",
                      where, y, x);
    } else if (json_is_object(want)) {
        json_object_foreach((json_t *)want, name, value) {
            snprintf(place, sizeof place, "%s/%s", where, name);
            ck_assert_msg(json_object_get(got, name) != NULL, "no %s", place);
            compare(place, json_object_get(got, name), value);
        }
        ck_assert_msg(json_object_size(got) == json_object_size(want),
                      "%s: more members than are shown", where);
    } else if (json_is_array(want)) {
        ck_assert_msg(json_array_size(got) == json_array_size(want),
                      "%s: another length", where);
        for (size_t i = 0; i < json_array_size(want); i++) {
            snprintf(place, sizeof place, "%s/%zu", where, i);
            compare(place, json_array_get(got, i), json_array_get(want, i));
        }
    } else {
        ck_assert_msg(json_equal(got, want), "%s differs", where);
    }
}

static json_t *parsed(const char *where, const char *text, size_t length)
{
    json_error_t error;
    json_t *json = json_loadb(
        text, length, JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL,
        &error);
    ck_assert_msg(json != NULL, "%s: %s: %.*s", where, error.text,
                  (int)length, text);
    return json;
}

static json_t *post(const char *where, const char *request, int *status)
{
    struct http_reply r = http_post(d.port, request);
    json_t *got = parsed(where, r.body, r.length);
    *status = r.status;
    http_free(&r);
    return got;
}

/* -------------------------------------------------------------- Markdown */

struct block {
    char kind[16];           /* the word behind "json": "request" */
    const char *text, *end;
    int line;
};

/* The first block at or behind `at` that is of JSON; false at the end. */
static bool find_block(const char *document, const char *at, struct block *b)
{
    static const char start[] = FENCE "json ";
    const char *found = strstr(at, start);

    if (!found)
        return false;
    ck_assert_int_eq(sscanf(found + strlen(start), "%15s", b->kind), 1);
    b->text = strchr(found + 1, '\n');
    b->end = strstr(b->text, FENCE);
    ck_assert_ptr_nonnull(b->end);
    b->line = 2;
    for (const char *c = document; c < found; c++)
        b->line += *c == '\n';
    return true;
}

static void check_pair(const char *file, const struct block *request,
                       const struct block *reply)
{
    char where[128];
    int status;
    char *body = strndup(request->text, (size_t)(request->end - request->text));

    snprintf(where, sizeof where, "%s:%d", file, request->line);
    ck_assert_msg(strcmp(request->kind, "request") == 0, "%s: json %s", where,
                  request->kind);
    json_t *want = parsed(where, reply->text,
                          (size_t)(reply->end - reply->text));
    json_t *got = post(where, body, &status);
    if (strcmp(reply->kind, "problem") == 0) {
        ck_assert_int_eq(status, (int)json_number_value(
                                     json_object_get(want, "status")));
    } else {
        ck_assert_str_eq(reply->kind, "reply");
        ck_assert_msg(status == 200, "%s: status %d", where, status);
    }
    compare(where, got, want);
    json_decref(got);
    json_decref(want);
    free(body);
}

static int check_document(const char *file)
{
    struct block request, reply;
    char *document = daemon_said(file);
    int pairs = 0;

    for (const char *at = document; find_block(document, at, &request);
         at = reply.end) {
        ck_assert_msg(find_block(document, request.end, &reply),
                      "%s:%d: no reply", file, request.line);
        check_pair(file, &request, &reply);
        pairs++;
    }
    free(document);
    return pairs;
}

START_TEST(every_reply_in_attention_md_comes_out)
{
    ck_assert_int_ge(check_document("docs/attention.md"), 20);
}
END_TEST

START_TEST(every_reply_in_the_readme_comes_out)
{
    ck_assert_int_ge(check_document("README.md"), 1);
}
END_TEST

/* --------------------------------------------------------------- OpenAPI */

START_TEST(every_example_in_openapi_yaml_comes_out)
{
    json_t *openapi = parsed("openapi.json", embed_openapi_json,
                             (size_t)(embed_openapi_json_end -
                                      embed_openapi_json));
    json_t *request, *example, *requests = NULL, *replies = NULL;
    const char *name, *content = "content", *type = "application/json";
    int status;

    json_unpack(openapi, "{s{s{s{ s{s{s{so}}} s{s{s{s{so}}}} }}}}", "paths",
                "/attention", "post",
                "requestBody", content, type, "examples", &requests,
                "responses", "200", content, type, "examples", &replies);
    ck_assert_uint_ge(json_object_size(requests), 4);
    ck_assert_uint_ge(json_object_size(replies), 1);
    json_object_foreach(requests, name, request) {
        char *body = json_dumps(json_object_get(request, "value"), 0);
        json_t *got = post(name, body, &status);
        ck_assert_msg(status == 200, "%s: status %d", name, status);
        example = json_object_get(replies, name);
        if (example)
            compare(name, got, json_object_get(example, "value"));
        json_decref(got);
        free(body);
    }
    json_decref(openapi);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        every_reply_in_attention_md_comes_out,
        every_reply_in_the_readme_comes_out,
        every_example_in_openapi_yaml_comes_out, NULL};
    return suite_run("documents", tests, setup, teardown, 60);
}
