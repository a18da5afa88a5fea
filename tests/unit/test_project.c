/* SPDX-License-Identifier: MIT */
/*
 * test_project.c - the linear layers: few rows and many, a depth and columns
 * that end within a slice and a tile, both layouts of the weights, on every
 * level of the CPU: each time it is the formula.
 */
#include <stdlib.h>

#include "suite.h"
#include "trial.h"

#include "kernel.h"
#include "row.h"

static struct trial t;

static void setup(void)
{
    trial_open(&t, ATTN_FLOAT32);
}

static void teardown(void)
{
    trial_close(&t);
    suite_init_library();
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
    if (l->n > 600) /* few keys: it is the layers that are tried */
        trial_random(&t, ATTN_CONTEXT, SHAPE(2, 6, l->depth), 0.1);
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
        {90, 530, 70}, {1030, 20, 20}, {2060, 270, 9},
        {300, 33, 50}};
    for (size_t level = 0; attn_kernel_force(level); level++)
        for (size_t i = 0; i < sizeof layers / sizeof *layers; i++)
            for (unsigned bits = 0; bits < 4; bits++)
                layer_meets_the_formula(&layers[i], bits);
}
END_TEST

/* A row goes one way by the number of rows of its item: by lines, by panels,
 * through the BLAS in one tile or several. The item's neighbours in a batch
 * change nothing. */
START_TEST(an_item_has_the_same_bits_alone_and_in_a_batch)
{
    static const int64_t rows[] = {3, 5, 80, 81, 300};
    enum { depth = 530, columns = 60 };
    struct attn_tensor *x = &t.in.tensor[ATTN_X];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct layer layer = {rows[i], depth, columns};
        int64_t n = rows[i] * columns;
        layer_meets_the_formula(&layer, 0);
        double *q = malloc((size_t)n * sizeof *q);
        for (int64_t k = 0; k < n; k++)
            q[k] = trial_out(&t, ATTN_OUT_Q, n + k); /* of the second item */
        *x = (struct attn_tensor){(float *)x->data + rows[i] * depth, 2,
                                  {rows[i], depth}};
        trial_run(&t);
        for (int64_t k = 0; k < n; k++)
            ck_assert(trial_out(&t, ATTN_OUT_Q, k) == q[k]);
        free(q);
    }
}
END_TEST

/* Q of `rows` rows of X, from `first` on; what all rows came to is `all`. */
static void rows_have_their_bits(const double *all, int64_t first,
                                 int64_t rows, int64_t depth, int64_t columns)
{
    struct attn_tensor *x = &t.in.tensor[ATTN_X], before = *x;
    size_t bytes = (size_t)(first * depth) * attn_dtype_bytes(t.in.dtype);
    *x = (struct attn_tensor){(char *)x->data + bytes, 2, {rows, depth}};
    trial_run(&t);
    for (int64_t i = 0; i < rows * columns; i++)
        ck_assert_msg(trial_out(&t, ATTN_OUT_Q, i) ==
                          all[first * columns + i],
                      "row %d of %d from %d on, kernels %s",
                      (int)(i / columns), (int)rows, (int)first,
                      attn_cpu_level());
    *x = before;
}

/* Parts of the rows, two at a time: from one on, and up to the last. */
static void parts_have_the_bits_of_the_whole(const struct layer *l,
                                             const int64_t *parts,
                                             unsigned bits)
{
    double *all = calloc((size_t)(l->n * l->columns), sizeof *all);
    layer_meets_the_formula(l, bits);
    struct attn_tensor *x = &t.in.tensor[ATTN_X];
    *x = (struct attn_tensor){x->data, 2, {l->n, l->depth}};
    trial_run(&t);
    for (int64_t i = 0; all && i < l->n * l->columns; i++)
        all[i] = trial_out(&t, ATTN_OUT_Q, i);
    for (; all && *parts; parts++) {
        rows_have_their_bits(all, 1, *parts, l->depth, l->columns);
        rows_have_their_bits(all, l->n - *parts, *parts, l->depth,
                             l->columns);
    }
    ck_assert(all != NULL);
    free(all);
}

/* Of those numbers of rows that go the same way through our own kernels; the
 * BLAS gives a row the bits of its whole product. */
START_TEST(a_row_has_the_same_bits_in_any_number_of_rows)
{
    static const int64_t many[] = {5, 33, 0}, few[] = {1, 3, 0};
    attn_init(ATTN_ENGINE_NATIVE);
    for (size_t level = 0; attn_kernel_force(level); level++)
        for (unsigned bits = 0; bits < 4; bits++) {
            row_init(attn_kernel(ATTN_FLOAT32)->level);
            parts_have_the_bits_of_the_whole(&(struct layer){40, 520, 35},
                                             many, bits);
            parts_have_the_bits_of_the_whole(&(struct layer){4, 520, 70},
                                             few, bits);
        }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        any_shape_of_a_layer_is_the_formula,
        an_item_has_the_same_bits_alone_and_in_a_batch,
        a_row_has_the_same_bits_in_any_number_of_rows,
        NULL,
    };
    return suite_run("project", tests, setup, teardown, 60);
}
