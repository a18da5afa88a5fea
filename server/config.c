/* SPDX-License-Identifier: MIT */
/*
 * config - see config.h: texts become values, and say what is wrong if they
 * do not.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "config_table.h"
#include "problem.h"
#include "proxy.h"
#include "quote.h"

struct config config;
enum config_source config_from[CONFIG_ROWS];

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

static bool read_number(const struct config_row *s, const char *text)
{
    char *unit;
    double value = strtod(text, &unit);
    if (unit == text || strspn(text, " \t\n") > 0)
        return false;
    if (s->kind == BYTES)
        value *= bytes_factor(unit) > 0 ? bytes_factor(unit) : NAN;
    else if (s->kind == SECONDS)
        value *= seconds_factor(unit) > 0 ? seconds_factor(unit) : NAN;
    else if (*unit)
        return false;
    if (!config_allows(s, value))
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

static bool read_switch(const struct config_row *s, const char *text)
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

static bool read_choice(const struct config_row *s, const char *text)
{
    const char *word;
    size_t n;
    for (int i = 0; (word = config_word(s, i, &n)) != NULL; i++)
        if (strlen(text) == n && memcmp(text, word, n) == 0) {
            *(int *)s->at = i;
            return true;
        }
    return false;
}

static bool read_value(const struct config_row *s, const char *text)
{
    switch (s->kind) {
    case TEXT:
        *(const char **)s->at = text;
        return *text != '\0';
    case NETWORKS:
        *(const char **)s->at = text;
        return proxy_trust(text);
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

/* ------------------------------------------------- the three ways in */

static int refuse(char *error, size_t size, const struct config_row *s,
                  const char *name, const char *text)
{
    char room[CONFIG_RULE_MAX], shown[QUOTE_NAME_MAX];
    if (s->kind == ACTION)
        snprintf(error, size, "%s takes no value", name);
    else
        snprintf(error, size, "%s: \"%s\" is not %s", name,
                 quote_name(shown, text, strlen(text)), config_rule(s, room));
    return EXIT_USAGE;
}

/* An empty variable is none. */
static const char *from_environment(const struct config_row *s, size_t row,
                                    char name[CONFIG_VARIABLE_MAX])
{
    bool port = s->at == &config.port;
    const char *text = getenv(config_variable(s, name));
    if (text && *text && !config_is_link(name, strlen(name), text)) {
        config_from[row] = FROM_ENVIRONMENT;
        return text;
    }
    text = port ? getenv("PORT") : NULL;
    if (!text || !*text)
        return NULL;
    config_from[row] = FROM_PORT;
    snprintf(name, CONFIG_VARIABLE_MAX, "PORT");
    return text;
}

/* What a flag has set is not looked at: a flag wins over a wrong variable. */
static int load_environment(char *error, size_t size)
{
    for (size_t i = 0; i < CONFIG_ROWS; i++) {
        char name[CONFIG_VARIABLE_MAX];
        if (config_table[i].kind == ACTION || config_from[i] == FROM_FLAG)
            continue;
        const char *text = from_environment(&config_table[i], i, name);
        if (text && !read_value(&config_table[i], text))
            return refuse(error, size, &config_table[i], name, text);
    }
    return 0;
}

static int refuse_unknown(char *error, size_t size, const char *argument,
                          const char *word, size_t length)
{
    const char *names[CONFIG_ROWS];
    for (size_t i = 0; i < CONFIG_ROWS; i++)
        names[i] = config_table[i].flag;
    const char *near = problem_nearest(word, length, names, CONFIG_ROWS);
    int n = (int)(length < 80 ? length : 80) + (int)(word - argument);
    snprintf(error, size, "%.*s is unknown%s%s%s", n, argument,
             near ? ": did you mean --" : "; --help lists the flags",
             near ? near : "", near ? "?" : "");
    return EXIT_USAGE;
}

static size_t find(const char *word, size_t length)
{
    size_t i = 0;
    while (i < CONFIG_ROWS && (strlen(config_table[i].flag) != length ||
                        memcmp(config_table[i].flag, word, length) != 0))
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
    if (row == CONFIG_ROWS)
        return refuse_unknown(error, size, argument, word, length);

    const struct config_row *s = &config_table[row];
    char name[CONFIG_VARIABLE_MAX];
    snprintf(name, sizeof name, "--%s", s->flag);
    const char *text = word[length] == '=' ? word + length + 1 : NULL;
    if (s->kind == ACTION && text)
        return refuse(error, size, s, name, text);
    if (s->kind == ACTION || (s->kind == SWITCH && !text))
        text = "true";
    if (!text && !(text = argv[++*at])) {
        char room[CONFIG_RULE_MAX];
        snprintf(error, size, "%s needs %s", name, config_rule(s, room));
        return EXIT_USAGE;
    }
    config_from[row] = FROM_FLAG;
    return read_value(s, text) ? 0 : refuse(error, size, s, name, text);
}

int config_load(int argc, char **argv, char *error, size_t size)
{
    config = (struct config){.host = NULL};
    for (size_t i = 0; i < CONFIG_ROWS; i++) {
        config_from[i] = FROM_DEFAULT;
        if (config_table[i].kind != ACTION)
            read_value(&config_table[i], config_table[i].fallback);
    }

    int status = 0;
    for (int i = 1; i < argc && status == 0; i++)
        status = load_flag(argv, &i, error, size);
    return status == 0 ? load_environment(error, size) : status;
}
