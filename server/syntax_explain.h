/* SPDX-License-Identifier: MIT */
/*
 * syntax_explain - the fault of a text that is not JSON: its place, the byte
 * and what stands around it and, for what Python, NumPy, JavaScript and curl
 * are often made to send, how JSON writes that.
 */
#ifndef SYNTAX_EXPLAIN_H
#define SYNTAX_EXPLAIN_H

#include "problem.h"
#include "syntax_check.h"

/* Sets the fault of a text that syntax_check() refused. */
void syntax_explain(const struct syntax_check *c, struct fault *fault);

#endif
