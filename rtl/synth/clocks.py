#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A board's clocks: what its PLL makes, as SystemVerilog.

usage: clocks.py BOARD FOLDER    writes FOLDER/clocks_pkg.sv and FOLDER/board_clocks.sv. Exit status 2: the PLL cannot make what board.toml asks for
"""
import pathlib
import sys

import board as boards
import flow
import pll


def make(b, out, fabric_mhz=None):
    """Writes both. Returns {domain: MHz} as they come out."""
    c = b["clock"]
    outputs = [(o["name"], fabric_mhz if fabric_mhz and o["name"] == "fabric" else o["mhz"], o.get("exact", False)) for o in c["outputs"]]
    try:
        made = pll.solve(c["input_mhz"], outputs)
    except pll.Impossible as e:
        boards.refuse(f"{b['folder']}/board.toml: {e}")
    mhz = {o[0]: m for o, m in zip(outputs, made["mhz"])}
    out.mkdir(parents=True, exist_ok=True)
    flow.write_if_changed(out / "clocks_pkg.sv", pll.package(list(mhz.items())))
    flow.write_if_changed(out / "board_clocks.sv", pll.module(c["input_mhz"], outputs, made))
    return {d: mhz.get(v.get("pll"), v["mhz"]) for d, v in b["domains"].items()}


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    make(boards.load(sys.argv[1]), pathlib.Path(sys.argv[2]))
