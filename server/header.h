/* SPDX-License-Identifier: MIT */
/*
 * header - what a request says before its body: its header lines and its
 * path, read with more care than the HTTP library takes.
 */
#ifndef HEADER_H
#define HEADER_H

#include <stdbool.h>
#include <stddef.h>

struct MHD_Connection;

/* The headers that mean something here. */
enum header {
    HEADER_ACCEPT,
    HEADER_CONTENT_ENCODING,
    HEADER_CONTENT_LENGTH,
    HEADER_CONTENT_TYPE,
    HEADER_EXPECT,
    HEADER_HOST,
    HEADER_REQUEST_TIMEOUT,
    HEADER_TRACEPARENT,
    HEADER_TRANSFER_ENCODING,
    HEADER_X_REQUEST_ID,
    HEADER_COUNT
};

struct headers {
    const char *value[HEADER_COUNT];    /* of its first line, or NULL */
    int lines[HEADER_COUNT];
    bool sound;     /* No name is empty or has a letter that none may have, no
                       value a NUL or a second line: other readers than this
                       one would see another request. */
    size_t bytes;   /* of the connection's memory that they take: their text
                       and HEADER_LINE_BYTES for each line, argument of the
                       query and cookie, whose text is there twice */
};

/* What may be taken. A reply finds no room if too much is, and is lost. */
#define HEADER_BYTES_MAX ((size_t)32 << 10)
#define HEADER_LINE_BYTES 96

/* Reads all header lines once, between the request line, whose first and last
 * word these are, and the body. The values belong to the connection, and stay
 * until its request is completed. */
void header_read(struct MHD_Connection *connection, const char *method,
                 const char *version, struct headers *headers);

/* Gives each line of this name, in their order. */
void header_each(struct MHD_Connection *connection, const char *name,
                 void (*take)(void *to, const char *value), void *to);

/* Adds the lines behind a chunked body to what is taken. */
void header_read_trailer(struct MHD_Connection *connection,
                         struct headers *headers);

/* Is the value this word, whatever its case, and blanks behind it? */
bool header_is_word(const char *value, const char *word);

/* The path within a request's target, which may be "http://host/path". */
const char *header_path(const char *target);

#endif
