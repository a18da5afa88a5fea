/* SPDX-License-Identifier: MIT */
/*
 * bench_steps - in how many steps bodies of 64 MiB are decoded, and how long a
 * step takes: CPU time of the thread, in this process. The longest step of a
 * shared machine says less than the mean. --json prints one object a line.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "config.h"
#include "form.h"
#include "request.h"

enum { BYTES = 64 << 20 };

static const struct {
    const char *what, *front, *unit, *behind;
} bodies[] = {
    {"rows of 8", "{\"Q\":[",
     "[0.1234567,-0.2345678,0.345678,-4.567e-5,0.1,-0.2345678,0.5,1.2345678],",
     "[1,2,3,4,5,6,7,8]]}"},
    {"one row", "{\"Q\":[[", "0.12345678,", "1]]}"},
    {"rows of 1", "{\"Q\":[", "[1],", "[1]]}"},
    {"integers", "{\"key_lengths\":[", "1,", "1]}"},
    {"booleans", "{\"mask\":[", "true,", "false]}"},
    {"blanks", "{\"Q\":[[1,", " ", "2]]}"},
    {"digits", "{\"Q\":[[1", "0", "]]}"},
    {"a string", "{\"Q\":[[\"", "x", "\"]]}"},
    {"fault at the end", "{\"Q\":[[", "0.12345678,", "true]]}"},
    {"ragged at the end", "{\"Q\":[", "[1],", "2]}"},
    {"brackets", "", "[", ""},
};

static double clock_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static void fill(struct buffer *b, size_t k)
{
    const char *unit = bodies[k].unit;
    size_t n = strlen(unit);
    buffer_init(b, BYTES + 1000);
    if (buffer_reserve(b, BYTES + 1000) != BUFFER_OK)
        exit(EXIT_FAILURE);
    buffer_append(b, bodies[k].front, strlen(bodies[k].front));
    for (size_t i = 0; i < BYTES / n; i++)
        buffer_append(b, unit, n);
    buffer_append(b, bodies[k].behind, strlen(bodies[k].behind));
}

/* All steps of a body; the longest of them. */
static double decode(struct request *r, int64_t *steps)
{
    double longest = 0;
    int64_t tasks;
    *steps = 0;
    while ((tasks = form_json.decode_next(r)) > 0) {
        while (tasks > 0) {
            double start = clock_us();
            tasks -= form_json.decode_task(r, tasks - 1);
            double us = clock_us() - start;
            longest = us > longest ? us : longest;
            ++*steps;
        }
    }
    return longest;
}

static void measure(size_t k, bool json)
{
    struct request *r = request_new();
    int64_t steps;
    fill(&r->body, k);
    double start = clock_us(), longest = decode(r, &steps);
    double us = clock_us() - start;
    printf(json ? "{\"body\":\"%s\",\"status\":%d,\"steps\":%lld,"
                  "\"mean_us\":%.0f,\"longest_us\":%.0f,\"all_ms\":%.0f}\n"
                : "%-18s %6d %6lld %8.0f %8.0f %8.0f\n",
           bodies[k].what, problem_row(r->fault.problem)->status,
           (long long)steps, us / (double)steps, longest, us / 1e3);
    request_free(r);
}

int main(int argc, char **argv)
{
    bool json = argc > 1 && strcmp(argv[1], "--json") == 0;
    char *program[] = {argv[0], NULL}, error[256];

    if (config_load(1, program, error, sizeof error) != 0)
        return EXIT_FAILURE;
    if (!json)
        puts("64 MiB of        status  steps  mean, us  longest   all, ms");
    for (size_t k = 0; k < sizeof bodies / sizeof *bodies; k++)
        measure(k, json);
    return EXIT_SUCCESS;
}
