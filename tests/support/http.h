/* SPDX-License-Identifier: MIT */
/*
 * http.h - one request through libcurl. A request that gets no reply has the
 * status 0.
 */
#ifndef HTTP_H
#define HTTP_H

#include <stddef.h>

struct http_reply {
    int status;
    char *headers;         /* as they came, NUL at the end */
    char *body;            /* NUL at the end */
    size_t length;         /* of the body */
    size_t headers_length;
    double seconds;
    int curl;              /* CURLcode */
};

/* headers: "Name: value", up to a NULL; or NULL. body NULL: none. */
void http_request(int port, const char *method, const char *path,
                  const char *const *headers, const void *body, size_t length,
                  struct http_reply *reply);

/* The two most used; to be freed like the other. */
struct http_reply http_get(int port, const char *path);
struct http_reply http_post(int port, const char *json);

/* The value of a reply's header, copied into `value`; "" if absent. */
const char *http_header(const struct http_reply *reply, const char *name,
                        char value[256]);

void http_free(struct http_reply *reply);

#endif
