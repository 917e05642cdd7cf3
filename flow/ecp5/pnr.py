#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Places and routes parts of the fabric on the ECP5 85F, and writes their area and clock to a page of the docs.

usage: pnr.py [--out DIR] [--doc FILE] [--only NAME ...] [--no-route] [--param NAME=VALUE ...] FILE...

The parts are PARTS below. A part has more ports than the device has pins, so a wrapper feeds its inputs from one shift
register, and folds its outputs into one. Each input has a register that may lie near its reader. Every path thus begins
and ends in a flip-flop. The wrapper's cells are not counted.
A part with a speed grade is placed and routed for that grade, and timed for the other grade with the same placement. A
part without a grade is only synthesized, and its cells are counted.
--param: a setting of cfg_pkg.sv, for every part that has it.
--no-route: no part is routed. Otherwise a part is routed again if its netlist has changed. The page shows the placement
    of a part that is not routed, with the clock by nextpnr's estimate of the wires, or the cells of its netlist.
FILE: the RTL, packages first.
Exit status 1: a part does not fit or misses its clock; 2: a tool failed.
"""
import argparse
import json
import pathlib
import re
import sys

import board as boards
import carry
import check
import floorplan
import flow
import nextpnr_run
from paragraph import text

DEVICE = "85k"
PACKAGE = "CABGA756"
CAPACITY = {"TRELLIS_COMB": 83640, "TRELLIS_FF": 83640, "DP16KD": 208, "MULT18X18D": 156}
GRADES = (6, 8)
# the first one with which nextpnr's estimate reaches the required clock, else the one that comes closest. Two seeds
# differ by 10 % and more
SEEDS = (1, 2, 3, 4)
LEVELS = 2  # of hierarchy below the top that the table shows
# Of nextpnr, for the placement of a part: the paths of eight ports are mostly wire, so timing weighs more than it does
# by default, and cells are spread more.
PLACER = {"switch-8": ["--placer-heap-beta", "0.75", "--placer-heap-timingweight", "40"]}
FLOORPLAN = {"switch-8": floorplan.switch_8}  # parts whose block RAMs have a plan
# name: top, parameters, speed grade, clock asked for in MHz. With a RAM of its own for each queue of partials the
# switch of 8 ports would take 240 of the device's 208 block RAMs.
PARTS = {
    "switch-4": ("switch_top", {"N": 4, "FlitBytes": 8}, 6, 60),
    "switch-8": ("switch_top", {"N": 8, "FlitBytes": 8, "PartSharedRam": 1}, 8, 60),
    "node-4": ("node", {"N": 4, "FlitBytes": 8}, 6, 60),
    "switch-4-unicast": ("switch_top", {"N": 4, "FlitBytes": 8, "Multicast": 0}, None, None),
    "node-8": ("node", {"N": 8, "FlitBytes": 8}, None, None),
    "lane": ("reduce_lane", {"RedTypes": 1, "RedOps": 1}, None, None),
}


def parse():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--out", default="build/pnr")
    p.add_argument("--doc")
    p.add_argument("--only", action="append", choices=PARTS)
    p.add_argument("--no-route", action="store_true")
    p.add_argument("--param", action="append", default=[])
    p.add_argument("files", nargs="+")
    return p.parse_args()


def wrapper(top):
    """Returns the function that makes the module pnr_top around TOP, see flow.elaborate."""

    def make(ports):
        ins = [(n, w) for n, (d, w) in ports.items() if d == "input" and n not in ("clk_i", "rst_ni")]
        outs = [(n, w) for n, (d, w) in ports.items() if d == "output"]
        width_in, width_out = sum(w for _, w in ins), sum(w for _, w in outs)
        v = ["module pnr_top(input clk, input rst_n, input si, output reg so);", "reg rst_q;",
             f"reg [{width_in - 1}:0] chain, in_q;", f"wire [{width_out - 1}:0] out;"]
        # not inverted it would be merged with the next one of the chain
        v += [f"always @(posedge clk) begin rst_q <= rst_n; chain <= {{chain[{width_in - 2}:0], si}}; in_q <= "
              "~chain; end"]
        pins, at = [".clk_i(clk)"] + [".rst_ni(rst_q)"] * ("rst_ni" in ports), 0
        for n, w in ins:
            pins.append(f".{n}(in_q[{at + w - 1}:{at}])")
            at += w
        at = 0
        for n, w in outs:
            pins.append(f".{n}(out[{at + w - 1}:{at}])")
            at += w
        v += [f"{top} i_dut({', '.join(pins)});", f"reg [{width_out - 1}:0] fold0; always @(posedge clk) fold0 <= out;"]
        level, width = 0, width_out
        while width > 1:
            less = (width + 3) // 4
            terms = [f"^fold{level}[{min(4 * i + 3, width - 1)}:{4 * i}]" for i in range(less)]
            v += [f"reg [{less - 1}:0] fold{level + 1}; always @(posedge clk) fold{level + 1} <= "
                  f"{{{', '.join(reversed(terms))}}};"]
            level, width = level + 1, less
        v += [f"always @(posedge clk) so <= fold{level};", "endmodule"]
        return "\n".join(v) + "\n"

    return make


def newer(path, sources):
    return path.exists() and all(path.stat().st_mtime > s.stat().st_mtime for s in sources)


def nextpnr(out, step, speed, freq, source, target, seed, more, may_run):
    """Runs it on OUT/SOURCE for OUT/TARGET, unless it did so since that file was written; STEP names log and report.
    Returns what went wrong, or None."""
    log, report, kept = (out / f"{step}.{end}" for end in ("log", "report.json", "args"))
    args = [f"--{DEVICE}", "--package", PACKAGE, "--speed", str(speed), "--json", str(out / source), "--write",
            str(out / target), "--freq", str(freq), "--seed", str(seed),
            "--lpf-allow-unconstrained", "--timing-allow-fail", "--report", str(report), *more]
    if newer(out / target, [out / source]) and kept.exists() and kept.read_text() == " ".join(args):
        return None
    if not may_run:
        return "not placed" if step.startswith("place") else "not routed"
    kept.write_text(" ".join(args))
    (out / target).unlink(missing_ok=True)
    return nextpnr_run.run(args, log, f"pnr: {out.name}: {step}")


def replace_if_changed(old, new):
    """Moves NEW to OLD, unless that is the same but for line numbers."""
    def content(path):
        return re.sub(r'"src": "[^"]*",?', "", path.read_text())

    if old.exists() and content(old) == content(new):
        new.unlink()
    else:
        new.replace(old)


def count_cells(out, top, placed):
    """{module: {"inst": its instance paths, cell type: number}} of the top and what is LEVELS below it, a cell with the
    one whose name its own begins with; without the wrapper."""
    mods = flow.read_rtlil(out / "merged.il")
    level = {"i_dut": f"\\{top}"}
    paths = dict(level)
    for _ in range(LEVELS):
        level = {f"{path}.{name}": module for path, holder in level.items()
                 for name, module in flow.instances(mods, holder).items()}
        paths |= level
    paths = {path: check.module_of(module.lstrip("\\")) for path, module in paths.items()}
    cells = next(iter(json.loads((out / placed).read_text())["modules"].values()))["cells"]
    count = {}
    for name, cell in cells.items():
        if cell["type"] not in CAPACITY:
            continue
        inst = name
        while inst and inst not in paths:
            inst = inst.rpartition(".")[0]
        if inst:
            row = count.setdefault(paths[inst], {"inst": set(), **dict.fromkeys(CAPACITY, 0)})
            row["inst"].add(inst)
            row[cell["type"]] += 1
    return count


def timing(out, step):
    """Fmax, and the critical path: names of the flip-flops at both ends, delay in logic and in wires, in ns."""
    report = json.loads((out / f"{step}.report.json").read_text())
    path = max((p["path"] for p in report["critical_paths"] if p["from"] == p["to"]),
               key=lambda p: sum(s["delay"] for s in p))
    logic = sum(s["delay"] for s in path if s["type"] != "routing")
    return {"fmax": min(f["achieved"] for f in report["fmax"].values()), "begin": path[0]["from"]["cell"],
            "end": path[-1]["to"]["cell"],
            "logic": logic, "wires": sum(s["delay"] for s in path) - logic}


def estimate(out, seed):
    """Fmax in MHz that nextpnr estimates of a placement; its report has none."""
    return float(re.findall(r"Max frequency for clock .*: ([\d.]+) MHz", (out / f"place-{seed}.log").read_text())[-1])


def planned(name, out):
    """Name of the netlist that nextpnr gets: with the block RAMs fixed, if the part has a floorplan."""
    if name not in FLOORPLAN:
        return "netlist.json"
    if not newer(out / "planned.json", [out / "netlist.json", pathlib.Path(floorplan.__file__)]):
        design = json.loads((out / "netlist.json").read_text())
        floorplan.apply(design, FLOORPLAN[name])
        (out / "planned.json").write_text(json.dumps(design))
    return "planned.json"


def place(name, out, speed, freq, may_run):
    """Places the netlist. Returns what went wrong or None, the seed, and the estimate with it."""
    best = (0.0, None)
    try:
        netlist = planned(name, out)
    except floorplan.NoPlace as e:
        return str(e), None, None
    for seed in SEEDS:
        fault = nextpnr(out, f"place-{seed}", speed, freq, netlist, f"placed-{seed}.json", seed,
                        ["--no-route", *PLACER.get(name, [])], may_run)
        if fault:
            return fault, None, None
        mhz = estimate(out, seed)
        best = max(best, (mhz, seed))
        print(f"pnr: {name}: seed {seed}: {mhz:.1f} MHz at speed grade {speed} by estimate", flush=True)
        if mhz >= freq:
            break
    mhz, seed = best
    return None, seed, mhz


def run(name, a):
    """Returns what the page says of the part."""
    top, params, speed, freq = PARTS[name]
    out = pathlib.Path(a.out) / name
    out.mkdir(parents=True, exist_ok=True)
    own = [f"{k}={v}" for k, v in params.items()]
    print(f"pnr: {name}: {top} with {' '.join(own)}", flush=True)
    settings = a.param if "N" in params else []  # of whoever has a configuration
    flow.elaborate(out, top, own + settings, a.files, 0, ("pnr_top", wrapper(top)))
    done = out / "synthesized"
    if not newer(done, [out / "merged.il", out / "pnr_top.v", *(pathlib.Path(m.__file__) for m in (flow, carry))]):
        flow.synthesize(out, "pnr_top", f"read_verilog {out}/pnr_top.v\nproc", "new.json")
        replace_if_changed(out / "netlist.json", out / "new.json")
        done.touch()
    area = check.area(json.loads((out / "stat.json").read_text()), "pnr_top")
    result = {"name": name, "top": top, "params": own,
              "speed": speed, "freq": freq, "fault": None, "total": None, "seed": None, "estimate": None, "timing": {},
              "counted": next(t for m, (t, _) in area.items() if check.module_of(m) == top)}
    if speed is None:
        print(f"pnr: {name}: {result['counted']['comb']} COMB before packing")
        return result
    result["fault"], seed, result["estimate"] = place(name, out, speed, freq, not a.no_route)
    if result["fault"]:
        print(f"pnr: {name}: {result['fault']}")
        return result
    result["cells"] = {m: {**c, "inst": len(c["inst"])}
                       for m, c in count_cells(out, top, f"placed-{seed}.json").items()}
    result["total"] = total = {k: sum(c[k] for c in result["cells"].values()) for k in CAPACITY}
    print(f"pnr: {name}: {total['TRELLIS_COMB']} COMB ({share(total, 'TRELLIS_COMB')}), {total['TRELLIS_FF']} FF, "
          f"{total['DP16KD']} DP16KD", flush=True)
    result["seed"] = seed
    result["fault"] = nextpnr(out, f"route-{speed}", speed, freq, f"placed-{seed}.json", "routed.json", seed,
                              ["--no-pack", "--no-place"], not a.no_route)
    if result["fault"]:
        print(f"pnr: {name}: {result['fault']}; as it is placed {result['estimate']:.1f} MHz at speed grade {speed} "
              "by estimate")
        return result
    other = next(g for g in GRADES if g != speed)
    fault = nextpnr(out, f"route-{other}", other, freq, "routed.json", f"routed-{other}.json", seed,
                    ["--no-pack", "--no-place"], not a.no_route)
    result["timing"] = {str(g): timing(out, f"route-{g}") for g in GRADES if g == speed or not fault}
    print(f"pnr: {name}: " + ", ".join(f"{t['fmax']:.1f} MHz at speed grade {g}" for g, t in result["timing"].items())
          + f" ({freq} required at {speed})")
    return result


def share(total, kind):
    return f"{100 * total[kind] / CAPACITY[kind]:.1f} %"


def table(head, rows):
    return ["| " + " | ".join(head) + " |", "|" + "---|" * len(head), *("| " + " | ".join(str(c) for c in r) + " |"
                                                                        for r in rows)]


def sums(rows, limits):
    """Table of (what, {kind: number}) with their sum, its share of the device, and what is asked: {kind:
    largest share in percent}."""
    total = {k: sum(c[k] for _, c in rows) for k in CAPACITY}
    lines = table(["", "COMB", "FF", "DP16KD", "MULT18X18D"], [[what, *(round(c[k]) for k in CAPACITY)]
                                                               for what, c in [*rows, ("together", total)]]
                  + [["share of the device", *(share(total, k) for k in CAPACITY)],
                     ["at most", *(f"{limits[k]} %" if k in limits else "" for k in CAPACITY)]])
    held = all(100 * total[k] <= limits[k] * CAPACITY[k] for k in limits)
    return [*lines, "", "That holds." if held else "That does not hold."]


def times(n, cells):
    return {k: n * c for k, c in cells.items()}


def counted(result):
    """Cells before packing, by the names that nextpnr has."""
    c = result["counted"]
    return {"TRELLIS_COMB": c["comb"], "TRELLIS_FF": c["ff"], "DP16KD": c["bram"], "MULT18X18D": c["dsp"]}


def fabrics(parts):
    """What fabrics of the parts would take. A part that is not placed counts as before packing, times what
    packing does to one that is."""
    packed = next((r for n, r in parts.items() if n in ("node-4", "switch-4") and r["total"]), None)
    packing = {k: 1 for k in CAPACITY}
    if packed:
        packing["TRELLIS_COMB"] = packed["total"]["TRELLIS_COMB"] / counted(packed)["TRELLIS_COMB"]

    def cells(name):
        r = parts[name]
        return r["total"] or {k: packing[k] * c for k, c in counted(r).items()}

    what = f"what packing does to {packed['name']}" if packed else "no part is placed"
    lines = ["", "## Whole fabrics", "", "Parts that are not placed count with their cells before packing, times "
             f"{packing['TRELLIS_COMB']:.2f} ({what}).", "",
             "Four ports: the switch and four nodes (hub and emulated GPU).", ""]
    lines += sums([("switch-4", cells("switch-4")), ("4 node-4", times(4, cells("node-4")))],
                  {"TRELLIS_COMB": 60, "DP16KD": 75})
    lines += ["", *text("Eight ports, reduced: sums of bf16 alone, partial queues of 4 packets, 16 KB per GPU, and one "
                        "lane in a hub's adder where there are two."), ""]
    lines += sums([("switch-8", cells("switch-8")), ("8 node-8", times(8, cells("node-8"))),
                   ("8 lanes fewer", times(-8, cells("lane")))],
                  {k: 90 for k in ("TRELLIS_COMB", "DP16KD", "MULT18X18D")})
    return lines


def multicast(parts):
    on, off = counted(parts["switch-4"])["TRELLIS_COMB"], counted(parts["switch-4-unicast"])["TRELLIS_COMB"]
    return ["", "## What multicast costs", "",
            *text(f"switch-4 has {on} COMB before packing, the same RTL with `Multicast` = 0 (a packet of a multimem "
                  f"opcode is rejected; the join of reductions stays) {off}:",
                  f"multicast costs {100 * (on - off) / off:.1f} %, at most 25 % is allowed. That "
                  f"{'holds' if 4 * (on - off) <= off else 'does not hold'}.")]


def page(results, settings):
    """The page of the docs, as text; settings: what all parts have besides their own."""
    lines = ["# On the FPGA", "",
             *text("Written by `make pnr`: Yosys and nextpnr place and route parts of the fabric on the ECP5 85F",
                   f"({PACKAGE}). COMB are nextpnr's TRELLIS_COMB, after packing, or where it says *before packing* "
                   "LUT4 + 2 CCU2C + 4 TRELLIS_DPR16X4 of Yosys; a share is of the whole device",
                   f"({CAPACITY['TRELLIS_COMB']} COMB, {CAPACITY['DP16KD']} DP16KD, {CAPACITY['MULT18X18D']} "
                   "multipliers). A part stands between shift registers, which are not counted.",
                   "Placed and routed for the speed grade with a required clock; *as placed* is nextpnr's estimate for "
                   "that grade before it routes; timed for the other grade as it lies there.",
                   f"Seeds {', '.join(map(str, SEEDS))} are tried up to the first one whose estimate reaches the "
                   "clock; if none does, the best is taken.",
                   *(f"The block RAMs of {n} lie where `flow/ecp5/floorplan.py` says." for n in FLOORPLAN),
                   *(f"{n} is placed with `{' '.join(o)}`." for n, o in PLACER.items()),
                   "Modules are mapped together; a LUT counts for the one that the net behind it is named after.",
                   "Whole devices as they are routed, with a floorplan by part: "
                   f"{', '.join(f'[{n}](boards/{n}.md)' for n in boards.names())}."), "",
             *text("What is measured are the settings of the smallest device, beside a part's own parameters:",
                   ", ".join(settings) + "."), ""]
    placed = [r for r in results if r["speed"]]
    rows = []
    for r in placed:
        head = [r["name"], f"`{r['top']}`", ", ".join(r["params"])]
        asked = f"{r['freq']} at {r['speed']}"
        t = r["total"] or counted(r)
        mhz = {g: f"{t['fmax']:.1f}" for g, t in r["timing"].items()} or {str(r["speed"]): r["fault"]}
        rows.append([*head, t["TRELLIS_COMB"] if r["total"] else f"{t['TRELLIS_COMB']} before packing",
                     share(t, "TRELLIS_COMB"), t["TRELLIS_FF"], t["DP16KD"], t["MULT18X18D"],
                     r["seed"] or "", f"{r['estimate']:.1f}" if r["total"] else "",
                     *(mhz.get(str(g), "") for g in GRADES), asked])
    lines += table(["part", "top", "parameters", "COMB", "share", "FF", "DP16KD", "MULT18X18D", "seed", "MHz as placed",
                    *(f"MHz, grade {g}" for g in GRADES), "required"], rows)
    for r in placed:
        if not r["total"]:
            continue
        lines += ["", f"## {r['name']}", ""]
        for g, t in r["timing"].items():
            lines += [*text(f"Critical path, grade {g}: from `{t['begin']}` to `{t['end']}`, {t['logic']:.1f} ns in "
                            f"logic and {t['wires']:.1f} ns in wires."), ""]
        lines += table(["module", "instances", "COMB", "FF", "DP16KD", "MULT18X18D"],
                       [[f"`{m}`", c["inst"], *(c[k] for k in CAPACITY)]
                        for m, c in sorted(r["cells"].items(), key=lambda x: -x[1]["TRELLIS_COMB"])])
    parts = {r["name"]: r for r in results}
    return "\n".join(lines + fabrics(parts) + multicast(parts)) + "\n"


def main():
    a = parse()
    flow.YOSYS = flow.wasm
    results = [run(name, a) for name in (a.only or PARTS)]
    if a.doc:
        pathlib.Path(a.doc).write_text(page(results, a.param))
    missed = [r["name"] for r in results if r["fault"]
              or (r["speed"] and r["timing"][str(r["speed"])]["fmax"] < r["freq"])]
    if missed:
        print(f"pnr: {', '.join(missed)}: does not fit, or slower than required")
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
