# SPDX-License-Identifier: MIT
"""floor - whole requests a second, as a part of what a server reaches that
only swallows the same body and answers as many bytes (swallow.c).

Turn by turn, both in a closed loop (wrk) over loopback, with one connection
and with eight: medians of the turns, the CPU time of the service for a
request, and the steps of a request that is alone, as Server-Timing tells
them. d = 64, one head, float32 as Python prints it. Prints one JSON object a
line.

`aim` is the ratio that a good C++ server (Boost.Beast, simdjson, OpenBLAS,
to_chars) reached on the same kind of machine, in a run kept aside, times what
we want to be faster: 2.2 to 3 times with one connection, 1.7 to 2.2 with
eight.
"""
import argparse
import json
import statistics
import tempfile

import body
from sweep import PHASES, Client, Server, closed_loop, metric, run, timings

# (n, A): aims with one connection and with eight
AIMS = {(16, False): (2.2 * 3814 / 21944, 1.7 * 8674 / 28479),
        (64, False): (2.5 * 1256 / 11049, 1.7 * 3047 / 12701),
        (256, False): (3 * 410 / 6161, 2 * 817 / 7124),
        (1024, False): (3 * 100 / 849, 2.2 * 107 / 1026),
        (2048, False): (2.7 * 41 / 379, 2 * 57 / 463),
        (256, True): (3 * 230 / 2239, 2 * 393 / 2638),
        (1024, True): (3 * 22 / 143, 2 * 36 / 179)}
D = 64


def steps(client, text):
    """Median ms of each step, of nine requests alone."""
    times = [timings(client.ask("POST", "/attention", text)[1])
             for _ in range(9)]
    return {f"{phase}_ms": round(statistics.median(column), 3)
            for phase, column in zip(PHASES, zip(*times)) if any(column)}


def turn(client, url, floor_url, file, connections, seconds):
    """Requests a second of both, and CPU ms a request of the service."""
    cpu = metric(client, "process_cpu_seconds_total")
    rate, _, _, asked = closed_loop(url, file, connections, seconds)
    cpu = metric(client, "process_cpu_seconds_total") - cpu
    bare = closed_loop(floor_url, file, connections, seconds)[0]
    return rate, bare, cpu * 1e3 / asked, rate / bare


def compare(options, client, url, floor_url, shape):
    n, with_a = shape
    call = body.Call(n, D, 1, with_a)
    text = call.text()
    reply = client.ask("POST", "/attention", text)[2]
    if wrong := call.fault(reply):
        raise RuntimeError(f"n = {n}: {wrong}")
    alone = steps(client, text)
    floor_url = f"{floor_url}/attention?bytes={len(reply)}"
    with tempfile.NamedTemporaryFile() as file:
        file.write(text)
        file.flush()
        for connections, aim in zip((1, 8), AIMS[shape]):
            turns = [turn(client, url + "/attention", floor_url, file.name,
                          connections, options.seconds)
                     for _ in range(options.turns)]
            rate, bare, cpu, ratio = map(statistics.median, zip(*turns))
            print(json.dumps({
                "n": n, "A": with_a, "connections": connections,
                "per_second": round(rate, 1), "swallow": round(bare, 1),
                "ratio": round(ratio, 3), "aim": round(aim, 3),
                "cpu_ms": round(cpu, 3), **alone}), flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--daemon", default="build/attentiond")
    p.add_argument("--tools", default="build/plain/tests/load")
    p.add_argument("--seconds", type=float, default=1)
    p.add_argument("--turns", type=int, default=7)
    options = p.parse_args()
    with Server([options.daemon, "--port", "0", "--log", "none"],
                "stderr") as service, \
            Server([f"{options.tools}/swallow", "0"], "stdout") as floor:
        client = Client(service.url)
        for shape in AIMS:
            compare(options, client, service.url, floor.url, shape)


if __name__ == "__main__":
    run(main)
