#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small layer under every system on the netlist of a board, at its ULPI pins and with firmware, against
`moeswitch run` of the same configuration: right bits, and the same cycles, stalls and flits.

usage: run.py BUILD MODEL KHZ...

MODEL: the folder of it below BUILD/model: a netlist (gate-n4f8-small), or RTL (dev-n2f8-small; dev-n4f8-small-threads
with one node for all). KHZ: cycles of the fabric per millisecond, one run each, beside the 60 000 clocks of the bus
"""
import json
import os
import pathlib
import re
import subprocess
import sys

LAYER = "--flit-bytes 8 --hidden 32 --experts 8 --k 2 --tokens-per-gpu 4 --tile 1 --jobs 1".split()
TIMES = ("simulated_cycles", "seconds_wall", "sim_cycles_per_s", "simulated_by")  # of the simulation, not of the device


def report(command, gpus, path, khz=60000):
    r = subprocess.run([*command, *LAYER, "--gpus", gpus, "--json", path], text=True, stdout=subprocess.PIPE,
                       env=os.environ | {"MW_DEVICE_KHZ": str(khz)})
    if r.returncode:
        sys.exit(f"gate: {' '.join(map(str, command))}: exit status {r.returncode}\n{r.stdout}")
    found = json.loads(path.read_text())
    for system in found["systems"]:
        for key in TIMES:
            system.pop(key, None)
    return found, r.stdout


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    build, model = pathlib.Path(sys.argv[1]), sys.argv[2]
    gpus = re.search(r"-n(\d+)f8", model)[1]
    work = build / "gate"
    work.mkdir(exist_ok=True)
    want, _ = report([build / "moeswitch", "run", "--set", "small=1"], gpus, work / "sim.json")
    names = [s["system"] for s in want["systems"]]
    for khz in sys.argv[3:]:
        found, text = report([build / "tests/gate/on_netlist", model], gpus, work / "found.json", khz)
        print(text)
        if len(names) != 3 or [s["system"] for s in found["systems"]] != names:
            sys.exit(f"gate: {khz} kHz: not the three systems of {work}/sim.json")
        for a, b in zip(want["systems"], found["systems"]):
            if a != b:
                sys.exit(f"gate: {khz} kHz: {a['system']}: {', '.join(k for k in a if a[k] != b.get(k))} differ from "
                         f"those of sim: {work}/found.json, {work}/sim.json")
        print(f"gate: {model} at {khz} kHz: {', '.join(names)}: bits, cycles and flits are those of sim")


if __name__ == "__main__":
    main()
