/* SPDX-License-Identifier: MIT */
/*
 * answer_info - what this service is, what it runs on, and what it refuses.
 */
#include "answer.h"

#include "attention.h"
#include "config.h"
#include "problem.h"

#define CEILING ((size_t)16 << 10)

static void print_text(struct buffer *out, const char *name, const char *text)
{
    char escaped[512];
    problem_escape(escaped, sizeof escaped, text ? text : "");
    buffer_print(out, "\"%s\":\"%s\",", name, escaped);
}

static void print_limits(struct buffer *out, const struct answer_facts *facts)
{
    buffer_print(out,
                 "\"limits\":{\"body_bytes\":%lld,\"elements\":%lld,"
                 "\"operations\":%.17g,\"memory_bytes\":%lld,\"queue\":%lld,"
                 "\"connections\":%lld,\"timeout_seconds\":%.15g}",
                 (long long)config.body_bytes, (long long)config.elements,
                 config.operations, (long long)facts->memory_budget_bytes,
                 (long long)config.queue, (long long)facts->connections,
                 config.timeout_s);
}

void answer_info(struct answer *a, const struct answer_facts *facts,
                 enum answer_state state)
{
    static const char *const words[] = {"starting", "ready", "draining"};
    struct buffer *out = &a->memory;
    *a = (struct answer){.status = 200, .content_type = "application/json"};
    buffer_init(out, CEILING);
    out->answers = true;

    buffer_print(out, "{");
    print_text(out, "name", "attentiond");
    print_text(out, "version", ATTN_VERSION);
    print_text(out, "state", words[state]);
    buffer_print(out, "\"threads\":{\"count\":%d,", facts->threads);
    print_text(out, "source", facts->threads_source);
    print_text(out, "reason", facts->threads_reason);
    buffer_print(out, "\"io\":%d},", facts->io_threads);
    print_text(out, "engine", facts->engine);
    if (facts->warning != NULL)
        print_text(out, "warning", facts->warning);
    print_text(out, "blas", facts->blas);
    print_text(out, "cpu_level", facts->cpu_level);
    print_text(out, "libmicrohttpd", facts->http_library);
    print_text(out, "jansson", facts->json_library);
    print_limits(out, facts);
    if (buffer_print(out, "}\n") != BUFFER_OK) {
        a->status = 503;
        return;
    }
    a->text = out->data;
    a->length = out->length;
}
