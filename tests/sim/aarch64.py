#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A layer of every system by the tool and the plain model of another kind of processor: right bits, and the same
cycles, stalls and flits as on this one.

usage: aarch64.py BUILD OTHER RUN...

OTHER: its build folder; RUN: the command that runs a program of it
"""
import json
import pathlib
import subprocess
import sys

DEVICE = "--gpus 2 --flit-bytes 8 --device sim:plain --system all --jobs 1".split()
LAYERS = ["--hidden 64 --experts 8 --k 2 --tokens-per-gpu 8 --tile 4",
          "--hidden 40 --experts 6 --k 3 --tokens-per-gpu 11 --tile 3 --partial-tiles --link-latency 5"]
OF_THE_MODEL = ("seconds_wall", "sim_cycles_per_s", "simulated_by")


def report(command, layer, path):
    path.unlink(missing_ok=True)
    r = subprocess.run([*command, "run", *DEVICE, *layer.split(), "--json", path], capture_output=True, text=True)
    if r.returncode:
        sys.exit(f"{' '.join(map(str, command))} run {layer}: exit status {r.returncode}\n{r.stdout}{r.stderr}")
    found = json.loads(path.read_text())
    made = [{key: system.pop(key, None) for key in OF_THE_MODEL} for system in found["systems"]]
    return found, made[0]["simulated_by"]


def main():
    build, other = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    for layer in LAYERS:
        want, here = report([build / "moeswitch"], layer, other / "here.json")
        found, there = report([*sys.argv[3:], other / "moeswitch"], layer, other / "there.json")
        if len(want["systems"]) < 3 or want != found:
            sys.exit(f"{layer}: the reports differ: {other}/here.json, {other}/there.json")
        if here["compiler"] == there["compiler"] or here["sources"] != there["sources"]:
            sys.exit(f"not the same sources by another compiler: {here}, {there}")
        print(f"{layer}: {', '.join(str(s['cycles']) for s in found['systems'])} cycles, bits, cycles and counters of "
              f"{there['compiler']} are those of {here['compiler']}")


if __name__ == "__main__":
    main()
