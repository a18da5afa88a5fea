#!/bin/sh
# SPDX-License-Identifier: MIT
# Checks "who may include what" (CONTRIBUTING.md): outside headers come in by
# their doors only, the library knows nothing of the server, the server only
# the library's public header, cupboards no room, decoders and encoders not
# each other, and headers make no cycle. Prints what breaks a rule.
set -eu
cd "$(dirname "$0")/../.."

# Every include of lib/ and server/ as: directory, stem, place, header.
includes() {
    grep -HnE '^ *# *include' lib/*.[ch] server/*.[ch] |
        sed -E 's,^((lib|server)/([^.]*)\.[ch]:[0-9]+):.*[<"](.*)[>"].*,\2 \3 \1 \4,'
}

broken=$(includes | awk '
function words(text, set,    list, n, i)
{
    n = split(text, list, " ")
    for (i = 1; i <= n; i++)
        set[list[i]] = 1
}
function break_rule(text)
{
    printf "%s: includes %s: %s\n", $3, $4, text
}
function file_exists(path,    found, line)
{
    found = (getline line < path) >= 0
    close(path)
    return found
}
BEGIN {
    door["microhttpd.h"] = "server listen, server reply, server header, " \
        "server mhd, server mhd_0_9"
    door["jansson.h"] = "server members_small, server decode_oip"
    door["cblas.h"] = "lib blas"
    door["pthread.h"] = "server queue, server work, server watch"
    door["zlib.h"] = "server gzip"
    words("config problem quote fields foreign number digits buffer arena " \
        "gzip metrics log host turn spin address " \
        "client capacity proxy", cupboard)
    part = "^(config|problem|number|arena|metrics)_"
    words("assert.h errno.h float.h inttypes.h limits.h math.h stdalign.h" \
        " stdatomic.h stdbool.h stddef.h stdint.h stdlib.h string.h cblas.h" \
        " immintrin.h arm_neon.h",
        libc)
}
{
    header = $4
    stem = $4
    sub(/\.h$/, "", stem)
    from_cupboard = $1 == "server" && (($2 in cupboard) || $2 ~ part)
    to_cupboard = (stem in cupboard) || stem ~ part
    in_lib = file_exists("lib/" header)
    in_server = file_exists("server/" header)
}
(header in door) && index(door[header] ",", $1 " " $2 ",") == 0 {
    break_rule("its door is " door[header])
}
$1 == "lib" && !in_lib && !(header in libc) {
    break_rule("lib knows itself, libc and libm")
}
$1 == "server" && in_lib && header != "attention.h" {
    break_rule("of lib the server knows attention.h")
}
header ~ /tests/ || file_exists("tests/support/" header) {
    break_rule("nothing knows the tests")
}
from_cupboard && in_server && !to_cupboard {
    break_rule("a cupboard knows no room")
}
$2 ~ /^(de|en)code_/ && header ~ /^(de|en)code_/ && stem != $2 ||
$2 ~ /^decode/ && header ~ /^encode/ || $2 ~ /^encode/ && header ~ /^decode/ {
    break_rule("decoders and encoders do not know each other")
}')

cycle=$(includes | sed -nE 's,^.* .* (lib|server)/(.*\.h):.* (.*),\2 \3,p' |
    tsort 2>&1 >/dev/null | sed -n 's/^tsort: *\(.*\.h\)$/\1/p')
[ -z "$cycle" ] || broken="$broken
a cycle of headers: $(echo "$cycle" | tr '\n' ' ')"

[ -z "$broken" ] || { echo "$broken"; exit 1; }
