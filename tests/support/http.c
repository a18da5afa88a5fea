/* SPDX-License-Identifier: MIT */
/*
 * http.c - see http.h.
 */
#include "http.h"

#include <check.h>
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "daemon.h"

/* A power of two, so that a long text is seldom copied. */
static size_t room_of(size_t length)
{
    size_t room = 4096;

    while (room <= length)
        room *= 2;
    return room;
}

static size_t keep(char **text, size_t *length, const char *data, size_t n)
{
    if (*text == NULL || room_of(*length + n) > room_of(*length))
        *text = realloc(*text, room_of(*length + n));
    ck_assert_ptr_nonnull(*text);
    memcpy(*text + *length, data, n);
    *length += n;
    (*text)[*length] = '\0';
    return n;
}

static size_t on_header(char *data, size_t size, size_t n, void *reply)
{
    struct http_reply *r = reply;

    return keep(&r->headers, &r->headers_length, data, size * n);
}

static size_t on_body(char *data, size_t size, size_t n, void *reply)
{
    struct http_reply *r = reply;

    return keep(&r->body, &r->length, data, size * n);
}

static struct curl_slist *header_list(const char *const *headers)
{
    struct curl_slist *list = NULL;

    for (; headers != NULL && *headers != NULL; headers++)
        list = curl_slist_append(list, *headers);
    return list;
}

void http_request(int port, const char *method, const char *path,
                  const char *const *headers, const void *body, size_t length,
                  struct http_reply *reply)
{
    CURL *curl = curl_easy_init();
    struct curl_slist *list = header_list(headers);
    char url[256];
    long status = 0;

    *reply = (struct http_reply){ .status = 0 };
    keep(&reply->headers, &reply->headers_length, "", 0);
    keep(&reply->body, &reply->length, "", 0);
    snprintf(url, sizeof url, "http://127.0.0.1:%d%s", port, path);
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, list);
    if (body != NULL) {
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE,
                         (curl_off_t)length);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body);
    }
    curl_easy_setopt(curl, CURLOPT_NOBODY,
                     strcmp(method, "HEAD") == 0 ? 1L : 0L);
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, reply);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, reply);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT,
                     (long)(60.0 * daemon_slack()));
    reply->curl = (int)curl_easy_perform(curl);
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(curl, CURLINFO_TOTAL_TIME, &reply->seconds);
    reply->status = (int)status;
    curl_slist_free_all(list);
    curl_easy_cleanup(curl);
}

struct http_reply http_get(int port, const char *path)
{
    struct http_reply reply;

    http_request(port, "GET", path, NULL, NULL, 0, &reply);
    return reply;
}

struct http_reply http_post(int port, const char *json)
{
    struct http_reply reply;

    http_request(port, "POST", "/attention", NULL, json, strlen(json),
                 &reply);
    return reply;
}

const char *http_header(const struct http_reply *reply, const char *name,
                        char value[256])
{
    const char *line = strstr(reply->headers, "\r\n");
    size_t n = strlen(name);

    value[0] = '\0';
    for (; line != NULL; line = strstr(line + 2, "\r\n")) {
        const char *at = line + 2;

        if (strncasecmp(at, name, n) != 0 || at[n] != ':')
            continue;
        at += n + 1 + strspn(at + n + 1, " ");
        snprintf(value, 256, "%.*s", (int)strcspn(at, "\r\n"), at);
    }
    return value;
}

void http_free(struct http_reply *reply)
{
    free(reply->headers);
    free(reply->body);
}
