# SPDX-License-Identifier: MIT
"""table - reads JSON objects, one a line; prints those with the same members
under each other, and writes all of them as one list to the file named."""
import json
import sys


def main():
    rows, heads = [], []
    for line in sys.stdin:
        row = json.loads(line)
        rows.append(row)
        if list(row) != heads:
            heads = list(row)
            print("\n" + "  ".join(f"{h:>12}" for h in heads))
        print("  ".join(f"{str(row[h]):>12}" for h in heads), flush=True)
    with open(sys.argv[1], "w") as file:
        json.dump(rows, file, indent=1)
    print(f"\n{len(rows)} rows are in {sys.argv[1]}")


if __name__ == "__main__":
    main()
