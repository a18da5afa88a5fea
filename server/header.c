/* SPDX-License-Identifier: MIT */
/*
 * header - see header.h. The HTTP library ends a value at its first NUL and
 * says nothing. But it leaves the lines where they came, one behind the other,
 * and puts NUL over their ends; so the rest of such a value still stands
 * between its end and the next name.
 */
#include "header.h"

#include <microhttpd.h>
#include <string.h>
#include <strings.h>

const char *header_value(const struct request *r, const char *name)
{
    return MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND, name);
}

struct count {
    const char *name;
    int n;
};

static enum MHD_Result count_line(void *count, enum MHD_ValueKind kind,
                                  const char *name, const char *value)
{
    struct count *c = count;

    (void)kind;
    (void)value;
    c->n += strcasecmp(name, c->name) == 0;
    return MHD_YES;
}

int header_count(const struct request *r, const char *name)
{
    struct count count = { name, 0 };

    MHD_get_connection_values(r->connection, MHD_HEADER_KIND, count_line,
                              &count);
    return count.n;
}

bool header_is_word(const char *value, const char *word)
{
    size_t n = strlen(word);

    return strncasecmp(value, word, n) == 0
        && value[n + strspn(value + n, " \t")] == '\0';
}

struct look {
    const char *end;    /* of the value before; NULL: none */
    bool sound;
};

static bool is_token(const char *name)
{
    static const char letters[] = "!#$%&'*+-.^_`|~0123456789"
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

    return *name != '\0' && name[strspn(name, letters)] == '\0';
}

/* Is there anything but blanks and line ends? */
static bool is_text(const char *from, const char *to)
{
    while (from < to && (*from == '\0' || strchr(" \t\r\n", *from) != NULL))
        from++;
    return from < to;
}

/* A value that goes on in a further line has been put together elsewhere. */
static bool is_behind(const char *value, const char *name)
{
    const char *colon = name + strlen(name);

    return value == colon + 1 + strspn(colon + 1, " \t");
}

static enum MHD_Result look_at(void *look, enum MHD_ValueKind kind,
                               const char *name, const char *value)
{
    struct look *l = look;

    (void)kind;
    l->sound = value != NULL && is_token(name) && is_behind(value, name)
        && (l->end == NULL || !is_text(l->end, name));
    l->end = value != NULL ? value + strlen(value) : NULL;
    return l->sound ? MHD_YES : MHD_NO;
}

/* Behind the last value there are an end of a line and an empty line. */
bool header_all_sound(const struct request *r)
{
    struct look look = { NULL, true };

    MHD_get_connection_values(r->connection, MHD_HEADER_KIND, look_at, &look);
    return look.sound
        && (look.end == NULL || !is_text(look.end, look.end + 2));
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
