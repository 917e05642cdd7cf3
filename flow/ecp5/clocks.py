#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A board's clocks: what its PLL makes, as SystemVerilog.

usage: clocks.py BOARD FOLDER [THREADS]

Writes FOLDER/clocks_pkg.sv and FOLDER/board_clocks.sv. `fabric` of board.toml is the nodes' clock. Without THREADS,
`node` and `fabric` are this one clock. With THREADS, one node serves that many GPUs (docs/design/threads.md): `node` is
this clock, and `fabric` is slower by this factor and in phase with it.
Exit status 2: the PLL cannot make the clocks that board.toml requests.
"""
import pathlib
import sys

import board as boards
import flow
import pll


def solve(b, fabric_mhz=None, threads=1):
    """Settings of the board's PLL. Adds the domain `node` to those of the board where it is a clock of its own."""
    c = b["clock"]
    outputs = [(o["name"], o["mhz"] if fabric_mhz is None or o["name"] != "fabric" else fabric_mhz,
                o.get("exact", False)) for o in c["outputs"]]
    names = [o[0] for o in outputs]
    at = names.index("fabric")
    divided, same = [], [("node", "fabric")]
    if threads > 1:
        divided, same = [("fabric", at, threads)], []
        names[at] = "node"
        b["domains"]["node"] = b["domains"]["fabric"] | {"pll": "node"}
    try:
        made = pll.solve(c["input_mhz"], outputs, divided)
    except pll.Impossible as e:
        asked = "" if fabric_mhz is None else f" with FABRIC_MHZ={fabric_mhz:g}"
        boards.refuse(f"{b['folder']}/board.toml{asked}: {e}")
    b["outputs"] = names + [d[0] for d in divided]
    return made, same, threads


def write(b, out, solved):
    """Writes both of what `solve` returned. Returns {domain: MHz} as they come out."""
    made, same, threads = solved
    mhz = dict(zip(b["outputs"], made["mhz"]))
    out.mkdir(parents=True, exist_ok=True)
    flow.write_if_changed(out / "clocks_pkg.sv",
                          pll.package([*mhz.items(), *((n, mhz[other]) for n, other in same)], threads))
    flow.write_if_changed(out / "board_clocks.sv", pll.module(b["clock"]["input_mhz"], b["outputs"], made, same))
    return {d: mhz.get(v.get("pll"), v["mhz"]) for d, v in b["domains"].items()}


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    b = boards.load(sys.argv[1])
    write(b, pathlib.Path(sys.argv[2]), solve(b, threads=int(sys.argv[3]) if len(sys.argv) == 4 else 1))
