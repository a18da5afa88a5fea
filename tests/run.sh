#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: run.sh [--sanitizer NAME] BUILD PROGRAM...
# Runs Check programs one after another against the daemon in BUILD and prints
# the summary line of each; all that a program said only if it failed. A
# program fails the run if it is missing, crashes, checks nothing, fails a
# check, or if a sanitizer had something to report in it or in a daemon that it
# started. EMULATOR, if set, is the command that runs programs of another CPU.
set -u

sanitizer=
if [ "$1" = --sanitizer ]; then
    sanitizer=$2
    shift 2
fi
build=$(cd "$1" && pwd) || exit 1
shift
[ $# -gt 0 ] || { echo "run.sh: no test programs" >&2; exit 1; }

# A bare chroot has no /proc, where tests look at a daemon's threads, memory and
# descriptors: lend it one.
if [ ! -e /proc/self ] && mount -t proc proc /proc; then
    trap 'umount -l /proc' EXIT
    trap 'exit 1' INT TERM HUP
fi

export ATTENTIOND="$build/attentiond" OPENBLAS_NUM_THREADS=1 CK_VERBOSITY=normal
reports=$build/reports
rm -rf "$reports"
mkdir -p "$reports"
options=log_path=$reports/report
case $sanitizer in
'') ;;
thread) export TSAN_OPTIONS="$options" CK_FORK=no ;;
*) export ASAN_OPTIONS="$options" UBSAN_OPTIONS="$options:print_stacktrace=1" ;;
esac
[ -z "$sanitizer" ] || export CK_TIMEOUT_MULTIPLIER=10
emulator=${EMULATOR:-}
[ -z "$emulator" ] || export CK_TIMEOUT_MULTIPLIER=100

summary='^[0-9]*%: Checks: [0-9]*, Failures: [0-9]*, Errors: [0-9]*$'
passed='^100%: Checks: [1-9][0-9]*, Failures: 0, Errors: 0$'
log=$build/test.log
failed=
for program; do
    echo "TEST  ${program##*/tests/}"
    # shellcheck disable=SC2086
    timeout --foreground -k 10 900 $emulator "$program" >"$log" 2>&1 </dev/null
    status=$?
    grep "$summary" "$log"
    imperfect=$(grep "$summary" "$log" | grep -cv "$passed")
    if [ $status != 0 ] || ! grep -q "$passed" "$log" ||
        [ "$imperfect" != 0 ] || [ -n "$(ls "$reports")" ]; then
        grep -v "$summary" "$log"
        cat "$reports"/* 2>/dev/null
        rm -f "$reports"/*
        echo "FAIL  ${program##*/tests/}: exit status $status"
        failed="$failed ${program##*/tests/}"
    fi
done
[ -z "$failed" ] || { echo "Failed:$failed" >&2; exit 1; }
