# SPDX-License-Identifier: MIT
"""Attention in NumPy and float64, whole arrays at a time.

Written from SPEC alone; it shares nothing with lib/.
"""
import math

import numpy as np

from rules import INF, expand


class Call:
    """A request as arrays: q [B,H,n_q,d_k], k [B,G,n_k,d_k], v likewise."""

    def __init__(self, r):
        self.r = r
        self.x = "X" in r
        self.packed = "num_heads" in r
        self.H = r.get("num_heads")
        self.G = r.get("num_kv_heads", self.H)
        self.lead = expand(r["X" if self.x else "Q"]).ndim
        if self.x:
            self.project()
        else:
            self.q = self.apart(expand(r["Q"]), self.H)
            self.k = self.apart(expand(r["K"]), self.G)
            self.v = self.apart(expand(r["V"]), self.G)
        self.new = self.q, self.k, self.v
        self.B, self.H = self.q.shape[:2]
        self.G = self.k.shape[1]
        self.past = 0
        if "past_K" in r:
            self.past = self.cached("past_K").shape[2]
        self.n_q = self.q.shape[2]
        self.n_k = self.k.shape[2] + self.past
        lengths = r.get("key_lengths")
        self.valid = np.array(lengths if lengths else [self.n_k] * self.B)
        self.p = self.positions()
        if "rope" in r:
            here = self.past + np.arange(self.k.shape[2])
            self.q = self.turn(self.q, self.p[:, None, :])
            self.k = self.turn(self.k, here[None, None, :])
        if self.past:
            self.k = np.concatenate([self.cached("past_K"), self.k], axis=2)
            self.v = np.concatenate([self.cached("past_V"), self.v], axis=2)

    def apart(self, t, heads):
        """Any layout -> [B, heads, n, d]."""
        if heads:
            t = t.reshape(-1, t.shape[-2], heads, t.shape[-1] // heads)
            return t.swapaxes(1, 2)
        return t.reshape((1,) * (4 - t.ndim) + t.shape)

    def cached(self, name):
        t = expand(self.r[name])
        if self.packed and t.ndim == self.lead:
            return self.apart(t, self.G)
        if self.x and not self.packed:
            return self.apart(t, 1)
        return t.reshape((1,) * (4 - t.ndim) + t.shape)

    def weight(self, name):
        w = expand(self.r[name])
        return w.T if self.r.get("weight_layout") == "out_in" else w

    def project(self):
        x = expand(self.r["X"])
        c = expand(self.r["context"]) if "context" in self.r else x
        parts = []
        for letter, source in ("Q", x), ("K", c), ("V", c):
            t = source @ self.weight("W_" + letter)
            if "b_" + letter in self.r:
                t = t + expand(self.r["b_" + letter])
            parts.append(self.apart(t, (self.H if letter == "Q" else self.G)
                                    or 1))
        self.q, self.k, self.v = parts

    def positions(self):
        offset = self.r.get("offset", self.past)
        if offset == "end":
            offset = self.valid - self.n_q
        offset = np.broadcast_to(np.array(offset), (self.B,))
        return offset[:, None] + np.arange(self.n_q)[None, :]

    def turn(self, t, p):
        """Pairs as complex numbers, times e^(i angle)."""
        rope = self.r["rope"]
        dim = rope.get("dim", t.shape[-1])
        base = float(rope.get("base", 10000))
        angle = p[..., None] * base ** (-np.arange(0, dim, 2) / dim)
        first, second = slice(0, dim // 2), slice(dim // 2, dim)
        if rope.get("interleaved"):
            first, second = slice(0, dim, 2), slice(1, dim, 2)
        z = (t[..., first] + 1j * t[..., second]) * np.exp(1j * angle)
        out = t.copy()
        out[..., first], out[..., second] = z.real, z.imag
        return out

    def full(self, name):
        t = expand(self.r[name])
        return np.broadcast_to(t, (self.B, self.H, self.n_q, self.n_k))

    def visible(self):
        r, p = self.r, self.p[:, None, :, None]
        j = np.arange(self.n_k)
        see = np.ones((self.B, self.H, self.n_q, self.n_k), bool)
        see &= j < self.valid[:, None, None, None]
        if "mask" in r:
            see &= self.full("mask")
        if "bias" in r:
            see &= self.full("bias") != -INF
        if r.get("causal"):
            see &= j <= p
        window = r.get("window", {})
        if window.get("left") is not None:
            see &= p - window["left"] <= j
        if window.get("right") is not None:
            see &= j <= p + window["right"]
        return see

    def per_query_head(self, t):
        return t[:, np.arange(self.H) * self.G // self.H]


def scores(c):
    k = c.per_query_head(c.k)
    score = c.r.get("score", {"type": "dot"})
    if score["type"] == "additive":
        w, u, v = (expand(score[n]) for n in ("W_a", "U_a", "v_a"))
        return np.tanh((c.q @ w)[:, :, :, None] + (k @ u)[:, :, None]) @ v, 1
    return c.q @ k.swapaxes(2, 3), 1 / math.sqrt(c.q.shape[-1])


def softmax(c, masked, see):
    """A and lse; the sink, if any, is one more column of scores."""
    with_sink = masked
    some = see.any(axis=3, keepdims=True)
    if "sinks" in c.r:
        sink = expand(c.r["sinks"])[None, :, None, None]
        column = np.broadcast_to(sink, masked.shape[:3] + (1,))
        with_sink = np.concatenate([masked, column], axis=3)
    top = with_sink.max(axis=3, keepdims=True)
    parts = np.exp(with_sink - top)
    hidden = ~np.concatenate([see, np.ones_like(
        with_sink[..., see.shape[3]:], bool)], axis=3)
    parts[hidden] = 0
    total = parts.sum(axis=3, keepdims=True)
    a = np.where(see & some, parts[..., :see.shape[3]] / total, 0)
    lse = np.where(some, top + np.log(total), -INF)[..., 0]
    return a, lse


def mix(c, a, see):
    """A V, a key left out where it is hidden, whatever V holds."""
    v = c.per_query_head(c.v)
    if np.isfinite(v).all():
        return a @ v
    terms = np.where(see[..., None], a[..., None] * v[:, :, None], 0)
    return terms.sum(axis=3)


def statistics(s, scaled, a, see):
    rows = a[see.any(axis=3)]
    if not len(rows):
        return dict.fromkeys(("S_variance", "S_scaled_variance", "A_max_mean",
                              "A_entropy_mean", "A_row_sum_min",
                              "A_row_sum_max")) | {"empty_rows": see[
                                  ..., 0].size if see.size else 0}
    logs = np.log(np.where(rows == 0, 1, rows))
    sums = rows.sum(axis=1)
    return {"S_variance": s[see].var(), "S_scaled_variance": scaled[see].var(),
            "A_max_mean": rows.max(axis=1).mean(),
            "A_entropy_mean": -(rows * logs).sum(axis=1).mean(),
            "A_row_sum_min": sums.min(), "A_row_sum_max": sums.max(),
            "empty_rows": int((~see.any(axis=3)).sum())}


def attention(r):
    """Everything that `return` can ask for, with the axes of the reply."""
    c = Call(r)
    see = c.visible()
    s, scale = scores(c)
    scaled = s * r.get("scale", scale)
    capped = scaled
    if "softcap" in r:
        capped = r["softcap"] * np.tanh(scaled / r["softcap"])
    masked = capped + (c.full("bias") if "bias" in r else 0)
    if "alibi" in r:
        distance = np.abs(c.p[:, None, :, None] - np.arange(c.n_k))
        masked = masked - expand(r["alibi"])[:, None, None] * distance
    masked = np.where(see, masked, -INF)
    a, lse = softmax(c, masked, see)
    heads = mix(c, a, see)

    together = heads.swapaxes(1, 2).reshape(c.B, c.n_q, -1)
    output = heads
    if c.x or c.packed:
        output = together
    if "W_O" in r:
        output = together @ c.weight("W_O")
        if "b_O" in r:
            output = output + expand(r["b_O"])
    q, k, v = c.new
    out = {"output": output, "A": a, "A_mean": a.mean(axis=1), "lse": lse,
           "Q": q, "K": k, "V": v, "S": s, "S_scaled": scaled,
           "S_softcapped": capped, "S_masked": masked, "present_K": c.k,
           "present_V": c.v}
    out = {name: axes(c, name, t) for name, t in out.items()}
    out["stats"] = statistics(s, scaled, a, see)
    return out


def axes(c, name, t):
    """Drops the axes that the request does not have."""
    batch = c.lead == (3 if c.x or c.packed else 4)
    heads = c.packed or (not c.x and c.lead >= 3)
    flat = name == "A_mean" or (name == "output" and (c.x or c.packed))
    if not heads and not flat:
        t = t[:, 0]
    return t if batch else t[0]
