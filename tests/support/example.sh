#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: example.sh DAEMON PORT
# Becomes the daemon, so that Ctrl-C reaches it and its exit status is ours;
# a child left behind waits until it is ready and posts the worked example. If
# that takes more than 5 s, it tells once what the daemon answers.
set -eu

daemon=$1
port=$2
url=http://127.0.0.1:$port
request='{"Q": [[1, 0], [0, 1]], "K": [[1, 0], [0, 1]], "V": [[10, 0], [0, 10]]}'

ask() {
    curl -sS --noproxy '*' -m 2 "$@" 2>&1
}

post_example() {
    patience=$(($(date +%s) + 5))
    until ask -f -o /dev/null "$url/readyz" >/dev/null; do
        kill -0 $$ 2>/dev/null || exit
        if [ $patience != 0 ] && [ "$(date +%s)" -ge $patience ]; then
            patience=0
            printf '\nNot ready after 5 s. $ curl %s\n%s\n' "$url/readyz" \
                "$(ask -w '\n(status %{http_code})' "$url/readyz" |
                    grep -v '(status 000)')"
        fi
        sleep 0.1
    done
    printf "\n$ curl %s/attention -d '%s'\n%s\n\n%s\n" "$url" "$request" \
        "$(ask "$url/attention" -d "$request")" \
        "Serving on $url until Ctrl-C."
}

# Status 7: nobody answers there. Else it is somebody, of whatever kind.
status=0
ask -o /dev/null "$url/livez" >/dev/null || status=$?
if [ $status != 7 ]; then
    echo "Port $port is taken; choose another: make run PORT=$((port + 1))" >&2
    exit 1
fi
(post_example &)
exec "$daemon" --host 127.0.0.1 --port "$port"
