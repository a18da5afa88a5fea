#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: metrics.sh ATTENTIOND
# Asks a daemon for everything that has a metric, good and bad, and holds its
# /metrics against Prometheus' own checker and docs/operations.md.
set -eu

daemon=$(realpath "$1")
work=$(mktemp -d)
pid=
finish() {
    [ -z "$pid" ] || kill "$pid" || :
    rm -rf "$work"
}
trap finish EXIT

"$daemon" --port 0 2>"$work/said" >/dev/null &
pid=$!
url=
for _ in $(seq 100); do
    url=$(sed -n 's/^listening on //p' "$work/said")
    [ -z "$url" ] || break
    sleep 0.1
done
[ -n "$url" ] || { cat "$work/said" >&2; exit 1; }

awk 'BEGIN {
    for (i = 0; i < 64; i++) row = row (i ? "," : "[") (i / 64)
    for (t = 1; t <= 3; t++) {
        printf "%s\"%s\":[", (t > 1 ? "," : "{"), substr("QKV", t, 1)
        for (i = 0; i < 12000; i++) printf "%s%s]", (i ? "," : ""), row
        printf "]"
    }
    print ",\"return\":[\"lse\"]}"
}' >"$work/late.json"
two='[[1,0],[0,1]]'
ask() {
    code=$(curl -s -o "$work/reply" -w '%{http_code}' "$@") || :
    printf '%s ' "$code"
}
ask "$url/attention" -d "{\"Q\":$two,\"K\":$two,\"V\":$two}"
ask "$url/attention" -d "{\"Q\":$two,\"K\":$two,\"V\":$two,\"mask\":[[false]]}"
ask "$url/attention" -d "{\"Q\":$two,\"K\":$two,\"V\":[[1]]}"
ask "$url/attention" -d '{"Q":'
ask "$url/attention" -H 'Content-Type: image/png' -d x
ask "$url/attention" --data-binary "@$work/late.json" \
    -H 'Request-Timeout: 0.05'
ask "$url/attention" --data-binary "@$work/late.json" -m 0.1
ask "$url/attention"
ask "$url/nowhere"
ask -I "$url/info"
ask -X OPTIONS "$url/livez"
ask "$url/metrics"
echo

cp "$work/reply" "$work/metrics"
promtool check metrics <"$work/metrics"

# What the table names is there, and what is there is in the manual.
cd "$(dirname "$0")/../.."
sed -n 's/^.*"\(\(attention\|process\)_[a-z_]*\)".*/\1/p' \
    server/metrics_table.c >"$work/names"
sed 's/^/# TYPE /; s/$/ /' "$work/names" | while read -r start; do
    grep -q "^$start " "$work/metrics" && continue
    echo "not in /metrics: $start" >&2
    exit 1
done
grep -oE '(method|phase|reason|source)="[^"]*"' "$work/metrics" | sort -u |
    sed 's/.*="\(.*\)"/\1/' | cat - "$work/names" | while read -r word; do
    grep -q "\`$word\`" docs/operations.md && continue
    echo "not in docs/operations.md: $word" >&2
    exit 1
done
