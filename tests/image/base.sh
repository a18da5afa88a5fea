#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: base.sh ENGINE RELEASE
# Sees to it that the engine has debian:RELEASE-slim: unless it is there, it is
# made from Debian's packages, so that no registry is needed, and as slim: of
# the documents it and what it installs keep copyrights and links alone.
set -eu
cd "$(dirname "$0")/../.."

engine=$1
release=$2
name=docker.io/library/debian:$release-slim
! $engine image inspect "$name" >/dev/null 2>&1 || exit 0

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP
root=$work/root
tests/debian/root.sh "$release" "$root"
cat >"$root/etc/dpkg/dpkg.cfg.d/docker" <<END
path-exclude /usr/share/doc/*
path-include /usr/share/doc/*/copyright
path-exclude /usr/share/info/*
path-exclude /usr/share/locale/*
path-exclude /usr/share/man/*
END
find "$root/usr/share/doc" -type f ! -name copyright -delete
rm -rf "$root"/var/cache/apt/* "$root"/var/lib/apt/lists/* \
    "$root"/usr/share/locale/* "$root"/usr/share/man/* \
    "$root"/usr/share/info/*
tar -C "$root" -cf "$work/base.tar" .
$engine import "$work/base.tar" "$name" >/dev/null
