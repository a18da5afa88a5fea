/* SPDX-License-Identifier: MIT */
/*
 * library.c - attention without a service: check, plan, run. The plan tells
 * how much memory the call needs; the caller brings it.
 *
 *     cc library.c $(pkg-config --cflags --libs attention) -o library
 */
#include <attention.h>
#include <stdio.h>
#include <stdlib.h>

static void *aligned(size_t bytes)
{
    void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64 + 64);
    if (!memory)
        abort();
    return memory;
}

static void print(const char *name, const double *x,
                  const struct attn_tensor *t)
{
    printf("%-6s", name);
    for (int64_t i = 0; i < attn_tensor_elements(t); i++)
        printf(" %.6f", x[i]);
    printf("\n");
}

int main(void)
{
    double q[] = {1, 0,  0, 1}, k[] = {1, 0,  0, 1}, v[] = {10, 0,  0, 10};
    struct attn_input in;
    struct attn_plan plan;
    struct attn_error error;

    attn_init(ATTN_ENGINE_AUTO);
    attn_input_init(&in);
    in.dtype = ATTN_FLOAT64;
    in.tensor[ATTN_Q] = (struct attn_tensor){q, 2, {2, 2}};
    in.tensor[ATTN_K] = (struct attn_tensor){k, 2, {2, 2}};
    in.tensor[ATTN_V] = (struct attn_tensor){v, 2, {2, 2}};
    in.causal = true;
    in.returns = ATTN_RETURN(ATTN_OUT_OUTPUT) | ATTN_RETURN(ATTN_OUT_A);

    if (attn_plan(&in, &plan, &error) != ATTN_OK) {
        fprintf(stderr, "%s\n", error.text);
        return EXIT_FAILURE;
    }
    double *output = aligned(plan.output_bytes[ATTN_OUT_OUTPUT]);
    double *weights = aligned(plan.output_bytes[ATTN_OUT_A]);
    void *memory = aligned(attn_run_bytes(&plan));
    struct attn_output out = {
        .data = {[ATTN_OUT_OUTPUT] = output, [ATTN_OUT_A] = weights}};
    struct attn_call call = {.in = &in, .plan = &plan, .out = &out};

    attn_run(&call, memory);
    print("output", output, &plan.output[ATTN_OUT_OUTPUT]);
    print("A", weights, &plan.output[ATTN_OUT_A]);

    free(memory);
    free(weights);
    free(output);
    return EXIT_SUCCESS;
}
