/* SPDX-License-Identifier: MIT */
/*
 * config_environment - variables called ATTENTIOND_* that are no settings:
 * Kubernetes describes each Service of a namespace to every pod in it, so one
 * called attentiond-admin sets ATTENTIOND_ADMIN_PORT=tcp://10.0.0.1:80 and a
 * dozen more; and names that are mistyped.
 */
#include <stdlib.h>
#include <string.h>

#include "config_table.h"
#include "problem.h"
#include "quote.h"

#define PREFIX "ATTENTIOND_"

extern char **environ;

static bool ends_with(const char *name, size_t n, const char *end)
{
    size_t length = strlen(end);

    return n >= length && memcmp(name + n - length, end, length) == 0;
}

static bool has_part(const char *name, size_t n, const char *part)
{
    return memmem(name, n, part, strlen(part)) != NULL;
}

/* ..._PORT_80_TCP, with _PORT, _PROTO or _ADDR behind it or not. */
static bool is_of_one_port(const char *name, size_t n)
{
    static const char *const ends[] = {"_TCP", "_UDP", "_SCTP"};
    static const char *const more[] = {"_PORT", "_PROTO", "_ADDR"};

    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        if (ends_with(name, n, more[i]) && has_part(name, n, "_PORT_"))
            n -= strlen(more[i]);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        if (!ends_with(name, n, ends[i]))
            continue;
        size_t left = n - strlen(ends[i]), digits = 0;
        while (digits < left && strchr("0123456789", name[left - 1 - digits]))
            digits++;
        return digits > 0 && ends_with(name, left - digits, "_PORT_");
    }
    return false;
}

bool config_is_link(const char *name, size_t n, const char *value)
{
    static const char *const schemes[] = {"tcp://", "udp://", "sctp://"};

    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++)
        if (ends_with(name, n, "_PORT") &&
            strncmp(value, schemes[i], strlen(schemes[i])) == 0)
            return true;
    return ends_with(name, n, "_SERVICE_HOST") ||
           ends_with(name, n, "_SERVICE_PORT") ||
           has_part(name, n, "_SERVICE_PORT_") || is_of_one_port(name, n);
}

/* Its variables; what is asked for instead of serving has none. */
static size_t list_variables(char names[CONFIG_ROWS][CONFIG_VARIABLE_MAX],
                             const char *list[CONFIG_ROWS])
{
    size_t n = 0;

    for (size_t i = 0; i < CONFIG_ROWS; i++)
        if (config_table[i].kind != ACTION) {
            list[n] = config_variable(&config_table[i], names[n]);
            n++;
        }
    return n;
}

static bool is_known(const char *name, size_t n, const char *const *list,
                     size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(list[i]) == n && memcmp(list[i], name, n) == 0)
            return true;
    return false;
}

static void tell_of(const char *name, size_t n, const char *value,
                    void (*tell)(const char *text))
{
    char names[CONFIG_ROWS][CONFIG_VARIABLE_MAX], shown[QUOTE_NAME_MAX];
    char text[2 * QUOTE_NAME_MAX];
    const char *list[CONFIG_ROWS];
    size_t count = list_variables(names, list);

    quote_name(shown, name, n);
    if (config_is_link(name, n, value)) {
        snprintf(text, sizeof text, "%s is ignored: Kubernetes set it for a "
                 "Service (enableServiceLinks: false ends that)", shown);
        tell(text);
    } else if (!is_known(name, n, list, count)) {
        const char *near = problem_nearest(name, n, list, count);

        snprintf(text, sizeof text, "%s is ignored: there is no such "
                 "setting%s%s%s", shown, near ? "; did you mean " : "",
                 near ? near : "", near ? "?" : "");
        tell(text);
    }
}

void config_tell_ignored(void (*tell)(const char *text))
{
    for (char **entry = environ; *entry; entry++) {
        size_t n = strcspn(*entry, "=");

        if (strncmp(*entry, PREFIX, strlen(PREFIX)) == 0 && (*entry)[n] &&
            (*entry)[n + 1])
            tell_of(*entry, n, *entry + n + 1, tell);
    }
}
