#!/bin/sh
# SPDX-License-Identifier: MIT
# Checks openapi.yaml against the OpenAPI rules, with a linter from npm.
set -eu
cd "$(dirname "$0")/../.."

export REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true
export npm_config_loglevel=error npm_config_fetch_retries=1
npx --yes @redocly/cli@1.34.3 lint --config tests/lint/redocly.yaml \
    --max-problems 20 openapi.yaml
