/* SPDX-License-Identifier: MIT */
/*
 * mhd_0_9 - see mhd_0_9.h. Seen in 0.9.75.
 */
#include "mhd_0_9.h"

#include <microhttpd.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

static bool is_older(const char *version)
{
    int major = 0, minor = 0, patch = 0, build = 0;

    sscanf(version, "%d.%d.%d.%d", &major, &minor, &patch, &build);
    return major == 0
        && (minor < 9 || patch < 77 || (patch == 77 && build < 1));
}

bool mhd_is_0_9(void)
{
    static int older = -1;  /* all threads come to the same */

    if (older < 0)
        older = is_older(MHD_get_version());
    return older == 1;
}

/* Are there but the ends of so many lines, a NUL for each CR and LF? */
static bool is_end(const char *from, const char *to, ptrdiff_t lines)
{
    if (to - from != 2 * lines)
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

void mhd_0_9_begin(struct mhd_0_9_lines *lines, const char *version)
{
    lines->end = version + strlen(version);
    lines->sound = true;
}

void mhd_0_9_line(struct mhd_0_9_lines *lines, const char *name,
                  const char *value)
{
    if (value == NULL || !is_behind(value, name)
        || !is_end(lines->end, name, 1))
        lines->sound = false;
    lines->end = value != NULL ? value + strlen(value) : name;
}

/* To 0.9 any line without a name is the end of the headers, and what stands
 * behind it another request. But it has to be an empty line. */
void mhd_0_9_end(struct mhd_0_9_lines *lines, struct MHD_Connection *c,
                 const char *method)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);

    if (info == NULL || !is_end(lines->end, method + info->header_size, 2))
        lines->sound = false;
}

void mhd_0_9_continue(int fd, const char *expect)
{
    static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";

    if (mhd_is_0_9() && strcasecmp(expect, "100-continue") != 0)
        send(fd, go_on, sizeof go_on - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}
