/* SPDX-License-Identifier: MIT */
/*
 * config - see config.h. A row's default is text and read by the same
 * function as a flag's value, so all three ways in obey the same bounds.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "attention.h"
#include "problem.h"

struct config config;

enum kind { TEXT, WHOLE, BYTES, NUMBER, SECONDS, SWITCH, CHOICE, ACTION };

struct setting {
    const char *group;        /* NULL: that of the row above */
    const char *flag;
    enum kind kind;
    void *at;
    const char *fallback;     /* default, as one would write it */
    double low, high;
    const char *unit;         /* in --help, and what is counted */
    const char *help;
};

static const char *const log_words[] = {"logfmt", "json", "none"};

#define GIB 1073741824.0

static const struct setting table[] = {
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
    {NULL, "inline-us", NUMBER, &config.inline_us, "100", 0, 1e6,
     "MICROSECONDS",
     "requests estimated below this run on the thread that read them"},
    {"Limits of one request", "body-bytes", BYTES, &config.body_bytes, "1GiB",
     1, 1024 * GIB, "BYTES", "largest body, unpacked"},
    {NULL, "elements", BYTES, &config.elements, "1Gi", 1, 1024 * GIB, "N",
     "most numbers in request and reply together"},
    {NULL, "operations", NUMBER, &config.operations, "1e15", 1, 1e30, "N",
     "most work: 2 B H n_q n_k (d_k + d_v)"},
    {NULL, "timeout", SECONDS, &config.timeout_s, "300", 0.001, 86400,
     "SECONDS", "deadline of a request, from its first byte to its reply"},
    {"Limits of the whole", "memory-bytes", BYTES, &config.memory_bytes, "0",
     0, 1e6 * GIB, "BYTES",
     "memory of all requests in hand; 0: half of the machine's or "
     "container's"},
    {NULL, "queue", WHOLE, &config.queue, "256", 1, 1000000, "N",
     "requests that may wait or work at a time"},
    {NULL, "connections", WHOLE, &config.connections, "0", 0, 1000000, "N",
     "open connections; 0: as many as descriptors allow"},
    {NULL, "connections-per-address", WHOLE, &config.connections_per_address,
     "0", 0, 1000000, "N", "open connections of one address; 0: no limit"},
    {NULL, "rate", NUMBER, &config.rate, "0", 0, 1e9, "N",
     "requests a second of one address; 0: no limit"},
    {NULL, "trim-after", SECONDS, &config.trim_after_s, "3", 0, 86400,
     "SECONDS", "rest after which unused memory goes back to the system"},
    {"Slow and silent peers", "idle-timeout", SECONDS, &config.idle_timeout_s,
     "120", 1, 86400, "SECONDS",
     "a kept connection without a request is closed; longer than a proxy's"},
    {NULL, "header-timeout", SECONDS, &config.header_timeout_s, "10", 0.1,
     3600, "SECONDS", "time for the headers of a request"},
    {NULL, "min-rate", BYTES, &config.min_rate_bytes, "1024", 0, GIB, "BYTES",
     "least bytes a second of an upload or a reader; 0: any"},
    {NULL, "min-rate-after", SECONDS, &config.min_rate_after_s, "5", 0.1,
     3600, "SECONDS", "from when on min-rate counts"},
    {"Shutdown", "drain-delay", SECONDS, &config.drain_delay_s, "0", 0, 3600,
     "SECONDS",
     "after SIGTERM: how long to be unready but accept still; 5 behind a "
     "balancer"},
    {NULL, "drain-timeout", SECONDS, &config.drain_timeout_s, "25", 0, 86400,
     "SECONDS", "after that: time for the requests in hand"},
    {"Log", "log", CHOICE, &config.log, "logfmt", 0, 0, "FORM",
     "a line for each request: logfmt, json or none"},
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
     "ask the daemon on --port for /readyz: end with 0 if it is ready, "
     "else with 1"},
};

#define ROWS (sizeof table / sizeof table[0])

enum source { FROM_DEFAULT, FROM_ENVIRONMENT, FROM_PORT, FROM_FLAG };
static enum source from[ROWS];

/* ------------------------------------------------- text -> value */

/* "64MiB" -> factor 2^20: k M G T are powers of 1000, ki Mi Gi Ti of 1024,
 * a B behind them is decoration. 0: no such unit. */
static double bytes_factor(const char *unit)
{
    static const char letters[] = "kMGT";
    double factor = 1;
    const char *letter = *unit ? strchr(letters, *unit) : NULL;
    if (*unit == 'K')
        letter = letters;
    if (letter) {
        unit++;
        double base = *unit == 'i' ? 1024 : 1000;
        unit += *unit == 'i';
        factor = pow(base, (double)(letter - letters + 1));
    }
    unit += *unit == 'B';
    return *unit ? 0 : factor;
}

static double seconds_factor(const char *unit)
{
    static const struct { const char *unit; double factor; } units[] = {
        {"", 1}, {"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"m", 60}, {"h", 3600}};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strcmp(unit, units[i].unit) == 0)
            return units[i].factor;
    return 0;
}

static bool read_number(const struct setting *s, const char *text)
{
    char *unit;
    double value = strtod(text, &unit);
    if (unit == text || strspn(text, " \t\n") > 0 || !isfinite(value))
        return false;
    if (s->kind == BYTES)
        value *= bytes_factor(unit) > 0 ? bytes_factor(unit) : NAN;
    else if (s->kind == SECONDS)
        value *= seconds_factor(unit) > 0 ? seconds_factor(unit) : NAN;
    else if (*unit)
        return false;
    if (!(value >= s->low && value <= s->high))
        return false;
    if (s->kind == NUMBER || s->kind == SECONDS) {
        *(double *)s->at = value;
        return true;
    }
    if (value != floor(value))
        return false;
    *(int64_t *)s->at = (int64_t)value;
    return true;
}

static bool read_switch(const struct setting *s, const char *text)
{
    static const char *const words[] = {"false", "true", "no", "yes", "off",
                                        "on",    "0",    "1"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcasecmp(text, words[i]) == 0) {
            *(bool *)s->at = i % 2 == 1;
            return true;
        }
    }
    return false;
}

static bool read_choice(const struct setting *s, const char *text)
{
    for (size_t i = 0; i < sizeof log_words / sizeof log_words[0]; i++) {
        if (strcmp(text, log_words[i]) == 0) {
            *(enum config_log *)s->at = (enum config_log)i;
            return true;
        }
    }
    return false;
}

static bool read_value(const struct setting *s, const char *text)
{
    switch (s->kind) {
    case TEXT:
        *(const char **)s->at = text;
        return *text != '\0';
    case SWITCH:
        return read_switch(s, text);
    case CHOICE:
        return read_choice(s, text);
    case ACTION:
        *(bool *)s->at = true;
        return true;
    default:
        return read_number(s, text);
    }
}

/* ------------------------------------------------- words about a row */

static void plain_number(double value, char out[32])
{
    snprintf(out, 32, fabs(value) < 1e15 ? "%.15g" : "%g", value);
}

/* "a whole number from 0 to 65535" */
static const char *rule(const struct setting *s, char out[160])
{
    static const char *const what[] = {
        [WHOLE] = "a whole number",
        [BYTES] = "a whole number such as 1000, 64k or 2GiB",
        [NUMBER] = "a number",
        [SECONDS] = "a time such as 2, 500ms or 1m",
    };
    char low[32], high[32];
    switch (s->kind) {
    case TEXT:
        return "a value";
    case SWITCH:
        return "true or false";
    case CHOICE:
        return "logfmt, json or none";
    default:
        plain_number(s->low, low);
        plain_number(s->high, high);
        snprintf(out, 160, "%s from %s to %s%s", what[s->kind], low, high,
                 s->kind == SECONDS ? " seconds" : "");
        return out;
    }
}

/* "io-threads" -> "ATTENTIOND_IO_THREADS" */
static const char *variable(const struct setting *s, char out[64])
{
    snprintf(out, 64, "ATTENTIOND_%s", s->flag);
    for (char *c = out; *c; c++) {
        if (*c == '-')
            *c = '_';
        else if (*c >= 'a' && *c <= 'z')
            *c = (char)(*c - 'a' + 'A');
    }
    return out;
}

/* ------------------------------------------------- the three ways in */

static int refuse(char *error, size_t size, const struct setting *s,
                  const char *name, const char *text)
{
    char room[160];
    if (s->kind == ACTION)
        snprintf(error, size, "%s takes no value", name);
    else
        snprintf(error, size, "%s: \"%.80s\" is not %s", name, text,
                 rule(s, room));
    return EXIT_USAGE;
}

/* An empty variable is none. Kubernetes gives every container ATTENTIOND_PORT=tcp://10.0.0.1:80 when a
 * Service is called attentiond. That is no setting of ours. */
static const char *from_environment(const struct setting *s, size_t row,
                                    char name[64])
{
    bool port = s->at == &config.port;
    const char *text = getenv(variable(s, name));
    if (text && *text && !(port && strncmp(text, "tcp://", 6) == 0)) {
        from[row] = FROM_ENVIRONMENT;
        return text;
    }
    text = port ? getenv("PORT") : NULL;
    if (!text || !*text)
        return NULL;
    from[row] = FROM_PORT;
    snprintf(name, 64, "PORT");
    return text;
}

static int load_environment(char *error, size_t size)
{
    for (size_t i = 0; i < ROWS; i++) {
        char name[64];
        if (table[i].kind == ACTION)
            continue;
        const char *text = from_environment(&table[i], i, name);
        if (text && !read_value(&table[i], text))
            return refuse(error, size, &table[i], name, text);
    }
    return 0;
}

static int refuse_unknown(char *error, size_t size, const char *argument,
                          const char *word, size_t length)
{
    const char *names[ROWS];
    for (size_t i = 0; i < ROWS; i++)
        names[i] = table[i].flag;
    const char *near = problem_nearest(word, length, names, ROWS);
    int n = (int)(length < 80 ? length : 80) + (int)(word - argument);
    snprintf(error, size, "%.*s is unknown%s%s%s", n, argument,
             near ? ": did you mean --" : "; --help lists the flags",
             near ? near : "", near ? "?" : "");
    return EXIT_USAGE;
}

static size_t find(const char *word, size_t length)
{
    size_t i = 0;
    while (i < ROWS && (strlen(table[i].flag) != length ||
                        memcmp(table[i].flag, word, length) != 0))
        i++;
    return i;
}

/* One flag at argv[*at], with its value there or in the next argument. */
static int load_flag(char **argv, int *at, char *error, size_t size)
{
    const char *argument = argv[*at];
    if (strcmp(argument, "-h") == 0)
        argument = "--help";
    if (strcmp(argument, "-V") == 0)
        argument = "--version";
    if (strncmp(argument, "--", 2) != 0) {
        snprintf(error, size, "\"%.80s\" is no flag; --help lists them",
                 argument);
        return EXIT_USAGE;
    }

    const char *word = argument + 2;
    size_t length = strcspn(word, "=");
    size_t row = find(word, length);
    if (row == ROWS)
        return refuse_unknown(error, size, argument, word, length);

    const struct setting *s = &table[row];
    char name[64];
    snprintf(name, sizeof name, "--%s", s->flag);
    const char *text = word[length] == '=' ? word + length + 1 : NULL;
    if (s->kind == ACTION && text)
        return refuse(error, size, s, name, text);
    if (s->kind == ACTION || (s->kind == SWITCH && !text))
        text = "true";
    if (!text && !(text = argv[++*at])) {
        char room[160];
        snprintf(error, size, "%s needs %s", name, rule(s, room));
        return EXIT_USAGE;
    }
    from[row] = FROM_FLAG;
    return read_value(s, text) ? 0 : refuse(error, size, s, name, text);
}

int config_load(int argc, char **argv, char *error, size_t size)
{
    config = (struct config){.host = NULL};
    for (size_t i = 0; i < ROWS; i++) {
        from[i] = FROM_DEFAULT;
        if (table[i].kind != ACTION)
            read_value(&table[i], table[i].fallback);
    }

    int status = load_environment(error, size);
    for (int i = 1; i < argc && status == 0; i++)
        status = load_flag(argv, &i, error, size);
    return status;
}

/* ------------------------------------------------- printing */

/* Continues the text at column 28, in lines of at most 79. */
static void print_wrapped(FILE *out, const char *text, int column)
{
    while (*text) {
        int length = (int)strcspn(text, " ");
        if (column + 1 + length > 79) {
            fprintf(out, "\n%27s", "");
            column = 27;
        }
        fprintf(out, " %.*s", length, text);
        column += 1 + length;
        text += length + (text[length] == ' ');
    }
    fputc('\n', out);
}

void config_print_help(FILE *out)
{
    fputs("attentiond - exact attention as a network service\n\n"
          "usage: attentiond [--flag value | --flag=value]...\n\n"
          "Every flag but the last group is also read from the environment, "
          "--io-threads\nfrom ATTENTIOND_IO_THREADS; a flag wins. Bytes may "
          "be written as 64k, 2GiB,\ntimes as 500ms, 2s, 1m.\n",
          out);
    for (size_t i = 0; i < ROWS; i++) {
        const struct setting *s = &table[i];
        char left[64], text[256];
        if (s->group)
            fprintf(out, "\n%s:\n", s->group);
        snprintf(left, sizeof left, "  --%s%s%s", s->flag, s->unit ? " " : "",
                 s->unit ? s->unit : "");
        bool plain = s->kind == ACTION || s->kind == SWITCH;
        snprintf(text, sizeof text, plain ? "%s" : "%s [%s]", s->help,
                 s->fallback);
        int column = fprintf(out, "%-27s", left);
        if (column > 27)
            column = fprintf(out, "\n%27s", "") - 1;
        print_wrapped(out, text, column);
    }
    fputs("\nEnds with 0 after a drain, 1 on a failure, 2 on a wrong setting, "
          "3 if the port\ncannot be had.\n",
          out);
}

static void print_value(FILE *out, const struct setting *s)
{
    switch (s->kind) {
    case TEXT:
        fputs(*(const char **)s->at, out);
        break;
    case CHOICE:
        fputs(log_words[*(enum config_log *)s->at], out);
        break;
    case SWITCH:
        fputs(*(bool *)s->at ? "true" : "false", out);
        break;
    case NUMBER:
    case SECONDS:
        fprintf(out, "%.15g", *(double *)s->at);
        break;
    default:
        fprintf(out, "%lld", (long long)*(int64_t *)s->at);
    }
}

void config_print(FILE *out)
{
    for (size_t i = 0; i < ROWS && table[i].kind != ACTION; i++) {
        char name[64];
        fprintf(out, "%s = ", table[i].flag);
        print_value(out, &table[i]);
        if (from[i] == FROM_DEFAULT)
            fputs(" (default)\n", out);
        else if (from[i] == FROM_FLAG)
            fputs(" (flag)\n", out);
        else
            fprintf(out, " (%s)\n", from[i] == FROM_PORT
                                        ? "PORT"
                                        : variable(&table[i], name));
    }
}

void config_print_options_doc(FILE *out)
{
    fputs("# Settings\n\n"
          "Made by `attentiond --print-options-doc`; do not edit. A flag wins "
          "over its\nvariable, a variable over the default. Bytes may be "
          "written as `64k`, `2GiB`,\ntimes as `500ms`, `2s`, `1m`.\n",
          out);
    for (size_t i = 0; i < ROWS && table[i].kind != ACTION; i++) {
        const struct setting *s = &table[i];
        char name[64], room[160];
        if (s->group)
            fprintf(out, "\n## %s\n\n| flag | variable | default | value | "
                         "meaning |\n|---|---|---|---|---|\n", s->group);
        fprintf(out, "| `--%s` | `%s` | `%s` | %s | %s |\n", s->flag,
                variable(s, name), s->fallback, rule(s, room), s->help);
    }
}
