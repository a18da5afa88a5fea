/* SPDX-License-Identifier: MIT */
/*
 * test_kernel_panel.c - the kernels of a linear layer: columns of a weight are
 * laid together, sums of a panel are added to where they belong.
 */
#include "levels.h"
#include "suite.h"
#include "tensor.h"

#include <string.h>

static void gather_once(int vecs, int64_t columns, int64_t n)
{
    int64_t w = vecs * kernel->lanes, x_row = columns + 3;
    void *x = numbers(n * x_row), *t = numbers(n * w);

    kernel->gather(vecs, columns, n, x, x_row, t);
    for (int64_t c = 0; c < n; c++) {
        for (int64_t i = 0; i < w; i++) {
            near(get(t, c * w + i), i < columns ? get(x, c * x_row + i) : 0,
                 0);
        }
    }
}

static void gather_everywhere(void)
{
    for (int vecs = 1; vecs <= KERNEL_VECS; vecs++) {
        gather_once(vecs, vecs * kernel->lanes, 37);
        gather_once(vecs, vecs * kernel->lanes - 1, 5);
        gather_once(vecs, (vecs - 1) * kernel->lanes + 1, 1);
    }
}

START_TEST(gather_copies_columns_and_pads_with_zeros)
{
    everywhere(gather_everywhere);
}
END_TEST

/* y is x, or x is one row for all of y, or there is none. */
enum addend { ITSELF, ONE_ROW, NONE };

static void add_once(int vecs, int64_t columns, int64_t n, enum addend what)
{
    int64_t w = vecs * kernel->lanes, y_row = columns + 2;
    void *s = numbers(n * w), *y = numbers(n * y_row);
    void *before = numbers(n * y_row), *bias = numbers(columns);
    const void *x = what == ITSELF ? y : what == ONE_ROW ? bias : NULL;

    memcpy(before, y, (size_t)(n * y_row) * attn_dtype_bytes(dtype));
    kernel->add(vecs, columns, n, s, x, what == ITSELF ? y_row : 0, y, y_row);
    for (int64_t j = 0; j < n; j++) {
        for (int64_t i = 0; i < y_row; i++) {
            double was = get(before, j * y_row + i);
            double added = what == ITSELF ? was : what == ONE_ROW
                           ? get(bias, i < columns ? i : 0) : 0;
            near(get(y, j * y_row + i),
                 i < columns ? get(s, j * w + i) + added : was, 8 * unit);
        }
    }
}

static void add_everywhere(void)
{
    for (int vecs = 1; vecs <= KERNEL_VECS; vecs++) {
        for (enum addend what = ITSELF; what <= NONE; what++) {
            add_once(vecs, vecs * kernel->lanes, 9, what);
            add_once(vecs, vecs * kernel->lanes - 1, 4, what);
            add_once(vecs, (vecs - 1) * kernel->lanes + 1, 1, what);
        }
    }
}

START_TEST(add_puts_sums_on_a_row_on_themselves_or_on_nothing)
{
    everywhere(add_everywhere);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        gather_copies_columns_and_pads_with_zeros,
        add_puts_sums_on_a_row_on_themselves_or_on_nothing,
        NULL,
    };
    return suite_run("kernel_panel", tests, NULL, NULL, 60);
}
