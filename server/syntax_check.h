/* SPDX-License-Identifier: MIT */
/*
 * syntax_check - is all of a text JSON (RFC 8259), byte by byte, and which is
 * the first byte that no JSON text could have there? On the way the text is
 * squeezed in its own place, so that whoever walks it afterwards meets no
 * long token: white space goes, strings and numbers are cut to a length that
 * still tells what there is to tell. Memory is constant.
 */
#ifndef SYNTAX_CHECK_H
#define SYNTAX_CHECK_H

#include "syntax.h"

/* How often brackets may change their kind on the way in; brackets of one
 * kind may be nested as deep as they like. */
enum { SYNTAX_NEST_MAX = 64 };

/* Strings above this lose their end. Of a number so many digits are kept: it
 * is read as the same float64 (at most 767 of them count, and whether all
 * others are 0). */
enum { SYNTAX_STRING_BYTES = 80 << 10, SYNTAX_DIGITS = 1600 };

/* So many bytes in front of the one at fault are kept as they were. */
enum { SYNTAX_RECENT_BYTES = 64 };

/* What could have stood where a text went wrong. */
enum syntax_expected {
    SYNTAX_VALUE, SYNTAX_NAME, SYNTAX_COLON, SYNTAX_COMMA, SYNTAX_DIGIT,
    SYNTAX_WORD,        /* the next letter of true, false or null */
    SYNTAX_CHARACTER,   /* of a string */
    SYNTAX_UTF_8,       /* the rest of a character of a string */
    SYNTAX_ESCAPE,      /* the rest of an escape in a string */
    SYNTAX_END          /* of the text */
};

/* A number on its way from p to out. */
struct syntax_number {
    int64_t kept;           /* digits written; zeros in front do not count */
    int64_t shift;          /* power of ten for digits not written */
    int64_t exponent;
    int exponent_digits;
    char *exponent_at;      /* where its e was written, or NULL */
    bool significant;       /* a digit but 0 was there */
    bool more;              /* ... among those not written */
    bool minus;             /* of the exponent */
};

struct syntax_check {
    const char *text;
    char *p, *end;          /* the next byte to be read; where they end */
    char *out;              /* where the next byte is written */
    int64_t line;           /* from 1 */
    const char *line_start;
    const char *bad;        /* the first byte that cannot be there, or NULL;
                               end where the text stops too early */
    bool deep;              /* bad: brackets nested beyond what is followed */
    char recent[SYNTAX_RECENT_BYTES]; /* the byte at text + i is at i modulo
                                         that; the last ones in front of bad */
    /* private */
    int state;              /* enum state */
    int behind;             /* that which follows the token in hand */
    int left;               /* bytes of the character in hand */
    unsigned char low, high;/* between which the next of them is */
    const char *word;       /* rest of the literal in hand */
    char *start;            /* of the string in hand, as written */
    bool keep;
    struct syntax_number number;
    int runs;               /* the open brackets, as runs of one kind */
    char kind;              /* of the innermost; kinds take turns */
    int64_t run[SYNTAX_NEST_MAX];
};

void syntax_check_begin(struct syntax_check *c, char *text, char *end);

/* A slice. Done: the text is JSON, and what is left of it ends at out.
 * Refused: it is none, see bad. */
enum walk syntax_check(struct syntax_check *c);

/* The column of bad, from 1, in bytes. */
int64_t syntax_check_column(const struct syntax_check *c);

/* What could have stood at bad. */
enum syntax_expected syntax_check_expected(const struct syntax_check *c);

/* How many brackets are open there, and of which kind the innermost is. */
int64_t syntax_check_open(const struct syntax_check *c, char *kind);

/* Private, syntax_number.c: the digits of whole numbers and fractions, of
 * exponents, and the end. */
void syntax_number_digit(struct syntax_check *c, char digit, bool fraction);
void syntax_number_exponent(struct syntax_check *c, char digit);
void syntax_number_end(struct syntax_check *c);

#endif
