#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a grid of layers under `dysharp` and `moeswitch`, prints the cycles of both, and fails where `moeswitch` takes
more than 1 % longer.

usage: never_slower.py [GRID] [--tool TOOL] [--out DIR] [--jobs J]

GRID is bench/never_slower.json unless named: a file for `moeswitch sweep` whose "system" names both. DIR is a folder
of build/never_slower for this tool and its models unless named; results that are there are not run again.

Exit status: 0: `moeswitch` is never slower; 1: it is somewhere; 2: the sweep failed, or a layer lacks one of the two.
"""
import argparse
import csv
import hashlib
import pathlib
import subprocess
import sys

MOST = 1.01  # cycles of moeswitch, of those of dysharp
AXES = ("model", "k", "tokens_per_gpu", "gpus", "hidden", "tile", "sigma", "seed")


def kept(tool):
    """Where results of this tool and these models are."""
    models = sorted((str(p), p.stat().st_mtime_ns) for p in pathlib.Path(tool).parent.glob("model/*/libmwsim.so"))
    key = f"{pathlib.Path(tool).stat().st_mtime_ns} {models}"
    return pathlib.Path("build/never_slower") / hashlib.sha256(key.encode()).hexdigest()[:16]


def sweep(tool, grid, folder, jobs):
    """The rows of the sweep's table."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    words = [tool, "sweep", grid, "--out", folder, *(["--jobs", str(jobs)] if jobs else [])]
    if subprocess.run(words, stdout=subprocess.DEVNULL).returncode:
        sys.exit(2)
    with open(folder / "results.csv", newline="") as f:
        return list(csv.DictReader(f))


def layers(rows):
    """The options in which the layers differ; {their values: {system: cycles}}, in the grid's order."""
    names = [n for n in AXES if len({row[n] for row in rows}) > 1]
    table = {}
    for row in rows:
        table.setdefault(tuple(row[n] for n in names), {})[row["system"]] = int(row["cycles"])
    return names, table


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("grid", nargs="?", default="bench/never_slower.json")
    p.add_argument("--tool", default="build/moeswitch")
    p.add_argument("--out", type=pathlib.Path, metavar="DIR")
    p.add_argument("--jobs", type=int, metavar="J")
    a = p.parse_args()
    names, table = layers(sweep(a.tool, a.grid, a.out or kept(a.tool), a.jobs))
    lines = [[*names, "dysharp", "moeswitch", "ratio", ""]]
    slower = 0
    for values, cycles in table.items():
        if not {"dysharp", "moeswitch"} <= cycles.keys():
            print(f"never_slower.py: {a.grid}: only {', '.join(cycles)}, not both systems", file=sys.stderr)
            sys.exit(2)
        ratio = cycles["moeswitch"] / cycles["dysharp"]
        slower += ratio > MOST
        mark = "slower" if ratio > MOST else ""
        lines.append([*values, str(cycles["dysharp"]), str(cycles["moeswitch"]), f"{ratio:.3f}", mark])
    widths = [max(map(len, column)) for column in zip(*lines)]
    for line in lines:
        print("  ".join(f"{cell:>{width}}" for cell, width in zip(line, widths)).rstrip())
    ratios = [float(line[-2]) for line in lines[1:]]
    print(f"{len(ratios)} layers: moeswitch takes {min(ratios):.3f} to {max(ratios):.3f} times the cycles of dysharp; "
          f"{slower} above {MOST}")
    sys.exit(1 if slower else 0)


if __name__ == "__main__":
    main()
