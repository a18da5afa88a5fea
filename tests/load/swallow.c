/* SPDX-License-Identifier: MIT */
/*
 * swallow - the floor under every HTTP service on libmicrohttpd: takes any
 * body, throws it away, and answers with as many bytes as the path says
 * ("/attention?bytes=800"). What it reaches is what the network and the
 * library cost; what attentiond reaches beside it is the service.
 *
 *     swallow [PORT [KIB]]    0: any; prints the address, ends on SIGTERM
 *
 * KIB: what the library holds for a connection, and clears after each request:
 * much of it (256, the default) favours large bodies, little small ones.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <microhttpd.h>

static char *filler;
static const size_t filler_bytes = (size_t)64 << 20;

static enum MHD_Result answer(void *none, struct MHD_Connection *c,
                              const char *url, const char *method,
                              const char *version, const char *data,
                              size_t *size, void **state)
{
    const char *bytes = MHD_lookup_connection_value(
        c, MHD_GET_ARGUMENT_KIND, "bytes");
    size_t n = bytes != NULL ? strtoul(bytes, NULL, 10) : 2;
    struct MHD_Response *response;
    enum MHD_Result result;

    (void)none, (void)url, (void)method, (void)version, (void)data;
    if (*state == NULL || *size > 0) {
        *state = c;
        *size = 0;
        return MHD_YES;
    }
    response = MHD_create_response_from_buffer(
        n < filler_bytes ? n : filler_bytes, filler, MHD_RESPMEM_PERSISTENT);
    result = MHD_queue_response(c, 200, response);
    MHD_destroy_response(response);
    return result;
}

int main(int argc, char **argv)
{
    int port = argc > 1 ? atoi(argv[1]) : 0, number = 0;
    size_t pool = argc > 2 ? strtoul(argv[2], NULL, 10) << 10 : 256 << 10;
    struct MHD_Daemon *daemon;
    sigset_t ends;

    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    sigprocmask(SIG_BLOCK, &ends, NULL);
    filler = malloc(filler_bytes);
    if (filler == NULL)
        return 1;
    memset(filler, '1', filler_bytes);
    daemon = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD, (uint16_t)port, NULL, NULL, answer,
        NULL, MHD_OPTION_THREAD_POOL_SIZE, 2u,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, pool,
        MHD_OPTION_END);
    if (daemon == NULL)
        return 1;
    printf("listening on http://127.0.0.1:%u\n", (unsigned)MHD_get_daemon_info(
        daemon, MHD_DAEMON_INFO_BIND_PORT)->port);
    fflush(stdout);
    sigwait(&ends, &number);
    MHD_stop_daemon(daemon);
    free(filler);
    return 0;
}
