#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures `flashdmoe` by FlashDMoE's own figures and prints them as the tables of docs/design/systems.md.

usage: flashdmoe.py [--traces DIR] [--gpus N,N] [--tokens T] [--flit-bytes F]

Payload efficiency is payload (rows and gate weights) over all bytes that cross the uplinks, on 8 GPUs, or the most of
--gpus that are not more. Overlap efficiency is T(2)/T(N), or that of the fewest of --gpus: the time of a layer with as
many tokens on each GPU, whose experts take the same time per row on any number of GPUs, the one that 8 have by default.
--traces: the folder with the traces of results.py's layers; without it a layer is synthetic.
"""
import argparse

from results import LAYERS, SYNTHETIC, measure, table

SYSTEMS = ("flashdmoe", "unicast")  # the other one waits between phases, as the paper's baselines do
USUAL = 8  # GPUs


class Point:
    """A layer on some number of GPUs."""

    def __init__(self, a, name, number):
        trace = f"--trace {a.traces}/{name} --repeat-tokens" if name else ""
        self.name, self.number = name or "synthetic", number
        self.options = f"{trace} --layer {number} --tokens-per-gpu {a.tokens} --hidden 512 --tile 16"
        self.options += f" --flit-bytes {a.flit_bytes}"

    def run(self, system, gpus, more=""):
        return measure(f"{self.options} --gpus {gpus} --system {system} {more}".strip())


def grouped(number):
    return f"{number:,}".replace(",", " ")


def payload_table(points, gpus):
    rows = [["trace", "layer", "payload, KiB", "all, KiB", "payload efficiency"]]
    for p in points:
        up = p.run("flashdmoe", gpus)["systems"][0]["up"]
        payload, wire = (gpus * up[f"{what}_bytes_mean"] for what in ("payload", "wire"))
        kib = [grouped(round(n / 1024)) for n in (payload, wire)]
        rows.append([p.name, str(p.number), *kib, f"{payload / wire:.1%}"])
    return table(rows)


def overlap_table(points, numbers, usual):
    rows = [["trace, layer", "expert", "system", *(f"N = {n}" for n in numbers)]]
    for p in points:
        expert = p.run("flashdmoe", usual)["params"]["expert_cycles"]
        for system in SYSTEMS:
            times = [p.run(system, n, f"--expert-cycles {expert}")["systems"][0]["cycles"] for n in numbers]
            cells = [f"{grouped(t)}, {times[0] / t:.3f}" for t in times]
            rows.append([f"{p.name}, {p.number}", str(expert), f"`{system}`", *cells])
    return table(rows)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--traces", metavar="DIR")
    p.add_argument("--gpus", default="2,4,8,16", metavar="N,N")
    p.add_argument("--tokens", type=int, default=512, metavar="T")
    p.add_argument("--flit-bytes", type=int, default=16, metavar="F")
    a = p.parse_args()
    numbers = sorted(map(int, a.gpus.split(",")))
    usual = max((n for n in numbers if n <= USUAL), default=numbers[0])
    layers = LAYERS if a.traces else SYNTHETIC
    every = [Point(a, name, number) for name, all_of in layers for number in all_of]
    middle = [Point(a, name, all_of[len(all_of) // 2]) for name, all_of in layers]
    print("\n".join([*payload_table(every, usual), "", *overlap_table(middle, numbers, usual)]))


if __name__ == "__main__":
    main()
