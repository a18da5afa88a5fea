/* SPDX-License-Identifier: MIT */
/*
 * syntax_check - see syntax_check.h. A state for each place where a text may
 * be cut, so that a slice may end anywhere. What is written never comes up
 * with what is read.
 */
#include "syntax_check.h"

#include <string.h>

enum state {
    VALUE, FIRST_VALUE, NAME, FIRST_NAME, COLON, BEHIND,
    STRING, ESCAPE, HEX, UTF_8, WORD,
    /* numbers: behind a minus, a 0 in front, ... */
    MINUS, ZERO, WHOLE, POINT, FRACTION, E, E_SIGN, EXPONENT
};

void syntax_check_begin(struct syntax_check *c, char *text, char *end)
{
    memset(c, 0, sizeof *c);
    c->text = c->p = c->out = text;
    c->end = end;
    c->line = 1;
    c->line_start = text;
    c->state = VALUE;
}

int64_t syntax_check_column(const struct syntax_check *c)
{
    return c->bad - c->line_start + 1;
}

enum syntax_expected syntax_check_expected(const struct syntax_check *c)
{
    static const unsigned char row[] = {
        [VALUE] = SYNTAX_VALUE, [FIRST_VALUE] = SYNTAX_VALUE,
        [NAME] = SYNTAX_NAME, [FIRST_NAME] = SYNTAX_NAME,
        [COLON] = SYNTAX_COLON, [BEHIND] = SYNTAX_COMMA,
        [STRING] = SYNTAX_CHARACTER, [ESCAPE] = SYNTAX_ESCAPE,
        [HEX] = SYNTAX_ESCAPE, [UTF_8] = SYNTAX_UTF_8,
        [WORD] = SYNTAX_WORD,
    };
    if (c->state >= MINUS)
        return SYNTAX_DIGIT;
    if (c->state == BEHIND && c->runs == 0)
        return SYNTAX_END;
    return (enum syntax_expected)row[c->state];
}

int64_t syntax_check_open(const struct syntax_check *c, char *kind)
{
    int64_t open = 0;
    for (int i = 0; i < c->runs; i++)
        open += c->run[i];
    *kind = c->kind;
    return open;
}

static void take(struct syntax_check *c)
{
    *c->out++ = *c->p++;
}

/* -------------------------------------------------------------- strings */

static void enter_string(struct syntax_check *c, enum state behind)
{
    c->start = c->out;
    c->behind = (int)behind;
    c->state = STRING;
    take(c);
}

static void take_kept(struct syntax_check *c)
{
    if (c->keep)
        *c->out++ = *c->p;
    c->p++;
}

/* The first byte, of 0x80 or above, of one UTF-8 character (RFC 3629). */
static void enter_utf8(struct syntax_check *c)
{
    unsigned char first = (unsigned char)*c->p;

    if (first < 0xc2 || first > 0xf4) {
        c->bad = c->p;
        return;
    }
    c->left = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
    c->low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    c->high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    c->state = UTF_8;
    take_kept(c);
}

static void string(struct syntax_check *c)
{
    unsigned char byte = (unsigned char)*c->p;

    c->keep = c->out - c->start < SYNTAX_STRING_BYTES;
    if (byte == '"') {
        c->state = c->behind;
        take(c);
    } else if (byte < 0x20) {
        c->bad = c->p;
    } else if (byte >= 0x80) {
        enter_utf8(c);
    } else {
        if (byte == '\\')
            c->state = ESCAPE;
        take_kept(c);
    }
}

static void escape(struct syntax_check *c)
{
    if (*c->p == '\0' || !strchr("\"\\/bfnrtu", *c->p)) {
        c->bad = c->p;
        return;
    }
    c->state = *c->p == 'u' ? HEX : STRING;
    c->left = 4;
    take_kept(c);
}

/* One more byte of several, which lies within or not. */
static void rest_of_character(struct syntax_check *c, bool within)
{
    if (!within) {
        c->bad = c->p;
        return;
    }
    c->low = 0x80;
    c->high = 0xbf;
    if (--c->left == 0)
        c->state = STRING;
    take_kept(c);
}

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

/* -------------------------------------------------------------- numbers */

enum kind { DIGIT_0, DIGIT, DOT, LETTER_E, SIGN, OTHER };

static enum kind kind_of(char c)
{
    if (c >= '0' && c <= '9')
        return c == '0' ? DIGIT_0 : DIGIT;
    if (c == '.')
        return DOT;
    if ((c | 0x20) == 'e')
        return LETTER_E;
    return c == '+' || c == '-' ? SIGN : OTHER;
}

/* The state behind a byte; BEHIND: it is no part of the number, VALUE: it
 * cannot be there. */
static enum state after(enum state state, enum kind kind)
{
    static const unsigned char next[][OTHER + 1] = {
        [MINUS - MINUS] = {ZERO, WHOLE, VALUE, VALUE, VALUE, VALUE},
        [ZERO - MINUS] = {BEHIND, BEHIND, POINT, E, BEHIND, BEHIND},
        [WHOLE - MINUS] = {WHOLE, WHOLE, POINT, E, BEHIND, BEHIND},
        [POINT - MINUS] = {FRACTION, FRACTION, VALUE, VALUE, VALUE, VALUE},
        [FRACTION - MINUS] = {FRACTION, FRACTION, BEHIND, E, BEHIND, BEHIND},
        [E - MINUS] = {EXPONENT, EXPONENT, VALUE, VALUE, E_SIGN, VALUE},
        [E_SIGN - MINUS] = {EXPONENT, EXPONENT, VALUE, VALUE, VALUE, VALUE},
        [EXPONENT - MINUS] = {EXPONENT, EXPONENT, BEHIND, BEHIND, BEHIND,
                              BEHIND},
    };
    return (enum state)next[state - MINUS][kind];
}

static void take_of_number(struct syntax_check *c)
{
    char byte = *c->p++;

    switch ((enum state)c->state) {
    case ZERO:
    case WHOLE:
    case FRACTION:
        syntax_number_digit(c, byte, c->state == FRACTION);
        return;
    case EXPONENT:
        syntax_number_exponent(c, byte);
        return;
    case POINT:
        if (c->number.kept >= SYNTAX_DIGITS)
            return;     /* no digit will be written behind it */
        break;
    case E:
        c->number.exponent_at = c->out;
        break;
    default:
        c->number.minus |= c->state == E_SIGN && byte == '-';
        break;
    }
    *c->out++ = byte;
}

static void number(struct syntax_check *c)
{
    enum state next = after((enum state)c->state, kind_of(*c->p));

    if (next == VALUE) {
        c->bad = c->p;
        return;
    }
    c->state = (int)next;
    if (next == BEHIND)
        syntax_number_end(c);
    else
        take_of_number(c);
}

static void enter_number(struct syntax_check *c)
{
    memset(&c->number, 0, sizeof c->number);
    c->state = MINUS;
    if (*c->p == '-')
        take(c);
    else
        number(c);
}

/* --------------------------------------------------------------- values */

static void word(struct syntax_check *c)
{
    if (*c->p != *c->word) {
        c->bad = c->p;
        return;
    }
    take(c);
    if (*++c->word == '\0')
        c->state = BEHIND;
}

static void enter_word(struct syntax_check *c)
{
    c->word = *c->p == 't' ? "true" : *c->p == 'f' ? "false" : "null";
    c->state = WORD;
}

static void open_bracket(struct syntax_check *c)
{
    char kind = *c->p;

    if (c->runs > 0 && c->kind == kind) {
        c->run[c->runs - 1]++;
    } else if (c->runs < SYNTAX_NEST_MAX) {
        c->kind = kind;
        c->run[c->runs++] = 1;
    } else {
        c->deep = true;
        c->bad = c->p;
        return;
    }
    c->state = kind == '[' ? FIRST_VALUE : FIRST_NAME;
    take(c);
}

static void close_bracket(struct syntax_check *c)
{
    c->state = BEHIND;
    take(c);
    if (--c->run[c->runs - 1] > 0)
        return;
    c->runs--;
    c->kind = c->kind == '[' ? '{' : '[';
}

static void value(struct syntax_check *c)
{
    switch (*c->p) {
    case '[':
    case '{': open_bracket(c); break;
    case '"': enter_string(c, BEHIND); break;
    case 't':
    case 'f':
    case 'n': enter_word(c); break;
    case '-': enter_number(c); break;
    default:
        if (*c->p >= '0' && *c->p <= '9')
            enter_number(c);
        else
            c->bad = c->p;
    }
}

static void name(struct syntax_check *c)
{
    if (*c->p == '"')
        enter_string(c, COLON);
    else
        c->bad = c->p;
}

static void behind(struct syntax_check *c)
{
    char close = c->kind == '[' ? ']' : '}';

    if (c->runs == 0) {
        c->bad = c->p;
    } else if (*c->p == ',') {
        c->state = c->kind == '[' ? VALUE : NAME;
        take(c);
    } else if (*c->p == close) {
        close_bracket(c);
    } else {
        c->bad = c->p;
    }
}

static void colon(struct syntax_check *c)
{
    if (*c->p != ':') {
        c->bad = c->p;
        return;
    }
    c->state = VALUE;
    take(c);
}

/* One byte outside of tokens. */
static void between(struct syntax_check *c)
{
    switch ((enum state)c->state) {
    case FIRST_VALUE:
        if (*c->p == ']')
            close_bracket(c);
        else
            value(c);
        break;
    case FIRST_NAME:
        if (*c->p == '}')
            close_bracket(c);
        else
            name(c);
        break;
    case NAME: name(c); break;
    case COLON: colon(c); break;
    case BEHIND: behind(c); break;
    default: value(c); break;
    }
}

static void white_space(struct syntax_check *c)
{
    if (*c->p++ == '\n') {
        c->line++;
        c->line_start = c->p;
    }
}

static void one_byte(struct syntax_check *c)
{
    enum state state = (enum state)c->state;

    if (state >= MINUS)
        number(c);
    else if (state <= BEHIND && syntax_is_space(*c->p))
        white_space(c);
    else if (state <= BEHIND)
        between(c);
    else if (state == STRING)
        string(c);
    else if (state == ESCAPE)
        escape(c);
    else if (state == HEX)
        rest_of_character(c, is_hex(*c->p));
    else if (state == UTF_8)
        rest_of_character(c, (unsigned char)*c->p >= c->low &&
                                 (unsigned char)*c->p <= c->high);
    else
        word(c);
}

enum walk syntax_check(struct syntax_check *c)
{
    const char *stop = syntax_within(c->p, c->end, SYNTAX_SLICE_BYTES);

    for (; c->p < stop && !c->bad; one_byte(c))
        c->recent[(c->p - c->text) % SYNTAX_RECENT_BYTES] = *c->p;
    if (c->bad)
        return WALK_REFUSED;
    if (c->p < c->end)
        return WALK_MORE;
    if (c->state >= MINUS &&
        after((enum state)c->state, OTHER) == BEHIND) {
        syntax_number_end(c);
        c->state = BEHIND;
    }
    if (c->state == BEHIND && c->runs == 0)
        return WALK_DONE;
    c->bad = c->end;        /* of an empty text that may be NULL */
    return WALK_REFUSED;
}
