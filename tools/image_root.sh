#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: image_root.sh DAEMON DIRECTORY SECONDS
# Makes in DIRECTORY the root of an image that holds the daemon and what it
# loads: the libraries that ldd names, and of each package one of them is from,
# its entry of dpkg's list, its checksums and its copyright, by which scanners
# and lawyers know it. All files get the time SECONDS since 1970.
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

umask 022
rm -rf "$root"
mkdir -p "$papers" "$root/etc"
install -s -m 755 "$daemon" "$root/attentiond"
for library in $(libraries); do
    copy "$library"
    package=$(package_of "$library")
    name=${package%%:*}
    dpkg-query -s "$package" >"$papers/$name"
    cp "$(dpkg-query --control-path "$package" md5sums)" "$papers/$name.md5sums"
    copy "/usr/share/doc/$name/copyright"
done
copy /etc/os-release
mkdir -p "$root/usr/share/doc/attentiond"
cp LICENSE "$root/usr/share/doc/attentiond/copyright"
echo 'attentiond:x:65532:65532::/:/' >"$root/etc/passwd"
echo 'attentiond:x:65532:' >"$root/etc/group"
find "$root" -exec touch -h -d "@$3" {} +
