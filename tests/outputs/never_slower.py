#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that `moeswitch` is never slower than `dysharp`, on a part of the grid of bench/never_slower.py that takes
seconds; and that this check fails where `moeswitch` is.

usage: never_slower.py BUILD    exit status 1, with a line, when something is wrong
"""
import json
import subprocess
import sys

from command import fail, scratch_folder

GRID = "tests/outputs/never_slower.json"


def check(build, grid, folder, status):
    """must end with that exit status, behind a table of every layer"""
    words = ["bench/never_slower.py", grid, "--tool", f"{build}/moeswitch", "--out", folder, "--jobs", "1"]
    done = subprocess.run([sys.executable, *map(str, words)], capture_output=True, text=True)
    if done.returncode != status:
        fail(f"{grid}: exit status {done.returncode}, not {status}:\n{done.stdout}{done.stderr}")
    return done.stdout


def main():
    build = sys.argv[1]
    scratch = scratch_folder(build, "never_slower")
    table = check(build, GRID, scratch / "as_it_is", 0)
    if "8 layers" not in table:
        fail(f"not every layer of {GRID} is in the table:\n{table}")
    # reports say which layers are too small for its mechanisms
    reports = [json.loads(p.read_text()) for p in (scratch / "as_it_is/results").glob("*.json")]
    small = {(r["params"]["preset"], r["params"]["k"], r["params"]["tokens_per_gpu"], r["systems"][0]["system"])
             for r in reports if "moeswitch_as_dysharp" in r["params"]}
    if small != {("gpt-oss-20b", 1, 16, "moeswitch")}:
        fail(f"layers in which moeswitch sends what dysharp does: {small}")
    # a throttle that keeps dispatch too short
    grid = {"system": ["dysharp", "moeswitch"], "model": "mixtral-8x7b", "k": 1, "tokens-per-gpu": 32, "hidden": 512,
            "set": {"throttle_ahead": 1}}
    slow = scratch / "slow.json"
    slow.write_text(json.dumps(grid))
    if "slower" not in check(build, slow, scratch / "slow", 1):
        fail("a slower layer is not marked")
    slow.write_text(json.dumps(grid | {"system": "dysharp"}))
    if check(build, slow, scratch / "alone", 2):
        fail("a grid without moeswitch has a table")


if __name__ == "__main__":
    main()
