/* SPDX-License-Identifier: MIT */
/*
 * answer_health - is the process alive, is it ready. Only constant texts, so
 * that nothing can fail: no memory, no lock. Load never makes a service
 * unready, or one overloaded replica would take out the next.
 */
#include "answer.h"

#include <string.h>

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

void answer_readyz(struct answer *a, enum answer_state state)
{
    if (state == ANSWER_STARTING)
        say(a, 503, "{\"status\":\"unavailable\",\"reason\":\"starting\"}\n");
    else if (state == ANSWER_DRAINING)
        say(a, 503, "{\"status\":\"unavailable\",\"reason\":\"draining\"}\n");
    else
        say(a, 200, "{\"status\":\"ok\"}\n");
}
