/* SPDX-License-Identifier: MIT */
/*
 * onnx.h - the ONNX project's own cases of its Attention operator, asked of
 * this service.
 */
#ifndef ONNX_H
#define ONNX_H

#include "vector.h"

/*
 * Has every case in the folder ONNX_CASES (../shared/conformance/onnx if that
 * is not set) answered and holds the answers against ONNX's, within 1e-5, or
 * 1e-3 for float16. Says so and passes where there is no such folder.
 */
void onnx_check(vector_answer *answer);

#endif
