/* SPDX-License-Identifier: MIT */
/*
 * config - every setting is one row of one table: flag, variable, default,
 * bounds, unit, help. The table yields parsing (flag over environment over
 * default), --help, --print-config, /info and docs/options.md.
 * Constant after start. Knows no room.
 */
#ifndef CONFIG_H
#define CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Exit statuses of the daemon. */
enum { EXIT_DRAINED = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_PORT = 3 };

enum config_log { CONFIG_LOG_LOGFMT, CONFIG_LOG_JSON, CONFIG_LOG_NONE };

struct config {
    const char *host;               /* --host 127.0.0.1 */
    int64_t port;                   /* --port 8080; 0: any, printed */
    int64_t admin_port;             /* --admin-port -1: none */
    int64_t threads;                /* --threads 0: from the host */
    int64_t io_threads;             /* --io-threads 2 */
    int64_t body_bytes;             /* --body-bytes 1 GiB */
    int64_t elements;               /* --elements 2^30 */
    double operations;              /* --operations 1e15 */
    int64_t memory_bytes;           /* --memory-bytes 0: half of the host */
    int64_t queue;                  /* --queue 256 requests with work */
    int64_t connections;            /* --connections 0: from memory */
    int64_t connections_per_address;/* 0: no limit */
    double timeout_s;               /* --timeout 300: a request's deadline */
    double idle_timeout_s;          /* --idle-timeout 120: kept, no request */
    double header_timeout_s;        /* --header-timeout 10 */
    double upload_timeout_s;        /* --upload-timeout 60 */
    int64_t min_rate_bytes;         /* --min-rate 1024 a second; 0: none */
    double min_rate_after_s;        /* --min-rate-after 5 */
    double rate;                    /* --rate 0: requests a second an address
                                       may make; 0: no limit */
    const char *trusted_proxy;      /* --trusted-proxy none: CIDR,CIDR */
    double drain_delay_s;           /* --drain-delay 0 */
    double drain_timeout_s;         /* --drain-timeout 25 */
    double inline_us;               /* --inline-us 200: cheaper requests run
                                       on their I/O thread */
    int engine;                     /* --engine: an enum attn_engine */
    double trim_after_s;            /* --trim-after 3 */
    int log;                        /* --log: an enum config_log */
    bool log_probes;                /* --log-probes */
    /* what was asked for instead of serving */
    bool want_help, want_version, want_print, want_options_doc;
    bool want_healthcheck, want_check;
};

extern struct config config;    /* written by config_load() alone */

/* Reads defaults, flags, and ATTENTIOND_* variables where no flag is. 0, or
 * EXIT_USAGE with one clear line in `error`. */
int config_load(int argc, char **argv, char *error, size_t size);

/* One line for each variable ATTENTIOND_* that is no setting. */
void config_tell_ignored(void (*tell)(const char *text));

void config_print_help(FILE *out);
void config_print(FILE *out);         /* --print-config: flag = value (from) */
void config_print_options_doc(FILE *out); /* docs/options.md */

#endif
