#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: sysroot.sh DIRECTORY ARCHITECTURE PACKAGE...
# Unpacks Debian packages of another architecture, and what they depend on,
# into a directory to link against and to emulate in. Nothing is installed:
# this machine's packages stay what they are, and no rights are needed. The
# directory's name is absolute; it may not be moved.
set -eu
root=$1
arch=$2
shift 2
wanted="$arch $*"
[ "$(cat "$root/.packages" 2>/dev/null)" != "$wanted" ] || exit 0

echo "Unpacking into $root ($arch): $*"
rm -rf "$root"
mkdir -p "$root"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP
mkdir -p "$work/lists/partial" "$work/archives/partial"
: >"$work/status"
cat >"$work/apt.conf" <<END
APT::Architecture "$arch";
APT::Architectures { "$arch"; };
APT::Install-Recommends "false";
APT::Sandbox::User "";
Dir::State::status "$work/status";
Dir::State::lists "$work/lists";
Dir::Cache "$work";
Dir::Cache::archives "$work/archives";
END
export APT_CONFIG="$work/apt.conf"
apt-get -qq update
apt-get -qq -y --download-only install "$@" >/dev/null
for package in "$work"/archives/*.deb; do
    dpkg-deb -x "$package" "$root"
done
find "$root" -type l -lname '/*' | while read -r link; do
    ln -sfn "$root$(readlink "$link")" "$link"
done
echo "$wanted" >"$root/.packages"
