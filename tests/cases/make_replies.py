#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes reply.json beside each accepted request.json.

The answers come from tests/vectors/formula.py, which is NumPy in float64 and
shares nothing with the service. Warnings are what SPEC says: one word of each
is enough for the tests, which look for it in the text.
"""
import json
import math
import pathlib
import sys

import numpy as np

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "vectors"))
from formula import Call, attention  # noqa: E402


def plain(x):
    if isinstance(x, np.ndarray):
        return plain(x.tolist())
    if isinstance(x, list):
        return [plain(v) for v in x]
    if isinstance(x, dict):
        return {k: plain(v) for k, v in x.items()}
    if isinstance(x, (float, np.floating)) and not math.isfinite(x):
        return "NaN" if math.isnan(x) else f"{x:+}".replace(
            "+inf", "Infinity").replace("-inf", "-Infinity")
    return x.item() if isinstance(x, np.generic) else x


def integral(r):
    """2.0 as a number of heads is 2."""
    for name in "num_heads", "num_kv_heads", "offset", "key_lengths":
        if isinstance(r.get(name), float):
            r[name] = int(r[name])
        if isinstance(r.get(name), list):
            r[name] = [int(v) for v in r[name]]
    return r


def warnings(r):
    call = Call(r)
    placed = any(n in r for n in ("causal", "window", "alibi"))
    if not call.visible().any(axis=3).all():
        yield "no key"
    if (placed and call.n_q != call.n_k and not call.past and
            r.get("window") != {} and "offset" not in r):
        yield "offset"
    sides = r.get("window", {}).values()
    if "offset" in r and not (
            r.get("causal") or any(s is not None for s in sides) or
            "alibi" in r or "rope" in r):
        yield "offset has no effect"
    if ("Q" in r and r.get("num_heads", 1) > 1 and
            r.get("num_kv_heads", r["num_heads"]) == r["num_heads"] and
            np.shape(r["Q"])[:-2] == (r["num_heads"],)):
        yield "leave num_heads out"


for path in sorted(HERE.glob("accepted/*/request.json")):
    request = integral(json.loads(path.read_text("utf-8-sig")))
    everything = attention(request)
    reply = {name: plain(everything[name])
             for name in request.get("return", ["output", "A"])}
    notes = list(warnings(request))
    if notes:
        reply["warnings"] = notes
    path.with_name("reply.json").write_text(json.dumps(reply) + "\n")
