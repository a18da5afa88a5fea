#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: setup.sh PACKAGE...
# Installs those of the named Debian packages that are missing, and nothing
# when none is. Where there is no apt-get, or no right to use it, it names
# them and stops.
set -eu

missing=
for package; do
    status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>&1) || :
    [ "$status" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

root=
[ "$(id -u)" = 0 ] || root=sudo
for tool in apt-get $root; do
    command -v "$tool" >/dev/null && continue
    echo "There is no $tool here to install what is missing. Please install"
    echo " $missing"
    echo "or what they are called on this system, then use make and make check."
    exit 1
done >&2

echo "Installing with apt-get:$missing"
apt() {
    $root env DEBIAN_FRONTEND=noninteractive apt-get -qq \
        -o Dpkg::Use-Pty=0 "$@" </dev/null
}
apt update
# shellcheck disable=SC2086
apt install -y --no-install-recommends $missing >/dev/null
