/* SPDX-License-Identifier: MIT */
/*
 * metrics - counters, gauges and histograms from one table, in Prometheus'
 * text format. All numbers are int64_t in fine units (ns, ms, bytes); the
 * table says by what they are divided when printed. Adding takes a few
 * nanoseconds: no lock, one relaxed atomic add in the caller's own shard.
 * Label values come from closed sets, given once at the start.
 * Knows no room.
 */
#ifndef METRICS_H
#define METRICS_H

#include <stdint.h>

#include "buffer.h"

enum metric {
    /* requests: through metrics_request() */
    METRIC_REQUESTS,
    METRIC_REQUEST_DURATION,
    METRIC_REQUEST_SIZE,
    METRIC_RESPONSE_SIZE,
    METRIC_PHASE_DURATION,
    /* load */
    METRIC_CONNECTIONS,         /* gauge, add +1 and -1 */
    METRIC_INFLIGHT,            /* gauge, add +1 and -1 */
    METRIC_QUEUE_DEPTH,         /* gauge, add +1 and -1 */
    METRIC_QUEUE_LIMIT,         /* gauge, set at the start */
    METRIC_QUEUE_WAIT,          /* ns */
    METRIC_REJECTED,            /* label: enum problem */
    METRIC_CANCELLED,           /* label: enum metrics_cancelled */
    METRIC_DRAINING,            /* gauge, 0 or 1 */
    /* work */
    METRIC_SEQUENCE_LENGTH,     /* n_k */
    METRIC_OPERATIONS,          /* of the plans that were run */
    METRIC_FULLY_MASKED_ROWS,
    METRIC_THREADS,             /* gauge; set by metrics_init() */
    METRIC_BUILD_INFO,          /* gauge; set by metrics_init() */
    /* memory and process: set by metrics_print() itself */
    METRIC_MEMORY_USED,
    METRIC_MEMORY_CACHED,
    METRIC_MEMORY_BUDGET,       /* gauge, set at the start */
    METRIC_CPU_THROTTLED,
    METRIC_LOG_DROPPED,
    METRIC_PROCESS_CPU,
    METRIC_PROCESS_RESIDENT,
    METRIC_PROCESS_VIRTUAL,
    METRIC_PROCESS_START,
    METRIC_PROCESS_OPEN_FDS,
    METRIC_PROCESS_MAX_FDS,
    METRIC_PROCESS_THREADS,
    METRIC_COUNT
};

enum metrics_cancelled {
    METRICS_GONE_IN_UPLOAD,     /* the client left */
    METRICS_GONE_IN_QUEUE,
    METRICS_GONE_IN_WORK,
    METRICS_GONE_IN_REPLY,
    METRICS_CUT_BY_DEADLINE,
    METRICS_CUT_BY_DRAIN,
    METRICS_CANCELLED_COUNT
};

/* The closed sets. What they point to must stay. At most 24 routes and 8
 * steps; route n_routes is "other", for what matched none. */
struct metrics_start {
    const char *const *routes;
    int n_routes;
    const char *const *steps;
    int n_steps;
    const char *threads_source;
    int threads;
    const char *engine, *blas, *cpu_level;
    const char *http_library, *json_library;   /* versions */
};

/* Once, before all others. */
void metrics_init(const struct metrics_start *start);

/* Any thread, any time. label: index into the set; 0 where there is none. */
void metrics_add(enum metric metric, int label, int64_t amount);
void metrics_set(enum metric metric, int label, int64_t value);
void metrics_observe(enum metric metric, int label, int64_t value);

/* One answered request in all its metrics. */
struct metrics_request {
    int route;                  /* index, or n_routes */
    const char *method;
    int status;
    int64_t duration_ns, bytes_in, bytes_out;
    const int64_t *step_ns;     /* n_steps of them, or NULL; < 0: none */
};
void metrics_request(const struct metrics_request *r);

/* The whole text. */
enum buffer_status metrics_print(struct buffer *out);

#endif
