/* SPDX-License-Identifier: MIT */
/*
 * header - see header.h. The HTTP library ends a value at its first NUL and
 * says nothing. But it leaves the lines where they came, one behind the other,
 * and puts NUL over their ends; so the rest of such a value still stands
 * between its end and the next name.
 */
#include "header.h"

#include <microhttpd.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

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
    const char *end;    /* of the request line or the value before */
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

/* Are there but the ends of so many lines? NUL stands where CR, if there was
 * one, and LF were. */
static bool is_end(const char *from, const char *to, ptrdiff_t lines)
{
    if (to - from < lines || to - from > 2 * lines)
        return false;
    while (from < to && *from == '\0')
        from++;
    return from == to;
}

/* A value that goes on in a further line has been put together elsewhere. */
static bool is_behind(const char *value, const char *name)
{
    const char *colon = name + strlen(name);

    return value == colon + 1 + strspn(colon + 1, " \t");
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
                               const char *name, const char *value)
{
    struct look *l = look;

    (void)kind;
    if (value == NULL || !is_token(name) || !is_behind(value, name)
        || !is_end(l->end, name, 1))
        l->headers->sound = false;
    l->end = value != NULL ? value + strlen(value) : name;
    note(l->headers, name, value);
    return MHD_YES;
}

/* To the library any line without a name is the end of the headers, and what
 * stands behind it another request. But it has to be an empty line. */
void header_read(struct MHD_Connection *connection, const char *method,
                 const char *version, struct headers *headers)
{
    struct look look = { headers, version + strlen(version) };
    const union MHD_ConnectionInfo *info;

    *headers = (struct headers){ .sound = true };
    MHD_get_connection_values(connection, MHD_HEADER_KIND, look_at, &look);
    info = MHD_get_connection_info(connection,
                                   MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    if (info == NULL || !is_end(look.end, method + info->header_size, 2))
        headers->sound = false;
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
