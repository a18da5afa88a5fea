/* SPDX-License-Identifier: MIT */
/*
 * check.h - does everything fit together?
 */
#ifndef CHECK_H
#define CHECK_H

#include "attention.h"

/*
 * Asks one question after the other; the first "no" fills *error. When all
 * are answered, the dimensions of *plan (B ... d_out) are set.
 */
enum attn_status check_input(const struct attn_input *in,
                             struct attn_plan *plan,
                             struct attn_error *error);

/* Axes that Q has besides its rows and columns, which A has too. */
bool check_has_batch(const struct attn_input *in);
bool check_has_heads(const struct attn_input *in);

/* Are the cached rows packed, [.., n_past, G*d]? */
bool check_past_is_packed(const struct attn_input *in, enum attn_in name);

#endif
