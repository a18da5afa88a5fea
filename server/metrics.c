/* SPDX-License-Identifier: MIT */
/*
 * metrics - see metrics.h. Each shard holds all cells of metrics_table.h; a
 * thread adds to its own, printing sums them up.
 */
#include "metrics.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "attention.h"
#include "metrics_table.h"
#include "problem.h"
#include "turn.h"

#define SHARDS 8
#define CELLS 6144
#define WASTE (METRICS_BUCKETS_MAX + 2)    /* for labels that do not exist */

static _Atomic int64_t cells[SHARDS][CELLS + WASTE];
int metrics_first_cell[METRIC_COUNT + 1];

/* ---------------------------------------------------------- the start */

static void fill(enum metrics_set set, const char *const *words, int n)
{
    struct metrics_labels *labels = &metrics_set_of[set];
    for (int i = 0; i < n && labels->n < METRICS_WORDS_MAX; i++)
        labels->word[labels->n++] = words[i];
}

static void describe_build(const struct metrics_start *start)
{
    static char labels[512];
    char blas[192], level[64];
    problem_escape(blas, sizeof blas, start->blas);
    problem_escape(level, sizeof level, start->cpu_level);
    snprintf(labels, sizeof labels,
             "version=\"%s\",engine=\"%s\",blas=\"%s\",cpu_level=\"%s\","
             "mhd=\"%s\",jansson=\"%s\"", ATTN_VERSION, start->engine, blas,
             level,
             start->http_library, start->json_library);
    metrics_set_of[BUILD].word[0] = labels;
}

void metrics_init(const struct metrics_start *start)
{
    static const char *const other = "other";
    fill(ROUTE, start->routes, start->n_routes);
    fill(ROUTE, &other, 1);
    fill(PHASE, start->steps, start->n_steps);
    for (int i = 0; i < PROBLEM_COUNT; i++)
        fill(REASON, &problem_row((enum problem)i)->code, 1);
    metrics_set_of[REASON].word[PROBLEM_NONE] = NULL;      /* never told */
    metrics_set_of[REASON].word[PROBLEM_CANCELLED] = NULL;
    describe_build(start);

    int cell = 0;
    for (int m = 0; m < METRIC_COUNT; m++) {
        const struct metrics_row *row = &metrics_table[m];
        metrics_first_cell[m] = cell;
        cell += metrics_combinations(row) * metrics_width(row);
    }
    metrics_first_cell[METRIC_COUNT] = cell;
    assert(cell <= CELLS);
    metrics_set(METRIC_THREADS, metrics_word(SOURCE, start->threads_source),
                start->threads);
    metrics_set(METRIC_BUILD_INFO, 0, 1);
}

/* ------------------------------------------------------------- adding */

static int cell_of(enum metric metric, int label)
{
    const struct metrics_row *row = &metrics_table[metric];
    bool exists = label >= 0 && label < metrics_combinations(row);
    return exists ? metrics_first_cell[metric] + label * metrics_width(row)
                  : CELLS;
}

static void add(int cell, int64_t amount)
{
    atomic_fetch_add_explicit(&cells[turn() % SHARDS][cell], amount,
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
    const struct metrics_buckets *buckets = metrics_table[metric].buckets;
    int first = cell_of(metric, label);
    int i = 0;
    while (i < buckets->n && value > buckets->upto[i])
        i++;
    add(first + i, 1);
    add(first + buckets->n + 1, value);
}

static int code_index(int status)
{
    const struct metrics_labels *codes = &metrics_set_of[CODE];
    int i = 0;
    while (i < codes->n - 1 && atoi(codes->word[i]) != status)
        i++;
    return i;
}

void metrics_request(const struct metrics_request *r)
{
    int label = r->route;
    label = label * metrics_set_of[METHOD].n + metrics_word(METHOD, r->method);
    label = label * metrics_set_of[CODE].n + code_index(r->status);
    metrics_add(METRIC_REQUESTS, label, 1);
    metrics_observe(METRIC_REQUEST_DURATION, r->route, r->duration_ns);
    metrics_observe(METRIC_REQUEST_SIZE, 0, r->bytes_in);
    metrics_observe(METRIC_RESPONSE_SIZE, 0, r->bytes_out);
    for (int i = 0; r->step_ns && i < metrics_set_of[PHASE].n; i++)
        if (r->step_ns[i] >= 0)
            metrics_observe(METRIC_PHASE_DURATION, i, r->step_ns[i]);
}

int64_t metrics_cell(int cell)
{
    int64_t sum = 0;
    for (int i = 0; i < SHARDS; i++)
        sum += atomic_load_explicit(&cells[i][cell], memory_order_relaxed);
    return sum;
}
