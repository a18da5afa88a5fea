/* SPDX-License-Identifier: MIT */
/*
 * onnx.c - cases of ONNX's Attention operator as requests of this service.
 *
 *     ONNX                          here
 *     3D inputs, q_num_heads        packed heads, num_heads
 *     attn_mask of booleans         mask (true: may attend)
 *     attn_mask of numbers          bias
 *     past_key, past_value          past_K, past_V
 *     nonpad_kv_seqlen              key_lengths, offset "end"
 *     is_causal                     causal, offset 0 or the cache's length
 *     left_window_size              window.left
 *     qk_matmul_output_mode 0 1 2 3 S_scaled S_softcapped S_masked A
 */
#include "onnx.h"

#include "json_tensor.h"

#include <check.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool has_type(const json_t *tensor, const char *dtype)
{
    return !strcmp(json_string_value(json_object_get(tensor, "dtype")), dtype);
}

/* {"dtype", "shape", "data"} as nested lists. */
static json_t *nested(const json_t *tensor)
{
    return json_tensor_nest(json_object_get(tensor, "data"),
                            json_object_get(tensor, "shape"));
}

static void give(json_t *request, const char *name, json_t *value)
{
    json_object_set_new(request, name, value);
}

static void give_inputs(json_t *request, const json_t *inputs)
{
    static const char *const names[][2] = {
        {"Q", "Q"}, {"K", "K"}, {"V", "V"}, {"past_key", "past_K"},
        {"past_value", "past_V"}, {"nonpad_kv_seqlen", "key_lengths"}};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const json_t *tensor = json_object_get(inputs, names[i][0]);
        if (tensor)
            give(request, names[i][1], nested(tensor));
    }
    const json_t *mask = json_object_get(inputs, "attn_mask");
    if (mask)
        give(request, has_type(mask, "bool") ? "mask" : "bias", nested(mask));
    if (json_object_get(inputs, "nonpad_kv_seqlen"))
        give(request, "offset", json_string("end"));
}

static void give_attributes(json_t *request, const json_t *attributes)
{
    static const char *const names[][2] = {{"q_num_heads", "num_heads"},
                                           {"kv_num_heads", "num_kv_heads"},
                                           {"scale", "scale"}};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        json_t *value = json_object_get(attributes, names[i][0]);
        if (value)
            json_object_set(request, names[i][1], value);
    }
    if (json_integer_value(json_object_get(attributes, "is_causal")))
        give(request, "causal", json_true());
    json_t *softcap = json_object_get(attributes, "softcap");
    if (json_number_value(softcap) > 0)
        json_object_set(request, "softcap", softcap);
    json_t *left = json_object_get(attributes, "left_window_size");
    if (left && json_integer_value(left) >= 0)
        give(request, "window", json_pack("{sO}", "left", left));
}

/* Our name of an output. */
static const char *renamed(const char *output, const json_t *attributes)
{
    static const char *const modes[] = {"S_scaled", "S_softcapped",
                                        "S_masked", "A"};
    if (!strcmp(output, "Y"))
        return "output";
    if (!strcmp(output, "present_key"))
        return "present_K";
    if (!strcmp(output, "present_value"))
        return "present_V";
    ck_assert_str_eq(output, "qk_matmul_output");
    return modes[json_integer_value(
        json_object_get(attributes, "qk_matmul_output_mode"))];
}

static void check_case(const char *path, json_t *onnx, vector_answer *answer)
{
    json_t *attributes = json_object_get(onnx, "attributes");
    json_t *inputs = json_object_get(onnx, "inputs");
    json_t *outputs = json_object_get(onnx, "outputs");
    json_t *request = json_object(), *returned = json_array();
    const char *name;
    json_t *tensor;
    give_inputs(request, inputs);
    give_attributes(request, attributes);
    json_object_foreach(outputs, name, tensor)
        json_array_append_new(returned,
                              json_string(renamed(name, attributes)));
    give(request, "return", returned);

    json_t *reply = answer(path, request);
    bool half = has_type(json_object_get(inputs, "Q"), "float16");
    json_object_foreach(outputs, name, tensor) {
        const char *ours = renamed(name, attributes);
        json_t *expected = nested(tensor);
        vector_compare(path, ours, json_object_get(reply, ours), expected,
                       half ? 1e-3 : 1e-5, 0, 0);
        json_decref(expected);
    }
    json_decref(reply);
    json_decref(request);
}

void onnx_check(vector_answer *answer)
{
    const char *folder = getenv("ONNX_CASES");
    char pattern[4096];
    glob_t files;
    snprintf(pattern, sizeof(pattern), "%s/*.json",
             folder ? folder : "../shared/conformance/onnx");
    if (glob(pattern, 0, NULL, &files)) {
        printf("No ONNX cases at %s: nothing checked\n", pattern);
        ck_assert_msg(!folder, "ONNX_CASES=%s holds no cases", folder);
        return;
    }
    for (size_t i = 0; i < files.gl_pathc; i++) {
        json_error_t error;
        json_t *onnx = json_load_file(files.gl_pathv[i], 0, &error);
        ck_assert_msg(onnx != NULL, "%s: %s", files.gl_pathv[i], error.text);
        check_case(files.gl_pathv[i], onnx, answer);
        json_decref(onnx);
    }
    globfree(&files);
}
