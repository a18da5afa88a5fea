/* SPDX-License-Identifier: MIT */
/*
 * test_memory.c - what one request holds in its highest moment, on its way
 * through the stages: no more than its plan said, and no more than its body,
 * twice its tensors, what it gives back, and a workspace.
 */
#include "suite.h"

#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "compute.h"
#include "config.h"
#include "encode.h"
#include "form.h"
#include "queue.h"
#include "work.h"

static size_t most;

static void read_nothing(struct request *r)
{
    (void)r;
}

static void setup(void)
{
    char *program[] = {"attentiond", NULL}, error[256] = "";

    ck_assert_msg(config_load(1, program, error, sizeof error) == 0, "%s",
                  error);
    suite_init_library();
    queue_open(1, 1, read_nothing);
    ck_assert_int_eq(work_start(1), 0);
}

static void teardown(void)
{
    work_stop();
}

static void look(void)
{
    if (block_used_bytes() > most)
        most = block_used_bytes();
}

static void run(struct request *r)
{
    const struct stage *stage = &stages[r->stage - STEP_DECODE];
    int64_t tasks;

    while ((tasks = stage->next(r)) > 0) {
        look();
        for (int64_t task = 0; task < tasks; task++)
            while (!stage->task(r, task, 0))
                look();
        look();
    }
    look();
    ck_assert_msg(r->fault.problem == PROBLEM_NONE, "%s", r->fault.detail);
    r->stage++;
}

static struct request *posted(const char *text)
{
    struct request *r = request_new();

    ck_assert_ptr_nonnull(r);
    r->form_reply = &form_json;
    buffer_init(&r->body, strlen(text));
    ck_assert_int_eq(buffer_append(&r->body, text, strlen(text)), BUFFER_OK);
    return r;
}

static size_t tensors(const struct request *r)
{
    size_t bytes = 0;

    for (int i = 0; i < ATTN_N_IN; i++)
        if (r->input.tensor[i].rank > 0)
            bytes += (size_t)attn_tensor_elements(&r->input.tensor[i])
                * attn_dtype_bytes(r->input.dtype);
    return bytes;
}

static size_t outputs(const struct request *r)
{
    size_t bytes = encode_memory(r);

    for (int o = 0; o < ATTN_N_OUT; o++)
        bytes += r->plan.output_bytes[o];
    return bytes;
}

/* Blocks come in sizes an eighth apart, small pieces share some. */
static size_t with_waste(size_t bytes)
{
    return bytes + bytes / 8 + (512 << 10);
}

static void check(const char *text)
{
    struct request *r = posted(text);
    size_t body = r->body.length;

    most = 0;
    run(r);
    size_t held = block_used_bytes() - r->body.capacity;
    size_t while_decoded = most;
    most = 0;
    run(r);
    run(r);
    ck_assert_msg((double)most <= (double)held + compute_memory(r),
                  "%.60s: %zu, planned were %zu + %.0f", text, most, held,
                  compute_memory(r));
    most = most > while_decoded ? most : while_decoded;
    ck_assert_msg(most <= with_waste(body + 2 * tensors(r) + outputs(r) +
                                     r->plan.worker_bytes),
                  "%.60s: %zu with %zu, %zu, %zu, %zu", text, most, body,
                  tensors(r), outputs(r), r->plan.worker_bytes);
    request_free(r);
    ck_assert_uint_eq(block_used_bytes(), 0);
    block_trim(INT64_MAX, 0);
}

START_TEST(request_holds_no_more_than_was_planned)
{
    static const char *const options[] = {
        "\"return\":[\"output\"]", "", "\"dtype\":\"float64\"",
        "\"return\":[\"A\",\"A_mean\",\"S\",\"stats\",\"lse\"]",
        ("\"return\":[\"lse\",\"present_K\"],\"past_K\":[[1,2,3,4]],"
         "\"past_V\":[[1,2,3,4]]"),
    };
    static const int64_t sizes[] = {1, 30, 100, 700, 2000, 20000};

    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            bool square = i > 0 && i < 4;
            char *text = call_json(sizes[k], 4, options[i]);
            if (!square || sizes[k] <= 700)
                check(text);
            free(text);
        }
}
END_TEST

START_TEST(body_that_is_squeezed_holds_no_more_either)
{
    char *text = call_json(3000, 16, "\"return\":[\"output\"]");
    char *wide = calloc(strlen(text) + 2000000, 1);
    const char *comma = strchr(text, ',');

    memcpy(wide, text, (size_t)(comma - text));
    memset(wide + (comma - text), ' ', 1000000);
    strcat(wide, comma);
    check(wide);
    free(wide);
    free(text);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        request_holds_no_more_than_was_planned,
        body_that_is_squeezed_holds_no_more_either,
        NULL};
    return suite_run("memory", tests, setup, teardown, 60);
}
