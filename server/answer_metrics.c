/* SPDX-License-Identifier: MIT */
/*
 * answer_metrics - the numbers of metrics.c for Prometheus.
 */
#include "answer.h"

#include "metrics.h"

#define CEILING ((size_t)1 << 20)

void answer_metrics(struct answer *a)
{
    *a = (struct answer){
        .status = 200,
        .content_type = "text/plain; version=0.0.4; charset=utf-8"};
    buffer_init(&a->memory, CEILING);
    a->memory.answers = true;
    if (metrics_print(&a->memory) != BUFFER_OK) {
        a->status = 503;
        return;
    }
    a->text = a->memory.data;
    a->length = a->memory.length;
}
