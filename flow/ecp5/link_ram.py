#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the RAM of a part in two configurations: a table of the modules whose memories differ by 0.1 KiB or more, and
of all memories.

usage: link_ram.py --out DIR --top NAME --param NAME=VALUE ... --other NAME=VALUE ... FILE...

--other: settings that the second configuration has in addition to those of the first. The table counts every memory
that Yosys finds in the RTL, of any size. A module stands for all its instances. Exit status 2: Yosys failed."""
import argparse
import collections
import json
import pathlib

import flow
import settings

WRAPPERS = {"ram_sdp", "lutram", "gated_ram", "fifo", "fifo_ram", "fifo_sized", "table_ram", "lut_table", "pkt_fifo",
            "promise_fifo"}
KIB = 8 * 1024


def parse():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--out", type=pathlib.Path, required=True)
    p.add_argument("--top", required=True)
    p.add_argument("--param", action="append", default=[])
    p.add_argument("--other", action="append", default=[])
    p.add_argument("files", nargs="+")
    return p.parse_args()


def owner(name, modules):
    """The nearest module above a memory that is more than a memory. Yosys names an instance MODULE$its.path."""
    module, _, path = name.partition("$")
    while module in WRAPPERS and "." in path:
        path = path.rpartition(".")[0]
        module = modules.get(path, module)
    return module


def bits_by_module(stat):
    """{module: bits of memory}, of all its instances. The front end makes a module of every instance."""
    bits = {n.lstrip("\\"): m["num_memory_bits"] for n, m in stat["modules"].items()}
    modules = {path or module: module for module, _, path in (n.partition("$") for n in bits)}
    found = collections.Counter()
    for name, count in bits.items():
        found[owner(name, modules)] += count
    return found


def memories(out, top, params, files):
    out.mkdir(parents=True, exist_ok=True)
    flow.yosys(out, "memories", f"""
read_slang --threads 1 --keep-hierarchy{settings.slang(params, out)} --top {top} {' '.join(files)}
hierarchy -check -top {top}
tee -q -o {out}/memories.json stat -json
""")
    return bits_by_module(json.loads((out / "memories.json").read_text()))


def main():
    a = parse()
    one = memories(a.out / "one", a.top, a.param, a.files)
    other = memories(a.out / "other", a.top, a.param + a.other, a.files)
    rows = [(f"`{m}`", one[m], other[m]) for m in sorted(one | other, key=lambda m: -other[m])]
    for what, *bits in [*rows, ("all memories", one.total(), other.total())]:
        before, after = (f"{b / KIB:.1f}" for b in bits)
        if before != after:
            print(f"| `{a.top}` | {what} | {before} | {after} |")


if __name__ == "__main__":
    main()
