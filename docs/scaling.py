# SPDX-License-Identifier: MIT
"""scaling - the cost model of docs/scaling.md.

    python3 docs/scaling.py fit build/load/sweep.csv
    python3 docs/scaling.py limits --model a,b,c
    python3 docs/scaling.py replicas --model a,b,c MIX.json

fit: seconds = a + b n d H + c n^2 d H by least squares of the relative error,
from the closed loop with one connection; prints a, b, c and each point's
error. limits: what a request of n tokens asks of text, arithmetic, network
and memory, in seconds of each, and which is the most. replicas: how many
replicas a mix needs. MIX.json is a list of
{"n": 512, "d": 64, "heads": 8, "per_second": 20}.
"""
import argparse
import csv
import json
import math
import sys


def terms(n, d, heads):
    return [1.0, n * d * heads, n * n * d * heads]


def solve(matrix, right):
    """Gaussian elimination with pivoting; small and symmetric."""
    size = len(right)
    rows = [row[:] + [y] for row, y in zip(matrix, right)]
    for i in range(size):
        pivot = max(range(i, size), key=lambda r: abs(rows[r][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for r in range(size):
            if r != i:
                f = rows[r][i] / rows[i][i]
                rows[r] = [x - f * y for x, y in zip(rows[r], rows[i])]
    return [rows[i][size] / rows[i][i] for i in range(size)]


def least_squares(points):
    """Weights 1/seconds^2: every point's relative error counts the same. A
    coefficient that would be negative is left out."""
    use = [0, 1, 2]
    while True:
        x = [[terms(*shape)[t] / s for t in use] for shape, s in points]
        normal = [[sum(r[i] * r[j] for r in x) for j in range(len(use))]
                  for i in range(len(use))]
        found = solve(normal, [sum(r[i] for r in x) for i in range(len(use))])
        worst = min(range(len(use)), key=lambda i: found[i])
        if found[worst] >= 0:
            return [found[use.index(t)] if t in use else 0.0
                    for t in range(3)]
        del use[worst]


def predict(model, n, d, heads):
    return sum(c * t for c, t in zip(model, terms(n, d, heads)))


def fit(path):
    with open(path) as file:
        rows = list(csv.DictReader(file))
    points = [((int(r["n"]), int(r["d"]), int(r["heads"])),
               1 / float(r["requests_per_second"])) for r in rows]
    model = least_squares(points)
    print("a = %.3g s   b = %.3g s   c = %.3g s" % tuple(model))
    print(f"{'n':>6} {'measured ms':>12} {'model ms':>10} {'error':>7}"
          f" {'KB in':>9} {'KB out':>9}")
    for (shape, seconds), r in zip(points, rows):
        p = predict(model, *shape)
        print(f"{shape[0]:6} {seconds * 1e3:12.3f} {p * 1e3:10.3f} "
              f"{(p / seconds - 1) * 100:6.0f}% "
              f"{int(r['body_bytes']) / 1e3:9.1f} "
              f"{int(r['reply_bytes']) / 1e3:9.1f}")


TEXT_IN, TEXT_OUT = 3 * 21, 12     # bytes of text for each n d H
ROWS = 96                          # queries that share a reading of K and V


def limits(model, d, heads, gbit, gbyte):
    """Seconds that each resource would need alone. The network carries the
    text once; memory gives K and V, as float32, to every block of queries."""
    a, b, c = model
    print(f"d = {d}, {heads} head(s), network {gbit:g} Gbit/s, "
          f"memory {gbyte:g} GB/s\n"
          f"{'n':>8} {'MB in':>9} {'MB out':>9} {'fixed s':>10} {'text':>10} "
          f"{'arithmetic':>10} {'network':>10} {'memory':>10}  most")
    for n in [2, 16, 128, 1024, 4096, 16384, 131072, 1000000]:
        size = n * d * heads
        need = {"fixed": a, "text": b * size, "arithmetic": c * n * size,
                "network": size * max(TEXT_IN, TEXT_OUT) * 8e-9 / gbit,
                "memory": size * 8 * math.ceil(n / ROWS) * 1e-9 / gbyte}
        print(f"{n:8} {size * TEXT_IN / 1e6:9.3g} {size * TEXT_OUT / 1e6:9.3g}"
              + "".join(f" {seconds:10.3g}" for seconds in need.values())
              + "  " + max(need, key=need.get))


def replicas(model, path, busy):
    with open(path) as file:
        mix = json.load(file)
    total = 0.0
    for part in mix:
        seconds = predict(model, part["n"], part["d"], part["heads"])
        load = seconds * part["per_second"]
        total += load
        print(f"n = {part['n']:6}  d = {part['d']}  heads = {part['heads']:3} "
              f" {seconds * 1e3:9.2f} ms x {part['per_second']:g}/s "
              f"= {load:.2f} replicas")
    needed = math.ceil(total / busy)
    print(f"Together {total:.2f} replicas that are always busy. At {busy:.0%} "
          f"busy that is {total / busy:.2f}: {needed}, and one more so that "
          f"one may fail: {needed + 1}")


def three_numbers(text):
    model = [float(x) for x in text.split(",")]
    if len(model) != 3:
        raise ValueError
    return model


def main():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawTextHelpFormatter)
    sub = p.add_subparsers(dest="verb", required=True)
    sub.add_parser("fit").add_argument("csv")
    a_model = argparse.ArgumentParser(add_help=False)
    a_model.add_argument("--model", required=True,
                         type=three_numbers, help="a,b,c as fit prints them")
    m = sub.add_parser("limits", parents=[a_model])
    m.add_argument("--d", type=int, default=64)
    m.add_argument("--heads", type=int, default=1)
    m.add_argument("--gbit", type=float, default=10, help="of the network")
    m.add_argument("--gbyte", type=float, default=20,
                   help="a second of the memory")
    r = sub.add_parser("replicas", parents=[a_model])
    r.add_argument("--busy", type=float, default=0.6,
                   help="how busy a replica may be on average")
    r.add_argument("mix")
    options = p.parse_args()
    if options.verb == "fit":
        fit(options.csv)
    elif options.verb == "limits":
        limits(options.model, options.d, options.heads, options.gbit,
               options.gbyte)
    else:
        replicas(options.model, options.mix, options.busy)


if __name__ == "__main__":
    try:
        main()
    except KeyError as error:
        sys.exit(f"scaling.py: {sys.argv[-1]} has no {error}")
    except TypeError:
        sys.exit(f"scaling.py: {sys.argv[-1]} is no list of objects")
    except (OSError, ValueError) as error:
        sys.exit(f"scaling.py: {error}")
