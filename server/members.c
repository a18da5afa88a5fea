/* SPDX-License-Identifier: MIT */
/*
 * members - see members.h. Objects are walked here, so that every
 * name and place is known; tensors go to nested.c; what remains, small values
 * without members, to members_small.c. A step is a name, a value, or a slice of
 * a long one, and c->place says which is next.
 */
#include "members.h"

#include <stdio.h>
#include <string.h>

#include "foreign.h"
#include "members_small.h"
#include "quote.h"
#include "syntax_explain.h"

/* After a fault: is there reason to go on? */
bool members_go_on(const struct members *c)
{
    enum problem problem = c->fault->problem;
    return problem == PROBLEM_NONE ||
           (c->exact && problem_row(problem)->status == 422);
}

/* Names and what is around them are looked for in so many bytes. */
enum { NEAR_BYTES = 4 * SYNTAX_STRING_BYTES };

static const char *near_end(const struct members *c)
{
    return syntax_within(c->walk.p, c->walk.end, NEAR_BYTES);
}

/* Takes white space; the byte behind it. */
static char next_byte(struct members *c)
{
    c->walk.p = syntax_after_space(c->walk.p, near_end(c));
    return c->walk.p < c->walk.end ? *c->walk.p : '\0';
}

/* --------------------------------------------------------------- values */

static enum walk wrong_type(struct members *c)
{
    members_wrong_type(c, c->id, c->walk.p, c->walk.end);
    return WALK_REFUSED;
}

static enum walk begin_tensor(struct members *c)
{
    enum attn_in in = (enum attn_in)c->id;

    c->place = MEMBERS_TENSOR;
    if (c->exact)
        c->slice.explain = (struct nested_explain){
            .text = &c->walk, .id = in, .dtype = c->dtype, .fault = c->fault};
    else
        c->slice.scan = (struct nested_scan){
            .p = c->walk.p, .end = c->walk.end, .id = in,
            .found = &c->tensor[in], .ranges = c->ranges,
            .n_ranges = &c->n_ranges};
    return WALK_MORE;
}

static enum walk scan_tensor(struct members *c)
{
    struct attn_tensor *shape = &c->in->tensor[c->id];
    const struct nested *found = &c->tensor[c->id];
    enum walk walk = nested_scan(&c->slice.scan);

    c->walk.p = c->slice.scan.p;
    shape->rank = found->rank;
    memcpy(shape->dim, found->dim, sizeof shape->dim);
    return walk;
}

static enum walk explain_tensor(struct members *c)
{
    enum walk walk = nested_explain(&c->slice.explain);

    c->in->tensor[c->id].rank = 1;
    if (walk == WALK_DONE && !members_go_on(c))
        return WALK_REFUSED;
    return walk;
}

static enum walk at_tensor(struct members *c)
{
    enum walk walk = c->exact ? explain_tensor(c) : scan_tensor(c);

    if (walk != WALK_DONE)
        return walk;
    c->place = MEMBERS_BEHIND;
    return WALK_MORE;
}

static enum walk enter_object(struct members *c)
{
    field_store(c->id, c->in, 1);
    c->object = c->id;
    c->group = fields[c->id].members;
    c->place = MEMBERS_FIRST_NAME;
    c->walk.p++;
    return WALK_MORE;
}

/* p at the value of the member in hand. */
static enum walk begin_value(struct members *c)
{
    enum field_type type = fields[c->id].type;
    char first = next_byte(c);
    bool tensor = c->id < (enum field_id)ATTN_N_IN;

    if (tensor && first == '[')
        return begin_tensor(c);
    if (type == FIELD_OBJECT && first == '{')
        return enter_object(c);
    if (type == FIELD_OBJECT || (tensor && type != FIELD_OFFSETS))
        return wrong_type(c);
    c->value = c->walk.p;
    c->place = MEMBERS_VALUE;
    return WALK_MORE;
}

/* A small value, which may turn out to be none. */
static enum walk at_value(struct members *c)
{
    enum walk walk = syntax_skip(&c->walk);

    if (walk != WALK_DONE)
        return walk;
    c->place = MEMBERS_BEHIND;
    return members_small(c, c->id, c->value, c->walk.p) ? WALK_MORE
                                                        : WALK_REFUSED;
}

/* --------------------------------------------------------------- members */

/* Writes the place of the object in hand. */
static const char *prefix_of(const struct members *c,
                             char out[FAULT_POINTER_MAX])
{
    *out = '\0';
    return c->group == FIELD_CALL ? out : field_pointer(c->object, out);
}

/* Appends the name to the pointer to its object. */
static void point_to(char pointer[FAULT_POINTER_MAX], const char *name,
                     size_t n)
{
    size_t at = strlen(pointer);

    pointer[at++] = '/';
    for (size_t i = 0; i < n && i < 64 && at + 3 < FAULT_POINTER_MAX; i++) {
        bool tilde = name[i] == '~', slash = name[i] == '/';
        pointer[at++] = tilde || slash ? '~' : name[i];
        if (tilde || slash)
            pointer[at++] = slash ? '1' : '0';
    }
    pointer[at] = '\0';
}

/* A name with a NUL has no pointer, which would end there: its object has. */
static enum walk unknown_member(struct members *c, const char *name, size_t n)
{
    char pointer[FAULT_POINTER_MAX];
    char shown[QUOTE_NAME_MAX], advice[FOREIGN_ADVICE_MAX];

    prefix_of(c, pointer);
    if (!memchr(name, '\0', n))
        point_to(pointer, name, n);
    fault_set(c->fault, PROBLEM_UNKNOWN_MEMBER, pointer,
              "\"%s\" is unknown%s", quote_name(shown, name, n),
              foreign_member(c->group, name, n, advice));
    return WALK_REFUSED;
}

/* A member called name[0 .. n). */
static enum walk member(struct members *c, const char *name, size_t n)
{
    char pointer[FAULT_POINTER_MAX];

    c->id = field_find(c->group, name, n);
    if (c->id == FIELD_COUNT)
        return unknown_member(c, name, n);
    if (c->seen & (UINT64_C(1) << c->id)) {
        field_pointer(c->id, pointer);
        fault_set(c->fault, PROBLEM_DUPLICATE_MEMBER, pointer,
                  "\"%s\" is given twice.", pointer);
        return WALK_REFUSED;
    }
    c->seen |= UINT64_C(1) << c->id;
    return begin_value(c);
}

/* A name and its colon. */
static enum walk at_name(struct members *c)
{
    struct syntax *t = &c->walk;
    struct members_word name;

    if (next_byte(c) != '"')
        return WALK_REFUSED;
    const char *text = t->p;
    t->p = syntax_after_string(text, near_end(c));
    if (!t->p)
        return WALK_REFUSED;
    members_word(&name, text, t->p);
    if (next_byte(c) != ':')
        return WALK_REFUSED;
    t->p++;
    return member(c, name.text, name.length);
}

/* -------------------------------------------------------------- the call */

/* The three parts of an additive score go with its type. */
static void check_score(struct members *c)
{
    static const enum attn_in parts[] = {ATTN_W_A, ATTN_U_A, ATTN_V_A};
    char pointer[FAULT_POINTER_MAX];

    for (int i = 0; i < 3; i++) {
        bool there = c->in->tensor[parts[i]].rank > 0;
        field_pointer((enum field_id)parts[i], pointer);
        if (c->additive && !there)
            fault_set(c->fault, PROBLEM_MISSING_COMPANION, pointer,
                      "\"%s\" is missing: an additive score needs W_a, U_a "
                      "and v_a.", pointer);
        if (!c->additive && there)
            fault_set(c->fault, PROBLEM_EXCLUSIVE, pointer,
                      "\"%s\" needs \"type\": \"additive\" beside it.",
                      pointer);
    }
}

static enum walk end_of_call(struct members *c)
{
    next_byte(c);
    if (c->walk.p < c->walk.end)
        return WALK_REFUSED;
    check_score(c);
    return members_go_on(c) ? WALK_DONE : WALK_REFUSED;
}

/* p at the closing bracket of the object in hand. */
static enum walk leave_object(struct members *c)
{
    c->walk.p++;
    if (c->group == FIELD_CALL)
        return end_of_call(c);
    c->group = FIELD_CALL;
    c->place = MEMBERS_BEHIND;
    return WALK_MORE;
}

static enum walk behind(struct members *c)
{
    char byte = next_byte(c);

    if (byte == '}')
        return leave_object(c);
    if (byte != ',')
        return WALK_REFUSED;
    c->walk.p++;
    c->place = MEMBERS_NAME;
    return WALK_MORE;
}

static enum walk no_object(struct members *c)
{
    const char *kind = syntax_kind(c->walk.p, c->walk.end);
    bool string = c->walk.p < c->walk.end && *c->walk.p == '"';

    fault_set(c->fault, PROBLEM_WRONG_TYPE, "", "The body is %s, expected an "
              "object, {\"Q\": ..., \"K\": ..., \"V\": ...}%s.",
              kind ? kind : "no value",
              string ? "; it may have been made JSON twice" : "");
    return WALK_REFUSED;
}

static enum walk start(struct members *c)
{
    attn_input_init(c->in);
    memset(c->tensor, 0, sizeof c->tensor);
    c->n_ranges = 0;
    c->seen = 0;
    c->additive = false;
    c->group = FIELD_CALL;
    c->walk = (struct syntax){.p = c->text, .end = c->end};
    if (next_byte(c) != '{')
        return no_object(c);
    c->walk.p++;
    c->place = MEMBERS_FIRST_NAME;
    return WALK_MORE;
}

static enum walk step(struct members *c)
{
    switch (c->place) {
    case MEMBERS_TENSOR: return at_tensor(c);
    case MEMBERS_VALUE: return at_value(c);
    case MEMBERS_BEHIND: return behind(c);
    case MEMBERS_FIRST_NAME:
        return next_byte(c) == '}' ? leave_object(c) : at_name(c);
    default: return at_name(c);
    }
}

/* A slice of the walk; the next walk begins at the start again. */
static enum walk walk_on(struct members *c)
{
    enum walk walk = c->place == MEMBERS_START ? start(c) : WALK_MORE;
    const char *from = c->walk.p;

    while (walk == WALK_MORE && c->walk.p - from < SYNTAX_SLICE_BYTES)
        walk = step(c);
    if (walk != WALK_MORE)
        c->place = MEMBERS_START;
    return walk;
}

enum walk members_scan(struct members *c)
{
    size_t n = (size_t)(c->end - c->text);

    c->exact = false;
    if (!c->ranges)
        c->ranges = arena_alloc(c->arena,
                                NESTED_RANGES_MAX(n) * sizeof *c->ranges);
    if (!c->ranges) {
        fault_set(c->fault, PROBLEM_MEMORY_BUDGET, NULL,
                  "No memory left for this request now.");
        return WALK_REFUSED;
    }
    enum walk walk = walk_on(c);
    c->scanned = walk == WALK_DONE;
    return walk;
}

/* With a 422 in hand: are all companions there? The library asks that first,
 * before it looks at the shapes, which are no true ones here. */
static void check_presence(struct members *c)
{
    static int64_t zero;
    struct attn_plan plan;
    struct attn_error error;

    for (int i = 0; i < ATTN_N_IN; i++) {
        struct attn_tensor *t = &c->in->tensor[i];
        if (t->rank > 0)
            *t = (struct attn_tensor){.data = &zero, .rank = 1, .dim = {1}};
    }
    enum attn_status status = attn_plan(c->in, &plan, &error);
    if (status == ATTN_MISSING || status == ATTN_EXCLUDES)
        field_fault(c->fault, &error);
}

enum walk members_check(struct members *c)
{
    struct syntax_check *t = &c->slice.check;

    if (!c->checking)
        syntax_check_begin(t, c->text, c->end);
    c->checking = true;
    enum walk walk = syntax_check(t);
    if (walk == WALK_MORE)
        return walk;
    c->checking = false;
    *c->fault = (struct fault){0};
    c->place = MEMBERS_START;
    if (walk == WALK_REFUSED)
        syntax_explain(t, c->fault);
    else
        c->end = t->out;
    return walk;
}

/* dtype may come last: if the scan did not get so far, float64 first, which
 * finds less. */
enum walk members_explain(struct members *c)
{
    if (!c->exact) {
        *c->fault = (struct fault){0};
        c->dtype = c->scanned ? c->in->dtype : ATTN_FLOAT64;
    }
    c->exact = true;
    enum walk walk = walk_on(c);
    if (walk == WALK_DONE && c->in->dtype != c->dtype) {
        c->dtype = c->in->dtype;
        *c->fault = (struct fault){0};
        return WALK_MORE;
    }
    if (walk == WALK_MORE)
        return walk;
    if (members_go_on(c))
        check_presence(c);
    if (c->fault->problem == PROBLEM_NONE)
        fault_set(c->fault, PROBLEM_INTERNAL, NULL,
                  "The body was refused, but nothing is wrong with it.");
    return WALK_DONE;
}
