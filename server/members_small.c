/* SPDX-License-Identifier: MIT */
/*
 * members_small - small values: numbers by number.c, as all numbers; words,
 * true and false, lists of names by jansson. Whoever finds the value does not
 * judge its grammar; these two do.
 */
#include "members_small.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "foreign.h"
#include "number.h"
#include "quote.h"

/* No small value needs more text; jansson's trees are not in the budget. */
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
                     const json_t *value, const char *pointer)
{
    const char *word = json_string_value(value);
    size_t length = json_string_length(value);
    static const char *const end_word[] = {"end", NULL};
    bool offset = id == (enum field_id)ATTN_OFFSET;
    const char *const *words = offset ? end_word : fields[id].words;
    int n = 0;

    for (; words[n]; n++) {
        if (strlen(words[n]) != length || strcmp(words[n], word) != 0)
            continue;
        field_store(id, c->in, n);
        c->in->offset_end = c->in->offset_end || offset;
        c->additive = c->additive || (id == FIELD_SCORE_TYPE && n == 1);
        return;
    }
    char shown[QUOTE_NAME_MAX];
    fault_set(c->fault, PROBLEM_UNKNOWN_MEMBER, pointer,
              "\"%s\" is \"%s\", expected %s.", pointer,
              quote_name(shown, word, length), field_expected(id));
}

static void refuse_name(struct members *c, const json_t *item, size_t i)
{
    const char *name = json_string_value(item);
    size_t length = json_string_length(item);
    char pointer[FAULT_POINTER_MAX], shown[QUOTE_NAME_MAX];
    char advice[FOREIGN_ADVICE_MAX];

    snprintf(pointer, sizeof pointer, "/return/%zu", i);
    if (!name)
        fault_set(c->fault, PROBLEM_WRONG_TYPE, pointer,
                  "\"%s\" is not a string, expected a name such as "
                  "\"output\".", pointer);
    else if (field_find_out(name, length) == ATTN_N_OUT)
        fault_set(c->fault, PROBLEM_UNKNOWN_MEMBER, pointer,
                  "\"%s\" is \"%s\", which is unknown%s", pointer,
                  quote_name(shown, name, length),
                  foreign_output(name, length, advice));
    else
        fault_set(c->fault, PROBLEM_DUPLICATE_MEMBER, pointer,
                  "\"%s\" names \"%s\" a second time.", pointer, name);
}

static void put_name(struct members *c, const json_t *item, size_t i)
{
    const char *name = json_string_value(item);
    enum attn_out out = name ? field_find_out(name, json_string_length(item))
                             : ATTN_N_OUT;

    if (out == ATTN_N_OUT || c->in->returns & ATTN_RETURN(out))
        refuse_name(c, item, i);
    else
        c->in->returns |= ATTN_RETURN(out);
}

static void put_names(struct members *c, const json_t *list,
                      const char *pointer)
{
    c->in->returns = 0;
    if (json_array_size(list) == 0)
        fault_set(c->fault, PROBLEM_RAGGED, pointer,
                  "\"%s\" is an empty list, expected at least one name.",
                  pointer);
    for (size_t i = 0; i < json_array_size(list) && members_go_on(c); i++)
        put_name(c, json_array_get(list, i), i);
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

/* False: the value has the wrong type. */
static bool put(struct members *c, enum field_id id, const json_t *value,
                const char *pointer)
{
    enum field_type type = fields[id].type;
    bool word = type == FIELD_WORD || type == FIELD_OFFSETS;

    if (word && json_is_string(value))
        put_word(c, id, value, pointer);
    else if (type == FIELD_BOOLEAN && json_is_boolean(value))
        field_store(id, c->in, json_is_true(value));
    else if (type == FIELD_NAMES && json_is_array(value))
        put_names(c, value, pointer);
    else
        return type == FIELD_SIDE && json_is_null(value);
    return true;
}

/* What jansson says of a text whose grammar is right. */
static bool refuse(struct members *c, const json_error_t *error,
                   const char *pointer)
{
    if (json_error_code(error) == json_error_numeric_overflow)
        fault_set(c->fault, PROBLEM_NUMBER_OVERFLOW, pointer,
                  "\"%s\" has a number that float64 cannot hold.", pointer);
    else if (json_error_code(error) == json_error_out_of_memory)
        fault_set(c->fault, PROBLEM_OUT_OF_MEMORY, NULL,
                  "No memory left for this request now.");
    else
        fault_set(c->fault, PROBLEM_WRONG_TYPE, pointer,
                  "\"%s\" cannot be read: %s.", pointer, error->text);
    return members_go_on(c);
}

/* ---------------------------------------------------- without a tree */

static bool is_number(enum field_id id, const char *text, const char *end,
                      double *value)
{
    enum field_type type = fields[id].type;
    const char *next;

    return (type == FIELD_NUMBER || type == FIELD_INTEGER ||
            type == FIELD_SIDE || type == FIELD_OFFSETS) &&
           number_read(text, end, value, &next) == NUMBER_OK &&
           syntax_after_space(next, end) == end;
}

/* Known names, each once and without escapes, as nearly all lists have. */
static bool is_plain_list(enum field_id id, const char *p, const char *end,
                          unsigned *returns)
{
    if (fields[id].type != FIELD_NAMES || p == end || *p != '[')
        return false;
    *returns = 0;
    do {
        const char *name = syntax_after_space(p + 1, end);
        p = name < end && *name == '"' ? syntax_after_string(name, end) : NULL;
        if (!p)
            return false;
        enum attn_out out = field_find_out(name + 1, (size_t)(p - name - 2));
        if (out == ATTN_N_OUT || *returns & ATTN_RETURN(out))
            return false;
        *returns |= ATTN_RETURN(out);
        p = syntax_after_space(p, end);
    } while (p < end && *p == ',');
    return p + 1 == end && *p == ']';
}

/* ------------------------------------------------------------ all values */

static bool read_tree(struct members *c, enum field_id id, const char *text,
                      const char *end, const char *pointer)
{
    json_error_t error;
    size_t n = (size_t)(end - text);
    if (memchr(text, '\0', n))
        return false;       /* behind a word it would be the text's end */
    json_t *value = json_loadb(text, n,
                               JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL |
                                   JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL,
                               &error);
    if (!value)
        return refuse(c, &error, pointer);
    if (!put(c, id, value, pointer))
        members_wrong_type(c, id, text, end);
    json_decref(value);
    return members_go_on(c);
}

bool members_small(struct members *c, enum field_id id, const char *text,
                   const char *end)
{
    char pointer[FAULT_POINTER_MAX];
    unsigned returns;
    double number;

    field_pointer(id, pointer);
    if (end - text > SMALL_MAX)
        fault_set(c->fault, PROBLEM_OUT_OF_RANGE, pointer,
                  "\"%s\" is longer than %d bytes.", pointer, SMALL_MAX);
    else if (is_number(id, text, end, &number))
        put_number(c, id, number, pointer);
    else if (is_plain_list(id, text, end, &returns))
        c->in->returns = returns;
    else
        return read_tree(c, id, text, end, pointer);
    return members_go_on(c);
}

size_t members_unescape(const char *text, size_t n, char *out, size_t size)
{
    json_t *name = json_loadb(text, n, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    size_t length = name ? json_string_length(name) : 0;
    if (length > size)
        length = 0;
    if (length > 0)
        memcpy(out, json_string_value(name), length);
    json_decref(name);
    return length;
}
