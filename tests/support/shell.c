/* SPDX-License-Identifier: MIT */
/*
 * shell.c - see shell.h.
 */
#include "shell.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define SAID_MAX ((size_t)1 << 16)

char *shell_said(const char *command, int status)
{
    char *text = calloc(1, SAID_MAX);
    FILE *pipe = popen(command, "r");

    ck_assert_ptr_nonnull(pipe);
    size_t length = fread(text, 1, SAID_MAX - 1, pipe);
    int ended = pclose(pipe);
    text[length] = '\0';
    ck_assert_msg(WIFEXITED(ended) && WEXITSTATUS(ended) == status,
                  "%s ended with %d: %s", command, WEXITSTATUS(ended), text);
    return text;
}

void shell_expect(const char *command, int status, const char *const *words)
{
    char *text = shell_said(command, status);

    for (; *words; words++)
        ck_assert_msg(strstr(text, *words) != NULL, "%s: no \"%s\" in %s",
                      command, *words, text);
    free(text);
}
