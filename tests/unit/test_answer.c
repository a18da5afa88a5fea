/* SPDX-License-Identifier: MIT */
/*
 * test_answer.c - the side rooms: what they say, and that they say it when
 * there is no memory left.
 */
#include "suite.h"

#include <stdio.h>
#include <string.h>

#include "answer.h"
#include "arena.h"
#include "config.h"
#include "metrics.h"

static struct answer a;
static const struct answer_facts facts = {
    .threads = 2, .io_threads = 3, .threads_source = "quota",
    .threads_reason = "2 threads: \"half\" of 4", .blas = "OpenBLAS Haswell",
    .engine = "openblas", .warning = "Odd.",
    .cpu_level = "v3", .http_library = "0.9.75", .json_library = "2.14",
    .memory_budget_bytes = 12345, .connections = 900};

/* Enough of them that metrics need more than one block. */
static void setup(void)
{
    static const char *routes[20];
    for (int i = 0; i < 20; i++)
        routes[i] = "/attention";
    static bool started;
    const char *argv[] = {"attentiond", "--port=8123", NULL};
    char error[256];
    block_fail_after(-1);
    block_set_budget(0, 0);
    ck_assert_int_eq(config_load(2, (char **)(uintptr_t)argv, error,
                                 sizeof error), 0);
    if (!started)
        metrics_init(&(struct metrics_start){
            .routes = routes, .n_routes = 20, .threads_source = "quota", .threads = 2, .blas = "x",
            .engine = "native",
            .cpu_level = "y", .http_library = "1", .json_library = "2"});
    started = true;
    for (int i = 0; i < 20; i++)
        metrics_observe(METRIC_REQUEST_DURATION, i, i);
    a = (struct answer){0};
}

static void teardown(void)
{
    buffer_free(&a.memory);
    ck_assert_uint_eq(block_used_bytes(), 0);
}

static void assert_answer(int status, const char *type)
{
    ck_assert_int_eq(a.status, status);
    ck_assert_ptr_nonnull(a.content_type);
    ck_assert_msg(strncmp(a.content_type, type, strlen(type)) == 0, "%s",
                  a.content_type);
}

static void assert_says(const char *part)
{
    ck_assert_msg(memmem(a.text, a.length, part, strlen(part)),
                  "no %s in\n%.*s", part, (int)a.length, a.text);
}

START_TEST(alive_is_always_ok)
{
    answer_livez(&a);
    assert_answer(200, "application/json");
    assert_says("{\"status\":\"ok\"}\n");
}
END_TEST

START_TEST(readiness_has_its_reason)
{
    answer_readyz(&a, ANSWER_STARTING, NULL);
    assert_answer(503, "application/json");
    assert_says("\"reason\":\"starting\"");
    answer_readyz(&a, ANSWER_READY, NULL);
    assert_answer(200, "application/json");
    assert_says("{\"status\":\"ok\"}\n");
    answer_readyz(&a, ANSWER_DRAINING, NULL);
    assert_answer(503, "application/json");
    assert_says("\"reason\":\"draining\"");
}
END_TEST

START_TEST(health_tells_of_an_engine_that_failed)
{
    answer_readyz(&a, ANSWER_READY, "OpenBLAS failed.");
    assert_answer(200, "application/json");
    assert_says("{\"status\":\"ok\",\"warning\":\"OpenBLAS failed.\"}\n");
    buffer_free(&a.memory);
}
END_TEST

START_TEST(health_needs_no_memory)
{
    size_t got;
    void *block = block_take(1, &got);
    block_set_budget(1, 0);
    answer_livez(&a);
    assert_answer(200, "application/json");
    answer_readyz(&a, ANSWER_READY, NULL);
    assert_answer(200, "application/json");
    block_give(block, got);
}
END_TEST

START_TEST(info_tells_versions_threads_and_limits)
{
    answer_info(&a, &facts, ANSWER_READY);
    assert_answer(200, "application/json");
    assert_says("\"version\":\"0.");
    assert_says("\"state\":\"ready\"");
    assert_says("\"threads\":{\"count\":2,\"source\":\"quota\","
                "\"reason\":\"2 threads: \\\"half\\\" of 4\",\"io\":3}");
    assert_says("\"engine\":\"openblas\",\"warning\":\"Odd.\",");
    assert_says("\"blas\":\"OpenBLAS Haswell\",\"cpu_level\":\"v3\"");
    assert_says("\"limits\":{\"body_bytes\":1073741824,"
                "\"elements\":1073741824,\"operations\":1000000000000000,"
                "\"memory_bytes\":12345,\"queue\":256,\"connections\":900,"
                "\"timeout_seconds\":300}}\n");
}
END_TEST

START_TEST(metrics_are_answered_with_all_memory_in_use)
{
    size_t got;
    block_set_budget((size_t)64 << 20, (size_t)4 << 20);
    void *block = block_take((size_t)64 << 20, &got);
    answer_metrics(&a);
    assert_answer(200, "text/plain; version=0.0.4; charset=utf-8");
    assert_says("attention_memory_used_bytes");
    block_give(block, got);
}
END_TEST

START_TEST(without_any_memory_the_answer_is_503_and_empty)
{
    for (int taken = 0; taken < 2; taken++) {
        block_fail_after(taken);
        answer_metrics(&a);
        assert_answer(503, "text/plain");
        ck_assert_uint_eq(a.length, 0);
        buffer_free(&a.memory);
    }
    block_fail_after(0);
    answer_info(&a, &facts, ANSWER_READY);
    assert_answer(503, "application/json");
    ck_assert_uint_eq(a.length, 0);
}
END_TEST

START_TEST(the_page_shows_curl_a_command_for_the_host_it_asked)
{
    answer_page(&a, "*/*", "attention.example:81");
    assert_answer(200, "text/plain");
    assert_says("curl http://attention.example:81/attention -d "
                "'{\"Q\": [[1, 0], [0, 1]]");
    assert_says("/openapi.yaml");
}
END_TEST

START_TEST(a_browser_gets_the_page_and_nobody_else)
{
    const struct { const char *accept; bool html; } cases[] = {
        {"text/html,application/xhtml+xml,*/*;q=0.8", true},
        {"application/json;q=0.5, TEXT/HTML;q=0.1", true},
        {"text/html, */*;q=0", true},
        {"text/html;q=0, */*", false},
        {"application/json", false}, {"*/*", false}, {"", false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        answer_page(&a, cases[i].accept, NULL);
        assert_answer(200, cases[i].html ? "text/html" : "text/plain");
        assert_says(cases[i].html ? "<!doctype html>" : "curl http://");
        buffer_free(&a.memory);
    }
}
END_TEST

START_TEST(a_host_that_is_none_is_not_shown_back)
{
    const char *const hosts[] = {NULL, "", "a b", "x';rm -r", "<b>", "\n"};
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
        answer_page(&a, NULL, hosts[i]);
        assert_answer(200, "text/plain");
        assert_says("curl http://127.0.0.1:8123/attention");
        buffer_free(&a.memory);
    }
}
END_TEST

START_TEST(the_description_comes_in_yaml_and_json)
{
    answer_openapi_yaml(&a);
    assert_answer(200, "application/yaml");
    assert_says("openapi: ");
    ck_assert_int_eq(a.text[a.length - 1], '\n');
    answer_openapi_json(&a);
    assert_answer(200, "application/json");
    ck_assert_int_eq(a.text[0], '{');
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        alive_is_always_ok,
        readiness_has_its_reason,
        health_tells_of_an_engine_that_failed,
        health_needs_no_memory,
        info_tells_versions_threads_and_limits,
        metrics_are_answered_with_all_memory_in_use,
        without_any_memory_the_answer_is_503_and_empty,
        the_page_shows_curl_a_command_for_the_host_it_asked,
        a_browser_gets_the_page_and_nobody_else,
        a_host_that_is_none_is_not_shown_back,
        the_description_comes_in_yaml_and_json,
        NULL};
    return suite_run("answer", tests, setup, teardown, 20);
}
