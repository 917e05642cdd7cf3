#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures how shares of the strict bound and speed-ups change with hidden size and tokens, and writes them as a page.

usage: scaling.py [--tool TOOL] [--out DIR] [--jobs J] [OUTPUT]

OUTPUT is docs/reference/scaling.md unless named. DIR (a folder of build/scaling for this tool and its models) keeps
results, which are not measured again.
"""
import argparse
import json
import pathlib

from never_slower import kept, sweep
from results import table

MODELS = ["deepseek-v3", "qwen3-235b", "deepseek-v2-lite", "gpt-oss-20b", "mixtral-8x7b"]
HIDDEN = [256, 512, 1024, 2048]
TOKENS = [64, 128, 256]
AT = {"hidden": 512, "tokens-per-gpu": 64}  # where the other one varies
SYSTEMS = ["moeswitch", "unicast"]


def measure(tool, folder, jobs, option, values):
    """{(model, value): (share of moeswitch, of unicast, speed-up)}"""
    folder.mkdir(parents=True, exist_ok=True)
    grid = folder / f"{option}.json"
    grid.write_text(json.dumps({"system": SYSTEMS, "model": MODELS, "gpus": 8, "tile": 16} | AT | {option: values}))
    found = {}
    for row in sweep(tool, grid, folder / option, jobs):
        found.setdefault((row["model"], int(row[option.replace("-", "_")])), {})[row["system"]] = row
    return {at: (*(float(s[name]["strict_share"]) for name in SYSTEMS),
                 int(s["unicast"]["cycles"]) / int(s["moeswitch"]["cycles"])) for at, s in found.items()}


def rows(found, title, values):
    yield ["model", *(f"{title} {v}" for v in values)]
    for model in MODELS:
        yield [model, *("{:.1%}, {:.1%}, {:.2f}".format(*found[model, v]) for v in values)]


def largest(found, value, reference, what):
    """The largest change of a figure from `reference` on, as a share of what it is there."""
    return max(abs(found[m, value][what] / found[m, reference][what] - 1) for m in MODELS)


def page(hidden, tokens):
    most = HIDDEN[-1]
    yield "# Prediction of a large layer from a smaller one\n"
    yield ("A run that would take above 10 minutes suggests a smaller `--hidden`, whose expert takes as much "
           "less time per")
    yield "row. This page measures what that changes. Written by\n\n    bench/scaling.py\n"
    yield "Each cell has the share of the strict bound of `moeswitch`, that of `unicast`, and how many times faster"
    yield "`moeswitch` is. Routing is synthetic, with 8 GPUs and tile 16.\n"
    yield f"## Hidden size, {AT['tokens-per-gpu']} tokens per GPU\n"
    yield from table(rows(hidden, "hidden", HIDDEN))
    yield f"\nThe largest differences from hidden {most}, of shares of `moeswitch` and of speed-ups:\n"
    yield from table([["hidden", "share", "speed-up"]] + [
        [str(v), *(f"{largest(hidden, v, most, what):.1%}" for what in (0, 2))] for v in HIDDEN[:-1]])
    yield f"\n## Tokens per GPU, hidden {AT['hidden']}\n"
    yield from table(rows(tokens, "tokens", TOKENS))
    yield ("\nTokens change more than the hidden size does, as start, tail and tiles that never fill are parts of "
           "fewer rows.")
    yield "So `run` suggests fewer tokens only where the smallest hidden size, 512, is not enough.\n"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--tool", default="build/moeswitch")
    p.add_argument("--out", type=pathlib.Path, metavar="DIR")
    p.add_argument("--jobs", type=int, metavar="J")
    p.add_argument("output", nargs="?", default="docs/reference/scaling.md")
    a = p.parse_args()
    folder = a.out or pathlib.Path("build/scaling") / kept(a.tool).name
    hidden = measure(a.tool, folder, a.jobs, "hidden", HIDDEN)
    tokens = measure(a.tool, folder, a.jobs, "tokens-per-gpu", TOKENS)
    pathlib.Path(a.output).write_text("\n".join(page(hidden, tokens)))


if __name__ == "__main__":
    main()
