/* SPDX-License-Identifier: MIT */
/*
 * metrics_table - see metrics_table.h. A new metric is one row here and one
 * name in metrics.h.
 */
#include "metrics_table.h"

#include <string.h>

/* The sets that are empty here are filled by metrics_init(). */
struct metrics_labels metrics_set_of[METRICS_SETS] = {
    [NO_SET] = {NULL, {""}, 1},
    [ROUTE] = {"route", {NULL}, 0},
    [METHOD] = {"method", {"GET", "HEAD", "POST", "OPTIONS", "other"}, 5},
    [CODE] = {"code", {"200", "204", "400", "404", "405", "408", "411", "413",
                       "414", "415", "422", "429", "431", "500", "503", "504",
                       "505", "other"},
              18},
    [PHASE] = {"phase", {NULL}, 0},
    [REASON] = {"reason", {NULL}, 0},
    [CANCELLED] = {"reason", {"gone_in_upload", "gone_in_queue",
                              "gone_in_work", "gone_in_reply", "deadline",
                              "drain"}, METRICS_CANCELLED_COUNT},
    [SOURCE] = {"source", {"setting", "quota", "affinity", "bound"}, 4},
    [BUILD] = {NULL, {""}, 1},
};

int metrics_word(enum metrics_set set, const char *word)
{
    const struct metrics_labels *labels = &metrics_set_of[set];
    int i = 0;
    while (i < labels->n - 1 && strcmp(labels->word[i], word) != 0)
        i++;
    return i;
}

/* ---------------------------------------------------------- the rows */

#define MS INT64_C(1000000)

static const struct metrics_buckets times = {20, {
    MS / 10, MS / 4, MS / 2, MS, 5 * MS / 2, 5 * MS, 10 * MS, 25 * MS,
    50 * MS, 100 * MS, 250 * MS, 500 * MS, 1000 * MS, 2500 * MS, 5000 * MS,
    10000 * MS, 25000 * MS, 50000 * MS, 100000 * MS, 250000 * MS}};
static const struct metrics_buckets sizes = {12, {
    256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216,
    67108864, 268435456, 1073741824}};
static const struct metrics_buckets lengths = {17, {
    1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384,
    32768, 65536}};

const struct metrics_row metrics_table[METRIC_COUNT] = {
    [METRIC_REQUESTS] = {
        "attention_http_requests_total", "Answered requests.",
        COUNTER, {ROUTE, METHOD, CODE}, .sparse = true},
    [METRIC_REQUEST_DURATION] = {
        "attention_http_request_duration_seconds",
        "From the first byte of a request to its reply.",
        HISTOGRAM, {ROUTE}, METRICS_NS, &times, .sparse = true},
    [METRIC_REQUEST_SIZE] = {
        "attention_http_request_size_bytes", "Bodies as received.",
        HISTOGRAM, .buckets = &sizes},
    [METRIC_RESPONSE_SIZE] = {
        "attention_http_response_size_bytes", "Bodies of replies.",
        HISTOGRAM, .buckets = &sizes},
    [METRIC_PHASE_DURATION] = {
        "attention_phase_duration_seconds",
        "Time of requests in each phase, called as in Server-Timing.",
        HISTOGRAM, {PHASE}, METRICS_NS, .buckets = &times},
    [METRIC_CONNECTIONS] = {
        "attention_connections", "Open connections.", .type = GAUGE},
    [METRIC_INFLIGHT] = {
        "attention_inflight_requests",
        "Requests between their headers and the end of their reply, but for "
        "health and metrics.",
        .type = GAUGE},
    [METRIC_QUEUE_DEPTH] = {
        "attention_queue_depth", "Requests that wait or work in the ring.",
        .type = GAUGE},
    [METRIC_QUEUE_LIMIT] = {
        "attention_queue_limit", "Most requests in the ring (--queue).",
        .type = GAUGE},
    [METRIC_QUEUE_WAIT] = {
        "attention_queue_wait_seconds", "Time of requests in the queue.",
        HISTOGRAM, .divisor = METRICS_NS, .buckets = &times},
    [METRIC_REJECTED] = {
        "attention_rejected_total",
        "Requests answered with an error, by its code word.",
        COUNTER, .label = {REASON}},
    [METRIC_CANCELLED] = {
        "attention_cancelled_total",
        "Requests whose work was dropped, by reason.",
        COUNTER, .label = {CANCELLED}},
    [METRIC_DRAINING] = {
        "attention_draining", "1 from SIGTERM on, else 0.", .type = GAUGE},
    [METRIC_SEQUENCE_LENGTH] = {
        "attention_sequence_length", "Keys of computed requests, n_k.",
        HISTOGRAM, .buckets = &lengths},
    [METRIC_OPERATIONS] = {
        "attention_flops_total",
        "Operations of computed requests, 2 B H n_q n_k (d_k + d_v).",
        .type = COUNTER},
    [METRIC_FULLY_MASKED_ROWS] = {
        "attention_fully_masked_rows_total",
        "Rows that saw no key, answered with zeros.", .type = COUNTER},
    [METRIC_THREADS] = {
        "attention_threads", "Threads that compute, by why that many.",
        GAUGE, {SOURCE}, .sparse = true},
    [METRIC_BUILD_INFO] = {
        "attention_build_info", "Versions and kernels in use; always 1.",
        GAUGE, .label = {BUILD}},
    [METRIC_MEMORY_USED] = {
        "attention_memory_used_bytes",
        "Memory held by requests and connections.",
        .type = GAUGE},
    [METRIC_MEMORY_CACHED] = {
        "attention_memory_cached_bytes",
        "Memory kept for requests to come.", .type = GAUGE},
    [METRIC_MEMORY_BUDGET] = {
        "attention_memory_budget_bytes",
        "Most memory that these may hold (--memory-bytes).", .type = GAUGE},
    [METRIC_CPU_THROTTLED] = {
        "attention_cpu_throttled_seconds_total",
        "Time that the CPU quota held the container back.", COUNTER,
        .divisor = METRICS_NS},
    [METRIC_LOG_DROPPED] = {
        "attention_log_dropped_total",
        "Log lines that nobody read in time.", .type = COUNTER},
    [METRIC_PROCESS_CPU] = {
        "process_cpu_seconds_total", "User and system CPU time.", COUNTER,
        .divisor = METRICS_NS},
    [METRIC_PROCESS_RESIDENT] = {
        "process_resident_memory_bytes", "Resident memory.", .type = GAUGE},
    [METRIC_PROCESS_VIRTUAL] = {
        "process_virtual_memory_bytes", "Virtual memory.", .type = GAUGE},
    [METRIC_PROCESS_START] = {
        "process_start_time_seconds", "Start, since 1970.", GAUGE,
        .divisor = 1000},
    [METRIC_PROCESS_OPEN_FDS] = {
        "process_open_fds", "Open descriptors.", .type = GAUGE},
    [METRIC_PROCESS_MAX_FDS] = {
        "process_max_fds", "Most open descriptors.", .type = GAUGE},
    [METRIC_PROCESS_THREADS] = {
        "process_threads", "Threads of the process.", .type = GAUGE},
};

int metrics_width(const struct metrics_row *row)
{
    return row->buckets ? row->buckets->n + 2 : 1;
}

int metrics_combinations(const struct metrics_row *row)
{
    int n = 1;
    for (int i = 0; i < 3; i++)
        n *= metrics_set_of[row->label[i]].n;
    return n;
}
