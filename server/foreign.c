/* SPDX-License-Identifier: MIT */
/*
 * foreign - see foreign.h. Where a name means the opposite of ours, or has
 * another shape, the advice says so: a wrong guess would give a wrong result.
 */
#include "foreign.h"

#include <stdio.h>
#include <string.h>

#include "quote.h"

/* Case, '_' and '-' of a name do not count. */
struct foreign {
    const char *name;    /* '*' in front: and all names that end so */
    const char *ours;    /* what it is called here, or NULL */
    const char *advice;  /* with ours: sentences, or NULL; else half of one */
};

#define PER_ITEM " [B, n_k] goes as [B, 1, 1, n_k]."
#define INVERTED "Invert it: there true means hidden, here true means may " \
                 "attend."
#define NO_DROPOUT "there is no dropout here, leave it out"
#define NO_QUERY_LENGTHS "leave it out and ignore those rows of the output"
#define WIDTHS "leave it out, widths follow from the shapes (give num_heads)"

static const struct foreign members[] = {
    /* names that are too far from ours to be guessed */
    {"query", "Q", NULL}, {"queries", "Q", NULL}, {"key", "K", NULL},
    {"keys", "K", NULL}, {"value", "V", NULL}, {"values", "V", NULL},
    {"input", "X", NULL}, {"hidden_states", "X", NULL},
    {"memory", "context", NULL}, {"encoder_hidden_states", "context", NULL},
    {"n_head", "num_heads", NULL}, {"q_num_heads", "num_heads", NULL},
    {"kv_num_heads", "num_kv_heads", NULL}, {"H", "num_heads", NULL},
    {"G", "num_kv_heads", NULL}, {"causal_mask", "causal", NULL},
    {"start_pos", "offset", NULL}, {"k_cache", "past_K", NULL},
    {"v_cache", "past_V", NULL}, {"q_bias", "b_Q", NULL},
    {"k_bias", "b_K", NULL}, {"v_bias", "b_V", NULL},
    {"out_bias", "b_O", NULL}, {"output_bias", "b_O", NULL},
    {"W_out", "W_O", NULL}, {"out_proj.weight", "W_O", NULL},
    {"out_proj", "W_O", NULL}, {"out_proj.bias", "b_O", NULL},
    {"seqlens_k", "key_lengths", NULL}, {"seq_lens", "key_lengths", NULL},
    {"nonpad_kv_seqlen", "key_lengths", NULL},
    {"key_value_seq_lengths", "key_lengths", NULL},
    {"cache_seqlens", "key_lengths", NULL},
    {"context_lengths", "key_lengths", NULL},
    {"softmax_precision", "dtype", NULL}, {"outputs", "return", NULL},
    {"attn_logit_softcapping", "softcap", NULL},
    {"logits_soft_cap", "softcap", NULL},

    /* another meaning or another form */
    {"*key_padding_mask", "mask", INVERTED PER_ITEM},
    {"*padding_mask", "mask", "True means may attend: invert it if true marks "
     "padding there." PER_ITEM},
    {"*attention_mask", "mask", "It holds booleans; true means may attend, as "
     "Hugging Face's 1 does." PER_ITEM},
    {"attn_mask", "mask", "True means may attend, as for "
     "scaled_dot_product_attention; invert that of nn.MultiheadAttention. A "
     "mask of numbers is `bias`."},
    {"src_mask", "mask", INVERTED}, {"tgt_mask", "mask", INVERTED},
    {"memory_mask", "mask", INVERTED},
    {"causal_lower_right", "causal", "Put \"offset\": \"end\" beside it."},
    {"inv_scale", "scale", "It multiplies the scores; its inverse divides "
     "them."},
    {"*temperature", "scale", "It multiplies the scores; a temperature divides "
     "them."},
    {"query_pre_attn_scalar", "scale", "It is 1 / sqrt of that."},
    {"window_size", "window", "The form is {\"left\": 2, \"right\": 0}; a side "
     "of -1 is left out."},
    {"window_left", "window", "The form is {\"left\": 2}."},
    {"left_window_size", "window", "The form is {\"left\": 2}."},
    {"local_window_size", "window", "The form is {\"left\": 2, \"right\": "
     "0}."},
    {"sliding_window", "window", "3 is {\"left\": 2} here, with \"causal\": "
     "true."},
    {"rope_theta", "rope", "The form is {\"base\": 10000}."},
    {"batch_size", NULL, "leave it out, it follows from the shapes"},
    {"batch_first", NULL, "leave it out, axes are [B, H, n, d], or [B, n, H*d] "
     "with num_heads"},
    {"enable_gqa", NULL, "leave it out, it follows from the shapes"},
    {"embed_dim", NULL, WIDTHS}, {"d_model", NULL, WIDTHS},
    {"head_dim", NULL, WIDTHS}, {"hidden_size", NULL, WIDTHS},
    {"qkv", NULL, "split it in three, `Q`, `K` and `V`"},
    {"W_qkv", NULL, "split it in three, `W_Q`, `W_K` and `W_V`"},
    {"bias_k", NULL, "there is none here, append it to K as one more key"},
    {"bias_v", NULL, "there is none here, append it to V as one more row"},
    {"in_proj_weight", NULL, "split it in three, `W_Q`, `W_K` and `W_V`, with "
     "\"weight_layout\": \"out_in\""},
    {"in_proj_bias", NULL, "split it in three, `b_Q`, `b_K` and `b_V`"},
    {"need_weights", NULL, "the weights are `A` in \"return\": [\"output\", "
     "\"A\"], which is the default"},
    {"average_attn_weights", NULL, "the mean over the heads is `A_mean` in "
     "\"return\""},
    {"output_attentions", NULL, "the weights are `A` in \"return\""},
    {"return_weights", NULL, "the weights are `A` in \"return\""},
    {"use_cache", NULL, "ask for the cache by `present_K` and `present_V` in "
     "\"return\", and give it as `past_K` and `past_V`"},
    {"past_key_values", NULL, "give `past_K` and `past_V`"},
    {"kv_cache", NULL, "give `past_K` and `past_V`"},
    {"query_seq_lengths", NULL, NO_QUERY_LENGTHS},
    {"query_lengths", NULL, NO_QUERY_LENGTHS},
    {"q_lengths", NULL, NO_QUERY_LENGTHS},
    {"*dropout", NULL, NO_DROPOUT}, {"*dropout_p", NULL, NO_DROPOUT},
    {"inputs", NULL, "operands stand in the object itself: Q, K and V, or X, "
     "W_Q, W_K and W_V"},
    {"parameters", NULL, "options stand in the object itself"},
};

#define SCORES "`S`, `S_scaled`, `S_softcapped` and `S_masked` are the " \
               "scores stage by stage"

static const struct foreign outputs[] = {
    {"weights", "A", NULL}, {"attention", "A", NULL},
    {"attentions", "A", NULL}, {"attn", "A", NULL},
    {"attn_weights", "A", NULL}, {"attention_weights", "A", NULL},
    {"probs", "A", NULL}, {"probabilities", "A", NULL},
    {"softmax", "A", NULL}, {"P", "A", NULL}, {"out", "output", NULL},
    {"O", "output", NULL}, {"result", "output", NULL},
    {"logsumexp", "lse", NULL}, {"softmax_lse", "lse", NULL},
    {"past_K", "present_K", NULL}, {"past_V", "present_V", NULL},
    {"present_key", "present_K", NULL}, {"present_value", "present_V", NULL},
    {"cache", NULL, "the cache is `present_K` and `present_V`"},
    {"scores", NULL, SCORES}, {"logits", NULL, SCORES}, {"QK", NULL, SCORES},
    {"entropy", "stats", NULL}, {"all", NULL, "each has to be named"},
};

/* The letter that counts, and how many bytes were taken for it; 0: the end. */
static char letter(const char *text, const char *end, size_t *taken)
{
    const char *p = text;
    while (p < end && (*p == '_' || *p == '-'))
        p++;
    *taken = p < end ? (size_t)(p - text) + 1 : 0;
    char c = p < end ? *p : '\0';
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool same(const char *a, const char *b, const char *b_end)
{
    const char *a_end = a + strlen(a);
    size_t from_a = 1, from_b = 1;

    while (from_a > 0 && from_b > 0) {
        if (letter(a, a_end, &from_a) != letter(b, b_end, &from_b))
            return false;
        a += from_a;
        b += from_b;
    }
    return from_a == from_b;
}

static const struct foreign *find(const struct foreign *rows, size_t count,
                                  const char *name, size_t n)
{
    for (size_t i = 0; i < count; i++) {
        const char *row = rows[i].name, *from = name, *end = name + n;
        if (*row != '*' && same(row, name, end))
            return &rows[i];
        for (; *row == '*' && from < end; from++) {
            if (same(row + 1, from, end))
                return &rows[i];
        }
    }
    return NULL;
}

static void say(const struct foreign *row, char out[FOREIGN_ADVICE_MAX])
{
    if (row->ours)
        snprintf(out, FOREIGN_ADVICE_MAX, ": did you mean `%s`?%s%s",
                 row->ours, row->advice ? " " : "",
                 row->advice ? row->advice : "");
    else
        snprintf(out, FOREIGN_ADVICE_MAX, ": %s.", row->advice);
}

/* window, rope and score have so few members that all can be named. */
static void say_all_of(enum field_group group, char out[FOREIGN_ADVICE_MAX])
{
    static const char *const objects[] = {"the call", "window", "rope",
                                          "score"};
    const char *names[FIELD_COUNT];
    char list[FOREIGN_ADVICE_MAX - 40];
    size_t n = 0;

    for (int id = 0; id < FIELD_COUNT; id++) {
        if (fields[id].group == group)
            names[n++] = fields[id].name;
    }
    snprintf(out, FOREIGN_ADVICE_MAX, ": %s has %s.", objects[group],
             quote_list(list, sizeof list, names, n));
}

/* Half of all masks elsewhere hide where they are true. */
static const char *polarity(const char *ours)
{
    return strcmp(ours, attn_in_name[ATTN_MASK]) == 0
         ? "True means may attend here." : NULL;
}

const char *foreign_member(enum field_group group, const char *name, size_t n,
                           char out[FOREIGN_ADVICE_MAX])
{
    const struct foreign *row = find(members, sizeof members / sizeof *members,
                                     name, n);
    const char *nearest = field_nearest(name, n);

    if (group != FIELD_CALL)
        say_all_of(group, out);
    else if (row)
        say(row, out);
    else if (nearest)
        say(&(struct foreign){.ours = nearest, .advice = polarity(nearest)},
            out);
    else
        strcpy(out, ": /openapi.yaml lists all that are known.");
    return out;
}

const char *foreign_output(const char *name, size_t n,
                           char out[FOREIGN_ADVICE_MAX])
{
    const struct foreign *row = find(outputs, sizeof outputs / sizeof *outputs,
                                     name, n);
    const char *nearest = problem_nearest(name, n, attn_out_name, ATTN_N_OUT);
    char list[FOREIGN_ADVICE_MAX - 40];

    strcpy(out, ".");
    if (row || nearest)
        say(row ? row : &(struct foreign){.ours = nearest}, out);
    size_t length = strlen(out);
    snprintf(out + length, FOREIGN_ADVICE_MAX - length, " Known are %s.",
             quote_list(list, sizeof list, attn_out_name, ATTN_N_OUT));
    return out;
}
