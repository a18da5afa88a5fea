#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: image.sh NAME VERSION [FLAG...]
# Builds the image with the engine at hand, labelled and dated by the commit
# it is from: the same tree and packages give the same layers, bit by bit.
set -eu
cd "$(dirname "$0")/.."

name=$1
version=$2
shift 2
engine=$(tools/engine.sh)
revision=$(git rev-parse HEAD 2>/dev/null || echo unknown)
epoch=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
case $engine in
podman) set -- --format docker --timestamp "$epoch" "$@" ;;
esac

$engine build --tag "$name" --build-arg "SOURCE_DATE_EPOCH=$epoch" \
    --build-arg "VERSION=$version" --build-arg "REVISION=$revision" \
    --build-arg "CREATED=$(date -u -d "@$epoch" +%Y-%m-%dT%H:%M:%SZ)" "$@" .
