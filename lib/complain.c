/* SPDX-License-Identifier: MIT */
/*
 * complain.c - one English sentence about what does not fit.
 *
 * A pattern of a few letters instead of printf: the library needs no streams.
 */
#include "complain.h"

#include <string.h>

static void add(struct attn_error *e, const char *text, size_t n)
{
    size_t used = strlen(e->text), left = sizeof e->text - 1 - used;
    size_t taken = n < left ? n : left;
    memcpy(e->text + used, text, taken);
    e->text[used + taken] = '\0';
}

void complain_more(struct attn_error *error, const char *text)
{
    add(error, text, strlen(text));
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
    complain_more(e, at);
}

/* The number that a letter stands for. */
static int64_t number_of(const struct attn_error *e, char letter)
{
    switch (letter) {
    case 'g': return e->got;
    case 'a': return e->axis;
    case 'i': return e->index;
    default: return e->expected;
    }
}

/* Adds what a letter stands for; *number is the last one that was added. */
static void add_part(struct attn_error *e, char letter, int64_t *number)
{
    switch (letter) {
    case 'n': complain_more(e, e->name); return;
    case 'o': complain_more(e, e->other); return;
    case 's': complain_more(e, *number == 1 ? "" : "s"); return;
    case 'x': complain_more(e, *number == 1 ? "is" : "es"); return;
    default: break;
    }
    *number = number_of(e, letter);
    if (letter == 'b' && *number != 1)
        complain_more(e, "1 or ");
    add_number(e, *number);
}

enum attn_status complain(struct attn_error *error, struct attn_error what,
                          const char *pattern)
{
    int64_t number = 0;
    *error = what;
    for (const char *c = pattern; *c; c++) {
        if (*c == '$')
            add_part(error, *++c, &number);
        else
            add(error, c, 1);
    }
    return error->status;
}
