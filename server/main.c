/* SPDX-License-Identifier: MIT */
/*
 * main - start-up and shutdown: two short lists.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
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

static void print_line(const char *text)
{
    fprintf(stderr, "attentiond: %s\n", text);
}

static int complain(int status, const char *error)
{
    if (config.log == CONFIG_LOG_JSON)
        log_event(LOG_ERROR, "end", "%s", error);
    else
        print_line(error);
    return status;
}

static void log_ignored(const char *text)
{
    log_event(LOG_WARNING, "settings", "%s", text);
}

static void check_config(void)
{
    config_tell_ignored(print_line);
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
    print_line(error);
    return EXIT_FAILED;
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

/* OpenBLAS takes an address range for each thread that is in it, and if it gets
 * none it tries for ever: so one that is limited is tried before. */
#define BLAS_RANGE_BYTES ((size_t)128 << 20)

/* Could so many threads have theirs? Where there is no limit, one is tried. */
static bool has_ranges(size_t n)
{
    struct rlimit limit = { .rlim_cur = RLIM_INFINITY };
    void *at;

    getrlimit(RLIMIT_AS, &limit);
    n = (limit.rlim_cur == RLIM_INFINITY ? 1 : n) * BLAS_RANGE_BYTES;
    at = mmap(NULL, n, PROT_READ | PROT_WRITE,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at != MAP_FAILED)
        munmap(at, n);
    return at != MAP_FAILED;
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) \
    && !defined(__clang__)
/* Some of its versions take ranges, one for each CPU, when they are loaded:
 * before main(), and before the constructors of a program. */
static void try_before_libraries(void)
{
    static const char said[] = "attentiond: cannot get 128 MiB of address "
        "space for each CPU, which OpenBLAS takes: raise its limit "
        "(ulimit -v)\n";

    if (has_ranges((size_t)sysconf(_SC_NPROCESSORS_ONLN) + 1))
        return;
    if (write(STDERR_FILENO, said, sizeof said - 1) > 0)
        _exit(EXIT_FAILED);
    _exit(EXIT_FAILED);
}

__attribute__((section(".preinit_array"), used))
static void (*const before_libraries)(void) = try_before_libraries;
#endif

static bool has_address_space(char *error, size_t size)
{
    size_t lanes = (size_t)threads.threads + (size_t)config.io_threads;

    snprintf(error, size, "cannot get %zu MiB of address space for %zu "
             "threads: raise its limit (ulimit -v), or lower --threads and "
             "--io-threads", lanes * BLAS_RANGE_BYTES >> 20, lanes);
    return has_ranges(lanes);
}

/* 0, or an exit status. While signals still end the process: nobody reads them
 * yet. */
static int start_engine(char *error, size_t size)
{
    host_threads("", (int)config.threads, REQUEST_LANES_MAX, &threads);
    if (!has_address_space(error, size))
        _exit(complain(EXIT_FAILED, error));    /* exit() waits for OpenBLAS */
    engine = attn_init((enum attn_engine)config.engine);
    if (engine_warning() != NULL)
        log_event(LOG_ERROR, "engine", "%s", engine_warning());
    return 0;
}

static void start_computing(void)
{
    queue_open(config.queue, threads.threads, listen_resume);
    start_metrics();
}

/* As text it is for who waits for just these words. */
static void tell_where(const char *what, const char *url)
{
    if (config.log == CONFIG_LOG_JSON)
        log_event(LOG_INFO, "listen", "%s on %s", what, url);
    else
        fprintf(stderr, "%s on %s\n", what, url);
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
    if (compute_budget() == 0)
        log_event(LOG_WARNING, "memory", "how much memory there is cannot be "
                  "read (/proc/meminfo): no limit; set --memory-bytes");
    if (listen_admin_url()[0] != '\0')
        tell_where("health and metrics", listen_admin_url());
    tell_where("listening", listen_url());
    return 0;
}

/* The next file to be opened would be 0, 1 or 2, and read or written as if it
 * were what those are. */
static void fill_standard_files(void)
{
    int fd;

    do
        fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
}

/* 0, or an exit status with one line in `error`. */
static int start(char *error, size_t size)
{
    int status = start_engine(error, size);

    if (status != 0)
        return status;
    snprintf(error, size, "out of descriptors");
    if (!watch_open())
        return EXIT_FAILED;
    compute_set_budget(memory_budget());
    status = listen_open(error, size);
    if (status != 0)
        return status;
    config_tell_ignored(log_ignored);
    start_computing();
    return start_serving(error, size);
}

int main(int argc, char **argv)
{
    char error[512];
    int status;

    fill_standard_files();
    status = config_load(argc, argv, error, sizeof error);
    if (status != 0)
        return complain(status, error);
    status = answer_at_once();
    if (status >= 0)
        return status;
    status = start(error, sizeof error);
    if (status != 0)
        return complain(status, error);
    status = watch_serve();
    listen_stop();
    work_stop();
    return status;
}
