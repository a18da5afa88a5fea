/* SPDX-License-Identifier: MIT */
/*
 * decode_json - a JSON body -> struct attn_input. First the members are
 * walked: options are read, tensors found (members.c); that settles dtype and
 * sizes. Then ranges of rows are read straight to their place, side by side
 * when the body is large. A body that any of it refuses is looked at again by
 * the exact reader, which words the fault.
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

struct decoding {
    struct members members;
    atomic_bool refused;
};

static struct decoding *begin(struct request *r)
{
    struct decoding *d = arena_alloc(&r->arena, sizeof *d);
    const char *text = r->body.data, *end = text + r->body.length;

    if (!d) {
        fault_set(&r->fault, PROBLEM_MEMORY_BUDGET, NULL,
                  "There is no memory for this request now.");
        return NULL;
    }
    if (end - text >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        text += 3;
    d->members = (struct members){.text = text, .end = end,
                                  .arena = &r->arena, .in = &r->input,
                                  .fault = &r->fault};
    atomic_init(&d->refused, false);
    return d;
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

static void refuse_memory(struct request *r, size_t wanted)
{
    double budget = (double)compute_budget();
    double all = (double)wanted + (double)r->arena.bytes +
                 (double)r->body.capacity;

    if (budget > 0 && all > budget) {
        fault_set(&r->fault, PROBLEM_TOO_MUCH_MEMORY, NULL,
                  "The body and its numbers take %.0f bytes of memory; the "
                  "limit is %.0f (--memory-bytes).", all, budget);
        r->fault.has_limit = r->fault.has_got = true;
        r->fault.limit = budget;
        r->fault.got = all;
        return;
    }
    fault_set(&r->fault, PROBLEM_MEMORY_BUDGET, NULL,
              "There is no memory for the numbers of the body now "
              "(--memory-bytes).");
    r->fault.retry_after_s = 1;
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
            refuse_memory(r, bytes);
            return false;
        }
    }
    return true;
}

static void decode_json_task(struct request *r, int64_t task)
{
    struct decoding *d = r->decoding;
    const struct nested_range *range = &d->members.ranges[task];

    if (!nested_read(&d->members.tensor[range->tensor], range, r->input.dtype,
                     r->input.tensor[range->tensor].data))
        atomic_store_explicit(&d->refused, true, memory_order_relaxed);
}

static int64_t finish(struct request *r)
{
    if (atomic_load_explicit(&r->decoding->refused, memory_order_relaxed))
        members_explain(&r->decoding->members);
    return 0;
}

static int64_t decode_json_next(struct request *r)
{
    if (r->decoding)
        return finish(r);
    r->decoding = begin(r);
    if (!r->decoding)
        return 0;

    struct members *m = &r->decoding->members;
    if (!members_scan(m)) {
        members_explain(m);
        return 0;
    }
    if (!within_limit(r) || !make_room(r))
        return 0;
    if (r->body.length > SMALL_BODY_BYTES)
        return m->n_ranges > 0 ? m->n_ranges : finish(r);
    for (int64_t i = 0; i < m->n_ranges; i++)
        decode_json_task(r, i);
    return finish(r);
}

const struct form form_json = {
    .name = "json",
    .media_type = "application/json",
    .decode_next = decode_json_next,
    .decode_task = decode_json_task,
    .encode_plan = encode_json_plan,
    .encode_bound = encode_json_bound,
    .encode_piece = encode_json_piece,
};
