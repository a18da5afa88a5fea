/* SPDX-License-Identifier: MIT */
/*
 * test_project.c - the linear layers: few rows and many, a depth and columns
 * that end within a slice and a tile, both layouts of the weights, on every
 * level of the CPU: each time it is the formula.
 */
#include "suite.h"
#include "trial.h"

#include "kernel.h"

static struct trial t;

static void setup(void)
{
    trial_open(&t, ATTN_FLOAT32);
}

static void teardown(void)
{
    trial_close(&t);
    attn_init();
}

struct layer {
    int64_t n, depth, columns;
};

static void weight(enum attn_in name, int64_t depth, int64_t columns)
{
    if (t.in.weights_out_in)
        trial_random(&t, name, SHAPE(columns, depth), 0.1);
    else
        trial_random(&t, name, SHAPE(depth, columns), 0.1);
}

static void layer_meets_the_formula(const struct layer *l, unsigned bits)
{
    trial_close(&t);
    trial_open(&t, bits & 1 ? ATTN_FLOAT64 : ATTN_FLOAT32);
    t.in.weights_out_in = bits & 2;
    t.in.returns = ATTN_RETURN(ATTN_OUT_OUTPUT) | ATTN_RETURN(ATTN_OUT_Q) |
                   ATTN_RETURN(ATTN_OUT_V);
    trial_random(&t, ATTN_X, SHAPE(2, l->n, l->depth), 0.1);
    weight(ATTN_W_Q, l->depth, l->columns);
    weight(ATTN_W_K, l->depth, l->columns);
    weight(ATTN_W_V, l->depth, 7);
    weight(ATTN_W_O, 7, l->columns);
    trial_random(&t, ATTN_B_Q, SHAPE(l->columns), 1);
    trial_random(&t, ATTN_B_O, SHAPE(l->columns), 1);
    trial_run(&t);
}

START_TEST(any_shape_of_a_layer_is_the_formula)
{
    static const struct layer layers[] = {
        {1, 1, 1},    {1, 520, 530}, {2, 40, 513}, {3, 600, 90},
        {4, 1025, 5}, {5, 600, 49},  {6, 513, 96}, {70, 30, 100},
        {300, 33, 50}};
    for (size_t level = 0; attn_kernel_force(level); level++)
        for (size_t i = 0; i < sizeof layers / sizeof *layers; i++)
            for (unsigned bits = 0; bits < 4; bits++)
                layer_meets_the_formula(&layers[i], bits);
}
END_TEST

/* From five rows on; fewer go another way. */
START_TEST(a_row_has_the_same_bits_in_any_number_of_rows)
{
    enum { few = 5, many = 290, depth = 530, columns = 60 };
    const struct layer layer = {many, depth, columns};
    struct attn_tensor *x = &t.in.tensor[ATTN_X];
    double q[few * columns];
    layer_meets_the_formula(&layer, 0);
    *x = (struct attn_tensor){x->data, 2, {few, depth}};
    trial_run(&t);
    for (int64_t i = 0; i < few * columns; i++)
        q[i] = trial_out(&t, ATTN_OUT_Q, i);
    *x = (struct attn_tensor){x->data, 2, {many, depth}};
    trial_run(&t);
    for (int64_t i = 0; i < few * columns; i++)
        ck_assert(trial_out(&t, ATTN_OUT_Q, i) == q[i]);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        any_shape_of_a_layer_is_the_formula,
        a_row_has_the_same_bits_in_any_number_of_rows,
        NULL,
    };
    return suite_run("project", tests, setup, teardown, 60);
}
