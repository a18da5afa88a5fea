/* SPDX-License-Identifier: MIT */
/*
 * syntax_number - long numbers made short, part of syntax_check.h. With d
 * digits of the whole part not written the number is what was written times
 * 10^d, with z zeros behind the point not written it is that times 10^-z;
 * and a last digit of 1 stands for a rest that is not 0.
 */
#include <stdio.h>

#include "syntax_check.h"

/* Bytes given up in time, so that an exponent has room. */
enum { SLACK = 32 };

/* Beyond it, further digits of an exponent change nothing. */
static const int64_t exponent_limit = 1000000000000000;

/* Takes back digits that were written. */
static void take_back(struct syntax_check *c, int sign)
{
    if (c->number.shift != 0)
        return;
    c->number.shift = sign * SLACK;
    for (int i = 0; i < SLACK; i++)
        c->number.more |= *--c->out != '0';
}

void syntax_number_digit(struct syntax_check *c, char digit, bool fraction)
{
    struct syntax_number *n = &c->number;

    if (!n->significant && digit != '0') {
        n->significant = true;
        n->kept = 0;
    }
    if (n->kept < SYNTAX_DIGITS) {
        *c->out++ = digit;
        n->kept++;
    } else if (!n->significant) {
        take_back(c, -1);
        n->shift--;
    } else {
        if (!fraction) {
            take_back(c, 1);
            n->shift++;
        }
        n->more |= digit != '0';
    }
}

void syntax_number_exponent(struct syntax_check *c, char digit)
{
    struct syntax_number *n = &c->number;

    if (n->exponent < exponent_limit)
        n->exponent = n->exponent * 10 + (digit - '0');
    if (++n->exponent_digits <= 2 * SLACK)
        *c->out++ = digit;
}

void syntax_number_end(struct syntax_check *c)
{
    const struct syntax_number *n = &c->number;
    char *end = n->exponent_at ? n->exponent_at : c->out;

    if (n->more && end[-1] == '0')
        end[-1] = '1';
    if (n->shift == 0 && n->exponent_digits <= 2 * SLACK)
        return;
    int64_t exponent = n->minus ? -n->exponent : n->exponent;
    c->out = end + sprintf(end, "e%lld", (long long)(exponent + n->shift));
}
