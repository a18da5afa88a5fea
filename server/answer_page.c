/* SPDX-License-Identifier: MIT */
/*
 * answer_page - what a person or a generator meets first: GET / and the
 * description of the interface, which the build puts into the binary.
 */
#include "answer.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "attention.h"
#include "config.h"

extern const char embed_openapi_yaml[], embed_openapi_yaml_end[];
extern const char embed_index_html[], embed_index_html_end[];
extern const char embed_openapi_json[], embed_openapi_json_end[];

#define CEILING ((size_t)16 << 10)

static void constant(struct answer *a, const char *type, const char *text,
                     const char *end)
{
    *a = (struct answer){.status = 200,
                         .content_type = type,
                         .text = text,
                         .length = (size_t)(end - text)};
}

void answer_openapi_yaml(struct answer *a)
{
    constant(a, "application/yaml", embed_openapi_yaml,
             embed_openapi_yaml_end);
}

void answer_openapi_json(struct answer *a)
{
    constant(a, "application/json", embed_openapi_json,
             embed_openapi_json_end);
}

/* Whether an Accept header names text/html, and not with q=0. */
static bool wants_html(const char *accept)
{
    const char *named = accept ? strcasestr(accept, "text/html") : NULL;
    if (!named)
        return false;
    named += strlen("text/html");
    const char *q = strcasestr(named, "q=");
    return !q || q > named + strcspn(named, ",") || atof(q + 2) > 0;
}

/* A Host header is shown back only if it can be nothing but a host. */
static bool harmless(const char *host)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
        ".-_:[]";
    size_t length = strlen(host);
    return length > 0 && length < 256 && strspn(host, letters) == length;
}

static void print_text(struct buffer *out, const char *host)
{
    buffer_print(out,
        "attentiond " ATTN_VERSION " - softmax(Q K^T / sqrt(d_k)) V, exactly\n"
        "\n"
        "  curl http://%s/attention -d "
        "'{\"Q\": [[1, 0], [0, 1]], \"K\": [[1, 0], [0, 1]], "
        "\"V\": [[10, 0], [0, 10]]}'\n"
        "\n"
        "  POST /attention      Q, K, V or X, W_Q, W_K, W_V and options\n"
        "  GET  /openapi.yaml   all of them (also /openapi.json)\n"
        "  GET  /info           versions, threads, limits\n"
        "  GET  /livez  /readyz  /healthz  /metrics\n", host);
}

void answer_page(struct answer *a, const char *accept, const char *host)
{
    char own[300];
    if (wants_html(accept)) {
        constant(a, "text/html; charset=utf-8", embed_index_html,
                 embed_index_html_end);
        return;
    }
    if (!host || !harmless(host)) {
        snprintf(own, sizeof own, "%.255s:%lld", config.host,
                 (long long)config.port);
        host = own;
    }
    *a = (struct answer){.status = 200,
                         .content_type = "text/plain; charset=utf-8"};
    buffer_init(&a->memory, CEILING);
    print_text(&a->memory, host);
    if (a->memory.failed) {
        a->status = 503;
        return;
    }
    a->text = a->memory.data;
    a->length = a->memory.length;
}
