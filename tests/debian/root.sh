#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: root.sh RELEASE DIRECTORY
# Makes a bare Debian (debootstrap's minbase) in DIRECTORY, from the mirror and
# by the ways (proxies, certificates, names) that this machine's apt uses.
set -eu

release=$1
root=$2

# Where the machine has the main part of its own release from; if it does not
# say, debootstrap knows one.
codename=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
# shellcheck disable=SC2016
mirror=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' |
    sed -n "s/^\(.*\) \($codename\|stable\) main$/\1/p" | head -n 1)

echo "Making a bare Debian ($release): a minute or two"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
debootstrap --variant=minbase "$release" "$root" ${mirror:+"$mirror"} \
    >"$log" 2>&1 || { tail -n 20 "$log" >&2; exit 1; }
apt-config dump Acquire | grep -v '^Acquire::IndexTargets' \
    >"$root/etc/apt/apt.conf.d/90machine"
for file in /etc/resolv.conf /etc/hosts /etc/ssl/certs/ca-certificates.crt; do
    [ -e $file ] || continue
    mkdir -p "$root${file%/*}"
    cp $file "$root$file"
done
rm -rf "$root"/var/cache/apt/archives/*.deb
