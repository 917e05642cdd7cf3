#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the page of bench/results.py and the tables of bench/flashdmoe.py, of small layers that are synthetic, against
runs of the same.

usage: results.py BUILD    exit status 1, with a line, when something is wrong

Every system that the device runs has a line with the cycles of its runs without costs of software and with the papers',
and every claim whose systems ran has one with a ratio.
"""
import json
import pathlib
import re
import subprocess
import sys

from command import fail, run, scratch_folder

WORDS = "--gpus 8 --tokens-per-gpu 8 --hidden 512 --tile 16"
CLAIMS = {"MoE layer over DeepEP": ("unicast", "dysharp"), "MoE layer over COMET": ("overlap", "dysharp"),
          "the primitive alone, phase after phase, over DeepEP": ("unicast", "dysharp-basic"),
          "MoE layer over Megatron's with Transformer Engine, 8 GPUs": ("unicast", "flashdmoe")}


def cycles(build, folder, costs, system="all", *others):
    report = folder / f"{costs}.json"
    run(build, [*WORDS.split(), "--costs", costs, "--system", system, *others, "--json", report])
    return {s["system"]: s["cycles"] for s in json.loads(report.read_text())["systems"]}


def flashdmoe(build, folder, words):
    report = folder / "flashdmoe.json"
    words += " --flit-bytes 8 --tokens-per-gpu 8 --hidden 512 --tile 16"
    run(build, [*words.split(), "--json", report])
    data = json.loads(report.read_text())
    return data["params"], data["systems"][0]


def check_flashdmoe(build, folder):
    """Bytes of 4 GPUs; times of 2 and 4, whose experts take as long."""
    made = subprocess.run([sys.executable, *"bench/flashdmoe.py --gpus 2,4 --flit-bytes 8 --tokens 8".split()],
                          capture_output=True, text=True)
    if made.returncode:
        fail(f"bench/flashdmoe.py: {made.stderr}")
    params, system = flashdmoe(build, folder, "--gpus 4 --system flashdmoe")
    expert = params["expert_cycles"]
    payload = sum(p["up"]["payload_bytes"] for p in system["ports"])
    wire = 8 * sum(p["up"][c] for p in system["ports"] for c in ("ctrl", "store", "request", "partial"))
    expected = [f"| synthetic | 0 | {payload / 1024:.0f} | {wire / 1024:.0f} | {payload / wire:.1%} |"]
    for name in ("flashdmoe", "unicast"):
        words = f"--system {name} --expert-cycles {expert}"
        two, four = (flashdmoe(build, folder, f"{words} --gpus {n}")[1]["cycles"] for n in (2, 4))
        times = [f"{t:,}".replace(",", " ") for t in (two, four)]
        expected.append(f"| synthetic, 0 | {expert} | `{name}` | {times[0]}, 1.000 | {times[1]}, {two / four:.3f} |")
    for line in expected:
        if line not in made.stdout.splitlines():
            fail(f"bench/flashdmoe.py prints no '{line}': {made.stdout}")


def main():
    build = sys.argv[1]
    folder = scratch_folder(build, "results")
    check_flashdmoe(build, folder)
    page = folder / "results.md"
    made = subprocess.run([sys.executable, "bench/results.py", "--gpus", "8", "--tokens", "8", page],
                          capture_output=True, text=True)
    if made.returncode:
        fail(f"bench/results.py: {made.stderr}")
    text = page.read_text()
    free, paid = (cycles(build, folder, costs) for costs in ("none", "papers"))
    if len(free) < 6 or free.keys() != paid.keys():
        fail(f"systems that ran: {list(free)}, {list(paid)}")
    for system, count in free.items():
        if f"| `{system}` | {count} ({paid[system]}) |" not in text:
            fail(f"no line of {system} with {count} and {paid[system]} cycles")
    for claim, (over, system) in CLAIMS.items():
        line = re.search(rf"\| {re.escape(claim)} \|.*", text)
        ratio = f"{free[over] / free[system]:.2f} | {paid[over] / paid[system]:.2f} |"
        if not line or ratio not in line[0]:
            fail(f"no line of '{claim}' with {ratio}")
    claim = "its trackers, over barriers"
    none = [cycles(build, folder, c, "moe-hub", "--set", "tracker=0")["moe-hub"] for c in ("none", "papers")]
    ratio = f"{none[0] / free['moe-hub']:.2f} | {none[1] / paid['moe-hub']:.2f} |"
    line = re.search(rf"\| {claim} \|.*", text)
    if not line or ratio not in line[0]:
        fail(f"no line of '{claim}' with {ratio}")


if __name__ == "__main__":
    main()
