/* SPDX-License-Identifier: MIT */
/*
 * complain.c - one English sentence about what does not fit.
 *
 * A pattern of a few letters instead of printf: the library needs no streams.
 */
#include "complain.h"

#include <string.h>

static void add_text(struct attn_error *e, const char *text)
{
    size_t used = strlen(e->text);
    strncat(e->text, text, sizeof e->text - 1 - used);
}

static void add_number(struct attn_error *e, int64_t number)
{
    char digits[24];
    char *at = digits + sizeof digits - 1;
    uint64_t rest = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    *at = '\0';
    do
        *--at = (char)('0' + rest % 10);
    while (rest /= 10);
    if (number < 0)
        *--at = '-';
    add_text(e, at);
}

static void add_part(struct attn_error *e, char letter)
{
    switch (letter) {
    case 'n': add_text(e, e->name); break;
    case 'o': add_text(e, e->other); break;
    case 'g': add_number(e, e->got); break;
    case 'e': add_number(e, e->expected); break;
    case 'a': add_number(e, e->axis); break;
    case 'i': add_number(e, e->index); break;
    }
}

enum attn_status complain(struct attn_error *error, struct attn_error what,
                          const char *pattern)
{
    *error = what;
    for (const char *c = pattern; *c; c++) {
        char letter[2] = {*c, '\0'};
        if (*c == '$')
            add_part(error, *++c);
        else
            add_text(error, letter);
    }
    return error->status;
}
