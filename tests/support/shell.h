/* SPDX-License-Identifier: MIT */
/*
 * shell.h - what programs of others, run by the shell, say.
 */
#ifndef SHELL_H
#define SHELL_H

/* Runs a command; what it said, to be freed, if it ended with `status`. */
char *shell_said(const char *command, int status);

/* The same, and all of these words, up to a NULL, must be in it. */
void shell_expect(const char *command, int status, const char *const *words);

#endif
