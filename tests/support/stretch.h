/* SPDX-License-Identifier: MIT */
/*
 * stretch.h - a JSON text made longer, which changes nothing of what it says:
 * by blanks where JSON allows them, or by digits that a number may have. Only
 * the first `known` bytes need to be the beginning of some JSON text.
 */
#ifndef STRETCH_H
#define STRETCH_H

#include <stddef.h>

/* How many places there are for blanks among the known bytes: in front, and
 * behind each bracket and brace that opens, colon and comma. */
size_t stretch_places(const char *text, size_t known);

/* Where place k of them is. */
size_t stretch_place(const char *text, size_t known, size_t k);

/* The text with n blanks at that offset, to be freed; it has n bytes more. */
char *stretch_by_blanks(const char *text, size_t length, size_t at, size_t n);

/* The text with n zeros behind the digits of number k, modulo how many there
 * are. Its length goes to *stretched. NULL: there is no number. */
char *stretch_number(const char *text, size_t length, size_t k, size_t n,
                     size_t *stretched);

#endif
