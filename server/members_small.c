/* SPDX-License-Identifier: MIT */
/*
 * members_small - small values: numbers by number.c, as all numbers; true and
 * false, words and lists of names where they stand, with jansson's help where
 * a string has escapes. The first byte tells the type, however long or deep
 * the value is. Its grammar is not known yet while the text is scanned.
 */
#include "members_small.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "foreign.h"
#include "number.h"
#include "quote.h"

/* Longer values are not looked at before they are squeezed; then those that
 * are right have less. */
enum { SMALL_MAX = 64 << 10 };

static void put_offset(struct members *c, double value)
{
    int64_t *offset = arena_alloc(c->arena, sizeof *offset);
    if (!offset) {
        fault_set(c->fault, PROBLEM_MEMORY_BUDGET, NULL,
                  "No memory left for this request now.");
        return;
    }
    *offset = (int64_t)value;
    c->in->tensor[ATTN_OFFSET] =
        (struct attn_tensor){.data = offset, .rank = 1, .dim = {1}};
}

static void refuse_number(struct members *c, enum problem problem,
                          double value, const char *pointer,
                          const char *expected)
{
    if (!fault_takes(c->fault, problem))
        return;
    fault_set(c->fault, problem, pointer, "\"%s\" is %.17g, expected %s.",
              pointer, value, expected);
    c->fault->has_got = true;
    c->fault->got = value;
}

static void put_number(struct members *c, enum field_id id, double value,
                       const char *pointer)
{
    enum field_type type = fields[id].type;
    char bound[80];

    if (type != FIELD_NUMBER && value != trunc(value))
        refuse_number(c, PROBLEM_WRONG_TYPE, value, pointer, "an integer");
    else if (type == FIELD_OFFSETS && fabs(value) > FIELD_INTEGER_MAX)
        refuse_number(c, PROBLEM_OUT_OF_RANGE, value, pointer,
                      "at most 9007199254740992 either way");
    else if (type == FIELD_SIDE && value > FIELD_INTEGER_MAX)
        field_store(id, c->in, FIELD_INTEGER_MAX); /* open, in effect */
    else if (!field_within(id, value, bound, sizeof bound))
        refuse_number(c, PROBLEM_OUT_OF_RANGE, value, pointer, bound);
    else if (type == FIELD_OFFSETS)
        put_offset(c, value);
    else
        field_store(id, c->in, value);
}

static void put_word(struct members *c, enum field_id id,
                     const struct members_word *word, const char *pointer)
{
    static const char *const end_word[] = {"end", NULL};
    bool offset = id == (enum field_id)ATTN_OFFSET;
    const char *const *words = offset ? end_word : fields[id].words;
    char shown[QUOTE_NAME_MAX];

    for (int n = 0; words[n]; n++) {
        if (strlen(words[n]) != word->length ||
            memcmp(words[n], word->text, word->length) != 0)
            continue;
        field_store(id, c->in, n);
        c->in->offset_end = c->in->offset_end || offset;
        c->additive = c->additive || (id == FIELD_SCORE_TYPE && n == 1);
        return;
    }
    fault_set(c->fault, PROBLEM_UNKNOWN_MEMBER, pointer,
              "\"%s\" is \"%s\", expected %s.", pointer,
              quote_name(shown, word->text, word->length), field_expected(id));
}

/* Name i of `return`. */
static void put_name(struct members *c, const struct members_word *word,
                     size_t i)
{
    enum attn_out out = field_find_out(word->text, word->length);
    char pointer[FAULT_POINTER_MAX], shown[QUOTE_NAME_MAX];
    char advice[FOREIGN_ADVICE_MAX];

    snprintf(pointer, sizeof pointer, "/return/%zu", i);
    if (out == ATTN_N_OUT)
        fault_set(c->fault, PROBLEM_UNKNOWN_MEMBER, pointer,
                  "\"%s\" is \"%s\", which is unknown%s", pointer,
                  quote_name(shown, word->text, word->length),
                  foreign_output(word->text, word->length, advice));
    else if (c->in->returns & ATTN_RETURN(out))
        fault_set(c->fault, PROBLEM_DUPLICATE_MEMBER, pointer,
                  "\"%s\" names \"%s\" a second time.", pointer,
                  attn_out_name[out]);
    else
        c->in->returns |= ATTN_RETURN(out);
}

/* What stands in `return` at place i; behind it, or NULL if it is no string. */
static const char *put_item(struct members *c, const char *p, const char *end,
                            size_t i)
{
    const char *next = p < end && *p == '"' ? syntax_after_string(p, end)
                                            : NULL;
    char pointer[FAULT_POINTER_MAX];
    struct members_word word;

    if (next) {
        members_word(&word, p, next);
        put_name(c, &word, i);
        return next;
    }
    snprintf(pointer, sizeof pointer, "/return/%zu", i);
    fault_set(c->fault, PROBLEM_WRONG_TYPE, pointer, "\"%s\" is not a string, "
              "expected a name such as \"output\".", pointer);
    return NULL;
}

/* p at the list's bracket. False: it is no list. */
static bool put_names(struct members *c, const char *p, const char *end,
                      const char *pointer)
{
    const char *first = syntax_after_space(p + 1, end);
    size_t i = 0;

    c->in->returns = 0;
    if (first < end && *first == ']') {
        fault_set(c->fault, PROBLEM_RAGGED, pointer,
                  "\"%s\" is an empty list, expected at least one name.",
                  pointer);
        return true;
    }
    do {
        p = put_item(c, syntax_after_space(p + 1, end), end, i++);
        if (!p || !members_go_on(c))
            return true;
        p = syntax_after_space(p, end);
    } while (p < end && *p == ',');
    return p + 1 == end && *p == ']';
}

/* Who sends null for what he does not have is told so; Q, K and V are not
 * left out. */
void members_wrong_type(struct members *c, enum field_id id, const char *text,
                        const char *end)
{
    const char *kind = syntax_kind(text, end);
    char pointer[FAULT_POINTER_MAX];
    bool null = text < end && *text == 'n' && id > (enum field_id)ATTN_V;

    field_pointer(id, pointer);
    fault_set(c->fault, PROBLEM_WRONG_TYPE, pointer,
              "\"%s\" is %s, expected %s%s.", pointer,
              kind ? kind : "no value", field_expected(id),
              null ? "; leave it out if there is none" : "");
}

/* False: it is no number. */
static bool put_digits(struct members *c, enum field_id id, const char *text,
                       const char *end, const char *pointer)
{
    const char *next;
    double value;
    enum number_status status = number_read(text, end, &value, &next);

    field_store(id, c->in, 1);      /* given, whatever is wrong with it */
    if (status == NUMBER_OVERFLOW)
        fault_set(c->fault, PROBLEM_NUMBER_OVERFLOW, pointer,
                  "\"%s\" has a number that float64 cannot hold.", pointer);
    else if (status == NUMBER_OK && next == end)
        put_number(c, id, value, pointer);
    else
        return false;
    return true;
}

static bool is(const char *text, const char *end, const char *word)
{
    size_t n = (size_t)(end - text);
    return n == strlen(word) && memcmp(text, word, n) == 0;
}

/* False: the value has the wrong type. */
static bool put(struct members *c, enum field_id id, const char *text,
                const char *end, const char *pointer)
{
    struct members_word word;
    char first = text < end ? *text : '\0';

    switch (fields[id].type) {
    case FIELD_NAMES:
        return first == '[' && put_names(c, text, end, pointer);
    case FIELD_BOOLEAN:
        field_store(id, c->in, is(text, end, "true"));
        return is(text, end, "true") || is(text, end, "false");
    case FIELD_SIDE:
        if (first == 'n')
            return is(text, end, "null");
        break;
    case FIELD_OFFSETS:
    case FIELD_WORD:
        if (first != '"')
            break;
        members_word(&word, text, end);
        put_word(c, id, &word, pointer);
        return true;
    default: break;
    }
    return fields[id].type != FIELD_WORD &&
           put_digits(c, id, text, end, pointer);
}

bool members_small(struct members *c, enum field_id id, const char *text,
                   const char *end)
{
    char pointer[FAULT_POINTER_MAX];

    field_pointer(id, pointer);
    if (!c->exact && end - text > SMALL_MAX)
        return false;
    if (!put(c, id, text, end, pointer))
        members_wrong_type(c, id, text, end);
    return members_go_on(c);
}

/* A string of n bytes, quotes included, without escapes. 0: it is too long, or
 * none that UTF-8 can say. */
static size_t unescape(const char *text, size_t n, char *out, size_t size)
{
    json_t *name = n > 6 * size + 2 ? NULL :
        json_loadb(text, n, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    size_t length = name ? json_string_length(name) : 0;

    if (length > size)
        length = 0;
    if (length > 0)
        memcpy(out, json_string_value(name), length);
    json_decref(name);
    return length;
}

void members_word(struct members_word *word, const char *text, const char *end)
{
    size_t n = (size_t)(end - text), length = 0;

    if (memchr(text, '\\', n))
        length = unescape(text, n, word->room, sizeof word->room);
    word->text = length > 0 ? word->room : text + 1;
    word->length = length > 0 ? length : n - 2;
}
