# SPDX-License-Identifier: MIT
"""Tensors of a request that are given by a rule instead of a list.

Rules keep the files small. {"rule": "noise", "shape", "seed", "steps",
"size"} is integers within +-steps times size, from the counter

    state = state * 6364136223846793005 + 1442695040888963407   mod 2^64
    (state >> 33) % (2 steps + 1) - steps

"coins" with "percent" is booleans, (state >> 33) % 100 < percent; "band"
with "left" is the booleans i - left <= j <= i. "put": [[i, x], ...] then
sets elements. All noise is exact in float32.
"""
import math

import numpy as np

INF, NAN = math.inf, math.nan


def draws(seed, count):
    state = seed
    for _ in range(count):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        yield state >> 33


def expand(x):
    """The array that a nested list or a rule stands for."""
    if not isinstance(x, dict):
        return np.array([[float(v) for v in row] if isinstance(row, list)
                         and not isinstance(row[0], list) else row
                         for row in x], dtype=kind(x))
    shape, count = x["shape"], math.prod(x["shape"])
    if x["rule"] == "noise":
        steps = x["steps"]
        flat = np.array([(d % (2 * steps + 1) - steps) * x["size"]
                         for d in draws(x["seed"], count)])
    elif x["rule"] == "coins":
        flat = np.array([d % 100 < x["percent"]
                         for d in draws(x["seed"], count)])
    else:
        i, j = np.indices(shape)
        flat = ((j <= i) & (j >= i - x["left"])).reshape(-1)
    for index, value in x.get("put", []):
        flat[index] = value if isinstance(value, bool) else float(value)
    return flat.reshape(shape)


def kind(x):
    while isinstance(x, list):
        x = x[0]
    return bool if isinstance(x, bool) else float


_seed = [0]


def noise(*shape, steps=1024, size=2**-10, put=()):
    _seed[0] += 1
    rule = {"rule": "noise", "shape": list(shape), "seed": _seed[0],
            "steps": steps, "size": size}
    if put:
        rule["put"] = [[i, text(v)] for i, v in put]
    return rule


def coins(*shape, percent=60, put=()):
    _seed[0] += 1
    rule = {"rule": "coins", "shape": list(shape), "seed": _seed[0],
            "percent": percent}
    if put:
        rule["put"] = [list(p) for p in put]
    return rule


def band(n, left):
    return {"rule": "band", "shape": [n, n], "left": left}


def text(x):
    if isinstance(x, float) and not math.isfinite(x):
        return "NaN" if x != x else "Infinity" if x > 0 else "-Infinity"
    return x
