#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small layer under every system on the netlist of a board, at its ULPI pins and with firmware, against `moeswitch run` of the same configuration: right bits, and
the same cycles, stalls and flits.

usage: run.py BUILD [--rtl]      --rtl: on the RTL of the device, to see the difference that the netlist makes
"""
import json
import pathlib
import subprocess
import sys

LAYER = "--gpus 2 --flit-bytes 8 --hidden 32 --experts 8 --k 2 --tokens-per-gpu 4 --tile 1 --jobs 1".split()
TIMES = ("simulated_cycles", "seconds_wall", "sim_cycles_per_s")  # of the simulation, not of the device


def report(command, path):
    r = subprocess.run([*command, *LAYER, "--json", path], text=True, stdout=subprocess.PIPE)
    if r.returncode:
        sys.exit(f"gate: {' '.join(map(str, command))}: exit status {r.returncode}\n{r.stdout}")
    found = json.loads(path.read_text())
    for system in found["systems"]:
        for key in TIMES:
            del system[key]
    return found, r.stdout


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    build = pathlib.Path(sys.argv[1])
    work = build / "gate"
    work.mkdir(exist_ok=True)
    want, _ = report([build / "moeswitch", "run", "--set", "small=1"], work / "sim.json")
    is_, text = report([build / "tests/gate/on_netlist", *sys.argv[2:]], work / "netlist.json")
    names = [s["name"] for s in want["systems"]]
    for a, b in zip(want["systems"], is_["systems"]):
        if a != b:
            differ = [k for k in a if a[k] != b.get(k)]
            sys.exit(f"gate: {a['name']}: {', '.join(differ)} differ from those of sim: {work}/netlist.json, {work}/sim.json")
    if len(names) != 3 or len(is_["systems"]) != 3:
        sys.exit(f"gate: {len(names)} and {len(is_['systems'])} systems")
    print(text)
    print(f"gate: {', '.join(names)}: bits, cycles and flits of the netlist are those of sim")


if __name__ == "__main__":
    main()
