#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: run.sh [--sanitizer NAME] BUILD { PROGRAM | NAME=VALUE }...
# Runs Check programs one after another against the daemon in BUILD. Prints how
# many tests of each passed, all that a program said only if it failed, and as
# the last line "N passed, N failed". A program fails the run if it is missing,
# crashes, checks nothing, fails a check, or if a sanitizer had something to
# report in it or in a daemon that it started: one failure more if no check
# counts it. NAME=VALUE is set for the programs behind it. EMULATOR, if set, is
# the command that runs programs of another CPU.
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
lent=
[ -e /proc/self ] || { mount -t proc proc /proc && lent=/proc; }
beat=
finish() {
    [ -z "$beat" ] || kill "$beat"
    [ -z "$lent" ] || umount -l "$lent"
}
trap finish EXIT
trap 'exit 1' INT TERM HUP

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

# A line now and then while a program runs that takes long.
beat() {
    sleep=
    trap '[ -z "$sleep" ] || kill "$sleep"; exit' TERM
    trap - EXIT
    waited=0
    while kill -0 $$; do
        sleep 15 >/dev/null &
        sleep=$!
        wait
        waited=$((waited + 15))
        echo "      running for $waited s"
    done
}

# Sums of checks and of what failed among them, in a program's summary lines.
count() {
    sed -n "s/^[0-9]*%: Checks: \([0-9]*\), Failures: \([0-9]*\), \
Errors: \([0-9]*\)$/\1 \2 \3/p" "$1" |
        awk '{ n += $1; bad += $2 + $3 } END { print n + 0, bad + 0 }'
}

log=$build/test.log
all_passed=0
all_failed=0
culprits=
for program; do
    case $program in
    *=*)
        export "${program?}"
        echo "WITH  $program"
        continue
        ;;
    esac
    name=${program##*/tests/}
    echo "TEST  $name"
    beat &
    beat=$!
    # shellcheck disable=SC2086
    timeout --foreground -k 10 900 $emulator "$program" >"$log" 2>&1 </dev/null
    status=$?
    kill "$beat" && wait "$beat"
    beat=
    read -r checks failed <<END
$(count "$log")
END
    passed=$((checks - failed))
    if [ $status != 0 ] || [ "$checks" = 0 ] || [ -n "$(ls "$reports")" ]; then
        [ "$failed" != 0 ] || failed=1
    fi
    all_passed=$((all_passed + passed))
    all_failed=$((all_failed + failed))
    if [ "$failed" = 0 ]; then
        echo "      $passed passed"
        continue
    fi
    cat "$log" "$reports"/* 2>/dev/null
    rm -f "$reports"/*
    echo "FAIL  $name: exit status $status"
    culprits="$culprits $name"
done
[ -z "$culprits" ] || echo "Failed:$culprits"
echo "$all_passed passed, $all_failed failed"
[ $all_failed = 0 ]
