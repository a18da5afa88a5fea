#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: envoy.sh FOLDER
# There is no Envoy in Debian to run its recipe, so it is held against Envoy's
# message types, which npm brings to FOLDER.
set -eu
cd "$(dirname "$0")/../.."

mkdir -p "$1"
folder=$(cd "$1" && pwd)
if [ ! -e "$folder/installed" ]; then
    echo "Fetching Envoy's message types with npm"
    npm install --loglevel=error --fetch-retries=1 --no-progress \
        --ignore-scripts --no-audit --no-fund --prefix "$folder" \
        @grpc/grpc-js-xds@1.14.1 protobufjs@8.8.1 js-yaml@5.5.0 >/dev/null
    touch "$folder/installed"
fi
NODE_PATH=$folder/node_modules node tests/proxy/envoy.js deploy/proxy/envoy.yaml
