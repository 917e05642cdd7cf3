#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Synthesizes the fabric for ECP5 and checks what must hold: no latch, no memory lost to flip-flops,
area within its limits.

usage: check.py [--top NAME] [--out DIR] [--param NAME=VALUE ...] [--max-comb N] [--max-bram N] FILE...
       check.py --netlist FILE --top NAME [--fast] [--out DIR] [--max-comb N] [--max-bram N] [--dsp N]

The second form reads a netlist of words (RTLIL) instead of the RTL. --fast maps for speed, as pnr.py does. The script
prints the area of each module, summed over its instances with their contents (own: without). The columns are COMB
(= LUT4 + 2 CCU2C + 4 TRELLIS_DPR16X4), flip-flops, DP16KD and MULT18X18D. Yosys runs from the current folder (its slang
front end opens only files below it). Exit status 1: a check failed; 2: Yosys failed.
"""
import argparse
import json
import pathlib
import re
import sys

import flow

CELLS = {"LUT4": ("comb", 1), "CCU2C": ("comb", 2), "TRELLIS_DPR16X4": ("comb", 4), "TRELLIS_FF": ("ff", 1),
         "DP16KD": ("bram", 1), "MULT18X18D": ("dsp", 1)}
KEYS = ("comb", "ff", "bram", "dsp")
LARGE_MEMORY_BITS = 512  # a smaller memory may become flip-flops


def parse():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--top", default="fabric")
    p.add_argument("--out", default="build/synth")
    p.add_argument("--param", action="append", default=[])
    p.add_argument("--levels", type=int, default=2, help="of the hierarchy below the top that stay apart")
    p.add_argument("--max-comb", type=int)
    p.add_argument("--max-bram", type=int)
    p.add_argument("--dsp", type=int, help="how many multipliers there must be")
    p.add_argument("--netlist", type=pathlib.Path)
    p.add_argument("--fast", action="store_true")
    p.add_argument("files", nargs="*")
    return p.parse_args()


def lost_memories(text):
    """Memories that neither block RAM nor distributed RAM took, larger than a few words."""
    lost, name, size, width = [], None, 0, 0
    for line in text.splitlines():
        if m := re.match(r"\s*cell \$mem_v2 (\S+)", line):
            name = m[1]
        elif m := re.match(r"\s*parameter \\SIZE (\d+)", line):
            size = int(m[1])
        elif m := re.match(r"\s*parameter \\WIDTH (\d+)", line):
            width = int(m[1])
        elif re.match(r"\s*end", line) and name:
            if size * width > LARGE_MEMORY_BITS:
                lost.append(f"{name} ({size} x {width})")
            name = None
    return lost


def area(stat, top):
    mods = {n.lstrip("\\"): m["num_cells_by_type"] for n, m in stat["modules"].items()}
    total = {}

    def walk(name):
        if name not in total:
            t, own = dict.fromkeys(KEYS, 0), dict.fromkeys(KEYS, 0)
            for cell, n in mods[name].items():
                cell = cell.lstrip("\\")
                if cell in CELLS:
                    key, weight = CELLS[cell]
                    t[key] += n * weight
                    own[key] += n * weight
                elif cell in mods:
                    sub = walk(cell)[0]
                    for k in KEYS:
                        t[k] += n * sub[k]
            total[name] = (t, own)
        return total[name]

    walk(top)
    return total


def module_of(name):
    """Yosys names an instance of a module MODULE$its.path."""
    return name.split("$")[0]


def by_module(stat, total, top):
    """Instances, cells with and without the instances inside, of all instances of a module together."""
    mods = {n.lstrip("\\"): m["num_cells_by_type"] for n, m in stat["modules"].items()}
    rows = {}

    def count(name, n):
        t, own = total[name]
        row = rows.setdefault(module_of(name), [0, dict.fromkeys(KEYS, 0), 0])
        row[0] += n
        row[2] += n * own["comb"]
        for k in KEYS:
            row[1][k] += n * t[k]
        for cell, m in mods[name].items():
            if cell.lstrip("\\") in mods:
                count(cell.lstrip("\\"), n * m)

    count(top, 1)
    return sorted(rows.items(), key=lambda r: -r[1][1]["comb"])


def main():
    a = parse()
    out = pathlib.Path(a.out)
    out.mkdir(parents=True, exist_ok=True)
    if a.netlist:
        flow.write_if_changed(out / "merged.il", a.netlist.read_text())
    else:
        flow.elaborate(out, a.top, a.param, a.files, a.levels)
    flow.synthesize(out, a.top, small=not a.fast)
    stat = json.loads((out / "stat.json").read_text())
    total = area(stat, a.top)
    print(f"{'module':44} {'inst':>5} {'COMB':>7} {'own':>7} {'FF':>7} {'DP16KD':>7} {'MULT':>5}")
    for name, (count, t, own) in by_module(stat, total, a.top):
        print(f"{name[:44]:44} {count:5} {t['comb']:7} {own:7} {t['ff']:7} {t['bram']:7} {t['dsp']:5}")
    failed = []
    latches = (out / "latch.txt").read_text().split()
    if latches:
        failed.append(f"latches: {' '.join(latches[:5])}")
    lost = lost_memories((out / "memories_ff.json").read_text())
    if lost:
        failed.append(f"memories in flip-flops: {', '.join(lost[:5])}")
    t = total[a.top][0]
    print(f"synth-check: {a.top}: {t['comb']} COMB, {t['ff']} FF, {t['bram']} DP16KD, {t['dsp']} MULT18X18D")
    for key, limit in (("comb", a.max_comb), ("bram", a.max_bram)):
        if limit is not None and t[key] > limit:
            failed.append(f"{t[key]} {key} is over the limit of {limit}")
    if a.dsp is not None and t["dsp"] != a.dsp:
        failed.append(f"{t['dsp']} multipliers, not {a.dsp}")
    for f in failed:
        print(f"synth-check: FAILED: {f}")
    print(f"synth-check: {'1 passed, 0 failed' if not failed else '0 passed, 1 failed'}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
