/* SPDX-License-Identifier: MIT */
/*
 * metric.h - one number out of /metrics.
 */
#ifndef METRIC_H
#define METRIC_H

#include <stdbool.h>

/* The value behind "name " or "name{labels} "; -1 if it is not there. */
double metric(int port, const char *name);

/* Is it at least this within `seconds`? */
bool metric_reaches(int port, const char *name, double least, double seconds);

#endif
