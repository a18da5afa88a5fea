/* SPDX-License-Identifier: MIT */
/*
 * test_config.c - settings: flag over variable over default, bounds, units,
 * and what is said about a wrong one.
 */
#include "suite.h"

#include <stdlib.h>
#include <string.h>

#include "config.h"

static char error[256];

static void setup(void)
{
    extern char **environ;
    for (char **entry = environ; *entry;) {
        char name[64] = "";
        sscanf(*entry, "%63[^=]", name);
        if (strncmp(name, "ATTENTIOND", 10) == 0 || strcmp(name, "PORT") == 0)
            unsetenv(name);
        else
            entry++;
    }
    *error = '\0';
}

/* Up to three arguments; NULL: no more. */
static int load(const char *first, const char *second, const char *third)
{
    char program[] = "attentiond", words[3][128];
    const char *given[] = {first, second, third};
    char *argv[5] = {program};
    int argc = 1;
    for (int i = 0; i < 3 && given[i]; i++) {
        snprintf(words[i], sizeof words[i], "%s", given[i]);
        argv[argc++] = words[i];
    }
    *error = '\0';
    return config_load(argc, argv, error, sizeof error);
}

/* What printer() writes, as text to be freed. */
static char *printed(void (*printer)(FILE *))
{
    char *text;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    printer(file);
    fclose(file);
    return text;
}

static void assert_prints(void (*printer)(FILE *), const char *part)
{
    char *text = printed(printer);
    ck_assert_msg(strstr(text, part), "no \"%s\" in\n%s", part, text);
    free(text);
}

START_TEST(without_a_word_the_defaults_hold)
{
    ck_assert_int_eq(load(NULL, NULL, NULL), 0);
    ck_assert_str_eq(config.host, "127.0.0.1");
    ck_assert_int_eq(config.port, 8080);
    ck_assert_int_eq(config.admin_port, -1);
    ck_assert_int_eq(config.body_bytes, 1 << 30);
    ck_assert_int_eq(config.elements, 1 << 30);
    ck_assert_double_eq(config.operations, 1e15);
    ck_assert_double_eq(config.timeout_s, 300);
    ck_assert_int_eq(config.log, CONFIG_LOG_LOGFMT);
    ck_assert(!config.log_probes && !config.want_help);
}
END_TEST

START_TEST(a_flag_wins_over_its_variable)
{
    setenv("ATTENTIOND_IO_THREADS", "3", 1);
    ck_assert_int_eq(load(NULL, NULL, NULL), 0);
    ck_assert_int_eq(config.io_threads, 3);
    ck_assert_int_eq(load("--io-threads", "4", NULL), 0);
    ck_assert_int_eq(config.io_threads, 4);
}
END_TEST

START_TEST(both_spellings_of_a_flag_are_read_and_the_last_counts)
{
    ck_assert_int_eq(load("--queue=7", "--queue", "9"), 0);
    ck_assert_int_eq(config.queue, 9);
    ck_assert_int_eq(load("--queue", "9", "--queue=7"), 0);
    ck_assert_int_eq(config.queue, 7);
}
END_TEST

START_TEST(port_of_the_platform_is_the_last_resort)
{
    setenv("PORT", "9001", 1);
    ck_assert_int_eq(load(NULL, NULL, NULL), 0);
    ck_assert_int_eq(config.port, 9001);
    setenv("ATTENTIOND_PORT", "9002", 1);
    ck_assert_int_eq(load(NULL, NULL, NULL), 0);
    ck_assert_int_eq(config.port, 9002);
    ck_assert_int_eq(load("--port", "9003", NULL), 0);
    ck_assert_int_eq(config.port, 9003);
}
END_TEST

START_TEST(the_link_of_a_kubernetes_service_is_no_port)
{
    setenv("ATTENTIOND_PORT", "tcp://10.0.0.1:80", 1);
    ck_assert_int_eq(load(NULL, NULL, NULL), 0);
    ck_assert_int_eq(config.port, 8080);
    setenv("ATTENTIOND_ADMIN_PORT", "udp://10.0.0.1:80", 1);
    ck_assert_int_eq(load(NULL, NULL, NULL), 0);
    ck_assert_int_eq(config.admin_port, -1);
    setenv("ATTENTIOND_PORT", "http://10.0.0.1:80", 1);
    ck_assert_int_eq(load(NULL, NULL, NULL), EXIT_USAGE);
    unsetenv("ATTENTIOND_PORT");
    setenv("ATTENTIOND_QUEUE", "tcp://10.0.0.1:80", 1);
    ck_assert_int_eq(load(NULL, NULL, NULL), EXIT_USAGE);
}
END_TEST

START_TEST(a_flag_wins_over_a_variable_that_is_malformed)
{
    setenv("PORT", "tcp://10.96.0.12:80", 1);
    ck_assert_int_eq(load("--port", "23999", NULL), 0);
    setenv("ATTENTIOND_PORT", "junk", 1);
    ck_assert_int_eq(load("--port", "23999", NULL), 0);
    ck_assert_int_eq(config.port, 23999);
    setenv("ATTENTIOND_QUEUE", "0", 1);
    ck_assert_int_eq(load("--port=1", "--queue", "5"), 0);
    ck_assert_int_eq(config.queue, 5);
    ck_assert_int_eq(load("--port=1", NULL, NULL), EXIT_USAGE);
}
END_TEST

static char told[4096];

static void note(const char *text)
{
    strcat(strcat(told, text), "\n");
}

static const char *ignored(void)
{
    told[0] = '\0';
    config_tell_ignored(note);
    return told;
}

START_TEST(every_variable_of_a_service_is_ignored_with_a_word)
{
    static const struct { const char *name, *value; } links[] = {
        {"ATTENTIOND_SERVICE_HOST", "10.0.0.1"},
        {"ATTENTIOND_SERVICE_PORT", "80"},
        {"ATTENTIOND_SERVICE_PORT_HTTP", "80"},
        {"ATTENTIOND_PORT", "tcp://10.0.0.1:80"},
        {"ATTENTIOND_PORT_80_TCP", "tcp://10.0.0.1:80"},
        {"ATTENTIOND_PORT_80_TCP_PROTO", "tcp"},
        {"ATTENTIOND_PORT_80_TCP_PORT", "80"},
        {"ATTENTIOND_PORT_80_TCP_ADDR", "10.0.0.1"},
        {"ATTENTIOND_ADMIN_SERVICE_HOST", "10.0.0.2"},
        {"ATTENTIOND_ADMIN_PORT", "tcp://10.0.0.2:90"},
        {"ATTENTIOND_ADMIN_PORT_90_TCP", "tcp://10.0.0.2:90"},
        {"ATTENTIOND_DNS_PORT_53_UDP_ADDR", "10.0.0.3"}};
    size_t n = sizeof links / sizeof *links;
    for (size_t i = 0; i < n; i++) {
        char line[128];
        setenv(links[i].name, links[i].value, 1);
        ck_assert_int_eq(load(NULL, NULL, NULL), 0);
        snprintf(line, sizeof line, "%s is ignored: Kube", links[i].name);
        ck_assert_msg(strstr(ignored(), line), "%s: %s", links[i].name, told);
    }
}
END_TEST

START_TEST(an_unknown_variable_is_told_with_the_nearest)
{
    setenv("ATTENTIOND_QUEU", "5", 1);
    setenv("ATTENTIOND_THREADS", "2", 1);
    setenv("ATTENTIOND_EMPTY", "", 1);
    ck_assert_int_eq(load(NULL, NULL, NULL), 0);
    ck_assert_str_eq(ignored(), "ATTENTIOND_QUEU is ignored: there is no such "
                     "setting; did you mean ATTENTIOND_QUEUE?\n");
    unsetenv("ATTENTIOND_QUEU");
    setenv("ATTENTIOND_HELP", "1", 1);
    ck_assert_ptr_nonnull(strstr(ignored(), "ATTENTIOND_HELP is ignored"));
}
END_TEST

START_TEST(an_empty_variable_is_none)
{
    setenv("ATTENTIOND_QUEUE", "", 1);
    setenv("PORT", "", 1);
    ck_assert_int_eq(load(NULL, NULL, NULL), 0);
    ck_assert_int_eq(config.queue, 256);
    ck_assert_int_eq(config.port, 8080);
}
END_TEST

START_TEST(bytes_have_units_of_1000_and_1024)
{
    const struct { const char *text; int64_t bytes; } cases[] = {
        {"1", 1}, {"12B", 12}, {"3k", 3000}, {"3K", 3000}, {"3kB", 3000},
        {"2KiB", 2048}, {"2Ki", 2048}, {"64MiB", 64 << 20},
        {"1.5GiB", 3 << 29}, {"2G", 2000000000}, {"1TiB", INT64_C(1) << 40}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ck_assert_int_eq(load("--body-bytes", cases[i].text, NULL), 0);
        ck_assert_int_eq(config.body_bytes, cases[i].bytes);
    }
}
END_TEST

START_TEST(times_have_units)
{
    const struct { const char *text; double seconds; } cases[] = {
        {"2", 2}, {"2s", 2}, {"0.5", 0.5}, {"500ms", 0.5}, {"1500us", 0.0015},
        {"2m", 120}, {"1h", 3600}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ck_assert_int_eq(load("--timeout", cases[i].text, NULL), 0);
        ck_assert_double_eq_tol(config.timeout_s, cases[i].seconds, 1e-12);
    }
}
END_TEST

START_TEST(a_switch_needs_no_value_and_takes_one)
{
    ck_assert_int_eq(load("--log-probes", NULL, NULL), 0);
    ck_assert(config.log_probes);
    setenv("ATTENTIOND_LOG_PROBES", "yes", 1);
    ck_assert_int_eq(load(NULL, NULL, NULL), 0);
    ck_assert(config.log_probes);
    ck_assert_int_eq(load("--log-probes=off", NULL, NULL), 0);
    ck_assert(!config.log_probes);
}
END_TEST

START_TEST(a_wrong_value_is_refused_with_its_rule)
{
    const struct { const char *flag, *value, *said; } cases[] = {
        {"--port", "65536", "--port: \"65536\" is not a whole number from 0 "
                            "to 65535"},
        {"--port", "-1", "--port: \"-1\" is not"},
        {"--port", "80x", "--port: \"80x\" is not"},
        {"--port", "8e99", "--port: \"8e99\" is not"},
        {"--port", "80.5", "--port: \"80.5\" is not"},
        {"--port", "", "--port: \"\" is not"},
        {"--port", " 80", "--port: \" 80\" is not"},
        {"--threads", "nan", "--threads: \"nan\" is not"},
        {"--queue", "0", "from 1 to 1000000"},
        {"--body-bytes", "1QiB", "such as 1000, 64k or 2GiB"},
        {"--body-bytes", "0.3", "--body-bytes: \"0.3\" is not"},
        {"--memory-bytes", "1048575", "from 1048576 to 1.07374e+15, or 0"},
        {"--timeout", "1w", "a time such as 2, 500ms or 1m"},
        {"--timeout", "0", "from 0.001 to 86400 seconds"},
        {"--timeout", "inf", "--timeout: \"inf\" is not"},
        {"--operations", "1k", "--operations: \"1k\" is not a number"},
        {"--rate", "1e-11", "a number from 1e-06 to 1000000000, or 0"},
        {"--trusted-proxy", "10.0.0.0/33",
         "is not addresses or networks such as 10.0.0.0/8,::1, or none"},
        {"--log", "xml", "--log: \"xml\" is not logfmt, json or none"},
        {"--log-probes=", NULL, "is not true or false"},
        {"--help=1", NULL, "--help takes no value"},
        {"--host", "", "--host: \"\" is not"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ck_assert_int_eq(load(cases[i].flag, cases[i].value, NULL),
                         EXIT_USAGE);
        ck_assert_msg(strstr(error, cases[i].said), "said: %s", error);
        ck_assert_ptr_null(strchr(error, '\n'));
    }
}
END_TEST

START_TEST(a_wrong_variable_is_called_by_its_name)
{
    setenv("ATTENTIOND_MIN_RATE_AFTER", "soon", 1);
    ck_assert_int_eq(load(NULL, NULL, NULL), EXIT_USAGE);
    ck_assert_msg(strstr(error, "ATTENTIOND_MIN_RATE_AFTER: \"soon\""),
                  "said: %s", error);
    unsetenv("ATTENTIOND_MIN_RATE_AFTER");
    setenv("PORT", "http", 1);
    ck_assert_int_eq(load(NULL, NULL, NULL), EXIT_USAGE);
    ck_assert_msg(strstr(error, "PORT: \"http\"") == error, "%s", error);
}
END_TEST

START_TEST(an_unknown_flag_is_told_the_nearest)
{
    ck_assert_int_eq(load("--thread", "2", NULL), EXIT_USAGE);
    ck_assert_str_eq(error, "--thread is unknown: did you mean --threads?");
    ck_assert_int_eq(load("--prot=80", NULL, NULL), EXIT_USAGE);
    ck_assert_str_eq(error, "--prot is unknown: did you mean --port?");
    ck_assert_int_eq(load("--xyzzyplugh", NULL, NULL), EXIT_USAGE);
    ck_assert_str_eq(error,
                     "--xyzzyplugh is unknown; --help lists the flags");
}
END_TEST

START_TEST(a_bare_word_and_a_missing_value_are_refused)
{
    ck_assert_int_eq(load("8080", NULL, NULL), EXIT_USAGE);
    ck_assert_str_eq(error, "\"8080\" is no flag; --help lists them");
    ck_assert_int_eq(load("--port", NULL, NULL), EXIT_USAGE);
    ck_assert_str_eq(error,
                     "--port needs a whole number from 0 to 65535");
}
END_TEST

START_TEST(what_is_asked_for_instead_of_serving_is_known)
{
    ck_assert_int_eq(load("-h", NULL, NULL), 0);
    ck_assert(config.want_help);
    ck_assert_int_eq(load("-V", "--print-config", "--check-config"), 0);
    ck_assert(config.want_version && config.want_print && config.want_check);
    ck_assert_int_eq(load("--healthcheck", "--print-options-doc", NULL), 0);
    ck_assert(config.want_healthcheck && config.want_options_doc);
    ck_assert(!config.want_help);
}
END_TEST

START_TEST(print_config_says_where_a_value_comes_from)
{
    setenv("ATTENTIOND_QUEUE", "12", 1);
    setenv("PORT", "9001", 1);
    ck_assert_int_eq(load("--log=json", "--log-probes", NULL), 0);
    assert_prints(config_print, "\nport = 9001 (PORT)\n");
    assert_prints(config_print, "\nqueue = 12 (ATTENTIOND_QUEUE)\n");
    assert_prints(config_print, "\nlog = json (flag)\n");
    assert_prints(config_print, "\nlog-probes = true (flag)\n");
    assert_prints(config_print, "\nthreads = 0 (default)\n");
    assert_prints(config_print, "\noperations = 1e+15 (default)\n");
}
END_TEST

/* Run from the project's directory, as make does. */
START_TEST(the_document_is_the_one_that_the_table_makes)
{
    static char text[32768];
    FILE *file = fopen("docs/options.md", "r");
    ck_assert_ptr_nonnull(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    char *made = printed(config_print_options_doc);
    ck_assert_msg(strcmp(text, made) == 0,
                  "attentiond --print-options-doc > docs/options.md");
    free(made);
}
END_TEST

START_TEST(help_and_document_fit_and_name_every_setting)
{
    load(NULL, NULL, NULL);
    char *help = printed(config_print_help), *rest = help, *line;
    while ((line = strsep(&rest, "\n")))
        ck_assert_msg(strlen(line) < 80, "too wide: %s", line);
    free(help);
    assert_prints(config_print_help, "--memory-bytes BYTES");
    assert_prints(config_print_options_doc,
                  "| `--io-threads` | `ATTENTIOND_IO_THREADS` | `2` | "
                  "a whole number from 1 to 64 |");
    assert_prints(config_print_options_doc, "| `--log-probes` |");
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        without_a_word_the_defaults_hold,
        a_flag_wins_over_its_variable,
        both_spellings_of_a_flag_are_read_and_the_last_counts,
        port_of_the_platform_is_the_last_resort,
        the_link_of_a_kubernetes_service_is_no_port,
        a_flag_wins_over_a_variable_that_is_malformed,
        every_variable_of_a_service_is_ignored_with_a_word,
        an_unknown_variable_is_told_with_the_nearest,
        an_empty_variable_is_none,
        bytes_have_units_of_1000_and_1024,
        times_have_units,
        a_switch_needs_no_value_and_takes_one,
        a_wrong_value_is_refused_with_its_rule,
        a_wrong_variable_is_called_by_its_name,
        an_unknown_flag_is_told_the_nearest,
        a_bare_word_and_a_missing_value_are_refused,
        what_is_asked_for_instead_of_serving_is_known,
        print_config_says_where_a_value_comes_from,
        the_document_is_the_one_that_the_table_makes,
        help_and_document_fit_and_name_every_setting,
        NULL};
    return suite_run("config", tests, setup, NULL, 20);
}
