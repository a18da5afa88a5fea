#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Writes tests/vectors/*.json: requests and what NumPy in float64 answers.

A file is one case:

    request    as POST /attention takes it, but that a tensor may be a rule
    expected   each output: a nested list, or {"shape", "step", "values"}
               with every step-th element
    size       the sum of the absolute values added up, where the accuracy
               is relative to that

Usage: /usr/bin/python3 tests/vectors/make_vectors.py   (python3-numpy)
"""
import json
import pathlib

import numpy as np

from cases import all_cases
from formula import Call, attention
from rules import expand, text

HERE = pathlib.Path(__file__).parent
PRODUCTS = ("Q", "K", "V", "S", "S_scaled", "S_softcapped", "S_masked",
            "present_K", "present_V")


def listed(t):
    if isinstance(t, np.ndarray):
        return listed(t.tolist())
    if isinstance(t, dict):
        return {k: listed(v) for k, v in t.items()}
    return [listed(v) for v in t] if isinstance(t, list) else text(t)


def sampled(t, limit=250):
    if t.size <= limit:
        return listed(t)
    step = t.size // limit
    step += 1 - step % 2  # odd, so that it meets every column
    return {"shape": list(t.shape), "step": step,
            "values": listed(t.reshape(-1)[::step])}


def positive(r):
    """The request on absolute values, nothing hidden, capped or turned."""
    skip = "mask", "return", "causal", "window", "softcap", "rope"
    keep = "key_lengths", "offset"
    r = {name: x if name in keep or not isinstance(x, (list, dict))
         else {k: v if k == "type" else plain(v) for k, v in x.items()}
         if name == "score" else plain(x)
         for name, x in r.items() if name not in skip}
    if "alibi" in r:
        r["alibi"] = [-x for x in r["alibi"]]
    if "scale" in r:
        r["scale"] = abs(r["scale"])
    return r


def magnitudes(r, returned):
    """The largest sum of absolute values, for each product."""
    r = positive(r)
    sums = attention(r)
    sums["S_softcapped"] = sums["S_scaled"]
    size = {name: float(np.max(sums[name], initial=0))
            for name in returned if name in PRODUCTS}
    largest = float(np.max(sums["present_V"], initial=0))
    if "W_O" in r:  # the weights differ, so V counts with its largest
        weights = Call(r).weight("W_O").sum(axis=0).max()
        size["output"] = float(largest * weights + max(r.get("b_O", [0])))
    elif largest > 4:
        size["output"] = largest
    return size


def plain(x):
    t = np.abs(np.nan_to_num(expand(x).astype(float), nan=0, posinf=0,
                             neginf=0))
    return t.tolist()


def write(name, returned, **request):
    request["return"] = returned
    with np.errstate(all="ignore"):
        result = attention(request)
        size = magnitudes(request, returned)
    expected = {n: listed(result[n]) if n == "stats" else sampled(result[n])
                for n in returned}
    case = {"request": request, "expected": expected}
    if size:
        case["size"] = size
    path = HERE / (name + ".json")
    path.write_text(json.dumps(case, allow_nan=False,
                               separators=(",", ":")) + "\n")


def main():
    for old in HERE.glob("*.json"):
        old.unlink()
    for name, returned, request in all_cases():
        write(name, returned, **request)


if __name__ == "__main__":
    main()
