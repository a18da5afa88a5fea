/* SPDX-License-Identifier: MIT */
/*
 * metric.c - see metric.h.
 */
#include "metric.h"

#include <stdlib.h>
#include <string.h>

#include "daemon.h"
#include "http.h"

double metric(int port, const char *name)
{
    struct http_reply r = http_get(port, "/metrics");
    const char *line = r.body;
    size_t n = strlen(name);
    double value = -1.0;

    for (; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, n) == 0 && line[n] == ' ') {
            value = strtod(line + n, NULL);
            break;
        }
    }
    http_free(&r);
    return value;
}

bool metric_reaches(int port, const char *name, double least, double seconds)
{
    double until = daemon_clock() + seconds * daemon_slack();

    while (metric(port, name) < least) {
        if (daemon_clock() > until)
            return false;
        daemon_rest(0.002 * daemon_slack());
    }
    return true;
}
