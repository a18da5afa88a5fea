/* SPDX-License-Identifier: MIT */
/*
 * test_nested.c - tensors of every rank, with rows narrow and wide: their
 * elements are what their text says, and every level of number.h finds the
 * same in a text with faults.
 */
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "number.h"
#include "posted.h"
#include "tensor.h"

#define KV ",\"K\":[[1]],\"V\":[[1]]"

enum { ELEMENTS = 2000, BYTES = ELEMENTS * 40 };

static struct random seed = {7};

/* A tensor, its text, and how that is written. */
static struct {
    struct attn_tensor shape;
    double element[ELEMENTS];
    int64_t n;
    bool wide, with_specials;
    const char *format, *comma, *row;
    char text[BYTES];
} t;

static size_t below(int64_t n)
{
    return (size_t)random_below(&seed, n);
}

static char *put_element(char *p)
{
    double *value = &t.element[t.n++];
    if (t.with_specials && below(50) == 0) {
        *value = below(2) ? (double)NAN : (double)-INFINITY;
        const char *const texts[] = {"\"-Infinity\"", "\"\\u002dInfinity\"",
                                     "\"NaN\"", "\"\\u004EaN\""};
        return stpcpy(p, texts[(isnan(*value) ? 2 : 0) + below(2)]);
    }
    char *end = p + sprintf(p, t.format, random_normal(&seed));
    *value = strtod(p, NULL);
    if (!t.wide)
        *value = (double)(float)*value;
    return end;
}

static char *put_list(char *p, int axis)
{
    if (axis == t.shape.rank)
        return put_element(p);
    *p++ = '[';
    for (int64_t i = 0; i < t.shape.dim[axis]; i++) {
        if (i > 0)
            p = stpcpy(p, axis + 1 < t.shape.rank ? t.row : t.comma);
        p = put_list(p, axis + 1);
    }
    return stpcpy(p, "]");
}

static void make_tensor(void)
{
    static const char *const formats[] = {"%.17g", "%.9g", "%.3f", "%.0f",
                                          "%.8e"};
    static const char *const commas[] = {",", ", ", " ,\n"};
    int64_t n = 1;
    t.shape.rank = 1 + (int)below(ATTN_MAX_RANK);
    for (int axis = t.shape.rank - 1; axis >= 0; axis--) {
        int64_t most = axis == t.shape.rank - 1 ? 20 : 40;
        most = n * most < ELEMENTS ? most : ELEMENTS / n;
        t.shape.dim[axis] = 1 + random_below(&seed, most);
        n *= t.shape.dim[axis];
    }
    t.n = 0;
    t.wide = below(2);
    t.with_specials = below(4) == 0;
    t.format = formats[below(5)];
    t.comma = commas[below(3)];
    t.row = commas[below(3)];
    char *p = stpcpy(t.text, "{\"Q\":");
    p = put_list(p, 0);
    strcpy(p, t.wide ? KV ",\"dtype\":\"float64\"}" : KV "}");
}

static void decode(struct posted *p, size_t level)
{
    number_use(level);
    posted_decode(p, t.text, strlen(t.text));
}

static void expect_tensor(const struct posted *p)
{
    const struct attn_tensor *got = &p->r->input.tensor[ATTN_Q];
    ck_assert_msg(p->r->fault.problem == PROBLEM_NONE, "%s",
                  p->r->fault.detail);
    ck_assert_int_eq(got->rank, t.shape.rank);
    for (int axis = 0; axis < got->rank; axis++)
        ck_assert_int_eq(got->dim[axis], t.shape.dim[axis]);
    for (int64_t i = 0; i < t.n; i++)
        ck_assert(number_near(tensor_get(got->data, p->r->input.dtype, i),
                              t.element[i], 0));
}

START_TEST(every_element_has_its_place)
{
    for (int round = 0; round < 500; round++) {
        make_tensor();
        for (size_t level = 0; level < number_levels(); level++) {
            struct posted p;
            decode(&p, level);
            expect_tensor(&p);
            posted_close(&p);
        }
    }
}
END_TEST

static bool same_fault(const struct fault *a, const struct fault *b)
{
    return a->problem == b->problem && strcmp(a->pointer, b->pointer) == 0 &&
           a->line == b->line && a->column == b->column;
}

static bool same_numbers(const struct posted *a, const struct posted *b)
{
    const struct attn_tensor *x = &a->r->input.tensor[ATTN_Q];
    const struct attn_tensor *y = &b->r->input.tensor[ATTN_Q];
    int64_t n = attn_tensor_elements(x);
    return n == attn_tensor_elements(y) &&
           memcmp(x->data, y->data, (size_t)n * (t.wide ? 8 : 4)) == 0;
}

/* One byte is another. A comma for a bracket, or a bracket more or less, makes
 * rows ragged without a change in the number of elements. */
START_TEST(every_level_finds_the_same_faults)
{
    int refused = 0;
    for (int round = 0; round < 1200; round++) {
        struct posted plain, p;
        make_tensor();
        char *at = t.text + 5 + below((int64_t)strlen(t.text) - 5);
        if (round % 2 && strpbrk(at, "[],"))
            at = strpbrk(at, "[],");
        if (round % 4 == 3)
            memmove(at, at + 1, strlen(at));
        else
            *at = "[],1 "[below(5)];
        decode(&plain, 0);
        refused += plain.r->fault.problem != PROBLEM_NONE;
        for (size_t level = 1; level < number_levels(); level++) {
            decode(&p, level);
            ck_assert_msg(same_fault(&plain.r->fault, &p.r->fault), "%s, %s",
                          plain.r->fault.detail, p.r->fault.detail);
            ck_assert(p.r->fault.problem != PROBLEM_NONE ||
                      same_numbers(&plain, &p));
            posted_close(&p);
        }
        posted_close(&plain);
    }
    ck_assert_int_gt(refused, 600);
    ck_assert_int_lt(refused, 1150);
}
END_TEST

/* The element behind row i moves over to that row: as many as before. Every
 * other time that row begins with what is no number. */
START_TEST(ragged_rows_are_found_wherever_they_are)
{
    for (int width = 2; width <= 20; width++)
        for (int i = 0; i < 30; i += 1 + i / 4)
            for (size_t level = 0; level < number_levels(); level++) {
                struct posted p;
                char pointer[32], *end = stpcpy(t.text, "{\"Q\":[[");
                for (int n = 1; n < 31 * width; n++) {
                    bool ends = n == (i + 1) * width + 1 ||
                                (n % width == 0 && n != (i + 1) * width);
                    bool special = i % 2 && n == i * width + 1;
                    end += sprintf(end, special ? "\"NaN\"" : "%d.5", n);
                    end = stpcpy(end, ends ? "],[" : ",");
                }
                strcpy(end, "0]]" KV "}");
                decode(&p, level);
                ck_assert_msg(p.r->fault.problem == PROBLEM_RAGGED, "%s: %s",
                              p.r->fault.detail, t.text);
                sprintf(pointer, "/Q/%d", i > 0 ? i : 1);
                ck_assert_str_eq(p.r->fault.pointer, pointer);
                posted_close(&p);
            }
}
END_TEST

static void use_best(void)
{
    number_use(number_levels() - 1);
}

int main(void)
{
    const TTest *const tests[] = {
        every_element_has_its_place,
        every_level_finds_the_same_faults,
        ragged_rows_are_found_wherever_they_are,
        NULL,
    };
    return suite_run("nested", tests, NULL, use_best, 60);
}
