/* SPDX-License-Identifier: MIT */
/*
 * metrics_table - what is counted: one row for each metric, one set for each
 * label. Every row owns a run of cells: one for each combination of its
 * labels, times one for a counter or gauge, or times buckets + 2 for a
 * histogram (a count for each bucket, one for +Inf, and the sum). For the
 * files of metrics alone.
 */
#ifndef METRICS_TABLE_H
#define METRICS_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "metrics.h"

enum metrics_set {
    NO_SET, ROUTE, METHOD, CODE, PHASE, REASON, CANCELLED, SOURCE, BUILD,
    METRICS_SETS
};

#define METRICS_WORDS_MAX 64

struct metrics_labels {
    const char *name;              /* NULL: the words are whole labels */
    const char *word[METRICS_WORDS_MAX]; /* NULL: is not printed */
    int n;
};

extern struct metrics_labels metrics_set_of[METRICS_SETS];

/* Where `word` stands, or the last place, "other". */
int metrics_word(enum metrics_set set, const char *word);

#define METRICS_BUCKETS_MAX 22

struct metrics_buckets {
    int n;
    int64_t upto[METRICS_BUCKETS_MAX];
};

enum metrics_type { COUNTER, GAUGE, HISTOGRAM };

struct metrics_row {
    const char *name, *help;
    enum metrics_type type;
    enum metrics_set label[3];
    int64_t divisor;               /* a power of ten; 0: 1 */
    const struct metrics_buckets *buckets;
    bool sparse;                   /* print only what is not 0 */
};

#define METRICS_NS 1000000000

extern const struct metrics_row metrics_table[METRIC_COUNT];

/* Cells of one combination of labels, and how many combinations. */
int metrics_width(const struct metrics_row *row);
int metrics_combinations(const struct metrics_row *row);

/* First cell of every row; a cell's sum over all threads. */
extern int metrics_first_cell[METRIC_COUNT + 1];
int64_t metrics_cell(int cell);

#endif
