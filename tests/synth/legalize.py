#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""flow/ecp5/control_sets.py and flow/ecp5/legalize: placements of random netlists, in which many flip-flops of other
clocks, resets and enables lie in one tile, become legal, and shorter; so does the longest path. What is known of a path
is what its cells and wires add up to. The check finds each broken rule. Bad input and a cell without a place end with
one line and their status.

usage: legalize.py LEGALIZE
"""
import copy
import json
import pathlib
import random
import subprocess
import sys
import tempfile

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[2] / "flow/ecp5"))
import bitstream  # noqa: E402
import control_sets  # noqa: E402
import delays  # noqa: E402

DEVICE = "LFE5U-85F"
COLUMNS, ROWS = range(10, 16), range(24, 30)
CLOCKS = {9201: "node", 9202: "usb"}
LIMITS = delays.Limits({"part": {"speed": 8}}, {"node": 400, "usb": 50}, lambda name: name.partition("_")[2])


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
        inputs = {"DI" if fed else "M": d, "CLK": rng.choice(list(CLOCKS))}
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
    for bit, clock in CLOCKS.items():
        cells[clock] = {"type": "DCCA", "parameters": {}, "attributes": {"NEXTPNR_BEL": f"X0/Y{bit - 9200}/DCCA"},
                        "port_directions": {"CLKO": "output"}, "connections": {"CLKO": [bit]}}
    return {"modules": {"top": {"attributes": {}, "cells": cells,
                                "netnames": {f"clk_{d}": {"bits": [bit]} for bit, d in CLOCKS.items()}}}}


def legal(legalize, folder, design, moves):
    """The design, placed legally, and the figures that the program prints."""
    real, rough = copy.deepcopy(design), copy.deepcopy(design)
    cells = rough["modules"]["top"]["cells"]
    cells["$nextpnr_CCU2C_8"] = cells.pop("$nextpnr_CCU2C_9")  # the other packing counts otherwise
    for c in real["modules"]["top"]["cells"].values():
        del c["attributes"]["NEXTPNR_BEL"]
    (folder / "problem").write_text(control_sets.problem(real, rough, DEVICE, LIMITS))
    r = subprocess.run([legalize, folder / "problem", folder / "result", str(moves), "1"], capture_output=True,
                       text=True)
    assert r.returncode == 0, r
    control_sets.apply(real, rough, (folder / "result").read_text())
    return real, [[int(n) for n in line.split()] for line in r.stdout.splitlines()]


def refused(design, change, text):
    broken = copy.deepcopy(design["modules"]["top"]["cells"])
    change(broken)
    try:
        control_sets.check(broken)
    except control_sets.NotLegal as e:
        assert text in str(e), (text, e)
        return
    raise AssertionError(f"not found: {text}")


def seeds(legalize, folder, design):
    """Seeds share what nextpnr has placed, and each has a legal placement of its own."""
    calls, took, old = [], [], bitstream.nextpnr
    real, rough = copy.deepcopy(design), json.dumps(design)
    for c in real["modules"]["top"]["cells"].values():
        del c["attributes"]["NEXTPNR_BEL"]

    def nextpnr(b, out, name, source, args):
        calls.append(name)
        (out / f"{name}.json").write_text({"packed": json.dumps(real), "rough": rough}[name])
        return None

    b = {"id": "t", "part": {"device": "85k", "speed": 8}, "legalize": pathlib.Path(legalize), "netlist": "n.json",
         "folder": folder, "nets": {d: (bit, {f"clk_{d}"}) for bit, d in ((9201, "node"), (9202, "fabric"))}}
    for name, text in (("n.json", json.dumps(real)), ("pins.lpf", "")):
        (folder / name).write_text(text)
    bitstream.nextpnr, bitstream.MOVES = nextpnr, 1000
    try:
        for seed in (1, 2, 2):  # the last one finds its placement
            took.append(bitstream.place(b, folder, seed, ["--seed", str(seed), "--freq", "100"],
                                        {"node": 400, "fabric": 100}))
    finally:
        bitstream.nextpnr = old
    assert calls == ["packed", "rough"], calls
    assert took[1] == took[2] and [t["args"][-3] for t in took[0]] == [str(bitstream.SEEDS[0]), "1"], took
    one, other = (json.loads((folder / f"placed-{s}.json").read_text()) for s in (1, 2))
    assert one != other
    for placed in (one, other):
        control_sets.check(control_sets.module(placed)["cells"])
    b["legalize"] = folder / "shares"
    b["legalize"].write_text("#!/bin/sh\necho $4 > $2; echo 9 9 9; echo 8000 99 50; "
                             "echo 9000 99 $(echo 90 90 80 90 70 90 70 60 | cut -d' ' -f$4)\n")
    b["legalize"].chmod(0o755)
    for seed, best, share in ((1, 3, 80), (2, 8, 60)):
        result = folder / f"result-{seed}.txt"
        lines = bitstream.legalize(b, folder / "problem-1.txt", result, seed)
        assert lines == [[9, 9, 9], [8000, 99, 50], [9000, 99, share]] and int(result.read_text()) == best, lines


def constants(design):
    """No path begins at a constant, and no wire to one is shortened."""
    def counts(design):
        return control_sets.problem(design, design, DEVICE, LIMITS).split()[2:4]

    with_one = copy.deepcopy(design)
    cells = with_one["modules"]["top"]["cells"]
    cells["ground"] = {"type": "TRELLIS_COMB", "parameters": {}, "attributes": {"NEXTPNR_BEL": "X50/Y50/SLICEA.K0"},
                       "port_directions": {"A": "input", "F": "output"}, "connections": {"A": [], "F": [7000]}}
    cells["lut0"]["connections"]["B"], cells["lut0"]["port_directions"]["B"] = [7000], "input"
    assert counts(with_one) == counts(design)


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
        one = next(b for b in at if b.endswith("FF0") and f"{b[:-1]}1" not in at)
        cells["beside"] = copy.deepcopy(at[one]) | {"attributes": {"NEXTPNR_BEL": f"{one[:-1]}1"}}
        cells["beside"]["parameters"]["SD"] = "0 "
        cells["beside"]["connections"]["CE"] = [9999]

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
    """One tile; cells have kind, x, y, logic cell, clock with reset, enable, partner, ps to the outputs, ps to it."""
    one = "1 {} 0 0\n5 5\n"
    ends(legalize, folder, one.format(9) + "0 5 5 0 0 0 -1 0 1\n" * 9, 1, "LUT 8 has no legal place")
    ends(legalize, folder, one.format(2) + "1 5 5 0 0 0 -1 0 1\n1 5 5 0 1 0 -1 0 1\n", 1,
         "flip-flop 1 has no legal place")
    for text, reason in (
            ("", "number 1 is missing"), (one.format(1), "number 7 is missing"),
            (one.format(1) + "5 5 5 0 0 0 -1 0 1\n", "number 7 is out of range"),
            (one.format(1) + "0 128 5 0 0 0 -1 0 1\n", "number 8 is out of range"),
            (one.format(1) + "0 5 5 8 0 0 -1 0 1\n", "number 10 is out of range"),
            (one.format(1) + "0 5 5 0 1 0 -1 0 1\n", "number 11 is out of range"),
            (one.format(1) + "0 5 5 0 0 0 -1 -1 1\n", "number 14 is out of range"),
            (one.format(1) + "0 5 5 0 0 0 -1 0 0\n", "number 15 is out of range"),
            ("2 0 0 0\n5 5\n5 5\n", "tile 1 is there twice"),
            (one.format(2) + "0 5 5 0 0 0 1 0 1\n1 5 5 0 0 0 -1 0 1\n", "cell 0 is not the partner of its partner"),
            (one.format(1) + "3 6 5 0 0 0 -1 0 1\n", "cell 0 is fixed where there is no logic tile"),
            (one.format(2) + "3 5 5 0 0 0 -1 0 1\n" * 2, "cell 1 is fixed at the place of another"),
            ("1 1 1 1\n5 5\n0 5 5 0 0 0 -1 0 1\n2 1 0\n", "number 16 is out of range"),
            ("1 1 1 1\n5 5\n0 5 5 0 0 0 -1 0 1\n0 2 0 0\n", "number 17 is out of range"),
            ("1 1 1 1\n5 5\n0 5 5 0 0 0 -1 0 1\n0 1 2\n", "number 18 is out of range"),
            ("1 1 1 2\n5 5\n0 5 5 0 0 0 -1 0 1\n0 1 0\n", "1 pins are missing")):
        ends(legalize, folder, text, 2, reason)
    ends(legalize, folder, one.format(0), 2, "MOVES: not a number", "many")


def share(legalize, folder, middle, nets):
    """Percent that a path takes of a nanosecond, from a flip-flop to the MIDDLE cells 20 tiles away and back."""
    cells = ["1 5 5 0 0 0 -1 309 1000", *middle, "1 5 5 1 0 0 -1 309 1000"]
    (folder / "problem").write_text("\n".join([f"2 {len(cells)} {len(nets)} {2 * len(nets)}", "5 5", "25 5", *cells,
                                               *(f"{carry} 2 {2 * a + 1} {2 * b + end}" for a, b, carry, end in nets)]))
    r = subprocess.run([legalize, folder / "problem", folder / "result", "0", "1"], capture_output=True, text=True)
    assert r.returncode == 0, r
    limit, before, after = r.stdout.split()[3:] or ("1000", "0", "0")
    assert limit == "1000" and before == after, r
    return int(before)


def paths(legalize, folder):
    """Each wire of 20 tiles takes 54 ps * (3 + 20 + 5), one within a tile 54 ps * 3 and within a chain nothing; a LUT
    takes 141 ps, a chain 278 ps at its begin and at its end, 43 ps at each cell between."""
    far, lut, chain = 54 * 28, "0 25 5 0 0 0 -1 141 1000", [f"3 25 5 {i} 0 0 -1 278 1000" for i in range(3)]
    assert share(legalize, folder, [lut], [(0, 1, 0, 0), (1, 2, 0, 1)]) == round((309 + 2 * far + 141) / 10)
    assert share(legalize, folder, [lut], [(0, 1, 0, 1), (1, 2, 0, 1)]) == round((309 + far) / 10)
    assert (share(legalize, folder, chain, [(0, 1, 0, 0), (1, 2, 1, 0), (2, 3, 1, 0), (3, 4, 0, 1)])
            == round((309 + 2 * far + 278 + 43 + 278) / 10))
    loop = [(0, 1, 0, 0), (1, 2, 0, 0), (2, 1, 0, 0), (2, 3, 0, 1)]  # not measured, and no end of the program
    assert share(legalize, folder, [lut, lut.replace("5 0 0", "5 1 0")], loop) == 0


def lies_at(legalize, folder, required):
    """The column of a LUT that five flip-flops in column 5 and one in column 45 feed, for one in column 25: all short
    wires are where the five are, the short paths are where the last one is."""
    tiles = [f"{x} {y}" for y in range(3, 8) for x in range(3, 48)]
    cells = [f"4 {x} 5 {i} 0 0 -1 309 {required}" for i, x in enumerate((*5 * [5], 45, 25))] + ["0 9 5 7 0 0 -1 141 1"]
    nets = [f"0 2 {2 * i + 1} 14" for i in range(6)] + ["0 2 15 13"]
    (folder / "problem").write_text("\n".join([f"{len(tiles)} 8 7 14", *tiles, *cells, *nets]))
    subprocess.run([legalize, folder / "problem", folder / "result", "200000", "1"], check=True, capture_output=True)
    return next(int(line.split()[1]) for line in (folder / "result").read_text().splitlines() if line[0] == "7")


def limits(legalize, folder):
    """Each limit has its longest path; one that no path has is not there."""
    cells = [f"1 {x} 5 {i} 0 0 -1 309 {ps}" for i, (x, ps) in enumerate(((5, 9999), (25, 3000), (25, 2000), (5, 3000)))]
    nets = ["0 2 1 3", "0 2 3 5", "0 2 5 7"]
    (folder / "problem").write_text("\n".join(["2 4 3 6", "5 5", "25 5", *cells, *nets]))
    r = subprocess.run([legalize, folder / "problem", folder / "result", "0", "1"], capture_output=True, text=True)
    far, near = ((309 + 54 * (3 + n)) / 10 for n in (25, 0))
    assert r.stdout.split()[3:] == [f"{n:.0f}" for n in (2000, near / 2, near / 2, 3000, far / 3, far / 3)], r


def weights(legalize, folder):
    assert lies_at(legalize, folder, 100_000) == 5
    assert lies_at(legalize, folder, 3000) == 25


def main():
    rng = random.Random(45)
    with tempfile.TemporaryDirectory() as folder:
        for luts, lone in ((20, 5), (120, 60), (200, 120), (230, 150)):
            design, figures = legal(sys.argv[1], pathlib.Path(folder), packed(rng, luts, lone), 300_000)
            (_, first, last), *paths_of = figures
            assert last < first, figures
            assert sorted(paths_of) == paths_of and all(after < before or luts == 20 for _, before, after in paths_of)
            cells = design["modules"]["top"]["cells"]
            assert cells["of_sum"]["attributes"]["NEXTPNR_BEL"] == "X10/Y24/SLICEA.FF1"
            assert cells["$nextpnr_CCU2C_9"]["attributes"]["NEXTPNR_BEL"] == "X10/Y24/SLICEB.K0"
        seeds(sys.argv[1], pathlib.Path(folder), packed(rng, 60, 30))
        paths(sys.argv[1], pathlib.Path(folder))
        limits(sys.argv[1], pathlib.Path(folder))
        weights(sys.argv[1], pathlib.Path(folder))
        constants(design)
        faults(design)
        refusals(sys.argv[1], pathlib.Path(folder))


if __name__ == "__main__":
    main()
