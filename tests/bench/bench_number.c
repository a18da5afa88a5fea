/* SPDX-License-Identifier: MIT */
/*
 * bench_number - what reading and writing numbers costs: every level of
 * number.c beside jansson, strtod/snprintf and memcpy of the same bytes, on
 * seven kinds of text, in one process, the measurements taken in turn; each
 * figure is the median of seven rounds, in CPU time, so that what else runs
 * counts little. --json prints one object a line.
 */
#include <jansson.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "number.h"

enum {
    COUNT = 32768, /* numbers in a text */
    REPEAT = 8,    /* times a level reads it for one measurement */
    ROUNDS = 7,
    LEVELS_MAX = 4,
    ROW_BYTES = COUNT * (NUMBER_F64_MAX + 8),
};

struct kind {
    const char *name;
    bool is_f32;
    double (*make)(void);
    const char *format; /* of the text to read; NULL: the shortest */
};

struct method {
    const char *name;
    size_t level;
    int repeat;
    void (*run)(const struct method *);
};

/* What the methods work on. */
static struct {
    const struct kind *kind;
    float f32[COUNT];
    double f64[COUNT];
    char text[ROW_BYTES], out[ROW_BYTES];
    size_t text_bytes, written_bytes;
    json_t *list;
} job;

static uint64_t next_random(void)
{
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static double uniform(void)
{
    return (double)(int64_t)next_random() * 0x1p-63;
}

static double integer(void)
{
    return (double)(next_random() % 100000);
}

static double bit(void)
{
    return (double)(next_random() >> 63);
}

static double six_decimals(void)
{
    return round(uniform() * 1e6) / 1e6;
}

static double any_size(void)
{
    return uniform() * pow(10, 30 * uniform());
}

static const struct kind kinds[] = {
    {"float32 shortest", true, uniform, NULL},
    {"float64 shortest", false, uniform, NULL},
    {"17 digits", false, uniform, "%.17g"},
    {"integers", true, integer, NULL},
    {"0 and 1", true, bit, NULL},
    {"fixed 6 decimals", true, six_decimals, "%.6f"},
    {"exponents", true, any_size, "%.7e"},
};

static void read_level(const struct method *m)
{
    const char *end = job.text + job.text_bytes, *next;
    number_use(m->level);
    if (job.kind->is_f32)
        number_read_row_f32(job.text, end, job.f32, COUNT, &next);
    else
        number_read_row_f64(job.text, end, job.f64, COUNT, &next);
    if (next != end)
        abort();
}

static void write_level(const struct method *m)
{
    number_use(m->level);
    if (job.kind->is_f32)
        job.written_bytes = number_write_row_f32(job.out, job.f32, COUNT);
    else
        job.written_bytes = number_write_row_f64(job.out, job.f64, COUNT);
}

static void read_jansson(const struct method *m)
{
    (void)m;
    char *text = job.out;
    text[0] = '[';
    memcpy(text + 1, job.text, job.text_bytes);
    text[job.text_bytes + 1] = ']';
    json_decref(json_loadb(text, job.text_bytes + 2, 0, NULL));
}

static void write_jansson(const struct method *m)
{
    (void)m;
    json_dumpb(job.list, job.out, sizeof job.out, JSON_COMPACT);
}

static void read_strtod(const struct method *m)
{
    (void)m;
    char *p = job.text;
    for (size_t i = 0; i < COUNT; i++, p++)
        job.f64[i] = strtod(p, &p);
}

static void write_snprintf(const struct method *m)
{
    (void)m;
    char *p = job.out;
    int digits = job.kind->is_f32 ? 9 : 17;
    for (size_t i = 0; i < COUNT; i++) {
        double value = job.kind->is_f32 ? (double)job.f32[i] : job.f64[i];
        p += snprintf(p, 32, "%.*g,", digits, value);
    }
}

static void copy_text(const struct method *m)
{
    (void)m;
    memcpy(job.out, job.text, job.text_bytes);
    __asm__ volatile("" ::: "memory");
}

static void set_up(const struct kind *kind)
{
    char *p = job.text;
    job.kind = kind;
    job.list = json_array();
    for (size_t i = 0; i < COUNT; i++) {
        double value = kind->make();
        job.f32[i] = (float)value;
        job.f64[i] = kind->is_f32 ? (double)job.f32[i] : value;
        json_array_append_new(job.list, json_real(job.f64[i]));
        if (kind->format != NULL)
            p += sprintf(p, kind->format, job.f64[i]);
        else if (kind->is_f32)
            p += number_write_f32(p, job.f32[i]);
        else
            p += number_write_f64(p, job.f64[i]);
        *p++ = ',';
    }
    *--p = '\0';
    job.text_bytes = (size_t)(p - job.text);
}

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double ns_a_number(const struct method *m)
{
    double start = now_ns();
    for (int i = 0; i < m->repeat; i++)
        m->run(m);
    return (now_ns() - start) / m->repeat / (double)COUNT;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static size_t add_methods(struct method *methods, const char *direction)
{
    bool reading = direction[0] == 'r';
    size_t n = 0;
    for (size_t i = 0; i < number_levels(); i++)
        methods[n++] = (struct method){number_level_name(i), i, REPEAT,
                                       reading ? read_level : write_level};
    methods[n++] = (struct method){"jansson", 0, 1,
                                   reading ? read_jansson : write_jansson};
    methods[n++] = reading ? (struct method){"strtod", 0, 1, read_strtod}
                           : (struct method){"snprintf", 0, 1, write_snprintf};
    methods[n++] = (struct method){"memcpy", 0, 4 * REPEAT, copy_text};
    return n;
}

static void measure(const char *direction, bool json)
{
    struct method methods[LEVELS_MAX + 3];
    double ns[LEVELS_MAX + 3][ROUNDS];
    size_t n = add_methods(methods, direction);
    for (size_t i = 0; i < n; i++)
        ns_a_number(&methods[i]);
    for (size_t round = 0; round < ROUNDS; round++)
        for (size_t i = 0; i < n; i++)
            ns[i][round] = ns_a_number(&methods[i]);
    for (size_t i = 0; i < n; i++)
        qsort(ns[i], ROUNDS, sizeof ns[i][0], compare_doubles);
    double best = ns[number_levels() - 1][ROUNDS / 2];
    double bytes = (double)(direction[0] == 'r' ? job.text_bytes + 1
                                                : job.written_bytes + 1);
    for (size_t i = 0; i < n; i++) {
        double median = ns[i][ROUNDS / 2];
        printf(json ? "{\"bench\":\"number\",\"direction\":\"%s\","
                      "\"text\":\"%s\",\"method\":\"%s\",\"ns\":%.2f,"
                      "\"mb_s\":%.0f,\"ratio\":%.2f}\n"
                    : "%-6s %-17s %-9s %8.2f ns %7.0f MB/s %7.2f x\n",
               direction, job.kind->name, methods[i].name, median,
               bytes / (double)COUNT / median * 1e3, median / best);
    }
}

int main(int argc, char **argv)
{
    bool json = argc > 1 && strcmp(argv[1], "--json") == 0;
    if (!json)
        printf("%-6s %-17s %-9s %11s %12s %9s\n", "", "text", "method",
               "a number", "", "time");
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        set_up(&kinds[i]);
        measure("read", json);
        measure("write", json);
        json_decref(job.list);
    }
    return EXIT_SUCCESS;
}
