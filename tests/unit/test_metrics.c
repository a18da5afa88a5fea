/* SPDX-License-Identifier: MIT */
/*
 * test_metrics.c - counting from many threads and the text that Prometheus
 * reads. Values are compared as differences: the counters live as long as
 * the process.
 */
#include "suite.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "buffer.h"
#include "metrics.h"
#include "problem.h"

static const char *const routes[] = {"/attention", "/info"};
static const char *const steps[] = {"receive", "queue", "decode"};
static struct buffer text;

static void setup(void)
{
    static bool started;
    if (!started)
        metrics_init(&(struct metrics_start){
            .routes = routes, .n_routes = 2, .steps = steps, .n_steps = 3,
            .threads_source = "quota", .threads = 3,
            .engine = "native", .blas = "Open \"BLAS\"",
            .cpu_level = "v3", .http_library = "0.9.75",
            .json_library = "2.14"});
    started = true;
    buffer_init(&text, 1 << 20);
}

static void teardown(void)
{
    buffer_free(&text);
    ck_assert_uint_eq(block_used_bytes(), 0);
}

static const char *page(void)
{
    text.length = 0;
    ck_assert_int_eq(metrics_print(&text), BUFFER_OK);
    ck_assert_int_eq(buffer_append(&text, "", 1), BUFFER_OK);
    return text.data;
}

/* The value behind a series' full name, or -1. */
static double value(const char *series)
{
    const char *at = page();
    size_t n = strlen(series);
    for (; (at = strstr(at, series)); at += n)
        if ((at == text.data || at[-1] == '\n') && at[n] == ' ')
            return strtod(at + n, NULL);
    return -1;
}

static void assert_has(const char *part)
{
    ck_assert_msg(strstr(page(), part), "no %s in\n%s", part, text.data);
}

START_TEST(a_counter_counts)
{
    double before = value("attention_fully_masked_rows_total");
    metrics_add(METRIC_FULLY_MASKED_ROWS, 0, 3);
    metrics_add(METRIC_FULLY_MASKED_ROWS, 0, 4);
    ck_assert_double_eq(value("attention_fully_masked_rows_total"),
                        before + 7);
}
END_TEST

START_TEST(a_gauge_goes_up_and_down)
{
    double before = value("attention_inflight_requests");
    metrics_add(METRIC_INFLIGHT, 0, 5);
    metrics_add(METRIC_INFLIGHT, 0, -3);
    ck_assert_double_eq(value("attention_inflight_requests"), before + 2);
    metrics_set(METRIC_DRAINING, 0, 1);
    ck_assert_double_eq(value("attention_draining"), 1);
    metrics_set(METRIC_DRAINING, 0, 0);
    ck_assert_double_eq(value("attention_draining"), 0);
}
END_TEST

START_TEST(every_family_has_help_and_type_before_its_samples)
{
    int families = 0;
    char name[128] = "", *rest = (char *)(uintptr_t)page(), *line;
    ck_assert_int_eq(text.data[text.length - 2], '\n');
    while ((line = strsep(&rest, "\n")) && *line) {
        if (sscanf(line, "# HELP %127s", name) == 1) {
            char type[128], want[160];
            line = strsep(&rest, "\n");
            snprintf(want, sizeof want, "# TYPE %s %%127s", name);
            ck_assert_int_eq(sscanf(line, want, type), 1);
            families++;
        } else {
            ck_assert_msg(strncmp(line, name, strlen(name)) == 0,
                          "%s under %s", line, name);
        }
    }
    ck_assert_int_eq(families, METRIC_COUNT);
}
END_TEST

START_TEST(buckets_are_cumulative_and_end_in_the_count)
{
    const int64_t lengths[] = {1, 2, 3, 1000, 70000};
    double before = value("attention_sequence_length_count");
    double sum = value("attention_sequence_length_sum");
    double upto_2 = value("attention_sequence_length_bucket{le=\"2\"}");
    double upto_4 = value("attention_sequence_length_bucket{le=\"4\"}");
    double upto_end =
        value("attention_sequence_length_bucket{le=\"65536\"}");
    for (size_t i = 0; i < 5; i++)
        metrics_observe(METRIC_SEQUENCE_LENGTH, 0, lengths[i]);
    ck_assert_double_eq(
        value("attention_sequence_length_bucket{le=\"2\"}"), upto_2 + 2);
    ck_assert_double_eq(
        value("attention_sequence_length_bucket{le=\"4\"}"), upto_4 + 3);
    ck_assert_double_eq(
        value("attention_sequence_length_bucket{le=\"65536\"}"), upto_end + 4);
    ck_assert_double_eq(
        value("attention_sequence_length_bucket{le=\"+Inf\"}"), before + 5);
    ck_assert_double_eq(value("attention_sequence_length_count"), before + 5);
    ck_assert_double_eq(value("attention_sequence_length_sum"), sum + 71006);
}
END_TEST

START_TEST(times_are_in_seconds_to_the_last_nanosecond)
{
    metrics_observe(METRIC_QUEUE_WAIT, 0, 1000000);
    metrics_observe(METRIC_QUEUE_WAIT, 0, 2000000001);
    assert_has("attention_queue_wait_seconds_bucket{le=\"0.0005\"} 0\n");
    assert_has("attention_queue_wait_seconds_bucket{le=\"0.001\"} 1\n");
    assert_has("attention_queue_wait_seconds_sum 2.001000001\n");
}
END_TEST

START_TEST(one_request_is_in_all_its_metrics)
{
    const int64_t step_ns[] = {5000000, -1, 0};
    metrics_request(&(struct metrics_request){
        .route = 0, .method = "POST", .status = 200, .duration_ns = 30000000,
        .bytes_in = 300, .bytes_out = 70, .step_ns = step_ns});
    assert_has("attention_http_requests_total{route=\"/attention\","
               "method=\"POST\",code=\"200\"} 1\n");
    assert_has("attention_http_request_duration_seconds_bucket{"
               "route=\"/attention\",le=\"0.025\"} 0\n");
    assert_has("attention_http_request_duration_seconds_bucket{"
               "route=\"/attention\",le=\"0.05\"} 1\n");
    assert_has("attention_http_request_size_bytes_sum 300\n");
    assert_has("attention_http_response_size_bytes_sum 70\n");
    assert_has("attention_phase_duration_seconds_sum{phase=\"receive\"} "
               "0.005000000\n");
    assert_has("attention_phase_duration_seconds_count{phase=\"queue\"} 0\n");
    assert_has("attention_phase_duration_seconds_count{phase=\"decode\"} 1");
}
END_TEST

START_TEST(no_client_can_make_a_label)
{
    double before = value("attention_queue_wait_seconds_sum");
    metrics_request(&(struct metrics_request){
        .route = 2, .method = "BREW\"\n", .status = 418});
    metrics_add(METRIC_REJECTED, PROBLEM_COUNT + 1000, 1);
    metrics_add(METRIC_REJECTED, -1, 1);
    metrics_observe(METRIC_PHASE_DURATION, 1000, INT64_MAX);
    assert_has("attention_http_requests_total{route=\"other\","
               "method=\"other\",code=\"other\"} 1\n");
    ck_assert_ptr_null(strstr(text.data, "BREW"));
    ck_assert_double_eq(value("attention_queue_wait_seconds_sum"), before);
}
END_TEST

START_TEST(every_refusal_has_its_word_from_the_start)
{
    assert_has("attention_rejected_total{reason=\"queue_full\"} 0\n");
    ck_assert_ptr_null(strstr(text.data, "reason=\"none\""));
    metrics_add(METRIC_REJECTED, PROBLEM_QUEUE_FULL, 1);
    assert_has("attention_rejected_total{reason=\"queue_full\"} 1\n");
    assert_has("attention_cancelled_total{reason=\"gone_in_reply\"} 0\n");
}
END_TEST

START_TEST(the_build_is_described_and_escaped)
{
    assert_has("attention_build_info{version=\"0.");
    assert_has("engine=\"native\",blas=\"Open \\\"BLAS\\\"\",cpu_level=\"v3\","
               "mhd=\"0.9.75\",jansson=\"2.14\"} 1\n");
    assert_has("attention_threads{source=\"quota\"} 3\n");
    ck_assert_ptr_null(strstr(text.data, "source=\"affinity\""));
}
END_TEST

START_TEST(the_process_describes_itself)
{
    if (!getenv("EMULATOR")) /* it shows a stat without sizes */
        ck_assert_double_gt(value("process_resident_memory_bytes"), 100000);
    ck_assert_double_gt(value("process_open_fds"), 2);
    ck_assert_double_gt(value("process_start_time_seconds"), 1.5e9);
    ck_assert_double_gt(value("attention_memory_used_bytes"), 30000);
}
END_TEST

static pthread_barrier_t barrier;

static void *count(void *argument)
{
    metrics_add(METRIC_OPERATIONS, 0, 1);
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < (int)(intptr_t)argument; i++)
        metrics_add(METRIC_OPERATIONS, 0, 1);
    return NULL;
}

/* There are 8 shards, so the first thread and the last share one. */
START_TEST(no_count_of_any_thread_is_lost)
{
    pthread_t thread[9];
    double before = value("attention_flops_total");
    pthread_barrier_init(&barrier, NULL, 9);
    for (int i = 0; i < 9; i++)
        pthread_create(&thread[i], NULL, count,
                       (void *)(intptr_t)(i % 8 == 0 ? 1000000 : 0));
    for (int i = 0; i < 9; i++)
        pthread_join(thread[i], NULL);
    pthread_barrier_destroy(&barrier);
    ck_assert_double_eq(value("attention_flops_total"), before + 2000009);
}
END_TEST

START_TEST(without_memory_there_is_no_half_page)
{
    buffer_free(&text);
    block_fail_after(1);
    ck_assert_int_eq(metrics_print(&text), BUFFER_OK);
    block_fail_after(-1);
    buffer_free(&text);
    buffer_init(&text, 5000);
    ck_assert_int_eq(metrics_print(&text), BUFFER_CEILING);
    buffer_free(&text);
    block_fail_after(0);
    ck_assert_int_eq(metrics_print(&text), BUFFER_NO_MEMORY);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        a_counter_counts,
        a_gauge_goes_up_and_down,
        every_family_has_help_and_type_before_its_samples,
        buckets_are_cumulative_and_end_in_the_count,
        times_are_in_seconds_to_the_last_nanosecond,
        one_request_is_in_all_its_metrics,
        no_client_can_make_a_label,
        every_refusal_has_its_word_from_the_start,
        the_build_is_described_and_escaped,
        the_process_describes_itself,
        no_count_of_any_thread_is_lost,
        without_memory_there_is_no_half_page,
        NULL};
    return suite_run("metrics", tests, setup, teardown, 20);
}
