/* SPDX-License-Identifier: MIT */
/*
 * openloop - a load client that does not wait for the server: requests are
 * sent at a constant rate, whether earlier ones are answered or not, and a
 * latency counts from the moment when its request was due. So a stall of the
 * server shows in every request that it delayed (closed-loop tools such as
 * wrk and hey hide it: they stop asking). Bounded in rate, time and open
 * requests; speaks HTTP through libcurl, and sleeps between requests, since a
 * client that spins takes a core from the server.
 *
 *     openloop --url URL --rate 200 --seconds 10 [--body FILE] [--open 1000]
 *              [--timeout 10] [--warm-up 0] [--fresh] [--csv]
 *
 * Latencies are those of the requests that were due after the warm-up, in
 * which connections are made. Prints one summary; status 0 if every request
 * got a 2xx, else 1.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include <curl/curl.h>

#define SHORT_S 1.5e-4      /* not worth a sleep and a wake-up */

struct options {
    const char *url;
    const char *body_file;
    double rate;            /* requests a second */
    double seconds;
    double timeout_s;       /* from when the request was due */
    double warm_up_s;
    long open_most;         /* requests under way at the same time */
    bool fresh;             /* a new connection for each request */
    bool csv;
};

struct call {
    CURL *easy;
    double due_s;           /* after start */
    struct call *next_free;
};

struct load {
    struct options options;
    char *body;
    long body_bytes;
    struct curl_slist *headers;
    CURLM *multi;
    int epoll;
    double timer_s;         /* when libcurl wants to be called, or INFINITY */
    struct call *calls;     /* open_most of them */
    struct call *free;
    double start_s;
    long total, sent, done;
    double *latency_ms;     /* of those with a 2xx after the warm-up */
    long latencies, ok;
    long status_class[6];   /* 0: no reply at all */
    long late;              /* not sent in time: all calls were under way */
    double received_bytes;
};

static volatile sig_atomic_t interrupted;

static void on_interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* --------------------------------------------------------------- options */

static int usage(void)
{
    fputs("openloop --url URL [--rate N] [--seconds S] [--body FILE]\n"
          "         [--open N] [--timeout S] [--warm-up S] [--fresh] [--csv]\n",
          stderr);
    return 2;
}

static bool read_options(int argc, char **argv, struct options *o)
{
    static const struct option table[] = {
        { "url", required_argument, NULL, 'u' },
        { "body", required_argument, NULL, 'b' },
        { "rate", required_argument, NULL, 'r' },
        { "seconds", required_argument, NULL, 's' },
        { "timeout", required_argument, NULL, 't' },
        { "warm-up", required_argument, NULL, 'w' },
        { "open", required_argument, NULL, 'o' },
        { "fresh", no_argument, NULL, 'f' },
        { "csv", no_argument, NULL, 'c' },
        { NULL, 0, NULL, 0 },
    };
    int letter;

    *o = (struct options){ .rate = 100.0, .seconds = 5.0, .timeout_s = 10.0,
                           .open_most = 1000 };
    while ((letter = getopt_long(argc, argv, "", table, NULL)) != -1) {
        switch (letter) {
        case 'u': o->url = optarg; break;
        case 'b': o->body_file = optarg; break;
        case 'r': o->rate = strtod(optarg, NULL); break;
        case 's': o->seconds = strtod(optarg, NULL); break;
        case 't': o->timeout_s = strtod(optarg, NULL); break;
        case 'w': o->warm_up_s = strtod(optarg, NULL); break;
        case 'o': o->open_most = strtol(optarg, NULL, 10); break;
        case 'f': o->fresh = true; break;
        case 'c': o->csv = true; break;
        default: return false;
        }
    }
    return o->url != NULL && optind == argc
        && o->rate > 0.0 && o->rate <= 20000.0
        && o->seconds > 0.0 && o->seconds <= 3600.0
        && o->timeout_s > 0.0 && o->open_most > 0 && o->open_most <= 9000;
}

static bool read_body(struct load *l)
{
    FILE *f = fopen(l->options.body_file, "rb");
    bool ok = f != NULL && fseek(f, 0, SEEK_END) == 0
        && (l->body_bytes = ftell(f)) >= 0;

    if (ok) {
        rewind(f);
        l->body = malloc((size_t)l->body_bytes + 1);
        ok = l->body != NULL
            && fread(l->body, 1, (size_t)l->body_bytes, f)
                == (size_t)l->body_bytes;
    }
    if (f != NULL)
        fclose(f);
    return ok;
}

/* --------------------------------------------------- what libcurl asks for */

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *load,
                     void *known)
{
    struct load *l = load;
    uint32_t in = what & CURL_POLL_IN ? EPOLLIN : 0;
    uint32_t out = what & CURL_POLL_OUT ? EPOLLOUT : 0;
    struct epoll_event event = { .events = in | out, .data.fd = fd };

    (void)easy;
    if (what == CURL_POLL_REMOVE)
        epoll_ctl(l->epoll, EPOLL_CTL_DEL, fd, NULL);
    else
        epoll_ctl(l->epoll, known != NULL ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd,
                  &event);
    if (known == NULL)
        curl_multi_assign(l->multi, fd, l);
    return 0;
}

static int on_timer(CURLM *multi, long ms, void *load)
{
    struct load *l = load;

    (void)multi;
    l->timer_s = ms < 0 ? INFINITY : now_s() + (double)ms * 1e-3;
    return 0;
}

/* ----------------------------------------------------------------- calls */

static size_t swallow(char *data, size_t size, size_t n, void *load)
{
    struct load *l = load;

    (void)data;
    l->received_bytes += (double)(size * n);
    return size * n;
}

static bool prepare_call(struct load *l, struct call *c)
{
    CURL *e = c->easy = curl_easy_init();

    if (e == NULL)
        return false;
    curl_easy_setopt(e, CURLOPT_URL, l->options.url);
    curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, swallow);
    curl_easy_setopt(e, CURLOPT_WRITEDATA, l);
    curl_easy_setopt(e, CURLOPT_PRIVATE, c);
    curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(e, CURLOPT_PROXY, "");
    curl_easy_setopt(e, CURLOPT_HTTPHEADER, l->headers);
    curl_easy_setopt(e, CURLOPT_FRESH_CONNECT, (long)l->options.fresh);
    curl_easy_setopt(e, CURLOPT_FORBID_REUSE, (long)l->options.fresh);
    if (l->body != NULL) {
        curl_easy_setopt(e, CURLOPT_POSTFIELDS, l->body);
        curl_easy_setopt(e, CURLOPT_POSTFIELDSIZE, l->body_bytes);
    }
    c->next_free = l->free;
    l->free = c;
    return true;
}

static bool prepare(struct load *l)
{
    long most = l->options.open_most;

    l->total = (long)(l->options.rate * l->options.seconds + 0.5);
    l->latency_ms = calloc((size_t)l->total + 1, sizeof *l->latency_ms);
    l->calls = calloc((size_t)most, sizeof *l->calls);
    l->headers = curl_slist_append(NULL, "Expect:");
    l->headers = curl_slist_append(l->headers,
                                   "Content-Type: application/json");
    l->multi = curl_multi_init();
    l->epoll = epoll_create1(EPOLL_CLOEXEC);
    l->timer_s = INFINITY;
    if (l->latency_ms == NULL || l->calls == NULL || l->headers == NULL
        || l->multi == NULL || l->epoll < 0)
        return false;
    curl_multi_setopt(l->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    curl_multi_setopt(l->multi, CURLMOPT_SOCKETDATA, l);
    curl_multi_setopt(l->multi, CURLMOPT_TIMERFUNCTION, on_timer);
    curl_multi_setopt(l->multi, CURLMOPT_TIMERDATA, l);
    curl_multi_setopt(l->multi, CURLMOPT_MAXCONNECTS, most);
    for (long i = most - 1; i >= 0; i--)
        if (!prepare_call(l, &l->calls[i]))
            return false;
    return true;
}

/* Sends all that is due. One that finds every call under way is sent as soon
 * as one is free; its latency still counts from when it was due. */
static void send_due(struct load *l)
{
    double passed = now_s() - l->start_s;

    while (l->sent < l->total && l->free != NULL
           && (double)l->sent / l->options.rate <= passed) {
        struct call *c = l->free;
        double left_s;

        c->due_s = (double)l->sent / l->options.rate;
        left_s = c->due_s + l->options.timeout_s - passed;
        l->free = c->next_free;
        l->sent++;
        l->late += passed - c->due_s > 0.01;
        curl_easy_setopt(c->easy, CURLOPT_TIMEOUT_MS,
                         left_s > 0.001 ? (long)(left_s * 1e3) : 1L);
        curl_multi_add_handle(l->multi, c->easy);
    }
}

static void take_result(struct load *l, CURL *easy, CURLcode result)
{
    struct call *c = NULL;
    long status = 0;

    curl_easy_getinfo(easy, CURLINFO_PRIVATE, &c);
    if (result == CURLE_OK)
        curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    l->status_class[status >= 100 && status < 600 ? status / 100 : 0]++;
    l->ok += status / 100 == 2;
    if (status / 100 == 2 && c->due_s >= l->options.warm_up_s)
        l->latency_ms[l->latencies++] =
            (now_s() - l->start_s - c->due_s) * 1e3;
    l->done++;
    curl_multi_remove_handle(l->multi, easy);
    c->next_free = l->free;
    l->free = c;
}

static void take_results(struct load *l)
{
    CURLMsg *message;
    int left;

    while ((message = curl_multi_info_read(l->multi, &left)) != NULL)
        if (message->msg == CURLMSG_DONE)
            take_result(l, message->easy_handle, message->data.result);
}

/* Until the next request is due, libcurl wants to be called, or a socket is
 * ready. */
static int wait_for(const struct load *l, struct epoll_event *events, int most)
{
    double wait_s = l->timer_s;
    struct timespec time;

    if (l->sent < l->total && l->free != NULL)
        wait_s = fmin(wait_s,
                      l->start_s + (double)l->sent / l->options.rate);
    wait_s = fmin(wait_s - now_s(), 0.1);
    time = (struct timespec){ 0, wait_s < SHORT_S ? 0 : (long)(wait_s * 1e9) };
    return epoll_pwait2(l->epoll, events, most, &time, NULL);
}

static void act(struct load *l)
{
    struct epoll_event events[64];
    int running, n = wait_for(l, events, 64);

    for (int i = 0; i < n; i++)
        curl_multi_socket_action(
            l->multi, events[i].data.fd,
            (events[i].events & EPOLLIN ? CURL_CSELECT_IN : 0)
            | (events[i].events & EPOLLOUT ? CURL_CSELECT_OUT : 0)
            | (events[i].events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR
                                                         : 0), &running);
    if (now_s() < l->timer_s)
        return;
    l->timer_s = INFINITY;
    curl_multi_socket_action(l->multi, CURL_SOCKET_TIMEOUT, 0, &running);
}

static void run(struct load *l)
{
    l->start_s = now_s();
    while (l->done < l->total && !(interrupted && l->done == l->sent)) {
        if (interrupted)
            l->total = l->sent;
        send_due(l);
        act(l);
        take_results(l);
    }
}

/* --------------------------------------------------------------- summary */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double quantile(const struct load *l, double q)
{
    if (l->latencies == 0)
        return 0.0;
    return l->latency_ms[(long)(q * (double)(l->latencies - 1) + 0.5)];
}

static void print_summary(struct load *l)
{
    static const char *const text =
        "%ld sent in %.2f s (%.1f a second), %ld answered with 2xx\n"
        "3xx %ld  4xx %ld  5xx %ld  no reply %ld  sent late %ld\n"
        "ms from due to answered: p50 %.2f  p90 %.2f  p99 %.2f  p99.9 %.2f  "
        "max %.2f\n%.1f MB received\n";
    static const char *const csv =
        "%ld,%.3f,%.1f,%ld,%ld,%ld,%ld,%ld,%ld,%.3f,%.3f,%.3f,%.3f,%.3f,"
        "%.1f\n";
    double passed = now_s() - l->start_s;

    qsort(l->latency_ms, (size_t)l->latencies, sizeof *l->latency_ms, by_value);
    printf(l->options.csv ? csv : text, l->sent, passed,
           (double)l->done / passed, l->ok, l->status_class[3],
           l->status_class[4], l->status_class[5], l->status_class[0],
           l->late, quantile(l, 0.5), quantile(l, 0.9), quantile(l, 0.99),
           quantile(l, 0.999), quantile(l, 1.0), l->received_bytes / 1e6);
}

static void release(struct load *l)
{
    for (long i = 0; l->calls != NULL && i < l->options.open_most; i++)
        curl_easy_cleanup(l->calls[i].easy);
    curl_multi_cleanup(l->multi);
    curl_slist_free_all(l->headers);
    if (l->epoll >= 0)
        close(l->epoll);
    free(l->calls);
    free(l->latency_ms);
    free(l->body);
}

int main(int argc, char **argv)
{
    struct load l = { .epoll = -1 };
    int status = 1;

    if (!read_options(argc, argv, &l.options))
        return usage();
    signal(SIGINT, on_interrupt);
    signal(SIGPIPE, SIG_IGN);
    curl_global_init(CURL_GLOBAL_DEFAULT);
    if (l.options.body_file != NULL && !read_body(&l)) {
        fprintf(stderr, "openloop: %s: %s\n", l.options.body_file,
                strerror(errno));
        goto out;
    }
    if (!prepare(&l)) {
        fputs("openloop: no memory\n", stderr);
        goto out;
    }
    run(&l);
    print_summary(&l);
    status = l.ok == l.sent ? 0 : 1;
out:
    release(&l);
    curl_global_cleanup();
    return status;
}
