#!/bin/sh
# SPDX-License-Identifier: MIT
# Prints docker or podman: the first that has an engine behind it, not only
# its client. CONTAINER_ENGINE, if set, is believed.
set -eu

for engine in ${CONTAINER_ENGINE:-docker podman}; do
    if [ -n "${CONTAINER_ENGINE:-}" ] ||
        timeout 20 "$engine" info >/dev/null 2>&1; then
        echo "$engine"
        exit
    fi
done
echo "Neither docker nor podman answers here. Is one of them installed, and" \
    "may you use it?" >&2
exit 1
