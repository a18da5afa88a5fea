# SPDX-License-Identifier: MIT
"""body - request bodies of a given shape, and whether a reply is right.

Numbers are float32 from a seeded generator, printed as Python prints them.
A reply is held against the plain formula in double, for a few rows: enough to
know that the service answers this very request, cheap at any n.
"""
import json
import math
import random
import struct


def _float32(x):
    return struct.unpack("f", struct.pack("f", x))[0]


class Call:
    """One request: `heads` packed heads, n queries and keys of width d."""

    def __init__(self, n, d, heads, with_a, seed=1):
        draw = random.Random(seed)
        self.n, self.d, self.heads, self.with_a = n, d, heads, with_a
        self.q, self.k, self.v = (
            [[_float32(draw.gauss(0, 1)) for _ in range(heads * d)]
             for _ in range(n)] for _ in range(3))

    def text(self):
        body = {"Q": self.q, "K": self.k, "V": self.v,
                "num_heads": self.heads,
                "return": ["output", "A"] if self.with_a else ["output"]}
        return json.dumps(body, separators=(",", ":")).encode()

    def row(self, head, i):
        """A[head][i] and output[head][i] by the formula."""
        lo, hi = head * self.d, (head + 1) * self.d
        q = self.q[i][lo:hi]
        s = [math.fsum(map(float.__mul__, q, k[lo:hi])) / math.sqrt(self.d)
             for k in self.k]
        top = max(s)
        p = [math.exp(x - top) for x in s]
        total = math.fsum(p)
        a = [x / total for x in p]
        out = [math.fsum(map(float.__mul__, a, (v[c] for v in self.v)))
               for c in range(lo, hi)]
        return a, out

    def fault(self, reply):
        """What is wrong with the reply's text, or None."""
        reply = json.loads(reply)
        expected = {"output", "A"} if self.with_a else {"output"}
        if set(reply) != expected:
            return "members " + ", ".join(sorted(reply))
        for i in sorted({0, self.n // 2, self.n - 1}):
            head = i % self.heads
            a, out = self.row(head, i)
            got = reply["output"][i][head * self.d:(head + 1) * self.d]
            pairs = list(zip(got, out, strict=True))
            if self.with_a:
                pairs += zip(reply["A"][head][i], a, strict=True)
            for x, y in pairs:
                if not abs(x - y) <= 1e-6 + 1e-5 * abs(y):
                    return f"row {i}: {x} is not {y}"
        return None
