/* SPDX-License-Identifier: MIT */
/*
 * test_route.c - paths and methods, and the rooms beside the walk.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "call.h"
#include "daemon.h"
#include "http.h"
#include "suite.h"

static struct daemon d;

static void setup(void)
{
    daemon_start(&d, NULL);
}

static void teardown(void)
{
    daemon_stop(&d);
}

static const char *const rooms[] = { "/", "/livez", "/readyz", "/healthz",
    "/metrics", "/info", "/openapi.yaml", "/openapi.json" };
#define ROOMS (sizeof rooms / sizeof *rooms)

START_TEST(head_is_get_without_the_body)
{
    for (size_t i = 0; i < ROOMS; i++) {
        char type[256], type_of_get[256];
        struct http_reply get = http_get(d.port, rooms[i]), head;

        http_request(d.port, "HEAD", rooms[i], NULL, NULL, 0, &head);
        ck_assert_msg(get.status == 200, "%s: %d", rooms[i], get.status);
        ck_assert_int_eq(head.status, 200);
        ck_assert_uint_eq(head.length, 0);
        ck_assert_str_eq(http_header(&head, "Content-Type", type),
                         http_header(&get, "Content-Type", type_of_get));
        ck_assert_str_ne(http_header(&head, "Content-Length", type), "");
        http_free(&get);
        http_free(&head);
    }
}
END_TEST

START_TEST(options_tells_what_is_allowed_everywhere)
{
    char allow[256];
    struct http_reply r;

    for (size_t i = 0; i < ROOMS; i++) {
        http_request(d.port, "OPTIONS", rooms[i], NULL, NULL, 0, &r);
        ck_assert_int_eq(r.status, 204);
        ck_assert_str_eq(http_header(&r, "Allow", allow),
                         "GET, HEAD, OPTIONS");
        http_free(&r);
    }
    http_request(d.port, "OPTIONS", "/attention", NULL, NULL, 0, &r);
    ck_assert_int_eq(r.status, 204);
    ck_assert_str_eq(http_header(&r, "Allow", allow), "POST, OPTIONS");
    http_free(&r);
}
END_TEST

START_TEST(wrong_method_is_405_with_allow)
{
    static const struct { const char *method, *path, *allow; } table[] = {
        { "GET", "/attention", "POST, OPTIONS" },
        { "HEAD", "/attention", "POST, OPTIONS" },
        { "DELETE", "/attention", "POST, OPTIONS" },
        { "PUT", "/info", "GET, HEAD, OPTIONS" },
        { "POST", "/livez", "GET, HEAD, OPTIONS" },
    };

    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        char allow[256];
        struct http_reply r;

        http_request(d.port, table[i].method, table[i].path, NULL, NULL, 0,
                     &r);
        ck_assert_msg(r.status == 405, "%s %s: %d", table[i].method,
                      table[i].path, r.status);
        ck_assert_str_eq(http_header(&r, "Allow", allow), table[i].allow);
        http_free(&r);
    }
}
END_TEST

START_TEST(post_to_another_path_is_led_to_attention)
{
    static const char *const paths[] = { "/", "/info", "/livez" };

    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        struct http_reply r;

        http_request(d.port, "POST", paths[i], NULL, "{}", 2, &r);
        ck_assert_int_eq(r.status, 405);
        ck_assert_msg(strstr(r.body, "POST /attention") != NULL, "%s",
                      r.body);
        http_free(&r);
    }
}
END_TEST

START_TEST(unknown_path_is_404_with_a_hint)
{
    static const struct { const char *path, *hint; } table[] = {
        { "/atention", "/attention" },
        { "/healtz", "/healthz" },
        { "/something/else", "POST /attention" },
    };

    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct http_reply r = http_get(d.port, table[i].path);

        ck_assert_int_eq(r.status, 404);
        ck_assert_msg(strstr(r.body, table[i].hint) != NULL, "%s", r.body);
        http_free(&r);
        http_request(d.port, "POST", table[i].path, NULL, CALL_EXAMPLE,
                     strlen(CALL_EXAMPLE), &r);
        ck_assert_int_eq(r.status, 404);
        http_free(&r);
    }
}
END_TEST

START_TEST(query_is_no_part_of_the_path)
{
    struct http_reply r = http_get(d.port, "/livez?verbose=1");

    ck_assert_int_eq(r.status, 200);
    http_free(&r);
}
END_TEST

START_TEST(info_tells_limits_and_threads)
{
    static const char *const members[] = { "\"limits\":", "\"body_bytes\":",
        "\"elements\":", "\"operations\":", "\"memory_bytes\":", "\"queue\":",
        "\"connections\":", "\"timeout_seconds\":", "\"reason\":",
        "\"blas\":" };
    struct http_reply r = http_get(d.port, "/info");

    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        ck_assert_msg(strstr(r.body, members[i]) != NULL, "%s in %s",
                      members[i], r.body);
    http_free(&r);
}
END_TEST

/* A request is counted when its reply has gone, maybe after it was read. */
static void assert_metric(const char *line)
{
    struct http_reply r = http_get(d.port, "/metrics");

    for (int i = 0; i < 100 && strstr(r.body, line) == NULL; i++) {
        usleep(20000);
        http_free(&r);
        r = http_get(d.port, "/metrics");
    }
    ck_assert_msg(strstr(r.body, line) != NULL, "%s in %s", line, r.body);
    http_free(&r);
}

START_TEST(metrics_count_what_was_answered)
{
    struct http_reply r;

    for (int i = 0; i < 3; i++) {
        r = http_post(d.port, CALL_EXAMPLE);
        http_free(&r);
    }
    r = http_post(d.port, "{}");
    http_free(&r);
    assert_metric("attention_http_requests_total{route=\"/attention\","
                  "method=\"POST\",code=\"200\"} 3\n");
    assert_metric("attention_rejected_total{reason=\"missing_operand\"} 1\n");
}
END_TEST

START_TEST(access_log_has_a_line_a_request_but_none_for_probes)
{
    struct http_reply r = http_get(d.port, "/livez");

    http_free(&r);
    r = http_post(d.port, CALL_EXAMPLE);
    http_free(&r);
    ck_assert(daemon_says(d.out, "path=/attention status=200", 5));
    char *said = daemon_said(d.out);
    ck_assert_ptr_null(strstr(said, "livez"));
    ck_assert_ptr_nonnull(strstr(said, "compute_ms="));
    free(said);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        head_is_get_without_the_body,
        options_tells_what_is_allowed_everywhere,
        wrong_method_is_405_with_allow,
        post_to_another_path_is_led_to_attention,
        unknown_path_is_404_with_a_hint,
        query_is_no_part_of_the_path,
        info_tells_limits_and_threads,
        metrics_count_what_was_answered,
        access_log_has_a_line_a_request_but_none_for_probes,
        NULL
    };

    return suite_run("route", tests, setup, teardown, 30);
}
