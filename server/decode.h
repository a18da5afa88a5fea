/* SPDX-License-Identifier: MIT */
/*
 * decode - bytes -> struct attn_input. Unpacks, recognises the form, hands
 * to decode_json.c (and later forms). Reads r->body, fills r->input and
 * what it points to (arena); a fault goes to r->fault.
 */
#ifndef DECODE_H
#define DECODE_H

#include "request.h"

int64_t decode_next(struct request *r);
bool decode_task(struct request *r, int64_t task, int lane);

#endif
