#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: example.sh DAEMON PORT
# Becomes the daemon, so that Ctrl-C reaches it and its exit status is ours;
# a child left behind waits until it is ready and posts the worked example.
set -eu

daemon=$1
port=$2
url=http://127.0.0.1:$port
request='{"Q": [[1, 0], [0, 1]], "K": [[1, 0], [0, 1]], "V": [[10, 0], [0, 10]]}'

post_example() {
    until curl -sf -o /dev/null "$url/readyz"; do
        kill -0 $$ 2>/dev/null || exit
        sleep 0.1
    done
    answer=$(curl -sS "$url/attention" -d "$request")
    printf "\n$ curl %s/attention -d '%s'\n%s\n\n%s\n" "$url" "$request" \
        "$answer" "Serving on $url until Ctrl-C."
}

# Somebody else answers on this port: let the daemon find out and say so.
if ! curl -s -o /dev/null "$url/livez"; then
    (post_example &)
fi
exec "$daemon" --host 127.0.0.1 --port "$port"
