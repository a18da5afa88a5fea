# SPDX-License-Identifier: MIT
"""table - reads JSON objects, one a line; prints those with the same members
under each other, and writes all of them as one list to the file named. A row
with `ratio` and `aim` misses its aim if the ratio is below; the last line says
how many do."""
import json
import sys

WIDTHS = {"name": 9, "dtype": 7, "n_k": 7, "us": 12, "stored": 7, "rate": 8,
          "text": 9, "method": 12, "body": 19, "direction": 9, "swallow": 8}
SHORTER = {"connections": "clients", "per_second": "a second",
           "decode_ns_a_number": "read ns",
           "encode_ns_a_number": "write ns",
           "receive_ms": "receive", "queue_ms": "queue", "decode_ms": "decode",
           "compute_ms": "compute", "encode_ms": "encode", "cpu_ms": "cpu ms"}


def cell(head, value):
    shown = SHORTER.get(head, head)
    return f"{value!s:>{max(len(shown), WIDTHS.get(head, 5))}}"


def main():
    rows, heads, missed = [], [], 0
    for line in sys.stdin:
        row = json.loads(line)
        rows.append(row)
        if list(row) == ["note"]:
            print(f"\n{row['note']}", flush=True)
            continue
        if list(row) != heads:
            heads = list(row)
            print("\n" + " ".join(cell(h, SHORTER.get(h, h)) for h in heads))
        print(" ".join(cell(h, row[h]) for h in heads), flush=True)
        missed += "aim" in row and row["ratio"] < row["aim"]
    with open(sys.argv[1], "w") as file:
        json.dump(rows, file, indent=1)
    aims = sum("aim" in row for row in rows)
    print(f"\n{len(rows)} rows are in {sys.argv[1]}; "
          f"{missed} of {aims} aims missed (ratio below aim)")


if __name__ == "__main__":
    main()
