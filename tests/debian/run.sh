#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: run.sh RELEASE
# Tries the README's commands (newcomer.sh) in a bare Debian of that release.
# Mounts and processes are in namespaces of their own and end with them.
set -eu
cd "$(dirname "$0")/../.."

[ "$(id -u)" = 0 ] ||
    { echo "debian-test: only root can make a Debian to try in" >&2; exit 1; }
work=$(mktemp -d)
apart=
finish() {
    [ -z "$apart" ] || kill -KILL "$apart" 2>/dev/null || :
    wait
    rm -rf --one-file-system "$work"
}
trap finish EXIT
trap 'exit 1' INT TERM HUP
export TMPDIR="$work"
# shellcheck disable=SC2016
unshare --mount-proc --pid --fork --kill-child sh -ec \
    'tests/debian/root.sh "$@"; exec tests/debian/newcomer.sh "$@"' \
    sh "$1" "$work/root" &
apart=$!
wait "$apart"
