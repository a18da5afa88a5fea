/* SPDX-License-Identifier: MIT */
/*
 * admit - see admit.h. Framing is judged for every request, since what comes
 * after an unclear one cannot be told from its body; the rest for those with
 * a body to read. The first refusal wins; those of kind 400 come first.
 */
#include "admit.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "client.h"
#include "compute.h"
#include "config.h"
#include "form.h"
#include "guest.h"
#include "header.h"
#include "listen.h"
#include "queue.h"
#include "receive.h"
#include "route.h"
#include "watch.h"

static enum problem refuse_header(struct request *r, const char *name,
                                  const char *expected)
{
    return fault_set(&r->fault, PROBLEM_BAD_HEADER, NULL,
                     "The header %s %s.", name, expected);
}

/* -------------------------------------------------------------- framing */

static bool read_length(const char *text, int64_t *length)
{
    size_t digits = strspn(text, "0123456789");

    if (digits == 0 || digits > 18 || text[digits] != '\0')
        return false;
    *length = strtoll(text, NULL, 10);
    return true;
}

static bool is_host(const char *text)
{
    size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVW"
                      "XYZ0123456789-._~%!$&'()*+,;=:[]");

    return n > 0 && header_is_word(text + n, "");
}

static enum problem admit_framing(struct request *r)
{
    int lengths = r->headers.lines[HEADER_CONTENT_LENGTH];
    int codings = r->headers.lines[HEADER_TRANSFER_ENCODING];
    int hosts = r->headers.lines[HEADER_HOST];

    r->must_close = true;
    if (!r->headers.sound)
        return fault_set(&r->fault, PROBLEM_BAD_HEADER, NULL, "A header has no "
                         "name, or one with a character that no name may "
                         "have, such as a blank, or a value with a NUL or a "
                         "second line.");
    if (hosts > 1 || (hosts == 0 && !r->http_1_0))
        return fault_set(&r->fault, PROBLEM_BAD_HEADER, NULL,
                         "Exactly one Host header is required.");
    if (hosts == 1 && !is_host(r->headers.value[HEADER_HOST]))
        return refuse_header(r, "Host", "is no host with or without a port");
    if (codings > 0 && r->http_1_0)
        return refuse_header(r, "Transfer-Encoding", "is not of HTTP/1.0");
    if (lengths > 0 && codings > 0)
        return fault_set(&r->fault, PROBLEM_BAD_HEADER, NULL,
                         "Content-Length and Transfer-Encoding are both "
                         "given; exactly one is allowed.");
    if (lengths > 1)
        return refuse_header(r, "Content-Length", "is given twice");
    if (codings > 1 || (codings == 1 && strcasecmp(
            r->headers.value[HEADER_TRANSFER_ENCODING], "chunked") != 0))
        return refuse_header(r, "Transfer-Encoding", "is not \"chunked\"");
    r->chunked = codings == 1;
    r->has_length = lengths == 1;
    if (r->has_length && !read_length(r->headers.value[HEADER_CONTENT_LENGTH],
                                      &r->content_length))
        return refuse_header(r, "Content-Length", "is not a number of bytes");
    r->must_close = false;
    return PROBLEM_NONE;
}

static enum problem admit_length(struct request *r)
{
    struct fault *f = &r->fault;

    if (!r->has_length && !r->chunked) {
        r->must_close = true;
        return fault_set(f, PROBLEM_LENGTH_REQUIRED, NULL, "The request "
                         "has neither Content-Length nor Transfer-Encoding: "
                         "chunked.");
    }
    if (!r->has_length || r->content_length <= config.body_bytes)
        return PROBLEM_NONE;
    fault_set(f, PROBLEM_BODY_TOO_LARGE, NULL, "The body has %lld bytes; the "
              "limit is %lld (--body-bytes).", (long long)r->content_length,
              (long long)config.body_bytes);
    f->has_limit = f->has_got = true;
    f->limit = (double)config.body_bytes;
    f->got = (double)r->content_length;
    return f->problem;
}

/* ---------------------------------------------------------------- guests */

static enum problem admit_guest(struct request *r)
{
    struct fault *f = &r->fault;
    double wait_s = 0.0;

    if (r->route == NULL || r->route->probe)
        return PROBLEM_NONE;
    if (r->admin)
        return fault_set(f, PROBLEM_NOT_FOUND, NULL, "This port is for health "
                         "and metrics; %.100s is on %s.", r->path,
                         listen_url());
    if (r->guest->reserved) {
        fault_set(f, PROBLEM_CONNECTIONS, NULL, "More connections are open "
                  "than are served: %lld (--connections), and for one "
                  "address --connections-per-address.",
                  (long long)listen_limit());
        f->retry_after_s = 1;
        return f->problem;
    }
    if (config.rate > 0.0)
        wait_s = client_must_wait_s(r->client, r->start_ns);
    if (wait_s <= 0.0)
        return PROBLEM_NONE;
    fault_set(f, PROBLEM_RATE, NULL, "%s may make %g requests a second "
              "(--rate).", r->peer, config.rate);
    f->retry_after_s = (int)wait_s + 1;
    return f->problem;
}

/* ---------------------------------------------------------------- types */

static enum problem admit_type(struct request *r)
{
    static const char *const refused[] = {
        "multipart/", "image/", "audio/", "video/", "application/xml",
        "text/xml"
    };
    const char *type = r->headers.value[HEADER_CONTENT_TYPE];

    if (r->headers.lines[HEADER_CONTENT_TYPE] > 1)
        return refuse_header(r, "Content-Type", "is given twice");
    for (size_t i = 0; type && i < sizeof refused / sizeof *refused; i++)
        if (strncasecmp(type, refused[i], strlen(refused[i])) == 0)
            return fault_set(&r->fault, PROBLEM_MEDIA_TYPE, NULL, "The body "
                             "is declared as %.100s; application/json is "
                             "expected.", type);
    r->form_declared = form_declared(type);
    r->form_reply = form_accepted(r->headers.value[HEADER_ACCEPT]);
    return PROBLEM_NONE;
}

static enum problem admit_encoding(struct request *r)
{
    const char *encoding = r->headers.value[HEADER_CONTENT_ENCODING];

    if (r->headers.lines[HEADER_CONTENT_ENCODING] > 1)
        return fault_set(&r->fault, PROBLEM_ENCODING, NULL, "Content-Encoding "
                         "is given twice; gzip once or none is expected.");
    if (encoding == NULL || header_is_word(encoding, "identity")
        || header_is_word(encoding, ""))
        return PROBLEM_NONE;
    r->gzip = header_is_word(encoding, "gzip")
        || header_is_word(encoding, "x-gzip");
    if (r->gzip)
        return PROBLEM_NONE;
    return fault_set(&r->fault, PROBLEM_ENCODING, NULL, "The body is declared "
                     "as Content-Encoding: %.100s; gzip or none is expected.",
                     encoding);
}

/* A decimal above 0, with as many digits as it likes. */
static bool read_seconds(const char *text, double *seconds)
{
    static const char digits[] = "0123456789";
    size_t n = strspn(text, digits);

    if (text[n] == '.')
        n += 1 + strspn(text + n + 1, digits);
    *seconds = strtod(text, NULL);
    return header_is_word(text + n, "") && strcspn(text, "123456789") < n;
}

static enum problem admit_timeout(struct request *r)
{
    const char *text = r->headers.value[HEADER_REQUEST_TIMEOUT];
    double seconds;

    if (text == NULL)
        return PROBLEM_NONE;
    if (r->headers.lines[HEADER_REQUEST_TIMEOUT] > 1)
        return refuse_header(r, "Request-Timeout", "is given twice");
    if (!read_seconds(text, &seconds))
        return refuse_header(r, "Request-Timeout", "is not a decimal number of "
                             "seconds above 0, such as 2.5");
    if (seconds < 1e6)
        r->deadline_ns = r->start_ns + (int64_t)(seconds * 1e9);
    return PROBLEM_NONE;
}

/* ----------------------------------------------------------------- load */

static enum problem admit_memory(struct request *r)
{
    struct fault *f = &r->fault;
    double wanted = (double)r->content_length;
    double most = (double)compute_alone();

    if (wanted <= (double)block_free_bytes())
        return PROBLEM_NONE;
    if (wanted > most)
        fault_set(f, PROBLEM_TOO_MUCH_MEMORY, NULL, "The body alone has %.0f "
                  "bytes; one request may hold %.0f (" COMPUTE_ALONE ").",
                  wanted, most);
    else
        fault_set(f, PROBLEM_MEMORY_BUDGET, NULL, "Other requests hold the "
                  "memory that a body of %.0f bytes needs (--memory-bytes).",
                  wanted);
    f->has_got = f->has_limit = true;
    f->got = wanted;
    f->limit = most;
    return f->problem;
}

static enum problem admit_load(struct request *r)
{
    if (receive_is_small(r))
        return PROBLEM_NONE;
    if (queue_full())
        return queue_refuse(r);
    if (watch_life() != LIFE_CLOSING)
        return admit_memory(r);
    fault_set(&r->fault, PROBLEM_DRAINING, NULL,
              "The service is shutting down and takes no new work.");
    r->fault.retry_after_s = 1;
    return PROBLEM_DRAINING;
}

enum problem admit(struct request *r)
{
    static enum problem (*const questions[])(struct request *r) = {
        admit_timeout, admit_length, admit_encoding, admit_type, admit_load
    };
    const char *expect = r->headers.value[HEADER_EXPECT];

    admit_guest(r);
    admit_framing(r);
    r->expects_continue = expect != NULL && !r->http_1_0
        && header_is_word(expect, "100-continue");
    if (r->route == NULL || r->route->answer != NULL)
        return r->fault.problem;
    for (size_t i = 0; r->fault.problem == PROBLEM_NONE
         && i < sizeof questions / sizeof *questions; i++)
        questions[i](r);
    return r->fault.problem;
}
