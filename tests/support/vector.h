/* SPDX-License-Identifier: MIT */
/*
 * vector.h - the cases of tests/vectors, as make_vectors.py wrote them.
 */
#ifndef VECTOR_H
#define VECTOR_H

#include <jansson.h>

/* Answers a request: json_call_answer(), or over HTTP. The reply is the
 * caller's; the case's name is for messages. */
typedef json_t *vector_answer(const char *case_name, const json_t *request);

/* Has every file of tests/vectors answered and holds the answers against
 * what is expected. Fails the running test, naming file and place. */
void vectors_check(vector_answer *answer);

/*
 * Holds one output against what is expected of it, a nested list or
 * {"shape", "step", "values"}: |got - x| <= absolute + relative * m, where m
 * is size if that is given (not 0), else |x|. case_name begins the message.
 */
void vector_compare(const char *case_name, const char *output,
                    const json_t *got, const json_t *expected,
                    double absolute, double relative, double size);

#endif
