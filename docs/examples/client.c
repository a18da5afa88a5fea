/* SPDX-License-Identifier: MIT */
/*
 * client.c - posts standard input and prints the answer, or what was wrong
 * with the question, in which case it ends with 1.
 *
 *     cc client.c $(pkg-config --cflags --libs libcurl) -o client
 *     echo '{"Q": [[1]], "K": [[1]], "V": [[5]]}' | ./client
 */
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>

#define BODY_MAX (64 << 20)

int main(int argc, char **argv)
{
    const char *service = argc > 1 ? argv[1] : "http://127.0.0.1:8080";
    char url[1024], error[CURL_ERROR_SIZE] = "";
    char *body = malloc(BODY_MAX);
    CURL *curl = curl_easy_init();
    struct curl_slist *headers = NULL;
    long status = 0;

    if (!body || !curl)
        return EXIT_FAILURE;
    size_t length = fread(body, 1, BODY_MAX, stdin);
    headers = curl_slist_append(headers, "Content-Type: application/json");
    headers = curl_slist_append(headers, "Request-Timeout: 30");
    snprintf(url, sizeof url, "%s/attention", service);

    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)length);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, error);
    if (curl_easy_perform(curl) != CURLE_OK)    /* prints the answer */
        fprintf(stderr, "%s\n", error);
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);

    curl_slist_free_all(headers);
    curl_easy_cleanup(curl);
    free(body);
    return status == 200 ? EXIT_SUCCESS : EXIT_FAILURE;
}
