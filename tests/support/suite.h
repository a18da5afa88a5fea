/* SPDX-License-Identifier: MIT */
/*
 * suite.h - a Check program in one call.
 */
#ifndef SUITE_H
#define SUITE_H

#include <check.h>

/*
 * Runs the tests, each between setup and teardown (NULL: none) and for up to
 * so many seconds. The list ends with NULL. Returns main()'s status.
 */
int suite_run(const char *name, const TTest *const *tests,
              void (*setup)(void), void (*teardown)(void), double seconds);

/* attn_init() with the engine that $TEST_ENGINE names, auto without it; ends
 * the program unless that is the one in use. */
void suite_init_library(void);

#endif
