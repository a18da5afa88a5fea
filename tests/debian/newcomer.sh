#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: newcomer.sh RELEASE ROOT
# In the bare Debian in ROOT does what the README tells a newcomer: make run, a
# question by curl, Ctrl-C, make test. run.sh gives it namespaces of its own.
set -eu
cd "$(dirname "$0")/../.."
release=$1
root=$2
tree=/root/attentiond
port=18080
url=http://127.0.0.1:$port
request='{"Q": [[1, 0], [0, 1]], "K": [[1, 0], [0, 1]], "V": [[10, 0], [0, 10]]}'

fail() {
    echo "debian-test: $release: $*" >&2
    exit 1
}

inside() {
    chroot "$root" env -i HOME=/root TERM=dumb \
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        ${http_proxy:+"http_proxy=$http_proxy"} \
        ${https_proxy:+"https_proxy=$https_proxy"} \
        ${no_proxy:+"no_proxy=$no_proxy"} \
        sh -c "cd $tree && $1"
}

serve() {
    echo "debian-test: $release: make run"
    inside "exec setsid sh -c 'echo \$\$ >/make.pid
        exec env --default-signal=INT make run PORT=$port'" \
        >"$root/run.log" 2>&1 &
    make=$!
    until grep -q '^Serving on' "$root/run.log"; do
        if ! kill -0 $make 2>/dev/null || grep -q '^Not ready' "$root/run.log"
        then
            sleep 1
            cat "$root/run.log"
            fail "make run does not serve"
        fi
        sleep 1
    done
    cat "$root/run.log"
    ! grep 'warning: ' "$root/run.log" || fail "the compiler warns"
}

ask() {
    answer=$(inside "curl -sS $url/attention -d '$request'")
    case $answer in
    '{"output":[[6.697'*,3.302*'],[3.302'*,6.697*']],"A":[[0.669'*) ;;
    *) fail "the worked example gives $answer" ;;
    esac
}

leave() {
    kill -INT "-$(cat "$root/make.pid")"
    status=0
    wait "$make" || status=$?
    ! inside "curl -s $url/livez" || fail "Ctrl-C does not end the daemon"
    grep -q 'event=drain' "$root/run.log" || fail "the daemon did not drain"
    echo "debian-test: $release: Ctrl-C ended make run (status $status)"
}

try_tests() {
    echo "debian-test: $release: make test"
    inside 'make test; echo $? >/status' 2>&1 | tee "$root/test.log"
    [ "$(cat "$root/status")" = 0 ] || fail "make test fails"
    tail -n 1 "$root/test.log" | grep -qx '[1-9][0-9]* passed, 0 failed.*' ||
        fail "make test does not end with how many passed"
}

mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount --rbind /sys "$root/sys"
mkdir "$root$tree"
tar -c --exclude-vcs --exclude='./build*' --exclude=./node_modules . |
    tar -x --no-same-owner -C "$root$tree"
inside 'apt-get -qq update && apt-get -qq install -y make' \
    >"$root/make.log" 2>&1 || { cat "$root/make.log"; fail "no make"; }
serve
ask
leave
try_tests
echo "debian-test: $release: both commands do what the README says"
