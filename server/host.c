/* SPDX-License-Identifier: MIT */
/*
 * host - see host.h. Control groups are sought where every distribution
 * mounts them. A container that sees its group's path but not its parents'
 * files (version 1 without a name space) is served by the walk: paths that do
 * not exist are passed over until the mount point itself is reached.
 */
#include "host.h"

#include <dirent.h>
#include <math.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_BYTES 1024
#define UNLIMITED ((int64_t)1 << 60)    /* version 1 says 2^63 - 4096 */

/* --------------------------------------------------------------- files */

/* The first bytes of a file as text; false if it cannot be read. */
static bool slurp(const char *path, char *text, size_t size)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    size_t n = fread(text, 1, size - 1, file);
    text[n] = '\0';
    fclose(file);
    return n > 0;
}

static bool slurp_root(const char *root, const char *path, char *text,
                       size_t size)
{
    char full[PATH_BYTES];
    snprintf(full, sizeof full, "%s%s", root, path);
    return slurp(full, text, size);
}

/* The number behind `key` at the start of a line, or -1. */
static int64_t keyed(const char *text, const char *key)
{
    size_t n = strlen(key);
    for (; text; text = strchr(text, '\n')) {
        text += *text == '\n';
        if (strncmp(text, key, n) == 0)
            return strtoll(text + n, NULL, 10);
    }
    return -1;
}

/* ------------------------------------------------------ control groups */

struct controller {
    const char *name;          /* in /proc/self/cgroup; "": version 2 */
    const char *mount[3];
};

static const struct controller unified = {
    "", {"/sys/fs/cgroup", "/sys/fs/cgroup/unified", NULL}};
static const struct controller cpu = {
    "cpu", {"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct", NULL}};
static const struct controller memory = {
    "memory", {"/sys/fs/cgroup/memory", NULL}};

/* Whether list, "cpu,cpuacct" up to its colon, holds name. */
static bool holds(const char *list, const char *name)
{
    size_t n = strlen(name);
    for (;;) {
        size_t length = strcspn(list, ",:\n");
        if (length == n && memcmp(list, name, n) == 0)
            return true;
        if (list[length] != ',')
            return false;
        list += length + 1;
    }
}

/* Our group's path: of the line "4:cpu,cpuacct:/path" that holds name. */
static void own_group(const char *root, const char *name, char *path,
                      size_t size)
{
    char text[4096];
    *path = '\0';
    if (!slurp_root(root, "/proc/self/cgroup", text, sizeof text))
        return;
    for (char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        char *list = strchr(line, ':');
        if (!list || !holds(list + 1, name))
            continue;
        char *start = strchr(list + 1, ':');
        if (start)
            snprintf(path, size, "%.*s", (int)strcspn(start + 1, "\n"),
                     start + 1);
        return;
    }
}

/* The least that limit() finds from our group up to the mount point. */
static double least(const char *root, const struct controller *controller,
                    double (*limit)(const char *directory))
{
    double lowest = INFINITY;
    for (int i = 0; controller->mount[i]; i++) {
        char group[PATH_BYTES / 2], full[PATH_BYTES];
        own_group(root, controller->name, group, sizeof group);
        for (;;) {
            snprintf(full, sizeof full, "%s%s%s", root, controller->mount[i],
                     group);
            lowest = fmin(lowest, limit(full));
            char *slash = strrchr(group, '/');
            if (!slash)
                break;
            *slash = '\0';
        }
    }
    return lowest;
}

static bool slurp_in(const char *directory, const char *name, char *text,
                     size_t size)
{
    char path[PATH_BYTES + 64];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return slurp(path, text, size);
}

static double quota_v2(const char *directory)
{
    char text[128];
    double quota, period;
    if (slurp_in(directory, "cpu.max", text, sizeof text) &&
        sscanf(text, "%lf %lf", &quota, &period) == 2 && quota > 0)
        return quota / period;    /* "max 100000" is not read by %lf */
    return INFINITY;
}

static double quota_v1(const char *directory)
{
    char text[64];
    double quota = 0, period = 0;
    if (slurp_in(directory, "cpu.cfs_quota_us", text, sizeof text))
        quota = atof(text);
    if (slurp_in(directory, "cpu.cfs_period_us", text, sizeof text))
        period = atof(text);
    return quota > 0 ? quota / period : INFINITY;
}

static double memory_file(const char *directory, const char *name)
{
    char text[64];
    if (!slurp_in(directory, name, text, sizeof text) || *text == 'm')
        return INFINITY;
    double bytes = atof(text);
    return bytes > 0 && bytes < (double)UNLIMITED ? bytes : INFINITY;
}

static double memory_v2(const char *directory)
{
    return fmin(memory_file(directory, "memory.max"),
                memory_file(directory, "memory.high"));
}

static double memory_v1(const char *directory)
{
    return memory_file(directory, "memory.limit_in_bytes");
}

double host_cpu_quota(const char *root)
{
    double cores = fmin(least(root, &unified, quota_v2),
                        least(root, &cpu, quota_v1));
    return isfinite(cores) ? cores : 0;
}

int64_t host_memory_bytes(const char *root)
{
    char text[4096];
    double bytes = fmin(least(root, &unified, memory_v2),
                        least(root, &memory, memory_v1));
    if (slurp_root(root, "/proc/meminfo", text, sizeof text)) {
        int64_t total = keyed(text, "MemTotal:");
        if (total > 0)
            bytes = fmin(bytes, (double)total * 1024);
    }
    return isfinite(bytes) ? (int64_t)bytes : 0;
}

/* Negative, so that the least is the most of all groups above. */
static double throttled(const char *directory)
{
    char text[1024];
    if (!slurp_in(directory, "cpu.stat", text, sizeof text))
        return 0;
    int64_t us = keyed(text, "throttled_usec ");
    int64_t ns = keyed(text, "throttled_time ");
    return us >= 0 ? -1e3 * (double)us : ns >= 0 ? -(double)ns : 0;
}

int64_t host_throttled_ns(const char *root)
{
    double ns = fmin(least(root, &unified, throttled),
                     least(root, &cpu, throttled));
    return isfinite(ns) ? (int64_t)-ns : 0;
}

/* ------------------------------------------------------------- threads */

static int affinity(void)
{
    cpu_set_t set;
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        return CPU_COUNT(&set);
    return online > 0 ? (int)online : 1;    /* above 1024 CPUs */
}

void host_threads(const char *root, int wanted, int most,
                  struct host_threads *out)
{
    double quota = host_cpu_quota(root);
    int cpus = affinity();
    char from[96];

    if (wanted > 0) {
        out->threads = wanted;
        out->source = "setting";
        snprintf(from, sizeof from, "as set");
    } else if (quota > 0 && ceil(quota) < cpus) {
        out->threads = (int)ceil(quota);
        out->source = "quota";
        snprintf(from, sizeof from, "CPU quota of %.3g cores, affinity to %d",
                 quota, cpus);
    } else {
        out->threads = cpus;
        out->source = "affinity";
        snprintf(from, sizeof from, "affinity to %d, %s CPU quota", cpus,
                 quota > 0 ? "no smaller" : "no");
    }
    if (out->threads > most) {
        out->threads = most;
        out->source = "bound";
    }
    snprintf(out->reason, sizeof out->reason, "%d thread%s: %s%s",
             out->threads, out->threads == 1 ? "" : "s", from,
             strcmp(out->source, "bound") == 0 ? ", more is not built for"
                                               : "");
}

/* ------------------------------------------------------------- process */

/* Since when the machine runs, in ms since 1970. The line stands behind one
 * that can be very long, so it is not read into one piece. */
static int64_t boot_ms(const char *root)
{
    char path[PATH_BYTES], piece[256];
    snprintf(path, sizeof path, "%s/proc/stat", root);
    FILE *file = fopen(path, "re");
    int64_t seconds = -1;
    bool at_start = true;
    while (file && seconds < 0 && fgets(piece, sizeof piece, file)) {
        if (at_start)
            seconds = keyed(piece, "btime ");
        at_start = strchr(piece, '\n') != NULL;
    }
    if (file)
        fclose(file);
    return seconds * 1000;
}

static int64_t count_entries(const char *root, const char *path)
{
    char full[PATH_BYTES];
    snprintf(full, sizeof full, "%s%s", root, path);
    DIR *directory = opendir(full);
    if (!directory)
        return 0;
    int64_t n = 0;
    for (struct dirent *entry; (entry = readdir(directory));)
        n += entry->d_name[0] != '.';
    closedir(directory);
    return n - (*root == '\0');    /* our own look is one */
}

/* Field k of /proc/self/stat counts from the last ')': a program's name may
 * hold anything. */
static int64_t stat_field(const char *stat, int k)
{
    const char *at = strrchr(stat, ')');
    for (int field = 2; at && field < k; field++)
        at = strchr(at + 1, ' ');
    return at ? strtoll(at, NULL, 10) : 0;
}

void host_process(const char *root, struct host_process *out)
{
    char text[4096];
    int64_t ticks = sysconf(_SC_CLK_TCK);
    *out = (struct host_process){.threads = 0};

    if (slurp_root(root, "/proc/self/stat", text, sizeof text)) {
        int64_t used = stat_field(text, 14) + stat_field(text, 15);
        out->cpu_ns = used * (1000000000 / ticks);
        out->start_ms = boot_ms(root) + stat_field(text, 22) * 1000 / ticks;
        out->threads = stat_field(text, 20);
        out->virtual_bytes = stat_field(text, 23);
        out->resident_bytes = stat_field(text, 24) * sysconf(_SC_PAGESIZE);
    }
    out->open_descriptors = count_entries(root, "/proc/self/fd");
    if (slurp_root(root, "/proc/self/limits", text, sizeof text)) {
        int64_t most = keyed(text, "Max open files");
        out->most_descriptors = most > 0 ? most : 0;
    }
}
