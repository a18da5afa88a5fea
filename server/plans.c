/* SPDX-License-Identifier: MIT */
/*
 * plans - see plans.h.
 */
#include "plans.h"

#include <string.h>

static _Thread_local struct {
    bool known;
    struct attn_input shapes;   /* and options, without data */
    struct attn_plan plan;
} last;

/* Of these the plan reads the data. */
static bool has_lists(const struct attn_input *in)
{
    return in->tensor[ATTN_KEY_LENGTHS].rank > 0
        || in->tensor[ATTN_OFFSET].rank > 0;
}

static void drop_data(struct attn_input *in)
{
    for (int i = 0; i < ATTN_N_IN; i++)
        in->tensor[i].data = NULL;
}

enum attn_status plans_of(const struct attn_input *in, struct attn_plan *plan,
                          struct attn_error *error)
{
    struct attn_input shapes = *in;
    enum attn_status status;

    if (has_lists(in))
        return attn_plan(in, plan, error);
    drop_data(&shapes);
    if (last.known && memcmp(&shapes, &last.shapes, sizeof shapes) == 0) {
        *plan = last.plan;
        return ATTN_OK;
    }
    status = attn_plan(in, plan, error);
    if (status == ATTN_OK) {
        last.shapes = shapes;
        last.plan = *plan;
        last.known = true;
    }
    return status;
}
