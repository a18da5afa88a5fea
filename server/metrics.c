/* SPDX-License-Identifier: MIT */
/*
 * metrics - see metrics.h. Every row owns a run of cells: one for each
 * combination of its labels, times one for a counter or gauge, or times
 * buckets + 2 for a histogram (a count for each bucket, for +Inf, and the
 * sum). Each shard holds all cells; printing adds the shards up.
 */
#include "metrics.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "arena.h"
#include "attention.h"
#include "host.h"
#include "log.h"
#include "problem.h"

#define SHARDS 8
#define CELLS 6144
#define WORDS_MAX 64

static _Atomic int64_t cells[SHARDS][CELLS];

/* ---------------------------------------------------------- label sets */

enum set {
    NO_SET, ROUTE, METHOD, CODE, PHASE, REASON, CANCELLED, SOURCE, BUILD,
    SET_COUNT
};

static struct label_set {
    const char *name;              /* NULL: the words are whole labels */
    const char *word[WORDS_MAX];
    int n;                         /* a word that is NULL is not printed */
} sets[SET_COUNT] = {
    [NO_SET] = {NULL, {""}, 1},
    [ROUTE] = {"route", {NULL}, 0},
    [METHOD] = {"method", {"GET", "HEAD", "POST", "OPTIONS", "other"}, 5},
    [CODE] = {"code", {"200", "204", "400", "404", "405", "408", "411", "413",
                       "415", "422", "429", "500", "503", "504", "other"},
              15},
    [PHASE] = {"phase", {NULL}, 0},
    [REASON] = {"reason", {NULL}, 0},
    [CANCELLED] = {"reason", {"gone_in_upload", "gone_in_queue",
                              "gone_in_work", "gone_in_reply", "deadline",
                              "drain"}, METRICS_CANCELLED_COUNT},
    [SOURCE] = {"source", {"setting", "quota", "affinity", "bound"}, 4},
    [BUILD] = {NULL, {""}, 1},
};

static int index_of(enum set set, const char *word)
{
    int i = 0;
    while (i < sets[set].n - 1 && strcmp(sets[set].word[i], word) != 0)
        i++;
    return i;
}

/* ----------------------------------------------------------- the table */

#define BUCKETS_MAX 22
#define MS INT64_C(1000000)

struct buckets {
    int n;
    int64_t upto[BUCKETS_MAX];
};

static const struct buckets times = {20, {
    MS / 10, MS / 4, MS / 2, MS, 5 * MS / 2, 5 * MS, 10 * MS, 25 * MS,
    50 * MS, 100 * MS, 250 * MS, 500 * MS, 1000 * MS, 2500 * MS, 5000 * MS,
    10000 * MS, 25000 * MS, 50000 * MS, 100000 * MS, 250000 * MS}};
static const struct buckets sizes = {12, {
    256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216,
    67108864, 268435456, 1073741824}};
static const struct buckets lengths = {17, {
    1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384,
    32768, 65536}};

enum type { COUNTER, GAUGE, HISTOGRAM };

struct row {
    const char *name, *help;
    enum type type;
    enum set label[3];
    int64_t divisor;               /* 0: 1 */
    const struct buckets *buckets;
    bool sparse;                   /* print only what is not 0 */
};

#define NS 1000000000

static const struct row table[METRIC_COUNT] = {
    [METRIC_REQUESTS] = {
        "attention_http_requests_total", "Answered requests.",
        COUNTER, {ROUTE, METHOD, CODE}, .sparse = true},
    [METRIC_REQUEST_DURATION] = {
        "attention_http_request_duration_seconds",
        "From the first byte of a request to its reply.",
        HISTOGRAM, {ROUTE}, NS, &times, .sparse = true},
    [METRIC_REQUEST_SIZE] = {
        "attention_http_request_size_bytes", "Bodies as received.",
        HISTOGRAM, .buckets = &sizes},
    [METRIC_RESPONSE_SIZE] = {
        "attention_http_response_size_bytes", "Bodies of replies.",
        HISTOGRAM, .buckets = &sizes},
    [METRIC_PHASE_DURATION] = {
        "attention_phase_duration_seconds",
        "Time of requests in each phase, called as in Server-Timing.",
        HISTOGRAM, {PHASE}, NS, .buckets = &times},
    [METRIC_CONNECTIONS] = {
        "attention_connections", "Open connections.", .type = GAUGE},
    [METRIC_INFLIGHT] = {
        "attention_inflight_requests",
        "Requests between their headers and the end of their reply.", .type = GAUGE},
    [METRIC_QUEUE_DEPTH] = {
        "attention_queue_depth", "Requests that wait or work in the ring.",
        .type = GAUGE},
    [METRIC_QUEUE_LIMIT] = {
        "attention_queue_limit", "Most requests in the ring (--queue).",
        .type = GAUGE},
    [METRIC_QUEUE_WAIT] = {
        "attention_queue_wait_seconds", "Time of requests in the queue.",
        HISTOGRAM, .divisor = NS, .buckets = &times},
    [METRIC_REJECTED] = {
        "attention_rejected_total",
        "Requests answered with an error, by its code word.",
        COUNTER, .label = {REASON}},
    [METRIC_CANCELLED] = {
        "attention_cancelled_total",
        "Requests whose work was dropped, by reason.", COUNTER, .label = {CANCELLED}},
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
        "attention_memory_used_bytes", "Memory held by requests.", .type = GAUGE},
    [METRIC_MEMORY_CACHED] = {
        "attention_memory_cached_bytes",
        "Memory kept for requests to come.", .type = GAUGE},
    [METRIC_MEMORY_BUDGET] = {
        "attention_memory_budget_bytes",
        "Most memory that requests may hold (--memory-bytes).", .type = GAUGE},
    [METRIC_CPU_THROTTLED] = {
        "attention_cpu_throttled_seconds_total",
        "Time that the CPU quota held the container back.", COUNTER,
        .divisor = NS},
    [METRIC_LOG_DROPPED] = {
        "attention_log_dropped_total",
        "Log lines that nobody read in time.", .type = COUNTER},
    [METRIC_PROCESS_CPU] = {
        "process_cpu_seconds_total", "User and system CPU time.", COUNTER,
        .divisor = NS},
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

static int first_cell[METRIC_COUNT + 1];

static int width(const struct row *row)
{
    return row->buckets ? row->buckets->n + 2 : 1;
}

static int combinations(const struct row *row)
{
    return sets[row->label[0]].n * sets[row->label[1]].n *
           sets[row->label[2]].n;
}

/* ---------------------------------------------------------- the start */

static void fill(enum set set, const char *const *words, int n)
{
    for (int i = 0; i < n && i < WORDS_MAX; i++)
        sets[set].word[sets[set].n++] = words[i];
}

static void describe_build(const struct metrics_start *start)
{
    static char labels[512];
    char blas[192], level[64];
    problem_escape(blas, sizeof blas, start->blas);
    problem_escape(level, sizeof level, start->cpu_level);
    snprintf(labels, sizeof labels,
             "version=\"%s\",blas=\"%s\",cpu_level=\"%s\",mhd=\"%s\","
             "jansson=\"%s\"", ATTN_VERSION, blas, level,
             start->http_library, start->json_library);
    sets[BUILD].word[0] = labels;
}

void metrics_init(const struct metrics_start *start)
{
    static const char *const other = "other";
    sets[ROUTE].n = sets[PHASE].n = sets[REASON].n = 0;
    fill(ROUTE, start->routes, start->n_routes);
    fill(ROUTE, &other, 1);
    fill(PHASE, start->steps, start->n_steps);
    for (int i = 0; i < PROBLEM_COUNT; i++)
        fill(REASON, &problem_row((enum problem)i)->code, 1);
    sets[REASON].word[PROBLEM_NONE] = NULL;         /* never answered */
    sets[REASON].word[PROBLEM_CANCELLED] = NULL;
    describe_build(start);

    int cell = 0;
    for (int m = 0; m < METRIC_COUNT; m++) {
        first_cell[m] = cell;
        cell += combinations(&table[m]) * width(&table[m]);
    }
    first_cell[METRIC_COUNT] = cell;
    metrics_set(METRIC_THREADS, index_of(SOURCE, start->threads_source),
                start->threads);
    metrics_set(METRIC_BUILD_INFO, 0, 1);
}

/* ------------------------------------------------------------- adding */

/* Threads take turns in choosing a shard, and stay with theirs. */
static _Atomic int64_t *own_shard(void)
{
    static atomic_uint next;
    static _Thread_local int shard = -1;
    if (shard < 0)
        shard = (int)(atomic_fetch_add(&next, 1) % SHARDS);
    return cells[shard];
}

static int cell_of(enum metric metric, int label)
{
    int cell = first_cell[metric] + label * width(&table[metric]);
    return label >= 0 && cell < first_cell[metric + 1] ? cell : CELLS - 1;
}

static void add(int cell, int64_t amount)
{
    atomic_fetch_add_explicit(own_shard() + cell, amount,
                              memory_order_relaxed);
}

void metrics_add(enum metric metric, int label, int64_t amount)
{
    add(cell_of(metric, label), amount);
}

/* A metric is either set or added to, so the other shards hold 0. */
void metrics_set(enum metric metric, int label, int64_t value)
{
    atomic_store_explicit(&cells[0][cell_of(metric, label)], value,
                          memory_order_relaxed);
}

void metrics_observe(enum metric metric, int label, int64_t value)
{
    const struct buckets *buckets = table[metric].buckets;
    int first = cell_of(metric, label);
    int i = 0;
    while (i < buckets->n && value > buckets->upto[i])
        i++;
    add(first + i, 1);
    add(first + buckets->n + 1, value);
}

void metrics_request(const struct metrics_request *r)
{
    char status[16];
    snprintf(status, sizeof status, "%d", r->status);
    metrics_add(METRIC_REQUESTS,
                (r->route * sets[METHOD].n + index_of(METHOD, r->method)) *
                    sets[CODE].n + index_of(CODE, status), 1);
    metrics_observe(METRIC_REQUEST_DURATION, r->route, r->duration_ns);
    metrics_observe(METRIC_REQUEST_SIZE, 0, r->bytes_in);
    metrics_observe(METRIC_RESPONSE_SIZE, 0, r->bytes_out);
    for (int i = 0; r->step_ns && i < sets[PHASE].n; i++) {
        if (r->step_ns[i] >= 0)
            metrics_observe(METRIC_PHASE_DURATION, i, r->step_ns[i]);
    }
}

/* ------------------------------------------------------------ printing */

static int64_t sum_of(int cell)
{
    int64_t sum = 0;
    for (int i = 0; i < SHARDS; i++)
        sum += atomic_load_explicit(&cells[i][cell], memory_order_relaxed);
    return sum;
}

/* route="/attention",code="200" of combination k; false if it has none. */
static bool name_labels(const struct row *row, int k, char text[512])
{
    char part[3][512] = {"", "", ""};
    for (int i = 2; i >= 0; i--) {
        const struct label_set *set = &sets[row->label[i]];
        const char *word = set->word[k % set->n];
        k /= set->n;
        if (!word)
            return false;
        if (set->name)
            snprintf(part[i], sizeof part[i], "%s=\"%.100s\"", set->name, word);
        else
            snprintf(part[i], sizeof part[i], "%.500s", word);
    }
    *text = '\0';
    size_t length = 0;
    for (int i = 0; i < 3; i++)
        if (*part[i] && length < 512)
            length += (size_t)snprintf(text + length, 512 - length, "%s%s",
                                       length ? "," : "", part[i]);
    return true;
}

/* All digits: value / divisor, divisor a power of ten. */
static void print_value(struct buffer *out, int64_t value, int64_t divisor)
{
    int digits = divisor == NS ? 9 : divisor == 1000 ? 3 : 0;
    if (digits == 0)
        buffer_print(out, " %lld\n", (long long)value);
    else
        buffer_print(out, " %lld.%0*lld\n", (long long)(value / divisor),
                     digits, (long long)(value % divisor));
}

static void print_histogram(struct buffer *out, const struct row *row,
                            int cell, const char *labels)
{
    const struct buckets *buckets = row->buckets;
    const char *comma = *labels ? "," : "";
    const char *open = *labels ? "{" : "", *close = *labels ? "}" : "";
    double divisor = row->divisor ? (double)row->divisor : 1;
    int64_t count = 0;
    for (int i = 0; i <= buckets->n; i++) {
        char upto[32] = "+Inf";
        if (i < buckets->n)
            snprintf(upto, sizeof upto, "%.10g",
                     (double)buckets->upto[i] / divisor);
        count += sum_of(cell + i);
        buffer_print(out, "%s_bucket{%s%sle=\"%s\"} %lld\n", row->name,
                     labels, comma, upto, (long long)count);
    }
    buffer_print(out, "%s_sum%s%s%s", row->name, open, labels, close);
    print_value(out, sum_of(cell + buckets->n + 1), row->divisor);
    buffer_print(out, "%s_count%s%s%s %lld\n", row->name, open, labels, close,
                 (long long)count);
}

static bool is_zero(const struct row *row, int cell)
{
    for (int i = 0; i < width(row); i++)
        if (sum_of(cell + i) != 0)
            return false;
    return true;
}

static void print_row(struct buffer *out, enum metric metric)
{
    static const char *const types[] = {"counter", "gauge", "histogram"};
    const struct row *row = &table[metric];
    buffer_print(out, "# HELP %s %s\n# TYPE %s %s\n", row->name, row->help,
                 row->name, types[row->type]);
    for (int k = 0; k < combinations(row); k++) {
        char labels[512];
        int cell = first_cell[metric] + k * width(row);
        if ((row->sparse && is_zero(row, cell)) ||
            !name_labels(row, k, labels))
            continue;
        if (row->type == HISTOGRAM) {
            print_histogram(out, row, cell, labels);
            continue;
        }
        buffer_print(out, *labels ? "%s{%s}" : "%s%s", row->name, labels);
        print_value(out, sum_of(cell), row->divisor);
    }
}

static void look_around(void)
{
    struct host_process process;
    host_process("", &process);
    metrics_set(METRIC_PROCESS_CPU, 0, process.cpu_ns);
    metrics_set(METRIC_PROCESS_RESIDENT, 0, process.resident_bytes);
    metrics_set(METRIC_PROCESS_VIRTUAL, 0, process.virtual_bytes);
    metrics_set(METRIC_PROCESS_START, 0, process.start_ms);
    metrics_set(METRIC_PROCESS_OPEN_FDS, 0, process.open_descriptors);
    metrics_set(METRIC_PROCESS_MAX_FDS, 0, process.most_descriptors);
    metrics_set(METRIC_PROCESS_THREADS, 0, process.threads);
    metrics_set(METRIC_CPU_THROTTLED, 0, host_throttled_ns(""));
    metrics_set(METRIC_MEMORY_USED, 0, (int64_t)block_used_bytes());
    metrics_set(METRIC_MEMORY_CACHED, 0, (int64_t)block_cached_bytes());
    metrics_set(METRIC_LOG_DROPPED, 0, log_dropped());
}

enum buffer_status metrics_print(struct buffer *out)
{
    look_around();
    for (int m = 0; m < METRIC_COUNT; m++)
        print_row(out, (enum metric)m);
    return out->failed;
}
