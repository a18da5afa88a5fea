/* SPDX-License-Identifier: MIT */
/*
 * answer_health - is the process alive, is it ready. Only constant texts, so
 * that nothing can fail: no memory, no lock. Load never makes a service
 * unready, or one overloaded replica would take out the next.
 */
#include "answer.h"

#include <string.h>

#define CEILING ((size_t)1 << 10)

static void say(struct answer *a, int status, const char *text)
{
    *a = (struct answer){.status = status,
                         .content_type = "application/json",
                         .text = text,
                         .length = strlen(text)};
}

void answer_livez(struct answer *a)
{
    say(a, 200, "{\"status\":\"ok\"}\n");
}

void answer_readyz(struct answer *a, enum answer_state state,
                   const char *warning)
{
    if (state == ANSWER_STARTING)
        say(a, 503, "{\"status\":\"unavailable\",\"reason\":\"starting\"}\n");
    else if (state == ANSWER_DRAINING)
        say(a, 503, "{\"status\":\"unavailable\",\"reason\":\"draining\"}\n");
    else
        say(a, 200, "{\"status\":\"ok\"}\n");
    if (a->status != 200 || warning == NULL)
        return;
    buffer_init(&a->memory, CEILING);
    if (buffer_print(&a->memory, "{\"status\":\"ok\",\"warning\":\"%s\"}\n",
                     warning) != BUFFER_OK)
        return;
    a->text = a->memory.data;
    a->length = a->memory.length;
}
