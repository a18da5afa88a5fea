#!/bin/sh
# SPDX-License-Identifier: MIT
# Times sequences of growing length, with and without the weights, and shows
# where the service spent its milliseconds.
# usage: timing.sh [URL] [N...]
set -eu

url=${1:-http://127.0.0.1:8080}
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- 16 64 256 1024
answer=$(mktemp)
trap 'rm -f "$answer"' EXIT

# request N WHAT: X of N rows and 64 columns attends to itself.
request() {
    awk -v n="$1" -v what="$2" 'BEGIN {
        for (i = 0; i < n; i++) {
            row = ""
            for (c = 0; c < 64; c++)
                row = row (c ? "," : "") sprintf("%.4f", 2 * rand() - 1)
            x = x (i ? "," : "") "[" row "]"
        }
        printf "{\"Q\":[%s],\"K\":[%s],\"V\":[%s],\"return\":%s}", x, x, x, what
    }'
}

for n; do
    for what in '["output"]' '["output","A"]'; do
        took=$(request "$n" "$what" | curl -sS --fail-with-body -X POST \
            --data-binary @- -D "$answer" -o /dev/null -w '%{time_total}' \
            "$url/attention")
        printf 'n=%-5s %-14s %s s  %s\n' "$n" "$what" "$took" \
            "$(tr -d '\r' <"$answer" | sed -n 's/^Server-Timing: //p')"
    done
done
