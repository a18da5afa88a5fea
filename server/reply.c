/* SPDX-License-Identifier: MIT */
/*
 * reply - see reply.h. What the body is, is known by now: a fault's text, a
 * side room's answer, a whole reply, or pieces that workers are writing. A
 * streamed reply is read here piece by piece; while none is ready, the
 * connection sleeps, so a slow client costs no thread.
 */
#include "reply.h"

#include <microhttpd.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "config.h"
#include "digits.h"
#include "encode.h"
#include "guest.h"
#include "listen.h"
#include "log.h"
#include "metrics.h"
#include "queue.h"
#include "route.h"
#include "socket.h"
#include "watch.h"

#define FAULT_TEXT_MAX 4096
#define STREAM_BLOCK_BYTES ((size_t)64 << 10)

/* ------------------------------------------------------- what went wrong */

/* Whoever stopped the request left a word; here it becomes a sentence. */
static void explain_stop(struct request *r)
{
    struct fault *f = &r->fault;
    enum problem stop = (enum problem)atomic_load(&r->stop);

    if (stop == PROBLEM_NONE || f->problem != PROBLEM_NONE)
        return;
    if (stop == PROBLEM_DEADLINE)
        fault_set(f, stop, NULL, "The request's deadline passed after %.3f s.",
                  (double)(request_now_ns() - r->start_ns) * 1e-9);
    else if (stop == PROBLEM_DRAINING)
        fault_set(f, stop, NULL, "The service is shutting down and the drain "
                  "timeout has expired (--drain-timeout).");
    else if (stop == PROBLEM_MEMORY_BUDGET)
        fault_set(f, stop, NULL, "There is no memory left for this request "
                  "now (--memory-bytes).");
    else
        fault_set(f, stop, NULL, "The request was stopped.");
}

static size_t fault_text(const struct request *r, char *text, size_t size,
                         const char **type)
{
    if (r->route != NULL && r->route->dialect == DIALECT_V2) {
        *type = "application/json";
        return fault_print_error_json(&r->fault, text, size);
    }
    *type = "application/problem+json";
    return fault_print_problem_json(&r->fault, text, size);
}

/* --------------------------------------------------------------- headers */

static void header(struct MHD_Response *response, const char *name,
                   const char *value)
{
    if (value != NULL && *value != '\0')
        MHD_add_response_header(response, name, value);
}

static void server_timing(const struct request *r, char text[256])
{
    char *at = text;

    for (int step = 0; step < STEP_REPLY; step++) {
        if (r->step_ns[step] < 0 || (r->streamed && step == STEP_ENCODE))
            continue;
        at = stpcpy(stpcpy(at, at > text ? ", " : ""), step_name[step]);
        at = digits_put_ms(stpcpy(at, ";dur="), r->step_ns[step]);
    }
    *at = '\0';
}

static bool closes(const struct request *r)
{
    return r->must_close || r->guest->lingers || r->guest->reserved
        || r->guest->ended || watch_life() >= LIFE_DRAINING;
}

/* "": no such header. Where nothing else is known, the queue knows. */
static const char *retry_after(const struct request *r, char text[16])
{
    int seconds = r->fault.retry_after_s;

    if (seconds == 0 && problem_row(r->fault.problem)->status == 503)
        seconds = queue_retry_after_s();
    text[0] = '\0';
    if (seconds > 0)
        snprintf(text, 16, "%d", seconds);
    return text;
}

static void add_headers(struct request *r, struct MHD_Response *response)
{
    char text[256];

    header(response, "Content-Type", r->content_type);
    header(response, "X-Request-Id", r->id);
    if (r->form_reply != NULL || strcmp(r->path, "/") == 0)
        header(response, "Vary", "Accept");
    if (r->planned) {
        server_timing(r, text);
        header(response, "Server-Timing", text);
    }
    if (r->fault.problem != PROBLEM_NONE)
        header(response, "Retry-After", retry_after(r, text));
    if (r->status == 405 || r->status == 204)
        header(response, "Allow", route_allow(r->path));
    if (closes(r))
        header(response, "Connection", "close");
}

/* -------------------------------------------------------------- streaming */

static ssize_t read_piece(struct request *r, char *out, size_t size)
{
    int64_t slot = r->stream_next % ENCODE_WINDOW;
    const struct piece *piece = &r->pieces[slot];
    size_t n = piece->length - r->stream_offset;

    n = n < size ? n : size;
    memcpy(out, piece->data + r->stream_offset, n);
    r->stream_offset += n;
    if (r->stream_offset == piece->length) {
        r->stream_offset = 0;
        r->stream_next++;
        queue_advance(r);
    }
    r->reply_bytes += (int64_t)n;
    return (ssize_t)n;
}

static ssize_t read_stream(void *request, uint64_t position, char *out,
                           size_t size)
{
    struct request *r = request;
    enum queue_piece piece;

    (void)position;
    atomic_store_explicit(&r->begun, true, memory_order_relaxed);
    if (r->stream_next == r->n_pieces)
        return MHD_CONTENT_READER_END_OF_STREAM;
    piece = queue_look(r, false);
    if (piece == QUEUE_PENDING) {
        MHD_suspend_connection(r->connection);
        piece = queue_look(r, true);
        if (piece == QUEUE_PENDING)
            return 0;
        MHD_resume_connection(r->connection);
        return 0;
    }
    if (piece == QUEUE_STOPPED) {
        socket_cut(r->fd, r->http_1_0);
        return MHD_CONTENT_READER_END_WITH_ERROR;
    }
    return read_piece(r, out, size);
}

/* ------------------------------------------------------------- the reply */

static struct MHD_Response *with_fault(struct request *r)
{
    char text[FAULT_TEXT_MAX];
    size_t n = fault_text(r, text, sizeof text, &r->content_type);

    r->status = problem_row(r->fault.problem)->status;
    r->reply_bytes = (int64_t)n;
    return MHD_create_response_from_buffer(n, text, MHD_RESPMEM_MUST_COPY);
}

static struct MHD_Response *with_bytes(struct request *r, const char *bytes,
                                       size_t n)
{
    r->reply_bytes = (int64_t)n;
    return MHD_create_response_from_buffer(n, (void *)(uintptr_t)bytes,
                                           MHD_RESPMEM_PERSISTENT);
}

static struct MHD_Response *with_answer(struct request *r)
{
    struct answer *a = &r->answer;

    r->route->answer(r, a);
    if (a->text == NULL && a->status == 503) {
        fault_set(&r->fault, PROBLEM_OUT_OF_MEMORY, NULL,
                  "There is no memory left for the answer now.");
        return with_fault(r);
    }
    r->status = a->status;
    r->content_type = a->content_type;
    return with_bytes(r, a->text != NULL ? a->text : "", a->length);
}

static struct MHD_Response *build(struct request *r)
{
    explain_stop(r);
    if (r->fault.problem != PROBLEM_NONE)
        return with_fault(r);
    if (r->route->answer != NULL)
        return with_answer(r);
    r->status = 200;
    r->content_type = r->form_reply->media_type;
    if (r->streamed)
        return MHD_create_response_from_callback(
            MHD_SIZE_UNKNOWN, STREAM_BLOCK_BYTES, read_stream, r, NULL);
    return with_bytes(r, r->reply, (size_t)r->reply_bytes);
}

bool reply(struct request *r)
{
    struct MHD_Response *response = build(r);
    enum MHD_Result queued;

    if (response == NULL)
        return false;
    atomic_store(&r->where, PHASE_REPLY);
    r->mark_ns = request_now_ns();
    guest_does(r->guest, GUEST_READS, r->mark_ns);
    add_headers(r, response);
    queued = MHD_queue_response(r->connection, (unsigned)r->status, response);
    MHD_destroy_response(response);
    return queued == MHD_YES;
}

void reply_raw(struct request *r)
{
    char body[FAULT_TEXT_MAX], text[FAULT_TEXT_MAX + 512], retry[16];
    const char *type;
    size_t n;
    int length;

    explain_stop(r);
    n = fault_text(r, body, sizeof body, &type);
    r->status = problem_row(r->fault.problem)->status;
    retry_after(r, retry);
    length = snprintf(text, sizeof text, "HTTP/1.1 %d %s\r\n"
                      "Content-Type: %s\r\nContent-Length: %zu\r\n"
                      "X-Request-Id: %s\r\n%s%s%s"
                      "Connection: close\r\n\r\n%.*s",
                      r->status,
                      MHD_get_reason_phrase_for((unsigned)r->status), type, n,
                      r->id, *retry ? "Retry-After: " : "", retry,
                      *retry ? "\r\n" : "", r->head ? 0 : (int)n, body);
    if (send(r->fd, text, (size_t)length, MSG_NOSIGNAL | MSG_DONTWAIT) > 0)
        r->reply_bytes = (int64_t)n;
}

/* ---------------------------------------------------------- what is kept */

static enum problem problem_of(const struct request *r)
{
    if (r->fault.problem != PROBLEM_NONE)
        return r->fault.problem;
    return (enum problem)atomic_load(&r->stop);
}

static void record_log(const struct request *r, int64_t total_ns)
{
    enum problem problem = problem_of(r);
    bool f64 = r->input.dtype == ATTN_FLOAT64;

    log_access(&(struct log_access){
        .time_ns = r->time_ns, .id = r->id, .traceparent = r->traceparent,
        .peer = r->peer, .method = r->method, .path = r->path,
        .status = r->status,
        .code = problem == PROBLEM_NONE ? NULL : problem_row(problem)->code,
        .bytes_in = r->received_bytes, .bytes_out = r->reply_bytes,
        .total_ns = total_ns,
        .B = r->plan.B, .H = r->plan.H, .n_q = r->plan.n_q,
        .n_k = r->plan.n_k,
        .dtype = !r->planned ? NULL : f64 ? "float64" : "float32",
        .step_name = step_name, .step_ns = r->step_ns, .n_steps = STEP_COUNT,
    });
}

static void record_work(const struct request *r)
{
    if (!r->planned)
        return;
    metrics_observe(METRIC_SEQUENCE_LENGTH, 0, r->plan.n_k);
    if (r->status != 200)
        return;
    metrics_add(METRIC_OPERATIONS, 0, (int64_t)r->plan.operations);
    metrics_add(METRIC_FULLY_MASKED_ROWS, 0, r->output.empty_rows);
}

static void record_end(const struct request *r, bool complete)
{
    static const enum metrics_cancelled gone[] = {
        [PHASE_UPLOAD] = METRICS_GONE_IN_UPLOAD,
        [PHASE_QUEUE] = METRICS_GONE_IN_QUEUE,
        [PHASE_WORK] = METRICS_GONE_IN_WORK,
        [PHASE_REPLY] = METRICS_GONE_IN_REPLY,
    };
    enum problem problem = problem_of(r);

    if (problem == PROBLEM_DEADLINE)
        metrics_add(METRIC_CANCELLED, METRICS_CUT_BY_DEADLINE, 1);
    else if (problem == PROBLEM_DRAINING && r->work.queued)
        metrics_add(METRIC_CANCELLED, METRICS_CUT_BY_DRAIN, 1);
    else if (problem != PROBLEM_NONE && problem != PROBLEM_CANCELLED)
        metrics_add(METRIC_REJECTED, (int)problem, 1);
    else if (!complete)
        metrics_add(METRIC_CANCELLED, (int)gone[atomic_load(&r->where)], 1);
}

static void end_without_reply(struct request *r)
{
    r->mark_ns = request_now_ns();
    if (r->status == 0)
        r->status = problem_row(PROBLEM_CANCELLED)->status;
}

void reply_record(struct request *r, bool complete)
{
    bool probe = r->route != NULL && r->route->probe;
    int64_t total_ns;

    if (atomic_load(&r->where) == PHASE_REPLY)
        request_mark(r, STEP_REPLY);
    else
        end_without_reply(r);
    total_ns = r->mark_ns - r->start_ns;
    if (!probe || config.log_probes)
        record_log(r, total_ns);
    if (probe)
        return;
    metrics_request(&(struct metrics_request){
        .route = route_index(r->route), .method = r->method,
        .status = r->status, .duration_ns = total_ns,
        .bytes_in = r->received_bytes, .bytes_out = r->reply_bytes,
        .step_ns = r->planned ? r->step_ns : NULL });
    if (r->step_ns[STEP_QUEUE] >= 0)
        metrics_observe(METRIC_QUEUE_WAIT, 0, r->step_ns[STEP_QUEUE]);
    record_work(r);
    record_end(r, complete);
}

void reply_record_foreign(const char *peer, int status)
{
    enum problem problem = status == 0
        || status == problem_row(PROBLEM_HEADERS)->status
        ? PROBLEM_HEADERS : PROBLEM_BAD_HEADER;
    struct request *r = request_new();

    if (r == NULL)
        return;
    r->peer = peer;
    r->method = r->path = r->id = "";
    r->status = status;
    r->fault.problem = problem;
    reply_record(r, true);
    request_free(r);
}
