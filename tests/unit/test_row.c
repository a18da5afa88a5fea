/* SPDX-License-Identifier: MIT */
/*
 * test_row.c - the operations on a row: a number has the same bits wherever it
 * stands in a row, in the middle of a vector or behind the last one.
 */
#include "row.h"

#include "levels.h"
#include "suite.h"

#include <string.h>

enum { N = 83, WIDTH = 37 };

static const struct row_ops *ops;

static void *at(void *x, int64_t index)
{
    return (char *)x + index * (int64_t)attn_dtype_bytes(dtype);
}

static void *copy_of(const void *x, int64_t n)
{
    return memcpy(numbers(n), x, (size_t)n * attn_dtype_bytes(dtype));
}

static void same_bits(const void *got, const void *expected, int64_t n,
                      const char *what)
{
    ck_assert_msg(!memcmp(got, expected, (size_t)n * attn_dtype_bytes(dtype)),
                  "%s, %s, %s", what, kernel->level,
                  dtype == ATTN_FLOAT32 ? "float32" : "float64");
}

/* What an operation may need; y is what it changes, from number `first` on. */
struct operands {
    void *y, *x, *a, *b, *q, *v;
    int64_t first;
};

static void scale(const struct operands *o, int64_t n)
{
    ops->scale(o->y, n, 0.3);
}

static void combine(const struct operands *o, int64_t n)
{
    ops->combine(o->y, 0.3, o->x, 0.7, n);
}

static void combine_lanes(const struct operands *o, int64_t n)
{
    ops->combine_lanes(o->y, o->a, o->x, o->b, n);
}

static void softcap(const struct operands *o, int64_t n)
{
    ops->softcap(o->y, n, 1.7);
}

static void add(const struct operands *o, int64_t n)
{
    ops->add(o->y, n, o->x, 1);
}

static void alibi(const struct operands *o, int64_t n)
{
    ops->alibi(o->y, n, 0.3, 40.0 - (double)o->first);
}

static void additive(const struct operands *o, int64_t n)
{
    ops->additive(o->y, n, o->q, o->x, 1, o->v, WIDTH);
}

static void rows_everywhere(void)
{
    static const struct {
        const char *name;
        void (*run)(const struct operands *, int64_t n);
    } all[] = {{"scale", scale}, {"combine", combine},
               {"combine_lanes", combine_lanes}, {"softcap", softcap},
               {"add", add}, {"alibi", alibi}, {"additive", additive}};
    row_init(kernel->level);
    ops = row_ops(dtype);
    void *y = numbers(N), *x = numbers(N + WIDTH), *a = numbers(N);
    void *b = numbers(N), *q = numbers(WIDTH), *v = numbers(WIDTH);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        void *together = copy_of(y, N), *alone = copy_of(y, N);
        all[i].run(&(struct operands){together, x, a, b, q, v, 0}, N);
        for (int64_t j = 0; j < N; j++)
            all[i].run(&(struct operands){at(alone, j), at(x, j), at(a, j),
                                          at(b, j), q, v, j}, 1);
        same_bits(together, alone, N, all[i].name);
    }
}

START_TEST(a_number_has_the_same_bits_anywhere_in_a_row)
{
    everywhere(rows_everywhere);
}
END_TEST

static void rotate_everywhere(void)
{
    enum { PAIRS = N / 2 };
    double cosine[PAIRS], sine[PAIRS];
    row_init(kernel->level);
    ops = row_ops(dtype);
    void *x = numbers(N), *together = numbers(N), *alone = numbers(N);
    void *angle = numbers(2 * PAIRS);
    for (int t = 0; t < PAIRS; t++) {
        cosine[t] = get(angle, 2 * t);
        sine[t] = get(angle, 2 * t + 1);
    }
    for (int interleaved = 0; interleaved < 2; interleaved++) {
        struct row_turn turn = {0, PAIRS, 2 * PAIRS, N, cosine, sine,
                                interleaved};
        ops->rotate(together, x, &turn);
        for (turn.first = 0; turn.first < PAIRS; turn.first++) {
            turn.count = 1;
            turn.cos = &cosine[turn.first];
            turn.sin = &sine[turn.first];
            ops->rotate(alone, x, &turn);
        }
        same_bits(together, alone, N, "rotate");
    }
}

START_TEST(a_pair_turns_to_the_same_bits_alone_and_among_others)
{
    everywhere(rotate_everywhere);
}
END_TEST

/* Of a row that is all visible, said by a map and by none. */
static void maps_everywhere(void)
{
    unsigned char map[N];
    struct moments with = {0, 0, 0}, without = {0, 0, 0};
    double sum[2] = {0}, weighted[2] = {0};
    row_init(kernel->level);
    ops = row_ops(dtype);
    void *s = numbers(N);
    memset(map, 1, N);
    ops->moments(s, N, map, &with);
    ops->moments(s, N, NULL, &without);
    ck_assert_mem_eq(&with, &without, sizeof with);
    ops->entropy(s, N, map, 3, &sum[0], &weighted[0]);
    ops->entropy(s, N, NULL, 3, &sum[1], &weighted[1]);
    ck_assert(sum[0] == sum[1] && weighted[0] == weighted[1]);
}

START_TEST(statistics_have_the_same_bits_with_a_map_and_without)
{
    everywhere(maps_everywhere);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        a_number_has_the_same_bits_anywhere_in_a_row,
        a_pair_turns_to_the_same_bits_alone_and_among_others,
        statistics_have_the_same_bits_with_a_map_and_without,
        NULL,
    };
    return suite_run("row", tests, NULL, NULL, 60);
}
