#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the recipes in deploy/proxy before three replicas on loopback: in the
middle of an open-loop load one is killed, one drained, one stopped, the last
for good, so that what it had taken can only be answered by another.

usage: test_proxy.py DAEMON OPENLOOP

The recipes are run as they are but for their ports. For nginx the daemon's
deadline and the patience beyond it, which is all that nginx has against a
replica that hangs, are 2 s and 3 s instead of 60 s and 65 s.
"""
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

RECIPES = os.path.join(os.path.dirname(__file__), "../../deploy/proxy")
DAEMON, OPENLOOP = map(os.path.abspath, sys.argv[1:3])
SECONDS = 12
NGINX = """daemon off; pid {0}/nginx.pid; error_log stderr error;
events {{ worker_connections 4096; }}
http {{ access_log off; include {0}/recipe; client_body_temp_path {0}/a;
proxy_temp_path {0}/b; fastcgi_temp_path {0}/c; uwsgi_temp_path {0}/d;
scgi_temp_path {0}/e; }}"""


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


def answers(port):
    try:
        url = f"http://127.0.0.1:{port}/readyz"
        with urllib.request.urlopen(url, timeout=2) as reply:
            return reply.status == 200
    except OSError:
        return False


def wait_for(port):
    until = time.monotonic() + 30
    while not answers(port):
        assert time.monotonic() < until, f"nobody is ready on port {port}"
        time.sleep(0.05)


def write_body(path, n, d):
    """A call whose reply is n rows of n weights: about 10 n n bytes."""
    rows = [[round((i * d + j) % 97 / 97 - 0.5, 3) for j in range(d)]
            for i in range(n)]
    with open(path, "w", encoding="ascii") as file:
        json.dump({"Q": rows, "K": rows, "V": rows, "causal": True}, file)


class Site:
    """Three replicas and a proxy before them."""

    def __init__(self, recipe, edits, deadline_s):
        self.deadline_s = deadline_s
        self.folder = tempfile.mkdtemp()
        self.port, *self.ports = free_ports(4)
        self.replicas = [None] * 3
        for i in range(3):
            self.start(i)
        with open(os.path.join(RECIPES, recipe), encoding="utf-8") as file:
            text = file.read()
        for i, port in enumerate([self.port, *self.ports]):
            text = text.replace(f"127.0.0.1:{8080 + i}", f"127.0.0.1:{port}")
        for old, new in edits:
            assert old in text, f"{recipe} holds no {old}"
            text = text.replace(old, new)
        shutil.copy(os.path.join(RECIPES, "haproxy.lua"), self.folder)
        self.recipe = os.path.join(self.folder, "recipe")
        with open(self.recipe, "w", encoding="utf-8") as file:
            file.write(text)

    def start(self, i):
        with open(os.path.join(self.folder, f"{i}.log"), "ab") as log:
            self.replicas[i] = subprocess.Popen(
                [DAEMON, "--port", str(self.ports[i]), "--log", "none",
                 "--timeout", str(self.deadline_s), "--drain-delay", "3"], stderr=log)
        wait_for(self.ports[i])

    def run(self, command):
        with open(os.path.join(self.folder, "proxy.log"), "ab") as log:
            self.proxy = subprocess.Popen(command, stderr=log)
        wait_for(self.port)

    def proxy_said(self):
        with open(os.path.join(self.folder, "proxy.log"), encoding="utf-8",
                  errors="replace") as log:
            return "\n" + log.read()[-4000:]

    def signal(self, i, number):
        self.replicas[i].send_signal(number)

    def close(self):
        self.proxy.terminate()
        self.proxy.wait(10)
        for replica in self.replicas:
            replica.kill()
            replica.wait(10)
        shutil.rmtree(self.folder)


class Load:
    """An open loop for SECONDS; then how many were sent, failed, and the
    latencies in ms."""

    def __init__(self, site, n, d, rate):
        body = os.path.join(site.folder, f"{n}.json")
        write_body(body, n, d)
        self.process = subprocess.Popen(
            [OPENLOOP, "--url", f"http://127.0.0.1:{site.port}/attention",
             "--body", body, "--rate", str(rate), "--seconds", str(SECONDS),
             "--timeout", "60", "--fresh", "--csv"], stdout=subprocess.PIPE, text=True)

    def result(self):
        out, _ = self.process.communicate(timeout=SECONDS + 90)
        fields = [float(x) for x in out.strip().split(",")]
        sent, answered = int(fields[0]), int(fields[3])
        return {"sent": sent, "failed": sent - answered,
                "p50": fields[9], "p99": fields[11], "max": fields[13]}


def strike(site):
    """Kills one, drains one, stops one; each is back before the next. The exit
    status of the one that was drained."""
    time.sleep(1.5)
    site.signal(0, signal.SIGKILL)
    site.replicas[0].wait()
    time.sleep(1)
    site.start(0)
    time.sleep(0.5)
    site.signal(1, signal.SIGTERM)
    status = site.replicas[1].wait(20)
    site.start(1)
    time.sleep(1.5)
    site.signal(2, signal.SIGSTOP)
    return status


def ordeal(site):
    loads = [Load(site, n=16, d=8, rate=100), Load(site, n=256, d=8, rate=4)]
    status = strike(site)
    results = [load.result() for load in loads]
    total = {"sent": sum(r["sent"] for r in results),
             "failed": sum(r["failed"] for r in results),
             "max": max(r["max"] for r in results)}
    return status, results, total


def report(name, results, total):
    print(f"{name}: {total['failed']} of {total['sent']} failed, worst "
          f"{total['max'] / 1e3:.1f} s; small p50 {results[0]['p50']:.1f} ms, "
          f"p99 {results[0]['p99']:.0f} ms", flush=True)


class ProxyTest(unittest.TestCase):
    def site(self, *arguments):
        site = Site(*arguments)
        self.addCleanup(site.close)
        return site

    def test_haproxy_loses_nothing(self):
        site = self.site("haproxy.cfg", [], 60)
        site.run(["haproxy", "-db", "-f", site.recipe])
        status, results, total = ordeal(site)
        report("HAProxy", results, total)
        self.assertEqual(status, 0)
        self.assertEqual(total["failed"], 0, site.proxy_said())
        # a hang is found by the checks, not by the patience of 65 s
        self.assertLess(total["max"], 20e3)

    def test_nginx_loses_little_and_waits_for_a_hang(self):
        site = self.site("nginx.conf", [("65s", "3s")], 2)
        whole = os.path.join(site.folder, "nginx.conf")
        with open(whole, "w", encoding="utf-8") as file:
            file.write(NGINX.format(site.folder))
        site.run(["nginx", "-c", whole])
        status, results, total = ordeal(site)
        report("nginx", results, total)
        self.assertEqual(status, 0)
        self.assertLess(total["failed"], total["sent"] / 100,
                        site.proxy_said())
        # but who met the hang had to wait for nginx's patience
        self.assertGreater(total["max"], 3e3)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
