#!/bin/sh
# SPDX-License-Identifier: MIT
# Checks what CONTRIBUTING.md counts: width 80, no tabs, functions of up to 60
# lines (brace to brace), files of up to 500, a licence line. Prints what is
# beyond.
set -eu
cd "$(dirname "$0")/../.."

# Functions that may be longer, each with its reason.
long=''

beyond=$(
    find lib server tests docs -name '*.[chS]' -o -name '*.sh' -o -name '*.py' \
        -o -name '*.js' | while read -r file; do
        head -n 3 "$file" | grep -q 'SPDX-License-Identifier: MIT' ||
            echo "$file: no SPDX line"
    done
    awk -v long=" $long " '
    FNR == 501 { print FILENAME ": more than 500 lines" }
    length($0) > 80 { print FILENAME ":" FNR ": wider than 80" }
    /\t/ { print FILENAME ":" FNR ": a tab" }
    /^[a-z].*\(/ { name = $0; sub(/\(.*/, "", name); sub(/.*[ *]/, "", name) }
    /^\{$/ { start = FNR }
    /^\}$/ {
        if (start && FNR - start >= 60 && !index(long, " " name " "))
            print FILENAME ":" start ": " name " has more than 60 lines"
        start = 0
    }' lib/*.[ch] server/*.[ch]
)
[ -z "$beyond" ] || { echo "$beyond"; exit 1; }
