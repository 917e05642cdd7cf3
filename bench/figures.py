#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the fabric's figures with `moeswitch bench` and writes them as a page.

usage: figures.py [--most N] [--speed] [OUTPUT]

OUTPUT is docs/reference/performance.md unless named. Models that are missing are built at their first use; that of 32
GPUs takes minutes. --most leaves out devices of more GPUs, and with them their lines. --speed measures the simulation's
speed alone, anew, and leaves the rest of OUTPUT as it is: that is the only part that depends on the machine.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

TOOL = "build/moeswitch"

# what is required, in words; options of the command; GPUs; lowest (or lowest and highest) share
LINES = [
    ("uniform random traffic", "unicast --minbytes 512K --maxbytes 512K", (8, 16), (0.99, 1)),
    ("multicast, 64 experts, k = 6, window 4", "multicast --window 4 --minbytes 256K --maxbytes 256K", (8,), (0.98, 1)),
    ("multicast, 64 experts, k = 6, window 4", "multicast --window 4 --minbytes 256K --maxbytes 256K",
     (16,), (0.96, 1)),
    ("multicast, 64 experts, k = 6, window 16", "multicast --window 16 --minbytes 256K --maxbytes 256K", (8,),
     (0.995, 1)),
    ("multicast, 64 experts, k = 6, window 16", "multicast --window 16 --minbytes 256K --maxbytes 256K",
     (16,), (0.99, 1)),
    ("dispatch with gate weights and allocators, rows of 1024 bytes", "dispatch --minbytes 256K --maxbytes 256K",
     (8, 16), None),
    ("reduce-scatter by ld_reduce, 128 bytes each", "reduce_scatter --row 128 --minbytes 512K --maxbytes 512K",
     (8, 16), (0.97, 1)),
    ("reduce-scatter by ld_reduce, rows of 1024 bytes", "reduce_scatter --minbytes 512K --maxbytes 512K",
     (8, 16), (0.97, 1)),
    ("all-gather by multimem.st", "all_gather --minbytes 512K --maxbytes 512K", (8, 16), None),
    ("classical input queue, 4 x 4: window 1, half of the GPUs send",
     "unicast --split --window 1 --minbytes 256K --maxbytes 256K", (8,), (0.645, 0.665)),
    ("classical input queue, 8 x 8", "unicast --split --window 1 --minbytes 256K --maxbytes 256K", (16,),
     (0.608, 0.628)),
    ("classical input queue, 16 x 16", "unicast --split --window 1 --minbytes 512K --maxbytes 512K", (32,),
     (0.592, 0.612)),
]
BETWEEN = 0.001  # of a share: flits are counted between two looks at the device, and what was under way then is not
SPEED = [(8, 160), (16, 100), (32, 30)]  # GPUs, thousand cycles per second in two threads
RUNS = 5  # of which the median counts
LATENCY = [("idle", "", 8), ("the other GPUs send", "--load --iters 200", 8)]


def run(options):
    with tempfile.NamedTemporaryFile(suffix=".json") as f:
        print("+", TOOL, "bench", options, file=sys.stderr, flush=True)
        subprocess.run([TOOL, "bench", *options.split(), "--json", f.name], check=True, stdout=subprocess.DEVNULL)
        return json.loads(pathlib.Path(f.name).read_text())["rows"]


def throughput(most):
    yield "| what | command: `moeswitch bench` | share of the links | required |\n|---|---|---|---|"
    for what, options, sizes, asked in LINES:
        for n in (n for n in sizes if n <= most):
            row = run(f"{options} --gpus {n}")[0]
            if not asked:
                verdict = "-"
            else:
                met = "yes" if asked[0] <= row["share"] <= asked[1] + BETWEEN else "**no**"
                verdict = f"{asked[0]:.3f}{'' if asked[1] == 1 else f' to {asked[1]:.3f}'}: {met}"
            yield f"| {what} | `{options} --gpus {n}` | {row['share']:.4f} | {verdict} |"


def latency(most):
    yield "| fabric | bytes | min | typical | max | average | 99 % | 99.9 % |\n|---|---|---|---|---|---|---|---|"
    for what, options, n in LATENCY:
        for row in run(f"latency {options} --gpus {n}") if n <= most else []:
            cells = (f"{row[k]:.1f}" for k in ("min", "typical", "max", "average", "p99", "p99_9"))
            yield f"| {what} | {row['size']} | " + " | ".join(cells) + " |"


def cycles_per_s(options, threads):
    rates = []
    with tempfile.NamedTemporaryFile(suffix=".json") as f:
        for _ in range(RUNS):
            print("+", f"MW_SIM_THREADS={threads}", TOOL, "run", options, file=sys.stderr, flush=True)
            subprocess.run([TOOL, "run", *options.split(), "--json", f.name], check=True, stdout=subprocess.DEVNULL,
                           env={**os.environ, "MW_SIM_THREADS": threads})
            rates.append(json.loads(pathlib.Path(f.name).read_text())["systems"][0]["sim_cycles_per_s"] / 1000)
    return statistics.median(rates)


SPEED_TITLE = "## Simulation speed"


def speed(most):
    yield from [SPEED_TITLE, "Wall clock, checking of every element included; another machine has other figures. What "
                "limits it:", "[simulation.md](../developer/simulation.md).", ""]
    yield (f"Medians of {RUNS} runs on models of `make model N=... F=16 PRIMITIVES=basic`, in thousand cycles per "
           "second:\n")
    yield "| GPUs | command: `moeswitch run` | one thread | two | required of two |\n|---|---|---|---|---|"
    for n, asked in SPEED:
        if n <= most:
            # the smaller one, which `run` takes for dysharp, is of the same sources as the whole one beside it
            for primitives in ("all", "basic"):
                subprocess.run(["make", "-s", "model", f"N={n}", "F=16", f"PRIMITIVES={primitives}"], check=True,
                               stdout=sys.stderr)
            options = f"--system dysharp --tile 1 --hidden 512 --tokens-per-gpu {1024 // n} --gpus {n}"
            one, two = (cycles_per_s(options, threads) for threads in "12")
            yield f"| {n} | `{options}` | {one:.0f} | {two:.0f} | {asked}: {'yes' if two >= asked else '**no**'} |"
    yield ""


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--most", type=int, default=32, metavar="N")
    p.add_argument("--speed", action="store_true")
    p.add_argument("output", nargs="?", default="docs/reference/performance.md")
    a = p.parse_args()
    if a.speed:
        before = pathlib.Path(a.output).read_text().partition(SPEED_TITLE)[0]
    else:
        command = "bench/figures.py" + (f" --most {a.most}" if a.most < 32 else "")
        before = "\n".join(["# Performance", "", f"Written by `{command}`; `docs/user/bench.md` says what the patterns "
                            "and figures are. Flits of 16 bytes.", "", "## Throughput", *throughput(a.most),
                            "", "## Latency", "Cycles, one way, GPU to GPU, of a store with a flag behind it: half of "
                            "a round trip.", "", *latency(a.most), "", ""])
    pathlib.Path(a.output).write_text(before + "\n".join(speed(a.most)))


if __name__ == "__main__":
    main()
