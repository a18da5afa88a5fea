/* SPDX-License-Identifier: MIT */
/*
 * test_vectors.c - what NumPy in float64 and ONNX answer, asked of the
 * library alone.
 */
#include "json_call.h"
#include "onnx.h"
#include "suite.h"
#include "vector.h"

START_TEST(the_library_answers_as_NumPy_does)
{
    vectors_check(json_call_answer);
}
END_TEST

START_TEST(the_library_answers_as_ONNX_does)
{
    onnx_check(json_call_answer);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {the_library_answers_as_NumPy_does,
                                  the_library_answers_as_ONNX_does, NULL};
    return suite_run("vectors", tests, NULL, NULL, 60);
}
