#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: setup.sh PACKAGE... [-- PACKAGE...]
# Installs what is missing of the named Debian packages, and nothing when none
# is. A package counts as present if what it brings is found, whoever brought
# it, so that this also works where there is no dpkg. Where nothing can be
# installed it names what is missing, also of the packages behind --, which
# only `make check` needs, and stops.
set -eu

# What a package brings: a command, or a library that pkg-config knows. Of the
# others dpkg is asked.
is_present() {
    case $1 in
    libc6-dev) echo '#include <stdio.h>' | ${CC:-gcc} -E - ;;
    pkg-config) command -v pkg-config || command -v pkgconf ;;
    libmicrohttpd-dev) pkg-config --exists libmicrohttpd ;;
    libjansson-dev) pkg-config --exists jansson ;;
    libopenblas-dev) pkg-config --exists openblas ;;
    zlib1g-dev) pkg-config --exists zlib ;;
    libyaml-dev) pkg-config --exists yaml-0.1 ;;
    libcurl4-gnutls-dev) pkg-config --exists libcurl ;;
    check) pkg-config --exists check ;;
    nodejs) command -v node ;;
    prometheus) command -v promtool ;;
    nginx-light) command -v nginx ;;
    systemd) command -v systemd-analyze ;;
    gcc | curl | python3 | npm | wrk | hey | clang | shellcheck | haproxy | \
        debootstrap | podman) command -v "$1" ;;
    *) [ "$(dpkg-query -W -f '${db:Status-Status}' "$1")" = installed ] ;;
    esac >/dev/null 2>&1
}

missing=
later=
list=missing
for package; do
    if [ "$package" = -- ]; then
        list=later
    elif ! is_present "$package"; then
        eval "$list=\"\$$list \$package\""
    fi
done
[ -n "$missing" ] || exit 0

root=
[ "$(id -u 2>/dev/null)" = 0 ] || root=sudo
for tool in apt-get $root; do
    command -v "$tool" >/dev/null && continue
    echo "There is no $tool here to install what is missing. Please install"
    echo " $missing"
    if [ -n "$later" ]; then
        echo "and, for \`make check\`,"
        echo " $later"
    fi
    echo "or what they are called on this system; then: make && build/attentiond"
    exit 1
done >&2

apt() {
    $root env DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 apt-get \
        -o Dpkg::Use-Pty=0 "$@" </dev/null
}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
echo "Installing with apt-get:$missing"
apt -qq update
# Asked and refused, apt-get tells how much it would be.
# shellcheck disable=SC2086
size=$(apt --assume-no --no-install-recommends install $missing 2>&1 |
    sed -n 's/^Need to get \([^/]*B\).* of archives\.$/\1 to fetch/p
        s/^After this operation, \(.*B\) of additional.*/, \1 on disk/p' |
    tr -d '\n')
case $size in
[1-9][0-9]*' MB to '*) echo "($size: a minute or two)" ;;
?*) echo "($size)" ;;
esac
# shellcheck disable=SC2086
apt -qq install -y --no-install-recommends $missing >"$log" 2>&1 ||
    { cat "$log" >&2; exit 1; }
