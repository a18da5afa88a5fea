# SPDX-License-Identifier: MIT
"""giant - small requests beside a giant one, and the giant beside them.

A request of n = 16384 with 8 heads of width 64 (half a gigabyte of text) goes
round in a loop on one connection. By turns it is alone, and has n = 32
requests beside it at a constant 200 a second (openloop: a latency counts from
when the request was due). Prints their p99, and what share of its own pace
the giant keeps; fails if an aim is missed.
"""
import argparse
import os
import statistics
import sys
import tempfile
import threading
import time

import body
from small import Report, open_loop
from sweep import Client, Server, run

BLOCK = 64     # rows that are drawn; the rest repeats them


def giant_text(n, d, heads):
    drawn = body.Call(BLOCK, d, heads, False)
    rows = [",".join("[" + ",".join(map(repr, row)) + "]" for row in x)
            for x in (drawn.q, drawn.k, drawn.v)]
    parts = [f'"{name}":[' + ",".join([text] * (n // BLOCK)) + "]"
             for name, text in zip("QKV", rows)]
    return ("{" + ",".join(parts) + f',"num_heads":{heads},'
            '"return":["output"]}').encode()


class Giant(threading.Thread):
    """Asks again and again; notes when each answer was complete."""

    def __init__(self, url, text):
        super().__init__(daemon=True)
        self.client, self.text, self.ends = Client(url), text, []
        self.statuses, self.over = set(), False

    def run(self):
        while not self.over:
            self.statuses.add(
                self.client.ask("POST", "/attention", self.text)[0])
            self.ends.append(time.monotonic())

    def seconds_each(self, since):
        """Waits for the answer in hand; mean time of those after `since`."""
        seen = len(self.ends)
        while len(self.ends) == seen:
            time.sleep(0.01)
        ends = [end for end in self.ends if end >= since]
        if len(ends) < 3:
            sys.exit("the giant is too slow here: give more --seconds")
        return (ends[-1] - ends[0]) / (len(ends) - 1)


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--daemon", default="build/attentiond")
    p.add_argument("--tools", default="build/plain/tests/load")
    p.add_argument("--n", type=int, default=16384)
    p.add_argument("--heads", type=int, default=8)
    p.add_argument("--small", type=int, default=32)
    p.add_argument("--rate", type=float, default=200)
    p.add_argument("--seconds", type=float, default=20)
    p.add_argument("--turns", type=int, default=3)
    options = p.parse_args()
    print(f"Some {options.turns * options.seconds / 20:.0f} minutes; load of "
          f"the machine before: {os.getloadavg()[0]:.1f}\n", flush=True)
    report, p99s, lost, alone, beside = Report(), [], 0, [], []
    with Server([options.daemon, "--port", "0", "--log", "none"],
                "stderr") as service, tempfile.NamedTemporaryFile() as file:
        file.write(body.Call(options.small, 64, 1, True).text())
        file.flush()
        giant = Giant(service.url, giant_text(options.n, 64, options.heads))
        giant.start()
        for _ in range(options.turns):
            since = time.monotonic()
            time.sleep(options.seconds)
            alone.append(giant.seconds_each(since))
            since = time.monotonic()
            p99, failed = open_loop(options.tools, service.url + "/attention",
                                    file.name, options.rate, options.seconds)
            beside.append(giant.seconds_each(since))
            p99s.append(p99)
            lost += failed
        giant.over = True
        giant.join()
    share = statistics.median(a / b for a, b in zip(alone, beside))
    report.line(f"n = {options.small} at {options.rate:g} a second beside "
                f"n = {options.n} x {options.heads}: p99, ms",
                f"{statistics.median(p99s):.2f}", "10",
                statistics.median(p99s) <= 10 and lost == 0)
    report.line(f"the giant's pace beside them (alone "
                f"{statistics.median(alone):.2f} s each)", f"{share:.2f}",
                "0.90", share >= 0.9 and giant.statuses == {200})
    sys.exit(report.missed > 0)


if __name__ == "__main__":
    run(main)
