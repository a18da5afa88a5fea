/* SPDX-License-Identifier: MIT */
/*
 * json_call.h - a request of the service answered by the library alone, so
 * that vectors test the mathematics before a decoder or a socket does.
 */
#ifndef JSON_CALL_H
#define JSON_CALL_H

#include <jansson.h>

/* What POST /attention would answer, warnings left out. The request is
 * taken to be right; fails the running test if the library refuses it. */
json_t *json_call_answer(const char *case_name, const json_t *request);

#endif
