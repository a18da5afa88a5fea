/* SPDX-License-Identifier: MIT */
/*
 * refuse - see refuse.h.
 */
#include "refuse.h"

#include "config.h"
#include "guest.h"
#include "mhd.h"
#include "reply.h"
#include "work.h"

void refuse_headers(struct request *r)
{
    r->fault = (struct fault){ .problem = PROBLEM_NONE };
    fault_set(&r->fault, PROBLEM_HEADERS, NULL, "The headers take %zu bytes "
              "with %d more for each line, argument and cookie; the limit is "
              "%zu.", r->headers.bytes, HEADER_LINE_BYTES, HEADER_BYTES_MAX);
    r->fault.has_got = r->fault.has_limit = true;
    r->fault.got = (double)r->headers.bytes;
    r->fault.limit = (double)HEADER_BYTES_MAX;
    r->guest->lingers = true;
    reply_raw(r);
}

/* The library has replied in the middle of the body. What it sent counts. */
static void note_refusal(struct request *r, int status)
{
    if (status == problem_row(PROBLEM_HEADERS)->status)
        fault_set(&r->fault, PROBLEM_HEADERS, NULL, "The trailer is too "
                  "large.");
    else
        fault_set(&r->fault, PROBLEM_BAD_FRAMING, NULL, "The chunks of the "
                  "body are broken.");
    r->status = status != 0 ? status : problem_row(r->fault.problem)->status;
}

void refuse_without_room(struct request *r)
{
    fault_set(&r->fault, PROBLEM_HEADERS, NULL, "What comes behind the request "
              "leaves no room for the reply.");
    r->guest->lingers = true;
    reply_raw(r);
}

void refuse_rest(struct request *r, bool replied)
{
    int verdict = atomic_load(&r->guest->verdict);

    if (verdict == PROBLEM_BODY_STALLED)
        fault_set(&r->fault, PROBLEM_BODY_STALLED, NULL, "The body stopped "
                  "coming after %lld bytes (--min-rate, --min-rate-after, "
                  "--idle-timeout).", (long long)r->received_bytes);
    else if (verdict == PROBLEM_UPLOAD_TIMEOUT)
        fault_set(&r->fault, PROBLEM_UPLOAD_TIMEOUT, NULL, "The body is not "
                  "here after %g s (--upload-timeout); %lld bytes have come.",
                  config.upload_timeout_s, (long long)r->received_bytes);
    else if (verdict == PROBLEM_DEADLINE || verdict == PROBLEM_DRAINING)
        work_stop_request(r, (enum problem)verdict);
    else if (replied && guest_is_connected(r->guest)) {
        note_refusal(r, mhd_take_said().status);
        return;
    } else
        return;
    r->guest->lingers = true;
    reply_raw(r);
}

void refuse_given_up(struct request *r)
{
    if (mhd_take_said().status != 0)
        fault_set(&r->fault, PROBLEM_BAD_FRAMING, NULL, "The chunks of the "
                  "body are broken.");
    else
        fault_set(&r->fault, PROBLEM_OUT_OF_MEMORY, NULL, "The system does "
                  "not let the service wait for more of this connection.");
    r->guest->lingers = true;
    reply_raw(r);
}
