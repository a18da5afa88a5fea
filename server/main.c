/* SPDX-License-Identifier: MIT */
/*
 * main - start-up and shutdown: two short lists.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attention.h"
#include "compute.h"
#include "config.h"
#include "host.h"
#include "listen.h"
#include "log.h"
#include "metrics.h"
#include "queue.h"
#include "route.h"
#include "socket.h"
#include "watch.h"
#include "work.h"

const char *jansson_version_str(void);   /* its header has another door */

static struct host_threads threads;
static struct answer_facts facts;
static enum attn_engine engine;

static int complain(int status, const char *error)
{
    fprintf(stderr, "attentiond: %s\n", error);
    return status;
}

static void print_ignored(const char *text)
{
    fprintf(stderr, "attentiond: %s\n", text);
}

static void log_ignored(const char *text)
{
    log_event(LOG_WARNING, "settings", "%s", text);
}

static void check_config(void)
{
    config_tell_ignored(print_ignored);
    printf("the settings are good: host %s, port %lld\n", config.host,
           (long long)config.port);
}

/* A service that listens on every address has this one, too. */
static const char *own_address(void)
{
    if (strcmp(config.host, "0.0.0.0") == 0)
        return "127.0.0.1";
    return strcmp(config.host, "::") == 0 ? "::1" : config.host;
}

static int check_health(void)
{
    char error[512];

    if (socket_ask(own_address(), (int)config.port, "/readyz", 900, error,
                   sizeof error) == 200)
        return EXIT_DRAINED;
    return complain(EXIT_FAILED, error);
}

/* What was asked for instead of serving; -1: nothing. */
static int answer_at_once(void)
{
    if (config.want_help)
        config_print_help(stdout);
    else if (config.want_version)
        puts("attentiond " ATTN_VERSION);
    else if (config.want_print)
        config_print(stdout);
    else if (config.want_options_doc)
        config_print_options_doc(stdout);
    else if (config.want_healthcheck)
        return check_health();
    else if (config.want_check)
        check_config();
    else
        return -1;
    return EXIT_DRAINED;
}

static size_t memory_budget(void)
{
    int64_t host = host_memory_bytes("");

    return (size_t)(config.memory_bytes > 0 ? config.memory_bytes : host / 2);
}

/* NULL: both engines passed. */
static const char *engine_warning(void)
{
    bool native = attn_engine_failed(ATTN_ENGINE_NATIVE);
    bool openblas = attn_engine_failed(ATTN_ENGINE_OPENBLAS);

    if (native && openblas)
        return "Both engines failed their self-test: the plain formula is "
               "used, which is right and very slow.";
    if (native)
        return "The native kernels failed their self-test: OpenBLAS is used.";
    if (openblas)
        return "OpenBLAS failed its self-test: the native kernels are used.";
    return NULL;
}

static void gather_facts(void)
{
    facts = (struct answer_facts){
        .threads = work_lanes(), .io_threads = (int)config.io_threads,
        .threads_source = threads.source, .threads_reason = threads.reason,
        .engine = attn_engine_name(engine), .warning = engine_warning(),
        .blas = attn_blas_name(), .cpu_level = attn_cpu_level(),
        .http_library = listen_library(),
        .json_library = jansson_version_str(),
        .memory_budget_bytes = (int64_t)compute_budget(),
        .connections = listen_limit(),
    };
    route_facts(&facts);
}

static void start_metrics(void)
{
    struct metrics_start start = {
        .steps = step_name, .n_steps = STEP_COUNT,
        .threads_source = threads.source, .threads = threads.threads,
        .engine = attn_engine_name(engine),
        .blas = attn_blas_name(), .cpu_level = attn_cpu_level(),
        .http_library = listen_library(),
        .json_library = jansson_version_str(),
    };

    start.routes = route_paths(&start.n_routes);
    metrics_init(&start);
    metrics_set(METRIC_QUEUE_LIMIT, 0, config.queue);
    metrics_set(METRIC_MEMORY_BUDGET, 0, (int64_t)compute_budget());
}

static void start_computing(void)
{
    engine = attn_init((enum attn_engine)config.engine);
    if (engine_warning() != NULL)
        log_event(LOG_ERROR, "engine", "%s", engine_warning());
    host_threads("", (int)config.threads, REQUEST_LANES_MAX, &threads);
    compute_set_budget(memory_budget());
    queue_open(config.queue, threads.threads, listen_resume);
    start_metrics();
}

/* 0, or an exit status with one line in `error`. */
static int start_serving(char *error, size_t size)
{
    int status;

    if (work_start(threads.threads) != 0 && work_lanes() == 0) {
        snprintf(error, size, "cannot start a single worker thread");
        return EXIT_FAILED;
    }
    gather_facts();
    status = listen_start(error, size);
    if (status != 0)
        return status;
    log_event(LOG_INFO, "start", "attentiond " ATTN_VERSION ", %s, engine "
              "%s, %s, %s", threads.reason, attn_engine_name(engine),
              attn_blas_name(), attn_cpu_level());
    if (listen_admin_url()[0] != '\0')
        fprintf(stderr, "health and metrics on %s\n", listen_admin_url());
    fprintf(stderr, "listening on %s\n", listen_url());
    return 0;
}

int main(int argc, char **argv)
{
    char error[512] = "out of descriptors";
    int status = config_load(argc, argv, error, sizeof error);

    if (status != 0)
        return complain(status, error);
    status = answer_at_once();
    if (status >= 0)
        return status;
    if (!watch_open())
        return complain(EXIT_FAILED, error);
    status = listen_open(error, sizeof error);
    if (status != 0)
        return complain(status, error);
    config_tell_ignored(log_ignored);
    start_computing();
    status = start_serving(error, sizeof error);
    if (status != 0)
        return complain(status, error);
    status = watch_serve();
    listen_stop();
    work_stop();
    return status;
}
