/* SPDX-License-Identifier: MIT */
/*
 * config_table - see config_table.h. A new setting is one row here and one
 * field in config.h.
 */
#include "config_table.h"

#include <math.h>
#include <string.h>

#define GIB 1073741824.0

static const struct config_row table[] = {
    {"Where it listens", "host", TEXT, &config.host, "127.0.0.1", 0, 0,
     "ADDRESS", "address to listen on; 0.0.0.0 or :: for every one"},
    {NULL, "port", WHOLE, &config.port, "8080", 0, 65535, "PORT",
     "port; 0 takes any free one and prints it. Without flag and variable, "
     "$PORT counts too"},
    {NULL, "admin-port", WHOLE, &config.admin_port, "-1", -1, 65535, "PORT",
     "second port, for health and metrics only; -1: none"},
    {"Threads", "threads", WHOLE, &config.threads, "0", 0, 64, "N",
     "threads that compute; 0: by CPU affinity and quota"},
    {NULL, "io-threads", WHOLE, &config.io_threads, "2", 1, 64, "N",
     "threads that read, write and run small requests"},
    {NULL, "inline-us", NUMBER, &config.inline_us, "200", 0, 1e6,
     "MICROSECONDS",
     "requests estimated below this run on the thread that read them"},
    {NULL, "engine", CHOICE, &config.engine, "auto", 0, 0,
     "auto|native|openblas",   /* by enum attn_engine */
     "what multiplies queries, keys and values: native kernels, openblas, or "
     "auto: native where this CPU has tuned ones"},
    {"Limits of one request", "body-bytes", BYTES, &config.body_bytes, "1GiB",
     1, 1024 * GIB, "BYTES", "largest body, unpacked"},
    {NULL, "elements", BYTES, &config.elements, "1Gi", 1, 1024 * GIB, "N",
     "most numbers in request and reply together"},
    {NULL, "operations", NUMBER, &config.operations, "1e15", 1, 1e30, "N",
     "most work: 2 B H n_q n_k (d_k + d_v)"},
    {NULL, "timeout", SECONDS, &config.timeout_s, "300", 0.001, 86400,
     "SECONDS",
     "deadline of a request, from the end of its body; Request-Timeout, from "
     "its headers, may be earlier"},
    {"Limits of the whole", "memory-bytes", BYTES, &config.memory_bytes, "0",
     1048576, 1e6 * GIB, "BYTES",
     "memory of all requests in hand and of connections, 64 KiB each; 0: "
     "half of the machine's or container's"},
    {NULL, "queue", WHOLE, &config.queue, "256", 1, 1000000, "N",
     "requests that may wait or work at a time"},
    {NULL, "connections", WHOLE, &config.connections, "0", 0, 1000000, "N",
     "connections that are served; above it the longest idle one is closed, "
     "and if none is, only health is answered; 0: as many as take two thirds "
     "of --memory-bytes, if descriptors allow"},
    {NULL, "connections-per-address", WHOLE, &config.connections_per_address,
     "0", 0, 1000000, "N",
     "open connections of one address (of IPv6: of its /64); 0: no limit"},
    {NULL, "rate", NUMBER, &config.rate, "0", 1e-6, 1e9, "N",
     "requests a second of one address (of IPv6: of its /64); 0: no limit"},
    {NULL, "trusted-proxy", NETWORKS, &config.trusted_proxy, "none", 0, 0,
     "CIDR,CIDR", "proxies whose X-Forwarded-For tells the client's address, "
     "for log and --rate; --connections-per-address does not count them"},
    {NULL, "trim-after", SECONDS, &config.trim_after_s, "3", 0, 86400,
     "SECONDS", "rest after which unused memory goes back to the system"},
    {"Slow and silent peers", "idle-timeout", SECONDS, &config.idle_timeout_s,
     "120", 1, 86400, "SECONDS",
     "a kept connection without a request is closed; longer than a proxy's"},
    {NULL, "header-timeout", SECONDS, &config.header_timeout_s, "10", 0.1,
     3600, "SECONDS", "time for the headers of a request"},
    {NULL, "upload-timeout", SECONDS, &config.upload_timeout_s, "60", 0.1,
     86400, "SECONDS", "time for a body; for what came of it as long as that "
     "takes at 256 KiB a second, if that is longer"},
    {NULL, "min-rate", BYTES, &config.min_rate_bytes, "1024", 0, GIB, "BYTES",
     "least bytes a second of an upload or a reader; 0: any within "
     "--idle-timeout"},
    {NULL, "min-rate-after", SECONDS, &config.min_rate_after_s, "5", 0.1,
     3600, "SECONDS", "time over which min-rate is measured; for a reader "
     "that of 128 KiB at least"},
    {"Shutdown", "drain-delay", SECONDS, &config.drain_delay_s, "0", 0, 3600,
     "SECONDS",
     "after SIGTERM: how long to be unready but accept still; 5 behind a "
     "balancer"},
    {NULL, "drain-timeout", SECONDS, &config.drain_timeout_s, "25", 0, 86400,
     "SECONDS", "after that: time for the requests in hand"},
    {"Log", "log", CHOICE, &config.log, "logfmt", 0, 0,
     "logfmt|json|none",   /* by enum config_log */
     "a line for each request"},
    {NULL, "log-probes", SWITCH, &config.log_probes, "false", 0, 0, NULL,
     "log health checks and metrics too"},
    {"Instead of serving", "help", ACTION, &config.want_help, "", 0, 0, NULL,
     "print this"},
    {NULL, "version", ACTION, &config.want_version, "", 0, 0, NULL,
     "print the version"},
    {NULL, "print-config", ACTION, &config.want_print, "", 0, 0, NULL,
     "print every setting and where it comes from"},
    {NULL, "print-options-doc", ACTION, &config.want_options_doc, "", 0, 0,
     NULL, "print docs/options.md"},
    {NULL, "check-config", ACTION, &config.want_check, "", 0, 0, NULL,
     "end with 0 if the settings are good, with 2 if not"},
    {NULL, "healthcheck", ACTION, &config.want_healthcheck, "", 0, 0, NULL,
     "ask the daemon on --host and --port for /readyz: end with 0 if it is "
     "ready, else with 1"},
};
const struct config_row *const config_table = table;
_Static_assert(sizeof table / sizeof *table == CONFIG_ROWS,
               "CONFIG_ROWS is the number of rows");

static void plain_number(double value, char out[32])
{
    snprintf(out, 32, fabs(value) < 1e15 ? "%.15g" : "%g", value);
}

const char *config_word(const struct config_row *s, int n, size_t *length)
{
    const char *word = s->unit;
    while (n-- > 0 && word)
        word = strchr(word, '|') ? strchr(word, '|') + 1 : NULL;
    *length = word ? strcspn(word, "|") : 0;
    return word;
}

/* "a|b|c" -> "a, b or c" */
static const char *words(const struct config_row *s, char out[CONFIG_RULE_MAX])
{
    const char *word;
    size_t n, at = 0;
    for (int i = 0; (word = config_word(s, i, &n)) != NULL; i++)
        at += (size_t)snprintf(out + at, CONFIG_RULE_MAX - at, "%s%.*s",
                               i == 0 ? "" : word[n] ? ", " : " or ", (int)n,
                               word);
    return out;
}

const char *config_rule(const struct config_row *s, char out[CONFIG_RULE_MAX])
{
    static const char *const what[] = {
        [WHOLE] = "a whole number",
        [BYTES] = "a whole number such as 1000, 64k or 2GiB,",
        [NUMBER] = "a number",
        [SECONDS] = "a time such as 2, 500ms or 1m,",
    };
    char low[32], high[32];
    switch (s->kind) {
    case TEXT:
        return "a value";
    case NETWORKS:
        return "addresses or networks such as 10.0.0.0/8,::1, or none";
    case SWITCH:
        return "true or false";
    case CHOICE:
        return words(s, out);
    default:
        plain_number(s->low, low);
        plain_number(s->high, high);
        snprintf(out, CONFIG_RULE_MAX, "%s from %s to %s%s%s", what[s->kind],
                 low, high, s->kind == SECONDS ? " seconds" : "",
                 s->low > 0 && config_allows(s, 0) ? ", or 0" : "");
        return out;
    }
}

bool config_allows(const struct config_row *s, double value)
{
    if (value == 0 && strcmp(s->fallback, "0") == 0)
        return true;
    return value >= s->low && value <= s->high;    /* NaN is not */
}

const char *config_variable(const struct config_row *s,
                            char out[CONFIG_VARIABLE_MAX])
{
    snprintf(out, CONFIG_VARIABLE_MAX, "ATTENTIOND_%s", s->flag);
    for (char *c = out; *c; c++) {
        if (*c == '-')
            *c = '_';
        else if (*c >= 'a' && *c <= 'z')
            *c = (char)(*c - 'a' + 'A');
    }
    return out;
}
