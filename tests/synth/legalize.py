#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""flow/ecp5/control_sets.py and flow/ecp5/legalize: placements of random netlists, in which many flip-flops of other
clocks, resets and enables lie in one tile, become legal, and shorter. The check finds each broken rule. Bad input and a
cell without a place end with one line and their status.

usage: legalize.py LEGALIZE
"""
import copy
import pathlib
import random
import subprocess
import sys
import tempfile

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[2] / "flow/ecp5"))
import control_sets  # noqa: E402

DEVICE = "LFE5U-85F"
COLUMNS, ROWS = range(10, 16), range(24, 30)


def packed(rng, luts, lone):
    """A netlist as nextpnr packs it: LUTs, every second one before a flip-flop, then LONE flip-flops with D from
    elsewhere; and where the relaxed one lies. A chain of three, whose first and last cells nextpnr has added, ends in
    the first tile."""
    cells, free = {}, [(x, y, p) for x in COLUMNS for y in ROWS for p in range(8)]
    rng.shuffle(free)
    slots = {kind: [f for f in free if f[:2] != (10, 24)] for kind in ("K", "FF")}

    def cell(name, kind, parameters, inputs, output, at):
        where = f"X{at[0]}/Y{at[1]}/SLICE{'ABCD'[at[2] // 2]}.{'K' if kind == 'TRELLIS_COMB' else 'FF'}{at[2] % 2}"
        cells[name] = {"type": kind, "parameters": parameters, "attributes": {"NEXTPNR_BEL": where},
                       "port_directions": {p: "input" for p in inputs} | {p: "output" for p in output},
                       "connections": {p: [b] for p, b in (inputs | output).items()}}

    def flip_flop(name, fed, d, q, at):
        reset, enable = rng.choice([None, None, *range(9001, 9009)]), rng.choice([None, None, *range(9101, 9109)])
        inputs = {"DI" if fed else "M": d, "CLK": rng.choice([9201, 9202])}
        inputs |= ({"LSR": reset} if reset else {}) | ({"CE": enable} if enable else {})
        cell(name, "TRELLIS_FF", {"SD": "1 " if fed else "0 ", "CLKMUX": "CLK", "LSRMUX": "LSR", "GSR": "DISABLED",
                                  "CEMUX": "CE" if enable else "1 "}, inputs, {"Q": q}, at)

    for i in range(3):
        name = ("$nextpnr_CCU2C_7", "sum", "$nextpnr_CCU2C_9")[i]
        cell(name, "TRELLIS_COMB", {"MODE": "CCU2"}, {"FCI": 8000 + i} if i else {}, {"FCO": 8001 + i, "F": 8100 + i},
             (10, 24, i))
    flip_flop("of_sum", True, 8101, 8200, (10, 24, 1))
    for i in range(luts):
        at = slots["K"].pop()
        cell(f"lut{i}", "TRELLIS_COMB", {}, {"A": 1 + rng.randrange(luts)}, {"F": 1001 + i}, at)
        if i % 2:
            if at in slots["FF"]:
                slots["FF"].remove(at)
            flip_flop(f"ff{i}", True, 1001 + i, 1 + i, at)
    for i in range(lone):
        flip_flop(f"lone{i}", False, 1 + rng.randrange(luts), 2001 + i, slots["FF"].pop())
    return {"modules": {"top": {"attributes": {}, "cells": cells}}}


def legal(legalize, folder, design, moves):
    """The design, placed legally, and the lengths that the program prints."""
    real, rough = copy.deepcopy(design), copy.deepcopy(design)
    cells = rough["modules"]["top"]["cells"]
    cells["$nextpnr_CCU2C_8"] = cells.pop("$nextpnr_CCU2C_9")  # the other packing counts otherwise
    for c in real["modules"]["top"]["cells"].values():
        del c["attributes"]["NEXTPNR_BEL"]
    (folder / "problem").write_text(control_sets.problem(real, rough, DEVICE))
    r = subprocess.run([legalize, folder / "problem", folder / "result", str(moves), "1"], capture_output=True,
                       text=True)
    assert r.returncode == 0, r
    control_sets.apply(real, rough, (folder / "result").read_text())
    return real, [int(n) for n in r.stdout.split()]


def refused(design, change, text):
    broken = copy.deepcopy(design["modules"]["top"]["cells"])
    change(broken)
    try:
        control_sets.check(broken)
    except control_sets.NotLegal as e:
        assert text in str(e), (text, e)
        return
    raise AssertionError(f"not found: {text}")


def faults(design):
    """Each rule, broken."""
    def share(cells):  # a reset of its own in a tile of several
        tile = {}
        for c in cells.values():
            where = c["attributes"]["NEXTPNR_BEL"].split("/SL")[0]
            if c["type"] == "TRELLIS_FF" and tile.setdefault(where, c) is not c:
                c["connections"]["LSR"] = [9999]
                return

    def enable(cells):
        at = {c["attributes"]["NEXTPNR_BEL"]: c for c in cells.values()}
        one = next(b for b in at if b.endswith("FF0") and f"{b[:-1]}1" in at)
        at[one]["connections"]["CE"] = [9999]

    def apart(cells):
        cells["lut1"]["attributes"]["NEXTPNR_BEL"] = "X100/Y50/SLICEA.K0"

    def twice(cells):
        cells["lut0"]["attributes"] = cells["lut2"]["attributes"]

    for change, text in ((share, "control set"), (enable, "control set"), (apart, "logic cell"), (twice, "is that of")):
        refused(design, change, text)


def ends(legalize, folder, text, status, reason, moves="1"):
    """The program ends on this PROBLEM with this status, and a line with the reason. It writes no RESULT."""
    (folder / "problem").write_text(text)
    (folder / "result").unlink(missing_ok=True)
    r = subprocess.run([legalize, folder / "problem", folder / "result", moves, "1"], capture_output=True, text=True)
    assert r.returncode == status and r.stderr.count("\n") == 1 and reason in r.stderr, (reason, r)
    assert not (folder / "result").exists(), reason


def refusals(legalize, folder):
    """One tile; cells have kind, x, y, logic cell, clock with reset, enable, partner."""
    one = "1 {} 0\n5 5\n"
    ends(legalize, folder, one.format(9) + "0 5 5 0 0 0 -1\n" * 9, 1, "LUT 8 has no legal place")
    ends(legalize, folder, one.format(2) + "1 5 5 0 0 0 -1\n1 5 5 0 1 0 -1\n", 1, "flip-flop 1 has no legal place")
    for text, reason in (
            ("", "number 1 is missing"), (one.format(1), "number 6 is missing"),
            (one.format(1) + "5 5 5 0 0 0 -1\n", "number 6 is out of range"),
            (one.format(1) + "0 128 5 0 0 0 -1\n", "number 7 is out of range"),
            (one.format(1) + "0 5 5 8 0 0 -1\n", "number 9 is out of range"),
            (one.format(1) + "0 5 5 0 1 0 -1\n", "number 10 is out of range"),
            ("2 0 0\n5 5\n5 5\n", "tile 1 is there twice"),
            (one.format(2) + "0 5 5 0 0 0 1\n1 5 5 0 0 0 -1\n", "cell 0 is not the partner of its partner"),
            (one.format(1) + "3 6 5 0 0 0 -1\n", "cell 0 is fixed where there is no logic tile"),
            (one.format(2) + "3 5 5 0 0 0 -1\n" * 2, "cell 1 is fixed at the place of another"),
            ("1 1 1\n5 5\n0 5 5 0 0 0 -1\n1 1\n", "number 14 is out of range")):
        ends(legalize, folder, text, 2, reason)
    ends(legalize, folder, one.format(0), 2, "MOVES: not a number", "many")


def main():
    rng = random.Random(45)
    with tempfile.TemporaryDirectory() as folder:
        for luts, lone in ((20, 5), (120, 60), (200, 120), (230, 150)):
            design, (rough, first, last) = legal(sys.argv[1], pathlib.Path(folder), packed(rng, luts, lone), 300_000)
            assert last < first, (rough, first, last)
            cells = design["modules"]["top"]["cells"]
            assert cells["of_sum"]["attributes"]["NEXTPNR_BEL"] == "X10/Y24/SLICEA.FF1"
            assert cells["$nextpnr_CCU2C_9"]["attributes"]["NEXTPNR_BEL"] == "X10/Y24/SLICEB.K0"
        faults(design)
        refusals(sys.argv[1], pathlib.Path(folder))


if __name__ == "__main__":
    main()
