/* SPDX-License-Identifier: MIT */
/*
 * host - what the machine, or the container, lets this process have: cores,
 * with the reason in words, memory, and what it has used so far. Reads /proc
 * and /sys/fs/cgroup (version 2 and 1), walking up from our own group, since
 * every group above may bound us too. Knows no room.
 *
 * `root` stands before every path: "" for the real files.
 */
#ifndef HOST_H
#define HOST_H

#include <stdint.h>

struct host_threads {
    int threads;          /* 1 ... 64 */
    const char *source;   /* "setting", "quota", "affinity" or "bound" */
    char reason[160];     /* "2 threads: CPU quota of 1.5 cores, ..." */
};

/* wanted: what a setting says, or 0. most: no more than that. */
void host_threads(const char *root, int wanted, int most,
                  struct host_threads *out);

/* Cores of the CPU quota; 0: none. */
double host_cpu_quota(const char *root);

/* The least of the machine's memory and all limits; 0 if unreadable. */
int64_t host_memory_bytes(const char *root);

/* Time that the quota has held us back, in ns; 0 if unknown. */
int64_t host_throttled_ns(const char *root);

struct host_process {
    int64_t start_ms;           /* since 1970 */
    int64_t cpu_ns;
    int64_t resident_bytes, virtual_bytes;
    int64_t threads;
    int64_t open_descriptors, most_descriptors;
};

/* What cannot be read is 0. */
void host_process(const char *root, struct host_process *out);

#endif
