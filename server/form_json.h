/* SPDX-License-Identifier: MIT */
/*
 * form_json - the two halves of form_json (form.h), which do not know each
 * other: decode_json.c holds the row and reads, encode_json.c writes.
 */
#ifndef FORM_JSON_H
#define FORM_JSON_H

#include "request.h"

/*
 * The reply: one object with the outputs in the order of enum attn_out,
 * whatever the order in `return`; then stats, then warnings; a newline.
 */
size_t encode_json_room(const struct request *r, size_t *largest);
int64_t encode_json_plan(struct request *r);
size_t encode_json_bound(const struct request *r, int64_t k);
size_t encode_json_piece(const struct request *r, int64_t k, char *out);

#endif
