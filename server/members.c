/* SPDX-License-Identifier: MIT */
/*
 * members - see members.h. Objects are walked here, so that every
 * name and place is known; tensors go to nested.c; what remains, small values
 * without members, to members_small.c.
 */
#include "members.h"

#include <stdio.h>
#include <string.h>

#include "members_small.h"

/* After a fault: is there reason to go on? */
bool members_go_on(const struct members *c)
{
    enum problem problem = c->fault->problem;
    return problem == PROBLEM_NONE ||
           (c->exact && problem_row(problem)->status == 422);
}

/* p at a value that is not of the type wanted. */
static bool wrong_type(struct members *c, const char *pointer,
                       const char *expected)
{
    const char *kind = syntax_kind(&c->walk);
    if (!syntax_skip(&c->walk))
        return false;
    fault_set(c->fault, PROBLEM_WRONG_TYPE, pointer,
              "%s%s%s is %s, expected %s.", *pointer ? "\"" : "The body",
              pointer, *pointer ? "\"" : "", kind, expected);
    return members_go_on(c);
}

static char first_byte(const struct members *c)
{
    return c->walk.p < c->walk.end ? *c->walk.p : '\0';
}

/* --------------------------------------------------------------- tensors */

static bool tensor(struct members *c, enum field_id id)
{
    enum attn_in in = (enum attn_in)id;
    struct attn_tensor *shape = &c->in->tensor[in];
    struct nested *found = &c->tensor[in];

    if (c->exact) {
        shape->rank = 1;
        return nested_explain(&c->walk, in, c->dtype, c->fault) &&
               members_go_on(c);
    }
    if (!nested_scan(c->walk.p, c->walk.end, in, found, c->ranges,
                     &c->n_ranges))
        return false;
    shape->rank = found->rank;
    memcpy(shape->dim, found->dim, sizeof shape->dim);
    c->walk.p = found->end;
    return true;
}

/* --------------------------------------------------------------- members */

static bool object(struct members *c, enum field_group group,
                   const char *prefix);

static bool value_of(struct members *c, enum field_id id)
{
    char pointer[FAULT_POINTER_MAX];
    enum field_type type = fields[id].type;
    char first = first_byte(c);

    if (id < (enum field_id)ATTN_N_IN && first == '[')
        return tensor(c, id);
    if (type == FIELD_OBJECT && first == '{') {
        field_store(id, c->in, 1);
        return object(c, fields[id].members, field_pointer(id, pointer));
    }
    if (type == FIELD_OBJECT || (id < (enum field_id)ATTN_N_IN &&
                                 type != FIELD_OFFSETS))
        return wrong_type(c, field_pointer(id, pointer),
                          members_expected(type));
    return members_small(c, id);
}

static bool unknown_member(struct members *c, enum field_group group,
                           const char *prefix, const char *name, size_t n)
{
    char pointer[FAULT_POINTER_MAX];
    int shown = n < 64 ? (int)n : 64;
    size_t at = (size_t)snprintf(pointer, sizeof pointer, "%s/", prefix);
    const char *nearest = field_nearest(group, name, n);

    for (int i = 0; i < shown && at + 3 < sizeof pointer; i++) {
        bool tilde = name[i] == '~', slash = name[i] == '/';
        pointer[at++] = tilde || slash ? '~' : name[i];
        if (tilde || slash)
            pointer[at++] = slash ? '1' : '0';
    }
    pointer[at] = '\0';
    fault_set(c->fault, PROBLEM_UNKNOWN_MEMBER, pointer,
              "\"%.*s\" is unknown%s%s%s", shown, name,
              nearest ? ": did you mean `" : ".", nearest ? nearest : "",
              nearest ? "`?" : "");
    return members_go_on(c);
}

/* Behind the colon of a member called name[0 .. n). */
static bool member(struct members *c, enum field_group group,
                   const char *prefix, const char *name, size_t n)
{
    enum field_id id = field_find(group, name, n);
    char pointer[FAULT_POINTER_MAX];

    if (id == FIELD_COUNT)
        return unknown_member(c, group, prefix, name, n);
    if (c->seen & (UINT64_C(1) << id)) {
        field_pointer(id, pointer);
        fault_set(c->fault, PROBLEM_DUPLICATE_MEMBER, pointer,
                  "\"%s\" stands twice in the object.", pointer);
        return members_go_on(c);
    }
    c->seen |= UINT64_C(1) << id;
    return value_of(c, id);
}

/* The same with a name that is written with escapes. */
static bool escaped_member(struct members *c, enum field_group group,
                           const char *prefix, const char *text, size_t n)
{
    char name[64];
    size_t length = members_unescape(text, n, name, sizeof name);
    if (length == 0)
        return unknown_member(c, group, prefix, text + 1, n - 2);
    return member(c, group, prefix, name, length);
}

static bool name_and_value(struct members *c, enum field_group group,
                           const char *prefix)
{
    struct syntax *t = &c->walk;
    t->p = syntax_after_space(t->p, t->end);
    const char *name = t->p;

    if (first_byte(c) != '"' || !syntax_string(t))
        return false;
    size_t n = (size_t)(t->p - name);
    if (!syntax_expect(t, ':'))
        return false;
    t->p = syntax_after_space(t->p, t->end);
    if (memchr(name, '\\', n))
        return escaped_member(c, group, prefix, name, n);
    return member(c, group, prefix, name + 1, n - 2);
}

/* An object, p at its bracket. */
static bool object(struct members *c, enum field_group group,
                   const char *prefix)
{
    struct syntax *t = &c->walk;
    t->p = syntax_after_space(t->p + 1, t->end);
    if (first_byte(c) == '}') {
        t->p++;
        return true;
    }
    for (;;) {
        if (!name_and_value(c, group, prefix))
            return false;
        t->p = syntax_after_space(t->p, t->end);
        if (first_byte(c) == '}') {
            t->p++;
            return true;
        }
        if (!syntax_expect(t, ','))
            return false;
    }
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

static bool walk(struct members *c)
{
    struct syntax *t = &c->walk;

    attn_input_init(c->in);
    memset(c->tensor, 0, sizeof c->tensor);
    c->n_ranges = 0;
    c->seen = 0;
    c->additive = false;
    syntax_begin(t, c->text, c->end);
    t->p = syntax_after_space(t->p, t->end);
    if (first_byte(c) != '{' ? !wrong_type(c, "", "an object")
                             : !object(c, FIELD_CALL, ""))
        return false;
    t->p = syntax_after_space(t->p, t->end);
    if (t->p < t->end)
        return false;
    check_score(c);
    return members_go_on(c);
}

bool members_scan(struct members *c)
{
    size_t n = (size_t)(c->end - c->text);
    c->exact = false;
    c->ranges = arena_alloc(c->arena, NESTED_RANGES_MAX(n) * sizeof *c->ranges);
    if (!c->ranges) {
        fault_set(c->fault, PROBLEM_MEMORY_BUDGET, NULL,
                  "No memory left for this request now.");
        return false;
    }
    return c->scanned = walk(c);
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

/* Is all of it JSON? That comes first: a text that is none has no members. */
static bool is_json(struct members *c)
{
    struct syntax t;
    int64_t line, column;

    syntax_begin(&t, c->text, c->end);
    if (syntax_whole(&t))
        return true;
    syntax_place(&t, t.bad, &line, &column);
    fault_set(c->fault, PROBLEM_NOT_JSON, NULL,
              "The body is not JSON: %s, at line %lld, column %lld.",
              t.deep            ? "brackets nest too deeply"
              : t.bad == t.end ? "the text ends too early"
                                : "this byte cannot be here",
              (long long)line, (long long)column);
    c->fault->line = line;
    c->fault->column = column;
    return false;
}

void members_explain(struct members *c)
{
    const struct problem_row *row = problem_row(c->fault->problem);
    if (c->fault->problem != PROBLEM_NONE && row->blame == BLAME_SERVER)
        return;
    *c->fault = (struct fault){0};
    if (!is_json(c))
        return;
    /* dtype may come last: if the scan did not get so far, float64 first,
     * which finds less. */
    c->exact = true;
    c->dtype = c->scanned ? c->in->dtype : ATTN_FLOAT64;
    if (walk(c) && c->in->dtype != c->dtype) {
        c->dtype = c->in->dtype;
        *c->fault = (struct fault){0};
        walk(c);
    }
    if (members_go_on(c))
        check_presence(c);
    if (c->fault->problem == PROBLEM_NONE)
        fault_set(c->fault, PROBLEM_INTERNAL, NULL,
                  "The body was refused, but nothing is wrong with it.");
}
