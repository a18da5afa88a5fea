# SPDX-License-Identifier: MIT
"""small - small requests beside a bare server, and health under load.

For n = 2 ... 16 with d = 4 and 1, 8, 32 connections, turn by turn in one run:
attentiond, and a libmicrohttpd program that reads the same body and answers as
many bytes (swallow.c), with as much memory for a connection. The ratio is the
median over the turns: short ones, but many, for each time the connections fall
otherwise on the bare server's threads, which makes a third of its pace; the
requests of all turns, all to all, depend less on which of its two paces it had
more often, and what each costs of the processor does not depend on that. Then
an open loop at half of what was reached with the most connections; requests in
two writes on a kept connection, where a cliff of 40 or 200 ms would show, by
Nagle's rule and without; /livez with every worker busy and the queue full;
memory after a thousand mixed requests and five seconds of rest. Fails if an aim
is missed.
"""
import argparse
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time

import body
from soak import look
from sweep import Client, Server, closed_loop, metric, run

TURN_S = 1
MOST_RATE = 8000       # above it openloop takes a whole core for itself
QUEUE = 8
POOL_KIB = "64"        # CONNECTION_MEMORY_BYTES of the daemon


class Report:
    def __init__(self):
        self.missed = 0
        print("| what | measured | aim | |\n|---|---|---|---|")

    def line(self, what, measured, aim, met):
        self.missed += not met
        print(f"| {what} | {measured} | {aim} | {'ok' if met else 'missed'} |",
              flush=True)


def quantile(values, q):
    return sorted(values)[int(q * (len(values) - 1) + 0.5)]


def open_loop(tools, url, file, rate, seconds):
    """p99 in ms from when a request was due; how many failed."""
    out = subprocess.run(
        [f"{tools}/openloop", "--url", url, "--body", file, "--rate",
         f"{min(rate, MOST_RATE):.0f}", "--seconds", f"{seconds + 1:g}",
         "--warm-up", "1", "--open", "64", "--csv"],
        capture_output=True, text=True, check=False).stdout.split(",")
    return float(out[11]), int(out[0]) - int(out[3])


def spent_us(server):
    """Of the processor, by all threads of a server."""
    with open(f"/proc/{server.process.pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") * 1e6


def turn(server, path, file, connections):
    """Requests a second, and the processor's microseconds for each."""
    before = spent_us(server)
    rate, _, _, asked = closed_loop(server.url + path, file, connections,
                                    TURN_S)
    return rate, (spent_us(server) - before) / asked


def compare(options, report, service, floor, n):
    text = body.Call(n, 4, 1, True).text()
    reply = Client(service.url).ask("POST", "/attention", text)[2]
    path = f"/?bytes={len(reply)}"
    with tempfile.NamedTemporaryFile() as file:
        file.write(text)
        file.flush()
        for connections in map(int, options.connections.split(",")):
            turns = [turn(service, "/attention", file.name, connections)
                     + turn(floor, path, file.name, connections)
                     for _ in range(options.turns)]
            ratio = statistics.median(a / b for a, _, b, _ in turns)
            rate, us, bare, bare_us = map(statistics.median, zip(*turns))
            whole = sum(a for a, *_ in turns) / sum(b for *_, b, _ in turns)
            report.line(f"n = {n}, connections: {connections}; requests a "
                        "second of attentiond and bare (of the processor "
                        f"{us:.0f} and {bare_us:.0f} us each)",
                        f"{rate:.0f} / {bare:.0f} = {ratio:.2f} "
                        f"(all to all {whole:.2f})", "0.70", ratio >= 0.7)
        p99, failed = open_loop(options.tools, service.url + "/attention",
                                file.name, rate / 2, options.seconds)
        bare99, _ = open_loop(options.tools, floor.url + path, file.name,
                              rate / 2, options.seconds)
    report.line(f"n = {n}: p99 at {min(rate / 2, MOST_RATE):.0f} a second, "
                f"ms (bare {bare99:.2f})", f"{p99:.2f}", "1",
                p99 < 1 and failed == 0)


def two_writes(url, client_waits):
    """p50, p90, p99 in ms of 300 requests whose headers and body go in two
    writes; client_waits: by Nagle's rule, the second for the first's
    acknowledgement."""
    client, text, ms = Client(url), body.Call(16, 4, 1, True).text(), []
    client.open.connect()
    client.open.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY,
                                not client_waits)
    for _ in range(300):
        start = time.perf_counter()
        client.ask("POST", "/attention", text)
        ms.append((time.perf_counter() - start) * 1e3)
    return [quantile(ms, q) for q in (0.5, 0.9, 0.99)]


def cliff(report, url, floor_url):
    for waits in (False, True):
        ours, bare = two_writes(url, waits), two_writes(floor_url, waits)
        report.line(f"two writes, Nagle's rule {'on' if waits else 'off'}: "
                    f"p50, p90, p99 in ms (bare p90 {bare[1]:.1f})",
                    " / ".join(f"{x:.2f}" for x in ours), "p90 below 20",
                    ours[1] < 20)


def get(url, path):
    """Status of one GET on a new connection, and its ms."""
    start = time.perf_counter()
    status = Client(url).ask("GET", path)[0]
    return status, (time.perf_counter() - start) * 1e3


def health(report, options):
    giant = body.Call(12000, 64, 1, False).text()
    head = (b"POST /attention HTTP/1.1\r\nHost: small\r\n"
            b"Content-Length: %d\r\n\r\n" % len(giant))
    with Server([options.daemon, "--port", "0", "--log", "none", "--queue",
                 str(QUEUE)], "stderr") as service:
        client, held, ms, full = Client(service.url), [], [], 0
        host, port = client.host.split(":")

        def refill():
            while metric(client, "attention_queue_depth") < QUEUE:
                s = socket.create_connection((host, int(port)))
                s.sendall(head + giant)
                held.append(s)
                time.sleep(0.02)

        for i in range(1000):
            if i % 50 == 0:
                refill()
            status, took = get(service.url, "/livez")
            ms.append(took)
            full += status == 200
        for s in held:
            s.close()
    report.line("1000 GET /livez, queue full: p50, p99, worst in ms",
                " / ".join(f"{quantile(ms, q):.2f}" for q in (0.5, 0.99, 1)),
                "p99 below 20", quantile(ms, 0.99) < 20 and full == 1000)


def memory(report, url, pid):
    shapes = [(2, 4, 1, True), (16, 4, 1, True), (64, 16, 2, True),
              (256, 32, 1, False), (700, 16, 1, True), (2000, 32, 1, False),
              (5, 8, 1, True), (33, 8, 2, True), (100, 64, 1, True),
              (1200, 8, 1, True)]
    texts, client = [body.Call(*shape).text() for shape in shapes], Client(url)
    for i in range(1010):
        client.ask("POST", "/attention", texts[i % len(texts)])
        if i == 9:
            after_ten = look(pid)["memory, MB"]
    time.sleep(5)
    ratio = look(pid)["memory, MB"] / after_ten
    report.line("resident after 1000 mixed requests and 5 s, to after ten",
                f"{ratio * after_ten:.1f} / {after_ten:.1f} MB = {ratio:.2f}",
                "1.20", ratio <= 1.2)


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--daemon", default="build/attentiond")
    p.add_argument("--tools", default="build/plain/tests/load")
    p.add_argument("--connections", default="1,8,32")
    p.add_argument("--seconds", type=float, default=3)
    p.add_argument("--turns", type=int, default=9)
    options = p.parse_args()
    command = [options.daemon, "--port", "0", "--log", "none"]

    print(f"Some five minutes; load of the machine before: "
          f"{os.getloadavg()[0]:.1f}\n", flush=True)
    report = Report()
    with Server(command, "stderr") as service, \
            Server([f"{options.tools}/swallow", "0", POOL_KIB],
                   "stdout") as floor:
        for n in (2, 4, 8, 16):
            compare(options, report, service, floor, n)
        cliff(report, service.url, floor.url)
    health(report, options)
    with Server(command, "stderr") as service:
        memory(report, service.url, service.process.pid)
    sys.exit(report.missed > 0)


if __name__ == "__main__":
    run(main)
