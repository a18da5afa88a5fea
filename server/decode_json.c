/* SPDX-License-Identifier: MIT */
/*
 * decode_json - a JSON body -> struct attn_input, in stages. The members are
 * scanned: options are read, tensors found (members.c); that settles dtype and
 * sizes. Then ranges of rows are read straight to their place, side by side.
 * A body that any of it refuses is checked byte by byte for being JSON, and
 * squeezed; if the scan went wrong it is scanned again, since it may only have
 * had blanks or digits without end; what is refused still is explained.
 * Reading is a task for each range, the others are one that goes on in slices.
 */
#include <stdatomic.h>
#include <string.h>

#include "compute.h"
#include "config.h"
#include "decode.h"
#include "form.h"
#include "form_json.h"
#include "members.h"

/* Bodies up to this are read at once: as tasks they would take longer. */
enum { SMALL_BODY_BYTES = NESTED_RANGE_BYTES };

enum stage { SCAN, READ, CHECK, EXPLAIN, END };

struct decoding {
    struct members members;
    enum stage stage;
    bool checked;
    atomic_bool refused;    /* by any task of the stage */
};

static bool begin(struct request *r)
{
    static char nothing[1];
    struct decoding *d = arena_alloc(&r->arena, sizeof *d);
    char *text = r->body.length > 0 ? r->body.data : nothing;
    char *end = text + r->body.length;

    r->decoding = d;
    if (!d) {
        fault_set(&r->fault, PROBLEM_MEMORY_BUDGET, NULL,
                  "There is no memory for this request now.");
        return false;
    }
    if (end - text >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        text += 3;
    *d = (struct decoding){.stage = SCAN};
    d->members = (struct members){.text = text, .end = end,
                                  .arena = &r->arena, .in = &r->input,
                                  .fault = &r->fault};
    return true;
}

static bool within_limit(struct request *r)
{
    int64_t elements = 0;
    for (int i = 0; i < ATTN_N_IN; i++) {
        if (r->input.tensor[i].rank > 0)
            elements += attn_tensor_elements(&r->input.tensor[i]);
    }
    if (elements <= config.elements)
        return true;
    fault_set(&r->fault, PROBLEM_TOO_MANY_ELEMENTS, NULL,
              "The body holds %lld numbers, more than the limit of %lld "
              "(--elements).", (long long)elements,
              (long long)config.elements);
    r->fault.has_limit = r->fault.has_got = true;
    r->fault.limit = (double)config.elements;
    r->fault.got = (double)elements;
    return false;
}

/* Memory for the tensors that were found. */
static bool make_room(struct request *r)
{
    const struct members *m = &r->decoding->members;
    for (int i = 0; i < ATTN_N_IN; i++) {
        struct attn_tensor *t = &r->input.tensor[i];
        if (!m->tensor[i].text)
            continue;
        size_t bytes = nested_width((enum attn_in)i, r->input.dtype) *
                       (size_t)attn_tensor_elements(t);
        t->data = arena_alloc(&r->arena, bytes);
        if (!t->data) {
            compute_refuse_memory(r, r->arena.bytes + r->body.capacity + bytes);
            return false;
        }
    }
    return true;
}

/* --------------------------------------------------------------- stages */

static bool server_is_at_fault(const struct request *r)
{
    return r->fault.problem != PROBLEM_NONE &&
           problem_row(r->fault.problem)->blame == BLAME_SERVER;
}

/* What comes behind a stage that went wrong. */
static enum stage behind_refusal(const struct request *r)
{
    const struct decoding *d = r->decoding;
    if (d->stage >= CHECK || server_is_at_fault(r))
        return END;
    return d->checked ? EXPLAIN : CHECK;
}

static enum stage behind(struct request *r)
{
    struct decoding *d = r->decoding;

    if (atomic_load_explicit(&d->refused, memory_order_relaxed))
        return behind_refusal(r);
    switch (d->stage) {
    case SCAN: return within_limit(r) && make_room(r) ? READ : END;
    case CHECK: d->checked = true; return d->members.scanned ? EXPLAIN : SCAN;
    default: return END;
    }
}

static enum walk read_range(const struct request *r, int64_t task)
{
    const struct members *m = &r->decoding->members;
    const struct nested_range *range = &m->ranges[task];

    return nested_read(&m->tensor[range->tensor], range, r->input.dtype,
                       r->input.tensor[range->tensor].data)
         ? WALK_DONE : WALK_REFUSED;
}

static enum walk slice(const struct request *r, int64_t task)
{
    struct members *m = &r->decoding->members;

    switch (r->decoding->stage) {
    case SCAN: return members_scan(m);
    case READ: return read_range(r, task);
    case CHECK: return members_check(m);
    default: return members_explain(m);
    }
}

static bool decode_json_task(struct request *r, int64_t task)
{
    enum walk walk = slice(r, task);

    if (walk == WALK_REFUSED)
        atomic_store_explicit(&r->decoding->refused, true,
                              memory_order_relaxed);
    return walk != WALK_MORE;
}

/* The tasks of the stage that comes now; 0: that was the last, or a fault. */
static int64_t advance(struct request *r)
{
    struct decoding *d = r->decoding;

    if (!d)
        return begin(r) ? 1 : 0;
    d->stage = behind(r);
    atomic_store_explicit(&d->refused, false, memory_order_relaxed);
    if (d->stage == READ)
        return d->members.n_ranges;
    return d->stage == END ? 0 : 1;
}

static int64_t decode_json_next(struct request *r)
{
    int64_t tasks = advance(r);

    if (r->body.length > SMALL_BODY_BYTES)
        return tasks;
    for (; tasks > 0; tasks = advance(r))
        for (int64_t task = 0; task < tasks; task++)
            while (!decode_json_task(r, task))
                continue;
    return 0;
}

const struct form form_json = {
    .name = "json",
    .media_type = "application/json",
    .decode_next = decode_json_next,
    .decode_task = decode_json_task,
    .encode_room = encode_json_room,
    .encode_plan = encode_json_plan,
    .encode_bound = encode_json_bound,
    .encode_piece = encode_json_piece,
};
