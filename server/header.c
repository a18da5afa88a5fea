/* SPDX-License-Identifier: MIT */
/*
 * header - see header.h.
 */
#include "header.h"

#include <microhttpd.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "mhd_0_9.h"

static const char *const names[HEADER_COUNT] = {
    "Accept", "Content-Encoding", "Content-Length", "Content-Type", "Expect",
    "Host", "Request-Timeout", "traceparent", "Transfer-Encoding",
    "X-Request-Id"
};

bool header_is_word(const char *value, const char *word)
{
    size_t n = strlen(word);

    return strncasecmp(value, word, n) == 0
        && value[n + strspn(value + n, " \t")] == '\0';
}

struct look {
    struct headers *headers;
    struct mhd_0_9_lines lines;
};

static bool is_of_token(char c)
{
    char lower = (char)(c | 0x20);

    return (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9')
        || strchr("!#$%&'*+-.^_`|~", c) != NULL;
}

static bool is_token(const char *name)
{
    size_t n = 0;

    while (name[n] != '\0' && is_of_token(name[n]))
        n++;
    return n > 0 && name[n] == '\0';
}

/* Most differ in the first letter. */
static bool is_name(const char *name, const char *known)
{
    return ((name[0] ^ known[0]) & ~0x20) == 0 && strcasecmp(name, known) == 0;
}

static void note(struct headers *h, const char *name, const char *value)
{
    int i = 0;

    while (i < HEADER_COUNT && !is_name(name, names[i]))
        i++;
    if (i < HEADER_COUNT && h->lines[i]++ == 0)
        h->value[i] = value;
}

static enum MHD_Result look_at(void *look, enum MHD_ValueKind kind,
                               const char *name, size_t name_size,
                               const char *value, size_t value_size)
{
    struct look *l = look;

    (void)kind;
    if (value == NULL || !is_token(name) || strlen(name) != name_size
        || strlen(value) != value_size || strpbrk(value, "\r\n") != NULL)
        l->headers->sound = false;
    if (mhd_is_0_9())
        mhd_0_9_line(&l->lines, name, value);
    if (value != NULL)
        note(l->headers, name, value);
    return MHD_YES;
}

static enum MHD_Result weigh(void *bytes, enum MHD_ValueKind kind,
                             const char *name, size_t name_size,
                             const char *value, size_t value_size)
{
    size_t *sum = bytes;

    (void)name;
    (void)value;
    *sum += HEADER_LINE_BYTES;
    if (kind == MHD_COOKIE_KIND || kind == MHD_FOOTER_KIND)
        *sum += name_size + value_size + 4;
    return MHD_YES;
}

/* The kinds are bits, and may be asked for together. */
static void weigh_all(struct MHD_Connection *connection, int kinds,
                      size_t *bytes)
{
    MHD_get_connection_values_n(connection, (enum MHD_ValueKind)kinds, weigh,
                                bytes);
}

void header_read_trailer(struct MHD_Connection *connection,
                         struct headers *headers)
{
    weigh_all(connection, MHD_FOOTER_KIND, &headers->bytes);
}

void header_read(struct MHD_Connection *connection, const char *method,
                 const char *version, struct headers *headers)
{
    struct look look = { .headers = headers, .lines = { .sound = true } };
    const union MHD_ConnectionInfo *info;

    *headers = (struct headers){ .sound = true };
    info = MHD_get_connection_info(connection,
                                   MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    headers->bytes = info != NULL ? info->header_size : 0;
    weigh_all(connection, MHD_HEADER_KIND | MHD_COOKIE_KIND
              | MHD_GET_ARGUMENT_KIND, &headers->bytes);
    mhd_0_9_begin(&look.lines, version);
    MHD_get_connection_values_n(connection, MHD_HEADER_KIND, look_at, &look);
    if (!mhd_is_0_9())
        return;
    mhd_0_9_end(&look.lines, connection, method);
    headers->sound &= look.lines.sound;
}

struct taker {
    const char *name;
    void (*take)(void *to, const char *value);
    void *to;
};

static enum MHD_Result offer(void *taker, enum MHD_ValueKind kind,
                             const char *name, const char *value)
{
    struct taker *t = taker;

    (void)kind;
    if (value != NULL && strcasecmp(name, t->name) == 0)
        t->take(t->to, value);
    return MHD_YES;
}

void header_each(struct MHD_Connection *connection, const char *name,
                 void (*take)(void *to, const char *value), void *to)
{
    struct taker taker = { name, take, to };

    MHD_get_connection_values(connection, MHD_HEADER_KIND, offer, &taker);
}

const char *header_path(const char *target)
{
    const char *path = target;

    if (strncasecmp(target, "http://", 7) == 0)
        path = strchr(target + 7, '/');
    else if (strncasecmp(target, "https://", 8) == 0)
        path = strchr(target + 8, '/');
    return path != NULL ? path : "/";
}
