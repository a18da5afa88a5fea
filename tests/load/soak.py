# SPDX-License-Identifier: MIT
"""soak - everything at once for a long time, and what is left of it.

Twelve clients ask for calls of mixed sizes, send what is refused, leave in
the upload, in the work and in the reply, send and read slowly, and give
deadlines that pass. Each whole reply must have the bytes of the first one.
Memory, descriptors and threads are compared after a warm-up of a tenth of the
time and at the end, both after some seconds of rest; growth beyond a fifth
fails, and so does any reply that is not what it should be.
"""
import argparse
import collections
import os
import random
import signal
import socket
import struct
import sys
import threading
import time

import body
from sweep import Client, Server, metric, run

SHAPES = [(2, 4, 1, True), (16, 4, 1, True), (64, 16, 2, True),
          (256, 32, 1, False), (500, 16, 1, True), (1500, 32, 2, False)]
REFUSED = {b'{"Q":': 400, b'{"Q":[[1]],"K":[[1,2]],"V":[[1]]}': 422,
           b'{"Q":[[1],[1,2]],"K":[[1]],"V":[[1]]}': 422, b"{}": 400}
REST_S = 6      # more than --trim-after


class Soak:
    def __init__(self, url):
        self.url = url
        self.host, self.port = url.split("//")[1].split(":")
        self.texts = [body.Call(*shape).text() for shape in SHAPES]
        self.replies = [self.first(text) for text in self.texts]
        self.done = collections.Counter()
        self.faults = []

    def first(self, text):
        status, _, reply = Client(self.url).ask("POST", "/attention", text)
        if status != 200:
            sys.exit(f"{status}: {reply.decode()}")
        return reply

    # ------------------------------------------------------ what clients do

    def connect(self):
        s = socket.create_connection((self.host, int(self.port)), timeout=60)
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return s

    @staticmethod
    def head(text, more=b""):
        return (b"POST /attention HTTP/1.1\r\nHost: soak\r\n" + more
                + b"Content-Length: %d\r\n\r\n" % len(text))

    @staticmethod
    def leave(s, draw):
        if draw.random() < 0.5:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                         struct.pack("ii", 1, 0))
        s.close()

    def ask(self, draw, client):
        for _ in range(20):
            i = draw.randrange(len(self.texts))
            status, _, reply = client.ask("POST", "/attention", self.texts[i])
            if status == 503:
                time.sleep(0.1)
            elif status != 200 or reply != self.replies[i]:
                self.faults.append(f"shape {i}: {status}, other bytes")

    def refused(self, draw, client):
        text, expected = draw.choice(list(REFUSED.items()))
        status = client.ask("POST", "/attention", text)[0]
        if status != expected:
            self.faults.append(f"{text}: {status}")

    def probe(self, draw, client):
        path = draw.choice(["/livez", "/readyz", "/metrics", "/info", "/"])
        if client.ask("GET", path)[0] != 200:
            self.faults.append(path)

    def deadline(self, draw, client):
        s = self.connect()
        try:
            s.sendall(self.head(self.texts[-1], b"Request-Timeout: 0.02\r\n"
                                b"Connection: close\r\n") + self.texts[-1])
        except BrokenPipeError:
            pass    # it has been answered in the middle: that can be read
        status = s.recv(12)[-3:]
        while s.recv(65536):
            pass
        s.close()
        if status not in (b"504", b"503", b"200"):
            self.faults.append(f"deadline: {status}")

    def leave_upload(self, draw, client):
        text = draw.choice(self.texts)
        s = self.connect()
        s.sendall(self.head(text) + text[:draw.randrange(len(text))])
        self.leave(s, draw)

    def leave_work(self, draw, client):
        s = self.connect()
        s.sendall(self.head(self.texts[-1]) + self.texts[-1])
        time.sleep(draw.random() * 0.05)
        self.leave(s, draw)

    def leave_reply(self, draw, client):
        s = self.connect()
        s.sendall(self.head(self.texts[4]) + self.texts[4])
        s.recv(1000)
        self.leave(s, draw)

    def slow(self, draw, client):
        """A piece at a time, then half closed, then read a bit at a time."""
        i, got = draw.choice([1, 2, 4]), b""
        s = self.connect()
        request = self.head(self.texts[i]) + self.texts[i]
        step = len(request) // 8 + 1
        for at in range(0, len(request), step):
            s.sendall(request[at:at + step])
            time.sleep(0.1)
        s.shutdown(socket.SHUT_WR)
        while part := s.recv(1 << 18):
            got += part
            time.sleep(0.01)
        s.close()
        if b"HTTP/1.1 200" not in got and b"HTTP/1.1 503" not in got:
            self.faults.append(f"slow: {got[:200]!r}")

    def client(self, number, until):
        draw, client = random.Random(number), Client(self.url)
        deeds = [self.ask] * 4 + [self.refused, self.probe, self.deadline,
                                  self.leave_upload, self.leave_work,
                                  self.leave_reply, self.slow]
        while time.monotonic() < until and not self.faults:
            deed = draw.choice(deeds)
            try:
                deed(draw, client)
                self.done[deed.__name__] += 1
            except OSError as error:
                self.faults.append(f"{deed.__name__}: {error!r}")

    def run(self, seconds):
        until = time.monotonic() + seconds
        clients = [threading.Thread(target=self.client, args=(k, until))
                   for k in range(12)]
        for c in clients:
            c.start()
        for c in clients:
            c.join()
        time.sleep(REST_S)


def look(pid):
    """Resident MB, descriptors, threads."""
    with open(f"/proc/{pid}/status") as file:
        status = dict(line.split(":", 1) for line in file)
    return {"memory, MB": int(status["VmRSS"].split()[0]) / 1024,
            "descriptors": len(os.listdir(f"/proc/{pid}/fd")),
            "threads": int(status["Threads"])}


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--daemon", default="build/attentiond")
    p.add_argument("--seconds", type=float, default=600)
    options = p.parse_args()

    with Server([options.daemon, "--port", "0", "--log", "none"],
                "stderr") as service:
        soak, pid = Soak(service.url), service.process.pid
        print(f"Twelve clients for {options.seconds:.0f} s, in silence",
              flush=True)
        soak.run(options.seconds / 10)
        start = look(pid)
        soak.run(options.seconds * 0.9)
        end = look(pid)
        left = metric(Client(service.url), "attention_queue_depth")
    if service.process.returncode != 0:
        soak.faults.append(f"exit status {service.process.returncode}")
    if left != 0:
        soak.faults.append(f"{left:.0f} requests left in the queue")
    print("  ".join(f"{k} {n}" for k, n in sorted(soak.done.items())))
    print("| | start | end | |\n|---|---|---|---|")
    for what, before in start.items():
        grown = end[what] / before - 1
        verdict = "ok" if grown <= 0.2 else "GROWN"
        print(f"| {what} | {before:.4g} | {end[what]:.4g} | {grown:+.1%} "
              f"{verdict} |")
        if grown > 0.2:
            soak.faults.append(f"{what} grew")
    for fault in soak.faults[:10]:
        print(fault, file=sys.stderr)
    sys.exit(bool(soak.faults))


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    run(main)
