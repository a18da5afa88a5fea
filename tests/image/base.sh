#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: base.sh ENGINE
# Sees to it that the engine has debian:bookworm-slim: unless it is there, it
# is made from Debian's packages, so that no registry is needed.
set -eu

engine=$1
name=docker.io/library/debian:bookworm-slim
! $engine image inspect $name >/dev/null 2>&1 || exit 0

echo "Making $name from packages"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
debootstrap --variant=minbase bookworm "$root" >"$work/log" ||
    { tail -n 20 "$work/log" >&2; exit 1; }
# What the machine knows of mirrors and proxies, the image's builder needs.
cp /etc/apt/sources.list.d/debian.sources "$root/etc/apt/sources.list.d/" \
    2>/dev/null || :
cp /etc/apt/apt.conf.d/99* "$root/etc/apt/apt.conf.d/" 2>/dev/null || :
rm -rf "$root"/var/cache/apt/* "$root"/var/lib/apt/lists/* \
    "$root"/usr/share/locale "$root"/usr/share/man "$root"/usr/share/info
tar -C "$root" -cf "$work/base.tar" .
$engine import "$work/base.tar" $name >/dev/null
