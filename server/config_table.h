/* SPDX-License-Identifier: MIT */
/*
 * config_table - one row for each setting. A row's default is text and read
 * by the same function as a flag's value, so all ways in obey the same
 * bounds. For the files of config alone.
 */
#ifndef CONFIG_TABLE_H
#define CONFIG_TABLE_H

#include "config.h"

enum config_kind {
    TEXT, NETWORKS, WHOLE, BYTES, NUMBER, SECONDS, SWITCH, CHOICE, ACTION
};

struct config_row {
    const char *group;        /* NULL: that of the row above */
    const char *flag;
    enum config_kind kind;
    void *at;                 /* in config; its type is by kind */
    const char *fallback;     /* the default, as one would write it */
    double low, high;
    const char *unit;         /* as --help shows the value; of a CHOICE its
                                 words, "a|b": its value is an int, the place
                                 of the word */
    const char *help;
};

/* ACTION rows are last. The compiler refuses another number of rows. */
#define CONFIG_ROWS 33
extern const struct config_row *const config_table;

enum config_source { FROM_DEFAULT, FROM_ENVIRONMENT, FROM_PORT, FROM_FLAG };
extern enum config_source config_from[CONFIG_ROWS];

#define CONFIG_RULE_MAX 160
#define CONFIG_VARIABLE_MAX 64

/* "a whole number from 0 to 65535": constant, or printed into room. */
const char *config_rule(const struct config_row *row,
                        char room[CONFIG_RULE_MAX]);

/* The n-th word of a CHOICE and its length; NULL: there are not so many. */
const char *config_word(const struct config_row *row, int n, size_t *length);

/* Is the number within the row's bounds? A default of 0, which stands for
 * something else, may be below them. */
bool config_allows(const struct config_row *row, double value);

/* "io-threads" -> "ATTENTIOND_IO_THREADS" */
const char *config_variable(const struct config_row *row,
                            char room[CONFIG_VARIABLE_MAX]);

/* Is ATTENTIOND_..., of n bytes, with this value what Kubernetes tells of a
 * Service, and no setting? */
bool config_is_link(const char *name, size_t n, const char *value);

#endif
