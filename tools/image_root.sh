#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: image_root.sh DAEMON DIRECTORY SECONDS
# Makes in DIRECTORY the root of an image that holds the daemon and what it
# loads: the libraries that ldd names, and of each package one of them is from,
# its entry of dpkg's list, its checksums and its copyright, by which scanners
# and lawyers know it. A copyright that this system does not keep is taken from
# the package. All files get the time SECONDS since 1970.
set -eu

daemon=$1
root=$2
papers=$root/var/lib/dpkg/status.d

# /lib/x86_64-linux-gnu/libz.so.1 and the like, and the loader itself.
libraries() {
    ldd "$daemon" | sed -nE 's/^(.*=>)?[[:space:]]*(\/[^ ]*) .*/\2/p'
}

# Older packages list a library below /lib though it lies below /usr/lib.
package_of() {
    path=$(readlink -f "$1")
    for name in "$path" "${path#/usr}"; do
        dpkg-query -S "$name" 2>/dev/null | sed 's/: .*//; q' | grep . && return
    done
    echo "image_root.sh: $path is of no package" >&2
    return 1
}

copy() {
    mkdir -p "$root$(dirname "$1")"
    cp -L "$1" "$root$1"
}

# The text of a package, which may have its documents with another package.
copyright_of() {
    documents=/usr/share/doc/$1
    if [ -e "$documents/copyright" ]; then
        cat "$documents/copyright"
        return
    fi
    if [ ! -L "$documents" ]; then
        fetch "$1" >&2
        documents=$fetched/$1/usr/share/doc/$1
    fi
    if [ -L "$documents" ]; then
        copyright_of "$(basename "$(readlink "$documents")")"
    else
        cat "$documents/copyright"
    fi
}

# Unpacks the package in $fetched.
fetch() {
    mkdir -p "$fetched/$1"
    version=$(dpkg-query -W -f '${Version}' "$1")
    (cd "$fetched" && apt-get -qq download "$1=$version" 2>/dev/null ||
        { apt-get -qq update && apt-get -qq download "$1=$version"; }) || {
        echo "image_root.sh: the copyright of $1 is not in /usr/share/doc," \
            "and its package cannot be fetched"
        return 1
    }
    dpkg-deb -x "$fetched/$1"_*.deb "$fetched/$1"
}

umask 022
fetched=$(mktemp -d)
trap 'rm -rf "$fetched"' EXIT
rm -rf "$root"
mkdir -p "$papers" "$root/etc"
install -s -m 755 "$daemon" "$root/attentiond"
for library in $(libraries); do
    copy "$library"
    package=$(package_of "$library")
    name=${package%%:*}
    dpkg-query -s "$package" >"$papers/$name"
    cp "$(dpkg-query --control-path "$package" md5sums)" "$papers/$name.md5sums"
    mkdir -p "$root/usr/share/doc/$name"
    copyright_of "$name" >"$root/usr/share/doc/$name/copyright"
done
copy /etc/os-release
mkdir -p "$root/usr/share/doc/attentiond"
cp LICENSE "$root/usr/share/doc/attentiond/copyright"
echo 'attentiond:x:65532:65532::/:/' >"$root/etc/passwd"
echo 'attentiond:x:65532:' >"$root/etc/group"
find "$root" -exec touch -h -d "@$3" {} +
