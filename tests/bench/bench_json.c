/* SPDX-License-Identifier: MIT */
/*
 * bench_json - what one request costs in decode, compute and encode, on one
 * thread, in this process: CPU time, medians of seven rounds, bodies as Python
 * prints lists of floats (17 digits, a blank behind the comma) and as short
 * as can be. --json prints one object a line.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "config.h"
#include "form.h"
#include "number.h"
#include "request.h"

enum { ROUNDS = 7, STEPS = 3 };

static double clock_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static float next_number(void)
{
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (float)((double)(int64_t)state * 0x1p-63);
}

static char *put_tensor(char *end, char name, int n, int d, bool shortest)
{
    end += sprintf(end, "\"%c\": [", name);
    for (int i = 0; i < n * d; i++) {
        float x = next_number();
        end = stpcpy(end, i == 0 ? "[" : i % d ? ", " : "], [");
        if (shortest && i % d)
            end--;
        end += shortest ? (int)number_write_f32(end, x)
                        : sprintf(end, "%.17g", (double)x);
    }
    return stpcpy(end, "]]");
}

static char *make_body(int n, int d, bool shortest, bool with_a)
{
    char *body = malloc((size_t)(3 * n * d) * 28 + 200);
    char *end = stpcpy(body, "{");
    for (const char *name = "QKV"; *name; name++) {
        end = put_tensor(end, *name, n, d, shortest);
        end = stpcpy(end, ", ");
    }
    strcpy(end, with_a ? "\"return\": [\"output\", \"A\"]}"
                       : "\"return\": [\"output\"]}");
    return body;
}

static void fail(const struct request *r)
{
    fprintf(stderr, "bench_json: %s\n", r->fault.detail);
    exit(1);
}

static void decode(struct request *r)
{
    int64_t tasks;
    while ((tasks = form_json.decode_next(r)) > 0) {
        for (int64_t k = 0; k < tasks; k++)
            while (!form_json.decode_task(r, k))
                continue;
    }
    if (r->fault.problem != PROBLEM_NONE)
        fail(r);
}

static void compute(struct request *r)
{
    struct attn_error error;
    if (attn_plan(&r->input, &r->plan, &error) != ATTN_OK)
        exit(1);
    for (int o = 0; o < ATTN_N_OUT; o++) {
        if (r->plan.output_bytes[o] > 0)
            r->output.data[o] =
                arena_alloc(&r->arena, r->plan.output_bytes[o]);
    }
    r->call = (struct attn_call){
        .in = &r->input, .plan = &r->plan, .out = &r->output,
        .shared = arena_alloc(&r->arena, r->plan.shared_bytes)};
    attn_run(&r->call, arena_alloc(&r->arena, attn_run_bytes(&r->plan)));
}

static size_t encode(struct request *r)
{
    int64_t pieces = form_json.encode_plan(r);
    size_t bytes = 0, got;
    for (int64_t k = 0; k < pieces; k++) {
        char *out = block_take(form_json.encode_bound(r, k), &got);
        bytes += form_json.encode_piece(r, k, out);
        block_give(out, got);
    }
    return bytes;
}

static size_t one_request(char *body, size_t length, double us[STEPS])
{
    struct request *r = request_new();
    double mark[STEPS + 1];

    r->body = (struct buffer){.data = body, .length = length};
    mark[0] = clock_us();
    decode(r);
    mark[1] = clock_us();
    compute(r);
    mark[2] = clock_us();
    size_t bytes = encode(r);
    mark[3] = clock_us();
    for (int i = 0; i < STEPS; i++)
        us[i] += mark[i + 1] - mark[i];
    r->body = (struct buffer){.data = NULL};
    request_free(r);
    return bytes;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(int n, int d, bool shortest, bool with_a, bool json)
{
    char *body = make_body(n, d, shortest, with_a);
    size_t length = strlen(body), reply = 0;
    double round[STEPS][ROUNDS];
    int repeat = 1 + 100000 / (n * d) / (with_a ? 1 + n / 64 : 1);

    for (int k = 0; k < ROUNDS; k++) {
        double us[STEPS] = {0};
        for (int i = 0; i < repeat; i++)
            reply = one_request(body, length, us);
        for (int i = 0; i < STEPS; i++)
            round[i][k] = us[i] / repeat;
    }
    for (int i = 0; i < STEPS; i++)
        qsort(round[i], ROUNDS, sizeof(double), ascending);
    double in = 3.0 * n * d, out = (double)n * d + (with_a ? n * (double)n : 0);
    double us[] = {round[0][ROUNDS / 2], round[1][ROUNDS / 2],
                   round[2][ROUNDS / 2]};
    printf(json ? "{\"n\":%d,\"text\":\"%s\",\"A\":%s,\"body_bytes\":%zu,"
                  "\"reply_bytes\":%zu,\"decode_us\":%.2f,"
                  "\"compute_us\":%.2f,\"encode_us\":%.2f,"
                  "\"decode_ns_a_number\":%.2f,\"encode_ns_a_number\":%.2f}\n"
                : "%5d %-9s %-6s %9zu %9zu %9.1f %9.1f %9.1f %9.2f %9.2f\n",
           n, shortest ? "shortest" : "17 digits",
           json ? (with_a ? "true" : "false") : (with_a ? "with A" : ""),
           length, reply, us[0], us[1], us[2], us[0] * 1e3 / in,
           us[2] * 1e3 / out);
    free(body);
}

int main(int argc, char **argv)
{
    static const int sizes[] = {2, 16, 64, 256, 1024, 2048};
    bool json = argc > 1 && strcmp(argv[1], "--json") == 0;
    char *program[] = {argv[0], NULL};
    char error[256];

    if (config_load(1, program, error, sizeof error) != 0 
        || attn_init(ATTN_ENGINE_AUTO) == ATTN_ENGINE_REFERENCE)
        return EXIT_FAILURE;
    if (!json)
        puts("one request, one thread, d = 64 (n = 2: d = 2); us, and ns a "
             "number\n    n body                body     reply    decode   "
             "compute    encode    read/nr   write/nr");
    for (int k = 0; k < 4; k++) {
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            measure(sizes[i], sizes[i] == 2 ? 2 : 64, k & 1, k & 2, json);
    }
    return EXIT_SUCCESS;
}
