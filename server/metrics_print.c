/* SPDX-License-Identifier: MIT */
/*
 * metrics_print - the table and its cells as Prometheus' text, version 0.0.4.
 */
#include <stdio.h>

#include "arena.h"
#include "host.h"
#include "log.h"
#include "metrics_table.h"

/* route="/attention",code="200" of combination k; false if it has none. */
static bool name_labels(const struct metrics_row *row, int k, char text[512])
{
    char part[3][512] = {"", "", ""};
    for (int i = 2; i >= 0; i--) {
        const struct metrics_labels *set = &metrics_set_of[row->label[i]];
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
    int digits = divisor == METRICS_NS ? 9 : divisor == 1000 ? 3 : 0;
    if (digits == 0)
        buffer_print(out, " %lld\n", (long long)value);
    else
        buffer_print(out, " %lld.%0*lld\n", (long long)(value / divisor),
                     digits, (long long)(value % divisor));
}

static void print_histogram(struct buffer *out, const struct metrics_row *row,
                            int cell, const char *labels)
{
    const struct metrics_buckets *buckets = row->buckets;
    const char *comma = *labels ? "," : "";
    const char *open = *labels ? "{" : "", *close = *labels ? "}" : "";
    double divisor = row->divisor ? (double)row->divisor : 1;
    int64_t count = 0;
    for (int i = 0; i <= buckets->n; i++) {
        char upto[32] = "+Inf";
        if (i < buckets->n)
            snprintf(upto, sizeof upto, "%.10g",
                     (double)buckets->upto[i] / divisor);
        count += metrics_cell(cell + i);
        buffer_print(out, "%s_bucket{%s%sle=\"%s\"} %lld\n", row->name,
                     labels, comma, upto, (long long)count);
    }
    buffer_print(out, "%s_sum%s%s%s", row->name, open, labels, close);
    print_value(out, metrics_cell(cell + buckets->n + 1), row->divisor);
    buffer_print(out, "%s_count%s%s%s %lld\n", row->name, open, labels, close,
                 (long long)count);
}

static bool is_zero(const struct metrics_row *row, int cell)
{
    for (int i = 0; i < metrics_width(row); i++)
        if (metrics_cell(cell + i) != 0)
            return false;
    return true;
}

static void print_row(struct buffer *out, enum metric metric)
{
    static const char *const types[] = {"counter", "gauge", "histogram"};
    const struct metrics_row *row = &metrics_table[metric];
    buffer_print(out, "# HELP %s %s\n# TYPE %s %s\n", row->name, row->help,
                 row->name, types[row->type]);
    for (int k = 0; k < metrics_combinations(row); k++) {
        char labels[512];
        int cell = metrics_first_cell[metric] + k * metrics_width(row);
        if ((row->sparse && is_zero(row, cell)) ||
            !name_labels(row, k, labels))
            continue;
        if (row->type == HISTOGRAM) {
            print_histogram(out, row, cell, labels);
            continue;
        }
        buffer_print(out, *labels ? "%s{%s}" : "%s%s", row->name, labels);
        print_value(out, metrics_cell(cell), row->divisor);
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
