/* SPDX-License-Identifier: MIT */
/*
 * test_host.c - threads and memory from made-up trees of /proc and
 * /sys/fs/cgroup, version 1 and 2, and the real process.
 */
#include "suite.h"

#include <fcntl.h>
#include <ftw.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "host.h"

static char root[64];

static void setup(void)
{
    snprintf(root, sizeof root, "/tmp/attentiond-host-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(root));
}

static int erase(const char *path, const struct stat *status, int type,
                 struct FTW *walk)
{
    (void)status, (void)type, (void)walk;
    return remove(path);
}

static void teardown(void)
{
    nftw(root, erase, 8, FTW_DEPTH | FTW_PHYS);
}

/* A file of the tree, with all directories above it. */
static void put(const char *path, const char *text)
{
    char full[512];
    snprintf(full, sizeof full, "%s%s", root, path);
    for (char *slash = full + strlen(root) + 1; (slash = strchr(slash, '/'));
         *slash++ = '/') {
        *slash = '\0';
        mkdir(full, 0755);
    }
    FILE *file = fopen(full, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
}

static int cpus(void)
{
    cpu_set_t set;
    sched_getaffinity(0, sizeof set, &set);
    return CPU_COUNT(&set);
}

/* ---------------------------------------------------------- CPU quota */

START_TEST(an_empty_tree_has_no_quota_and_no_memory)
{
    ck_assert_double_eq(host_cpu_quota(root), 0);
    ck_assert_int_eq(host_memory_bytes(root), 0);
    ck_assert_int_eq(host_throttled_ns(root), 0);
}
END_TEST

START_TEST(quota_of_version_2_is_the_least_up_to_the_root)
{
    put("/proc/self/cgroup", "0::/slice/pod/container\n");
    put("/sys/fs/cgroup/slice/pod/container/cpu.max", "max 100000\n");
    put("/sys/fs/cgroup/slice/pod/cpu.max", "150000 100000\n");
    put("/sys/fs/cgroup/slice/cpu.max", "800000 100000\n");
    ck_assert_double_eq(host_cpu_quota(root), 1.5);
    put("/sys/fs/cgroup/slice/pod/container/cpu.max", "50000 100000\n");
    ck_assert_double_eq(host_cpu_quota(root), 0.5);
}
END_TEST

START_TEST(quota_of_version_2_in_its_own_name_space)
{
    put("/proc/self/cgroup", "0::/\n");
    put("/sys/fs/cgroup/cpu.max", "250000 100000\n");
    ck_assert_double_eq(host_cpu_quota(root), 2.5);
}
END_TEST

START_TEST(quota_of_version_1_by_the_controllers_line)
{
    put("/proc/self/cgroup", "7:cpuset:/other\n4:cpuacct,cpu:/docker/abc\n"
                             "0::/docker/abc\n");
    put("/sys/fs/cgroup/cpu/other/cpu.cfs_quota_us", "10000\n");
    put("/sys/fs/cgroup/cpu/other/cpu.cfs_period_us", "100000\n");
    put("/sys/fs/cgroup/cpu/docker/abc/cpu.cfs_quota_us", "300000\n");
    put("/sys/fs/cgroup/cpu/docker/abc/cpu.cfs_period_us", "100000\n");
    put("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
    put("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    ck_assert_double_eq(host_cpu_quota(root), 3);
}
END_TEST

/* The container sees its own group at the mount point, under the path that
 * it has outside. */
START_TEST(quota_of_version_1_without_a_name_space)
{
    put("/proc/self/cgroup", "4:cpu,cpuacct:/docker/abc\n");
    put("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "50000\n");
    put("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
    ck_assert_double_eq(host_cpu_quota(root), 0.5);
}
END_TEST

START_TEST(nonsense_in_the_files_is_no_quota)
{
    const char *const texts[] = {"", "\n", "max\n", "-5 100000\n", "100000",
                                 "100000 0\n", "x y\n", "0 100000\n"};
    put("/proc/self/cgroup", "garbage\n0:\n:::::\n0::/\n");
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        put("/sys/fs/cgroup/cpu.max", texts[i]);
        ck_assert_double_eq(host_cpu_quota(root), 0);
    }
}
END_TEST

/* ------------------------------------------------------------- memory */

START_TEST(memory_is_the_least_of_limits_and_machine)
{
    put("/proc/meminfo", "MemFree: 5 kB\nMemTotal:    1000 kB\nX: 1 kB\n");
    ck_assert_int_eq(host_memory_bytes(root), 1024000);
    put("/proc/self/cgroup", "0::/a/b\n");
    put("/sys/fs/cgroup/a/b/memory.max", "max\n");
    ck_assert_int_eq(host_memory_bytes(root), 1024000);
    put("/sys/fs/cgroup/a/memory.max", "600000\n");
    ck_assert_int_eq(host_memory_bytes(root), 600000);
    put("/sys/fs/cgroup/a/b/memory.high", "500000\n");
    ck_assert_int_eq(host_memory_bytes(root), 500000);
    put("/sys/fs/cgroup/a/b/memory.max", "2048000\n");
    put("/sys/fs/cgroup/a/b/memory.high", "max\n");
    put("/sys/fs/cgroup/a/memory.max", "4096000\n");
    ck_assert_int_eq(host_memory_bytes(root), 1024000);
}
END_TEST

START_TEST(memory_of_version_1_knows_its_word_for_unlimited)
{
    put("/proc/self/cgroup", "4:memory:/pod\n");
    put("/sys/fs/cgroup/memory/pod/memory.limit_in_bytes",
        "9223372036854771712\n");
    ck_assert_int_eq(host_memory_bytes(root), 0);
    put("/proc/meminfo", "MemTotal: 1000 kB\n");
    ck_assert_int_eq(host_memory_bytes(root), 1024000);
    put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "700000\n");
    ck_assert_int_eq(host_memory_bytes(root), 700000);
}
END_TEST

/* ------------------------------------------------------------ threads */

START_TEST(a_setting_wins_and_says_so)
{
    struct host_threads t;
    host_threads(root, 7, 64, &t);
    ck_assert_int_eq(t.threads, 7);
    ck_assert_str_eq(t.source, "setting");
    ck_assert_str_eq(t.reason, "7 threads: as set");
}
END_TEST

START_TEST(without_a_quota_affinity_decides)
{
    struct host_threads t;
    host_threads(root, 0, 1024, &t);
    ck_assert_int_eq(t.threads, cpus());
    ck_assert_str_eq(t.source, "affinity");
    ck_assert_ptr_nonnull(strstr(t.reason, "no CPU quota"));
}
END_TEST

START_TEST(one_cpu_in_the_mask_is_one_thread)
{
    cpu_set_t before, one;
    sched_getaffinity(0, sizeof before, &before);
    CPU_ZERO(&one);
    for (size_t i = 0; CPU_COUNT(&one) == 0; i++)
        if (CPU_ISSET(i, &before))
            CPU_SET(i, &one);
    sched_setaffinity(0, sizeof one, &one);
    struct host_threads t;
    host_threads(root, 0, 64, &t);
    sched_setaffinity(0, sizeof before, &before);
    ck_assert_int_eq(t.threads, 1);
    ck_assert_str_eq(t.reason, "1 thread: affinity to 1, no CPU quota");
}
END_TEST

START_TEST(a_quota_below_the_mask_is_rounded_up)
{
    struct host_threads t;
    put("/proc/self/cgroup", "0::/\n");
    put("/sys/fs/cgroup/cpu.max", "10000 100000\n");
    host_threads(root, 0, 64, &t);
    ck_assert_int_eq(t.threads, 1);
    ck_assert_str_eq(t.source, cpus() > 1 ? "quota" : "affinity");
    if (cpus() > 1)
        ck_assert_ptr_nonnull(strstr(t.reason, "CPU quota of 0.1 cores"));
}
END_TEST

START_TEST(a_quota_above_the_mask_changes_nothing)
{
    struct host_threads t;
    put("/proc/self/cgroup", "0::/\n");
    put("/sys/fs/cgroup/cpu.max", "102400000 100000\n");
    host_threads(root, 0, 1024, &t);
    ck_assert_int_eq(t.threads, cpus());
    ck_assert_ptr_nonnull(strstr(t.reason, "no smaller CPU quota"));
}
END_TEST

START_TEST(more_threads_than_built_for_are_cut)
{
    struct host_threads t;
    host_threads(root, 100, 64, &t);
    ck_assert_int_eq(t.threads, 64);
    ck_assert_str_eq(t.source, "bound");
}
END_TEST

/* ------------------------------------------------------------ process */

START_TEST(throttled_time_of_both_versions_in_ns)
{
    put("/proc/self/cgroup", "4:cpu:/\n0::/a\n");
    put("/sys/fs/cgroup/a/cpu.stat", "usage_usec 9\nthrottled_usec 1500\n");
    ck_assert_int_eq(host_throttled_ns(root), 1500000);
    put("/sys/fs/cgroup/cpu/cpu.stat", "nr_periods 3\n"
                                       "throttled_time 7000000\n");
    ck_assert_int_eq(host_throttled_ns(root), 7000000);
}
END_TEST

START_TEST(the_process_is_read_past_any_name)
{
    struct host_process p;
    put("/proc/self/stat",
        "12 (a) b (c) S 1 1 1 0 -1 0 0 0 0 0 250 50 0 0 20 0 9 0 1234 "
        "8192000 100 0\n");
    put("/proc/stat", "cpu 1 2 3\nintr 5 0 0 0\nctxt 1\nbtime 1700000000\n");
    put("/proc/self/fd/0", "");
    put("/proc/self/fd/1", "");
    put("/proc/self/limits", "Limit  Soft Limit  Hard Limit\n"
                             "Max open files            1024     4096\n");
    host_process(root, &p);
    ck_assert_int_eq(p.cpu_ns, 300 * (1000000000 / sysconf(_SC_CLK_TCK)));
    ck_assert_int_eq(p.start_ms, 1700000000000 +
                                     1234 * 1000 / sysconf(_SC_CLK_TCK));
    ck_assert_int_eq(p.threads, 9);
    ck_assert_int_eq(p.virtual_bytes, 8192000);
    ck_assert_int_eq(p.resident_bytes, 100 * sysconf(_SC_PAGESIZE));
    ck_assert_int_eq(p.open_descriptors, 2);
    ck_assert_int_eq(p.most_descriptors, 1024);
}
END_TEST

START_TEST(boot_time_is_found_behind_a_long_line)
{
    struct host_process p;
    char *text = malloc(100000);
    size_t n = (size_t)sprintf(text, "intr");
    while (n < 90000)
        n += (size_t)sprintf(text + n, " btime 5");
    sprintf(text + n, "\nbtime 1600000000\n");
    put("/proc/stat", text);
    put("/proc/self/stat", "1 (x) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 0 "
                           "1 1 0\n");
    host_process(root, &p);
    free(text);
    ck_assert_int_eq(p.start_ms, 1600000000000);
}
END_TEST

START_TEST(the_real_process_is_plausible)
{
    struct host_process p;
    host_process("", &p);
    if (!getenv("EMULATOR")) { /* it shows a stat without sizes */
        ck_assert_int_gt(p.resident_bytes, 100000);
        ck_assert_int_ge(p.threads, 1);
    }
    ck_assert_int_ge(p.virtual_bytes, p.resident_bytes);
    ck_assert_int_gt(p.most_descriptors, p.open_descriptors);
    ck_assert_int_le(labs((long)(p.start_ms / 1000 - time(NULL))), 1000);
    int open = 0;
    for (int fd = 0; fd < 1000; fd++)
        open += fcntl(fd, F_GETFD) >= 0;
    ck_assert_int_eq(p.open_descriptors, open);
    ck_assert_int_gt(host_memory_bytes(""), 1 << 24);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        an_empty_tree_has_no_quota_and_no_memory,
        quota_of_version_2_is_the_least_up_to_the_root,
        quota_of_version_2_in_its_own_name_space,
        quota_of_version_1_by_the_controllers_line,
        quota_of_version_1_without_a_name_space,
        nonsense_in_the_files_is_no_quota,
        memory_is_the_least_of_limits_and_machine,
        memory_of_version_1_knows_its_word_for_unlimited,
        a_setting_wins_and_says_so,
        without_a_quota_affinity_decides,
        one_cpu_in_the_mask_is_one_thread,
        a_quota_below_the_mask_is_rounded_up,
        a_quota_above_the_mask_changes_nothing,
        more_threads_than_built_for_are_cut,
        throttled_time_of_both_versions_in_ns,
        the_process_is_read_past_any_name,
        boot_time_is_found_behind_a_long_line,
        the_real_process_is_plausible,
        NULL};
    return suite_run("host", tests, setup, teardown, 20);
}
