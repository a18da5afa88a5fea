/* SPDX-License-Identifier: MIT */
/*
 * answer - the side rooms: health, info, metrics, page. Each fills a struct
 * answer at once from what it is given, without the queue and without the
 * BLAS, from any thread. They know no other room.
 */
#ifndef ANSWER_H
#define ANSWER_H

#include <stddef.h>
#include <stdint.h>

#include "buffer.h"

struct answer {
    int status;                 /* HTTP; 503 without text: no memory */
    const char *content_type;
    const char *text;           /* constant, or memory.data */
    size_t length;
    struct buffer memory;       /* the caller: buffer_free() when sent */
};

enum answer_state { ANSWER_STARTING, ANSWER_READY, ANSWER_DRAINING };

/* 200 as long as anything is answered at all. */
void answer_livez(struct answer *a);
/* /readyz and /healthz: 503 while starting and draining, with the reason. A
 * warning (NULL: none), a constant without quotes, is told while ready. */
void answer_readyz(struct answer *a, enum answer_state state,
                   const char *warning);

/* Constant facts for /info; what they point to must stay. */
struct answer_facts {
    int threads, io_threads;
    const char *threads_source, *threads_reason;
    const char *engine, *blas, *cpu_level;
    const char *warning;        /* which engine failed its test, or NULL */
    const char *http_library, *json_library;   /* versions */
    int64_t memory_budget_bytes, connections;
};
void answer_info(struct answer *a, const struct answer_facts *facts,
                 enum answer_state state);

void answer_metrics(struct answer *a);

/* GET /: by what the Accept header names (NULL: none); host is the Host
 * header, for the example (NULL: from the settings). */
void answer_page(struct answer *a, const char *accept, const char *host);
void answer_openapi_yaml(struct answer *a);
void answer_openapi_json(struct answer *a);

#endif
