#!/bin/sh
# SPDX-License-Identifier: MIT
# run.sh OUT PROGRAM...: every benchmark, as tables and as JSON in OUT. The
# BLAS may choose its kernels here whatever the environment says of them.
set -eu
out=$1
shift
for program; do
    env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE OPENBLAS_NUM_THREADS=1 \
        "$program" --json
done | python3 "$(dirname "$0")/table.py" "$out"
