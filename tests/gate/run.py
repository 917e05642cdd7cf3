#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small layer under every system that a device has the primitives of, on the netlist of a board, at its ULPI pins and
with firmware, against `moeswitch run` of the same configuration: right bits, and the same cycles, stalls and flits. So
do tensor-parallel workloads.

usage: run.py BUILD MODEL SIM KHZ...

MODEL, SIM: folders below BUILD/model. MODEL: a netlist (gate-n4f8-ecpix5-85f), or RTL (dev-n2f8-ecpix5-85f;
dev-n4f8-ecpix5-85f-threads with one node for all). SIM: the fabric of this configuration. KHZ: cycles of the fabric per
millisecond, one pass each, beside the 60 000 clocks of the bus
"""
import json
import os
import pathlib
import re
import subprocess
import sys

SIZES = "--flit-bytes 8 --tile 1"
LAYER = f"{SIZES} --hidden 32 --k 2 --tokens-per-gpu 4 --jobs 1"
PARALLEL = f"{SIZES} --hidden 64 --rows 4 --workload sublayer"
TIMES = ("simulated_cycles", "seconds_wall", "sim_cycles_per_s", "simulated_by")  # of the simulation, not of the device
LISTED = {kind: re.compile(rf"^{kind} +(.*)", re.M) for kind in ("MoE systems", "tensor-parallel")}


class Device:
    """Commands on one device."""

    def __init__(self, gpus, **environment):
        self.gpus, self.environment = gpus, os.environ | environment

    def __call__(self, command, words):
        line = [*map(str, command), "--gpus", self.gpus, *words.split()]
        r = subprocess.run(line, text=True, stdout=subprocess.PIPE, env=self.environment)
        if r.returncode:
            sys.exit(f"gate: {' '.join(line)}: exit status {r.returncode}\n{r.stdout}")
        return r.stdout

    def report(self, command, words, path):
        """{system: its report}, and what is printed."""
        text = self(command, f"{words} --json {path}")
        found = json.loads(path.read_text())["systems"]
        for system in found:
            for key in TIMES:
                system.pop(key, None)
        return {s["system"]: s for s in found}, text


def runs(build, of_sim, gpus, work):
    """Options of the runs, with what the fabric reports of each: all systems together; where lists of sources take more
    than an expert's, with fewer experts; tensor-parallel workloads. Each system that `moeswitch info` lists for the
    fabric is in one of them."""
    sim = Device(gpus, MOESWITCH_MODEL=str(build / f"model/{of_sim}/libmwsim.so"))
    text, run = sim([build / "moeswitch", "info"], "--flit-bytes 8"), [build / "moeswitch", "run"]
    listed = {kind: names[1].split(", ") if (names := pattern.search(text)) else [] for kind, pattern in LISTED.items()}
    found = []
    for words in (f"{LAYER} --experts {2 * int(gpus)}", f"{LAYER} --experts {gpus}"):
        left = [s for s in listed["MoE systems"] if not any(s in want for _, want in found)]
        if left:
            words += f" --system {','.join(left)}" if found else ""
            found.append((words, sim.report(run, words, work / "sim.json")[0]))
    if listed["tensor-parallel"]:
        found.append((PARALLEL, sim.report(run, PARALLEL, work / "sim.json")[0]))
        if list(found[-1][1]) != listed["tensor-parallel"]:
            sys.exit(f"gate: {PARALLEL}: ran {', '.join(found[-1][1])}")
    missing = [s for s in listed["MoE systems"] if not any(s in want for _, want in found)]
    if missing or not listed["MoE systems"]:
        sys.exit(f"gate: no layer of {', '.join(missing) or 'any system'}")
    return found


def main():
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    build, model, of_sim = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    gpus = re.search(r"-n(\d+)f8", model)[1]
    work = build / "gate"
    work.mkdir(exist_ok=True)
    wanted = runs(build, of_sim, gpus, work)
    for khz in sys.argv[4:]:
        netlist = Device(gpus, MW_DEVICE_KHZ=khz)
        for words, want in wanted:
            found, text = netlist.report([build / "tests/gate/on_netlist", model], words, work / "found.json")
            print(text)
            if list(found) != list(want):
                sys.exit(f"gate: {khz} kHz: {words}: ran {', '.join(found)}, not {', '.join(want)}")
            for name, a in want.items():
                b = found[name]
                if a != b:
                    sys.exit(f"gate: {khz} kHz: {words}: {name}: {', '.join(k for k in a if a[k] != b.get(k))} differ "
                             f"from those of sim: {work}/found.json")
            print(f"gate: {model} at {khz} kHz: {', '.join(want)}: bits, cycles and flits are those of sim")


if __name__ == "__main__":
    main()
