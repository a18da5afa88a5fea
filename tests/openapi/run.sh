#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: run.sh DAEMON FOLDER
# Holds openapi.yaml, as the daemon serves it, against what the daemon does:
# validates all requests and replies of the tests and documents, and compiles
# and runs a TypeScript client that is generated from it. What npm brings goes
# to FOLDER, with the versions of package-lock.json.
set -eu
cd "$(dirname "$0")/../.."

daemon=$1
mkdir -p "$2"
folder=$(cd "$2" && pwd)

cp tests/openapi/*.json tests/openapi/*.mjs tests/openapi/*.ts "$folder"
if ! cmp -s tests/openapi/package-lock.json "$folder/installed"; then
    echo "Fetching what validates, with npm"
    (cd "$folder" && npm ci --loglevel=error --fetch-retries=1 --no-progress \
        --ignore-scripts --no-audit --no-fund >/dev/null)
    cp tests/openapi/package-lock.json "$folder/installed"
fi

"$daemon" --port 0 --log none >"$folder/daemon.log" 2>&1 &
pid=$!
trap 'kill $pid' EXIT
for _ in $(seq 100); do
    url=$(sed -n 's/^listening on //p' "$folder/daemon.log")
    [ -z "$url" ] || break
    sleep 0.1
done
[ -n "$url" ] || { cat "$folder/daemon.log"; exit 1; }

export no_proxy=127.0.0.1
timeout 300 node "$folder/validate.mjs" "$url"
cd "$folder"
curl -sf "$url/openapi.json" -o openapi.json
node_modules/.bin/openapi-typescript openapi.json -o generated.ts \
    --default-non-nullable=false >client.log || { cat client.log; exit 1; }
node_modules/.bin/tsc -p .
timeout 60 node client.js "$url"
echo "The generated client compiles, and the daemon answers it"
