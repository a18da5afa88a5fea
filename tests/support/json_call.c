/* SPDX-License-Identifier: MIT */
/*
 * json_call.c - a request of the service answered by the library alone.
 */
#include "json_call.h"

#include "json_tensor.h"
#include "trial.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void take_tensor(struct trial *t, enum attn_in name,
                        const json_t *value)
{
    if (!value)
        return;
    struct json_tensor given = json_tensor_read(value);
    if (!given.rank) { /* an offset may stand alone */
        given.rank = 1;
        given.dim[0] = 1;
    }
    trial_values(t, name, given.rank, given.dim, given.x);
    free(given.x);
}

static int64_t integer(const json_t *object, const char *name,
                       int64_t otherwise)
{
    const json_t *value = json_object_get(object, name);
    return json_is_number(value) ? (int64_t)json_number_value(value)
                                 : otherwise;
}

static bool is_text(const json_t *object, const char *name, const char *text)
{
    const char *value = json_string_value(json_object_get(object, name));
    return value && !strcmp(value, text);
}

static void take_options(struct attn_input *in, const json_t *request)
{
    const json_t *window = json_object_get(request, "window");
    const json_t *rope = json_object_get(request, "rope");
    in->num_heads = integer(request, "num_heads", 0);
    in->num_kv_heads = integer(request, "num_kv_heads", 0);
    in->weights_out_in = is_text(request, "weight_layout", "out_in");
    in->has_scale = json_object_get(request, "scale") != NULL;
    in->scale = json_number_value(json_object_get(request, "scale"));
    in->softcap = json_number_value(json_object_get(request, "softcap"));
    in->causal = json_is_true(json_object_get(request, "causal"));
    in->offset_end = is_text(request, "offset", "end");
    in->window_left = integer(window, "left", ATTN_OPEN);
    in->window_right = integer(window, "right", ATTN_OPEN);
    in->rope = rope != NULL;
    in->rope_dim = integer(rope, "dim", 0);
    in->rope_base = (double)integer(rope, "base", 10000);
    in->rope_interleaved = json_is_true(json_object_get(rope, "interleaved"));
}

static void take_returns(struct attn_input *in, const json_t *list)
{
    in->returns = list ? 0 : ATTN_RETURN(ATTN_OUT_OUTPUT) |
                                 ATTN_RETURN(ATTN_OUT_A);
    for (size_t i = 0; i < json_array_size(list); i++)
        for (int name = 0; name < ATTN_N_OUT; name++)
            if (!strcmp(attn_out_name[name],
                        json_string_value(json_array_get(list, i))))
                in->returns |= ATTN_RETURN(name);
}

static void take_request(struct trial *t, const json_t *request)
{
    const json_t *score = json_object_get(request, "score");
    for (enum attn_in name = 0; name < ATTN_N_IN; name++) {
        const json_t *from = name >= ATTN_W_A ? score : request;
        if (name == ATTN_OFFSET && is_text(request, "offset", "end"))
            continue;
        take_tensor(t, name, json_object_get(from, attn_in_name[name]));
    }
    take_options(&t->in, request);
    take_returns(&t->in, json_object_get(request, "return"));
}

/* ------------------------------------------------------------ the reply */

struct place {
    const struct trial *trial;
    enum attn_out name;
};

static double out_value(const void *from, int64_t i)
{
    const struct place *place = from;
    return trial_out(place->trial, place->name, i);
}

static double value_itself(const void *from, int64_t i)
{
    return ((const double *)from)[i];
}

static json_t *stats_reply(const struct attn_output *out)
{
    const struct attn_stats *s = &out->stats;
    const char *const name[] = {"S_variance",    "S_scaled_variance",
                                "A_max_mean",    "A_entropy_mean",
                                "A_row_sum_min", "A_row_sum_max"};
    const double value[] = {s->s_variance,     s->s_scaled_variance,
                            s->a_max_mean,     s->a_entropy_mean,
                            s->a_row_sum_min,  s->a_row_sum_max};
    json_t *reply = json_pack("{sI}", "empty_rows",
                              (json_int_t)out->empty_rows);
    for (int i = 0; i < 6; i++)
        json_object_set_new(reply, name[i],
                            s->empty ? json_null()
                                     : json_tensor_write(0, NULL, value_itself,
                                                         &value[i]));
    return reply;
}

json_t *json_call_answer(const char *case_name, const json_t *request)
{
    struct trial t;
    bool wide = is_text(request, "dtype", "float64");
    trial_open(&t, wide ? ATTN_FLOAT64 : ATTN_FLOAT32);
    snprintf(t.label, sizeof(t.label), "%s: ", case_name);
    take_request(&t, request);
    trial_run(&t);

    json_t *reply = json_object();
    for (enum attn_out name = 0; name < ATTN_N_OUT; name++) {
        const struct attn_tensor *shape = &t.plan.output[name];
        struct place place = {&t, name};
        if (shape->rank)
            json_object_set_new(reply, attn_out_name[name],
                                json_tensor_write(shape->rank, shape->dim,
                                                  out_value, &place));
    }
    if (t.in.returns & ATTN_RETURN(ATTN_OUT_STATS))
        json_object_set_new(reply, "stats", stats_reply(&t.out));
    trial_close(&t);
    return reply;
}
