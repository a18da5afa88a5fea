#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Decodes token by token with a cache, as a language model does.

Each step posts one query with its key and value behind the cached ones and
keeps the cache that comes back. The rows are those of one causal call over
the whole sequence.

usage: decode.py [URL]
"""
import json
import random
import sys
import urllib.error
import urllib.request

URL = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8080"
TOKENS, WIDTH = 12, 8


def attention(request):
    try:
        with urllib.request.urlopen(
            URL + "/attention", json.dumps(request).encode()
        ) as reply:
            return json.load(reply)
    except urllib.error.HTTPError as problem:
        if "json" not in problem.headers.get("Content-Type", ""):
            sys.exit(f"{URL}: {problem}")
        sys.exit(json.load(problem)["detail"])
    except (OSError, ValueError) as problem:
        sys.exit(f"{URL}: {getattr(problem, 'reason', problem)}")


def some_rows():
    return [[random.gauss(0, 1) for _ in range(WIDTH)] for _ in range(TOKENS)]


Q, K, V = some_rows(), some_rows(), some_rows()
whole = attention({"Q": Q, "K": K, "V": V, "causal": True, "rope": {}})

cache = {}
for i in range(TOKENS):
    step = attention({
        "Q": Q[i:i + 1], "K": K[i:i + 1], "V": V[i:i + 1], **cache,
        "causal": True, "rope": {},
        "return": ["output", "A", "present_K", "present_V"],
    })
    cache = {"past_K": step["present_K"], "past_V": step["present_V"]}
    error = max(abs(a - b) for a, b in zip(step["output"][0],
                                           whole["output"][i]))
    print(f"token {i:2}: {len(step['A'][0]):2} keys, looks most at "
          f"{step['A'][0].index(max(step['A'][0])):2}, error {error:.0e}")
    assert error < 1e-5
