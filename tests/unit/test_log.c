/* SPDX-License-Identifier: MIT */
/*
 * test_log.c - one line for each request, in both forms, whatever the client
 * sent, from many threads, and with nobody reading.
 */
#include "suite.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "log.h"

static const char *const steps[] = {"receive", "queue", "decode"};
static const int64_t step_ns[] = {1500000, -1, 20999};
static struct log_access entry;
static char line[LOG_LINE_MAX + 1];

static void setup(void)
{
    entry = (struct log_access){
        .time_ns = INT64_C(1764444896) * 1000000000 + 78999999,
        .id = "r-1", .traceparent = "", .peer = "127.0.0.1", .method = "POST",
        .path = "/attention", .status = 200, .bytes_in = 70, .bytes_out = 90,
        .total_ns = 2000000, .B = 1, .H = 2, .n_q = 3, .n_k = 4,
        .dtype = "float32", .step_name = steps, .step_ns = step_ns,
        .n_steps = 3};
}

static const char *written(enum config_log form)
{
    size_t n = log_access_line(form, &entry, line);
    line[n] = '\0';
    return line;
}

START_TEST(logfmt_has_every_field_in_order)
{
    ck_assert_str_eq(
        written(CONFIG_LOG_LOGFMT),
        "time=2025-11-29T19:34:56.078Z level=info id=r-1 peer=127.0.0.1 "
        "method=POST path=/attention status=200 bytes_in=70 bytes_out=90 "
        "B=1 H=2 n_q=3 n_k=4 dtype=float32 total_ms=2.000 "
        "receive_ms=1.500 decode_ms=0.020\n");
}
END_TEST

/* What a terminal obeys, in one byte or in two, turns a line or ends it. */
START_TEST(no_control_of_a_terminal_or_of_a_line_reaches_the_log)
{
    static const struct { const char *sent, *shown; } table[] = {
        { "\x1b", "\\u001b" }, { "\x7f", "\\u007f" },
        { "\xc2\x80", "\\u0080" }, { "\xc2\x9b", "\\u009b" },
        { "\xe2\x80\x8e", "\\u200e" }, { "\xe2\x80\x8f", "\\u200f" },
        { "\xe2\x80\xa8", "\\u2028" }, { "\xe2\x80\xae", "\\u202e" },
        { "\xe2\x81\xa6", "\\u2066" }, { "\xe2\x81\xa9", "\\u2069" },
        { "\xc2\xa0", "\xc2\xa0" }, { "\xe2\x80\xb0", "\xe2\x80\xb0" },
    };
    enum config_log forms[] = { CONFIG_LOG_LOGFMT, CONFIG_LOG_JSON };

    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        for (int form = 0; form < 2; form++) {
            char path[16], shown[24];

            snprintf(path, sizeof path, "/%s-", table[i].sent);
            snprintf(shown, sizeof shown, "\"/%s-\"", table[i].shown);
            entry.path = path;
            ck_assert_msg(strstr(written(forms[form]), shown) != NULL,
                          "no %s in %s", shown, line);
        }
}
END_TEST

START_TEST(json_has_the_same_fields)
{
    ck_assert_str_eq(
        written(CONFIG_LOG_JSON),
        "{\"time\":\"2025-11-29T19:34:56.078Z\",\"level\":\"info\","
        "\"id\":\"r-1\",\"peer\":\"127.0.0.1\",\"method\":\"POST\","
        "\"path\":\"/attention\",\"status\":200,\"bytes_in\":70,"
        "\"bytes_out\":90,\"B\":1,\"H\":2,\"n_q\":3,\"n_k\":4,"
        "\"dtype\":\"float32\",\"total_ms\":2.000,\"receive_ms\":1.500,"
        "\"decode_ms\":0.020}\n");
}
END_TEST

START_TEST(a_refusal_has_its_code_and_no_shape)
{
    entry.status = 413;
    entry.code = "body_too_large";
    entry.n_q = entry.n_k = 0;
    entry.dtype = NULL;
    const char *text = written(CONFIG_LOG_LOGFMT);
    ck_assert_ptr_nonnull(strstr(text, "level=warning"));
    ck_assert_ptr_nonnull(strstr(text, "status=413 code=body_too_large "));
    ck_assert_ptr_null(strstr(text, "n_q"));
    entry.status = 500;
    ck_assert_ptr_nonnull(strstr(written(CONFIG_LOG_JSON),
                                 "\"level\":\"error\""));
}
END_TEST

START_TEST(what_a_client_sends_cannot_forge_a_line)
{
    entry.id = "a b=\"c\"\\";
    entry.path = "/x\nlevel=error\r\t\x7f\x01";
    ck_assert_ptr_nonnull(strstr(written(CONFIG_LOG_LOGFMT),
                                 " id=\"a b=\\\"c\\\"\\\\\" "));
    ck_assert_ptr_eq(strchr(line, '\n'), line + strlen(line) - 1);
    ck_assert_ptr_nonnull(strstr(line, " path=\"/x\\nlevel=error"));
    entry.id = "a=b";
    entry.peer = "\"";
    ck_assert_ptr_nonnull(strstr(written(CONFIG_LOG_LOGFMT),
                                 " id=\"a=b\" peer=\"\\\"\" "));
    entry.id = "a b=\"c\"\\";
    written(CONFIG_LOG_JSON);
    ck_assert_ptr_eq(strchr(line, '\n'), line + strlen(line) - 1);
    ck_assert_ptr_nonnull(strstr(line, "\"id\":\"a b=\\\"c\\\"\\\\\","));
}
END_TEST

START_TEST(a_line_fits_whatever_the_values)
{
    static char path[5000], id[5000];   /* `entry` outlives the test */
    memset(path, '\x01', sizeof path);
    memset(id, '"', sizeof id);
    path[4999] = id[4999] = '\0';
    entry.path = entry.method = path;
    entry.id = id;
    for (int form = CONFIG_LOG_LOGFMT; form <= CONFIG_LOG_JSON; form++) {
        size_t n = log_access_line((enum config_log)form, &entry, line);
        ck_assert_uint_le(n, LOG_LINE_MAX);
        ck_assert_int_eq(line[n - 1], '\n');
        line[n] = '\0';
        ck_assert_ptr_null(strstr(line, "=\"\" "));
        ck_assert_ptr_null(strstr(line, ":\"\","));
        if (form == CONFIG_LOG_JSON)
            ck_assert_int_eq(line[n - 2], '}');
    }
}
END_TEST

START_TEST(none_writes_no_access_but_events_still)
{
    ck_assert_uint_eq(log_access_line(CONFIG_LOG_NONE, &entry, line), 0);
    size_t n = log_event_line(CONFIG_LOG_NONE, LOG_WARNING, "drain",
                              "3 requests in hand", 0, line);
    line[n] = '\0';
    ck_assert_str_eq(line, "time=1970-01-01T00:00:00.000Z level=warning "
                           "event=drain message=\"3 requests in hand\"\n");
    n = log_event_line(CONFIG_LOG_JSON, LOG_ERROR, "start", "a\"b", 1, line);
    line[n] = '\0';
    ck_assert_str_eq(line, "{\"time\":\"1970-01-01T00:00:00.000Z\","
                           "\"level\":\"error\",\"event\":\"start\","
                           "\"message\":\"a\\\"b\"}\n");
}
END_TEST

/* -------------------------------------------------- through a real pipe */

static int out[2], saved;

static void divert_stdout(void)
{
    fflush(stdout);
    saved = dup(STDOUT_FILENO);
    ck_assert_int_eq(pipe(out), 0);
    dup2(out[1], STDOUT_FILENO);
    close(out[1]);
    config.log = CONFIG_LOG_LOGFMT;
}

static void restore_stdout(void)
{
    dup2(saved, STDOUT_FILENO);
    close(saved);
}

static void *write_lines(void *unused)
{
    for (int i = 0; i < 300; i++)
        log_access(&entry);
    return unused;
}

START_TEST(lines_of_several_threads_do_not_mix)
{
    pthread_t thread[3];
    char text[LOG_LINE_MAX];
    int lines = 0;
    size_t length = strlen(written(CONFIG_LOG_LOGFMT));
    int64_t dropped = log_dropped();
    divert_stdout();
    for (int i = 0; i < 3; i++)
        pthread_create(&thread[i], NULL, write_lines, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(thread[i], NULL);
    restore_stdout();
    FILE *in = fdopen(out[0], "r");
    for (; fgets(text, sizeof text, in); lines++)
        ck_assert_msg(strlen(text) == length, "mixed: %s", text);
    fclose(in);
    ck_assert_int_eq(lines + log_dropped() - dropped, 900);
    ck_assert_int_ge(lines, 100);
}
END_TEST

START_TEST(with_nobody_reading_lines_are_dropped_and_counted)
{
    int64_t before = log_dropped();
    divert_stdout();
    for (int i = 0; i < 2000; i++)
        log_access(&entry);
    restore_stdout();
    close(out[0]);
    ck_assert_int_gt(log_dropped(), before + 500);
    ck_assert_int_lt(log_dropped(), before + 2000);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        logfmt_has_every_field_in_order,
        no_control_of_a_terminal_or_of_a_line_reaches_the_log,
        json_has_the_same_fields,
        a_refusal_has_its_code_and_no_shape,
        what_a_client_sends_cannot_forge_a_line,
        a_line_fits_whatever_the_values,
        none_writes_no_access_but_events_still,
        lines_of_several_threads_do_not_mix,
        with_nobody_reading_lines_are_dropped_and_counted,
        NULL};
    return suite_run("log", tests, setup, NULL, 20);
}
