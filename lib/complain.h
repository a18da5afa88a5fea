/* SPDX-License-Identifier: MIT */
/*
 * complain.h - fills struct attn_error, the sentence included.
 */
#ifndef COMPLAIN_H
#define COMPLAIN_H

#include "attention.h"

/*
 * Sets *error and returns its status. The text comes from `pattern`: $n is
 * the name, $o the other name, $g and $e the numbers got and expected, $a the
 * axis, $i the index, $b "1 or " and the number expected, or 1 alone. Behind
 * a number $s is an s, and $x turns "ax" into axis or axes.
 */
enum attn_status complain(struct attn_error *error, struct attn_error what,
                          const char *pattern);

/* Adds to the text as it is. */
void complain_more(struct attn_error *error, const char *text);

#endif
