#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: units.sh DAEMON
# Checks the units in deploy/systemd: systemd understands every line, and rates
# what the service could do to the machine at 1.5 of 10 at most.
set -eu
cd "$(dirname "$0")/../.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for unit in deploy/systemd/*; do
    sed "s,/usr/local/bin/attentiond,$(readlink -f "$1")," "$unit" \
        >"$work/${unit##*/}"
done
# verify ends with 0 whatever it finds in a unit; it says nothing if all is well
found=$(systemd-analyze verify "$work"/* 2>&1) || found="$found (failed)"
[ -z "$found" ] || { echo "$found"; exit 1; }
systemd-analyze security --offline=true --no-pager --threshold=15 \
    "$work/attentiond.service" >"$work/rating" || { cat "$work/rating"; exit 1; }
tail -n 1 "$work/rating"
