# SPDX-License-Identifier: MIT
"""sweep - how the service scales with the sequence.

For n = 2, 4, ... it posts one request and holds the reply against the formula,
asks in a closed loop (wrk: as fast as answers come), then in an open loop
(openloop: at a third of that rate, latency from when a request was due), and
asks the same of a server that only swallows the body. Leaves sweep.csv,
sweep.svg, latency.svg, phases.svg, memory.svg and a plot in text. Ctrl-C keeps
what is there.
"""
import argparse
import csv
import http.client
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.parse

import body
import plot

# What a client sends in one call, as curl does. A kernel that takes half a
# gigabyte in one call keeps its core for tens of milliseconds, and the service
# on the same machine waits.
PIECE = 65536
PHASES = ["receive", "queue", "decode", "compute", "encode"]
COLUMNS = (["n", "d", "heads", "with_A", "connections", "body_bytes",
            "reply_bytes", "requests_per_second", "tokens_per_second",
            "closed_p50_ms", "closed_p99_ms", "open_rate", "open_p50_ms",
            "open_p99_ms", "open_failed", "floor_requests_per_second",
            "cpu_ms"]
           + [f"{phase}_ms" for phase in PHASES] + ["resident_mb"])


def arguments():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--url", help="a running service; else one is started")
    p.add_argument("--daemon", default="build/attentiond")
    p.add_argument("--tools", default="build/plain/tests/load",
                   help="where openloop and swallow are")
    p.add_argument("--from", dest="first", type=int, default=2)
    p.add_argument("--to", dest="last", type=int, default=4096)
    p.add_argument("--d", type=int, default=64)
    p.add_argument("--heads", type=int, default=1)
    p.add_argument("--A", dest="with_a", action="store_true")
    p.add_argument("--connections", type=int, default=1)
    p.add_argument("--rate", type=float, default=0,
                   help="of the open loop; 0: a third of the closed loop's")
    p.add_argument("--seconds", type=float, default=3)
    p.add_argument("--out", default="build/load")
    return p.parse_args()


def base_url(text):
    """The address of a service, without a path."""
    parts = urllib.parse.urlsplit(text)
    if parts.scheme != "http" or not parts.netloc:
        raise ValueError(
            f"{text} is no address such as http://127.0.0.1:8080")
    return text.rstrip("/")


def run(main):
    """Whatever goes wrong with a service or its tools is told in one line."""
    try:
        main()
    except subprocess.CalledProcessError as error:
        sys.exit(f"{error.cmd[0]}: {error.stdout}{error.stderr}".strip())
    except (OSError, RuntimeError, ValueError,
            http.client.HTTPException) as error:
        sys.exit(f"{os.path.basename(sys.argv[0])}: {error}")


class Server:
    """A program that prints `listening on URL`, until the end of a with."""

    def __init__(self, command, stream):
        self.process = subprocess.Popen(
            command, text=True, start_new_session=True,
            **{"stdout": subprocess.DEVNULL, stream: subprocess.PIPE})
        self.url = None
        for line in getattr(self.process, stream):
            if found := re.search(r"listening on (\S+)", line):
                self.url = found[1]
                break
        if not self.url:
            sys.exit(f"{command[0]} did not start")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()


class Client:
    """One kept connection."""

    def __init__(self, url):
        self.host = urllib.parse.urlsplit(url).netloc
        self.open = http.client.HTTPConnection(self.host, timeout=300)

    def ask(self, method, path, data=b""):
        pieces = (data[i:i + PIECE] for i in range(0, len(data), PIECE))
        try:
            self.open.request(method, path, pieces if data else None,
                              {"Content-Type": "application/json",
                               "Content-Length": str(len(data))})
            reply = self.open.getresponse()
            return reply.status, reply.headers, reply.read()
        except OSError as error:
            raise OSError(f"http://{self.host}: {error}") from error


def timings(headers):
    found = dict(re.findall(r"(\w+);dur=([\d.]+)",
                            headers.get("Server-Timing", "")))
    return [float(found.get(phase, 0)) for phase in PHASES]


def metric(client, name):
    _, _, text = client.ask("GET", "/metrics")
    found = re.search(rf"^{name} (\S+)", text.decode(), re.M)
    return float(found[1]) if found else 0.0


def closed_loop(url, body_file, connections, seconds):
    """wrk's requests a second, p50 and p99 in ms, how many it sent."""
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write("wrk.method = 'POST'\n"
                     f"local f = io.open('{body_file}', 'rb')\n"
                     "wrk.body = f:read('*a')\n"
                     "wrk.headers['Content-Type'] = 'application/json'\n"
                     "done = function(s, l, r) io.write(string.format("
                     "'RESULT %.3f %.3f %.3f %d %d\\n', s.requests / s.duration"
                     " * 1e6, l:percentile(50) / 1e3, l:percentile(99) / 1e3,"
                     " s.requests, s.errors.status + s.errors.connect + s.errors.read"
                     " + s.errors.write + s.errors.timeout)) end\n")
        script.flush()
        out = subprocess.run(
            ["wrk", "-t1", f"-c{connections}", f"-d{seconds:.0f}s",
             "--timeout", "60s", "-s", script.name, url],
            capture_output=True, text=True, check=True).stdout
    rate, p50, p99, asked, errors = re.search(
        r"RESULT (\S+) (\S+) (\S+) (\d+) (\d+)", out).groups()
    if int(errors):
        raise RuntimeError(f"{errors} failed under wrk")
    return float(rate), float(p50), float(p99), int(asked)


def open_loop(tools, url, body_file, rate, seconds):
    """p50 and p99 in ms, and how many failed."""
    out = subprocess.run(
        [f"{tools}/openloop", "--url", url, "--body", body_file, "--rate",
         f"{min(rate, 5000):.3f}", "--seconds", f"{seconds + 1:g}",
         "--warm-up", "1", "--open", "64", "--csv", "--timeout", "60"],
        capture_output=True, text=True, check=False).stdout.split(",")
    return float(out[9]), float(out[11]), int(out[0]) - int(out[3])


def measure(options, url, floor_url, n):
    call = body.Call(n, options.d, options.heads, options.with_a)
    data = call.text()
    client = Client(url)
    status, _, reply = client.ask("POST", "/attention", data)
    wrong = call.fault(reply) if status == 200 else (
        f"status {status}: "
        + " ".join(reply.decode(errors="replace").split())[:200])
    if wrong:
        raise RuntimeError(f"n = {n}: {wrong}")
    times = [timings(client.ask("POST", "/attention", data)[1])
             for _ in range(9)]
    phases = [sorted(column)[4] for column in zip(*times)]
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        cpu = metric(client, "process_cpu_seconds_total")
        rate, p50, p99, asked = closed_loop(
            url + "/attention", file.name, options.connections,
            options.seconds)
        cpu = metric(client, "process_cpu_seconds_total") - cpu
        floor = closed_loop(f"{floor_url}/attention?bytes={len(reply)}",
                            file.name, options.connections,
                            options.seconds)[0] if floor_url else 0
        steady = options.rate or rate / 3
        o50, o99, failed = open_loop(options.tools, url + "/attention",
                                     file.name, steady, options.seconds)
    return dict(zip(COLUMNS, [
        n, options.d, options.heads, int(options.with_a),
        options.connections, len(data), len(reply), round(rate, 2),
        round(rate * n), p50, p99, round(steady, 2), o50, o99, failed,
        round(floor, 2), round(cpu * 1e3 / asked, 3), *phases,
        round(metric(client, "process_resident_memory_bytes") / 1e6, 1)],
        strict=True))


def lines(rows, column):
    return [(r["n"], r[column]) for r in rows if r[column] > 0]


def square(rows):
    """What falls as 1/n^2, through the last point."""
    last = rows[-1]
    return [(r["n"], last["requests_per_second"] * (last["n"] / r["n"]) ** 2)
            for r in rows[-4:]]


def count(number, noun):
    return f"{number} {noun}{'' if number == 1 else 's'}"


def draw(options, rows):
    shape = (f"d = {options.d}, {count(options.heads, 'head')}, "
             f"{'with' if options.with_a else 'without'} A, "
             f"{count(options.connections, 'connection')}")
    throughput = {"requests a second": lines(rows, "requests_per_second"),
                  "tokens a second": lines(rows, "tokens_per_second"),
                  "~same bytes, no computing": lines(
                      rows, "floor_requests_per_second"),
                  "~falls as 1/n^2": square(rows)}
    pictures = {
        "sweep": ("a second", throughput),
        "latency": ("ms", {"open loop p50": lines(rows, "open_p50_ms"),
                           "p99 of the open loop": lines(
                               rows, "open_p99_ms")}),
        "phases": ("ms", {p: lines(rows, f"{p}_ms") for p in PHASES}),
        "memory": ("MB", {"resident": lines(rows, "resident_mb")})}
    for name, (unit, curves) in pictures.items():
        curves = {k: v for k, v in curves.items() if len(v) > 1}
        if not curves:
            continue
        with open(f"{options.out}/{name}.svg", "w") as f:
            f.write(plot.svg(f"{name}: {shape}", "sequence length n", unit,
                             curves))
        print(plot.text(f"{name} ({unit}): {shape}", curves))


def sweep(options, url, floor_url):
    rows, n = [], options.first
    Client(url).ask("GET", "/livez")
    print(f"Sweeping n = {n} ... {options.last}: a quarter of a minute each, "
          "more above 1000", file=sys.stderr)
    with open(f"{options.out}/sweep.csv", "w") as file:
        table = csv.DictWriter(file, COLUMNS)
        table.writeheader()
        while n <= options.last:
            started = time.monotonic()
            try:
                rows.append(measure(options, url, floor_url, n))
            except KeyboardInterrupt:
                print("stopped; what is measured is kept", file=sys.stderr)
                break
            table.writerow(rows[-1])
            file.flush()
            print(f"n = {n:5}  {rows[-1]['requests_per_second']:10.1f} "
                  f"requests/s  p99 {rows[-1]['open_p99_ms']:.2f} ms  "
                  f"({time.monotonic() - started:.0f} s)", file=sys.stderr)
            n *= 2
    if len(rows) > 1:
        draw(options, rows)


def main():
    options = arguments()
    os.makedirs(options.out, exist_ok=True)
    if options.url:
        sweep(options, base_url(options.url), None)
        return
    with Server([options.daemon, "--port", "0", "--log", "none"],
                "stderr") as service, \
            Server([f"{options.tools}/swallow", "0"], "stdout") as floor:
        sweep(options, service.url, floor.url)


if __name__ == "__main__":
    run(main)
