#!/bin/sh
# SPDX-License-Identifier: MIT
# run.sh OUT BUILD PROGRAM...: every benchmark, and whole requests to the
# daemon in BUILD, as tables and as JSON in OUT. The BLAS may choose its
# kernels here whatever the environment says of them.
set -eu
out=$1
build=$2
shift 2
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE
export OPENBLAS_NUM_THREADS=1
echo "Timing the library, text and whole requests: some five minutes"
{
    for program; do
        "$program" --json
    done
    python3 tests/load/floor.py --daemon "$build/attentiond" \
        --tools "$build/tests/load"
} | python3 tests/bench/table.py "$out"
