#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes flat_TOP.sv: module flat_TOP around TOP, whose ports are those of TOP, but each field of a bundle
(bundle_pkg.sv, bundles.svh) by itself.

usage: flat.py TOP.sv >flat_TOP.sv

A test sees the bundle emap_i as emap_we_i, emap_addr_i and emap_data_i. Arrays of bundles become
arrays of their fields.
"""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "sim"))
from bundles import bundles, without_comments

PORT = re.compile(r"^\s*(input|output)\s+(?:wire\s+)?(.*?)\s*\b(\w+)\s*((?:\[[^\]]*\]\s*)*),?\s*$")
PARAMETER = re.compile(r"^\s*parameter\s+(?:type\s+)?.*?(\w+)\s*=")
TYPE = re.compile(r"\bparameter\s+type\s+(\w+)\s*=\s*(`MW_\w+\(Cfg\))")


def closing(text, at):
    depth = 1
    while depth:
        depth += (text[at] == "(") - (text[at] == ")")
        at += 1
    return at


def header(path):
    """name, text of the parameters with what is imported, and lines of the ports"""
    text = without_comments(path)
    m = re.search(r"^module\s+(\w+)\s*((?:import[^;]*;\s*)*)(#\s*\()?", text, re.M)
    at, parameters = m.end(), ""
    if m[3]:
        end = closing(text, at)
        parameters, at = text[at:end - 1], end
    at = text.index("(", at) + 1
    ports = text[at:closing(text, at) - 1]
    return m[1], m[2], parameters, [line for line in ports.splitlines() if line.strip()]


def split(name, field):
    """emap_i and we: emap_we_i"""
    return re.sub(r"(_[io])?$", lambda m: f"_{field}{m[1] or ''}", name, count=1)


def main():
    known = bundles()
    name, imports, parameters, lines = header(sys.argv[1])
    known |= {m[1]: known[m[2]] for m in TYPE.finditer(parameters)}
    ports, inside, pins = [], [], []
    for line in lines:
        direction, kind, port, dims = PORT.match(line).groups()
        dims = dims.strip()
        fields = known.get(kind)
        if not fields:
            ports.append(line.strip().rstrip(","))
            pins.append(f".{port}")
            continue
        inside.append(f"    {kind} {port}_bundle{' ' + dims if dims else ''};")
        pins.append(f".{port}({port}_bundle)")
        for field, field_kind in fields:
            plain = field_kind if field_kind.startswith("logic") else f"logic [$bits({field_kind})-1:0]"
            ports.append(f"{direction} {'wire ' if direction == 'input' else ''}{plain} "
                         f"{split(port, field)}{' ' + dims if dims else ''}")
        flat = ", ".join(f"{split(port, field)}{{}}" for field, _ in fields)
        index = "[i]" if dims else ""
        ends = [f"{port}_bundle{index}", "{" + flat.replace("{}", index) + "}"]
        assign = f"assign {ends[0]} = {ends[1]};" if direction == "input" else f"assign {ends[1]} = {ends[0]};"
        if dims:
            inside.append(f"    for (genvar i = 0; i < {dims[1:-1]}; i++) begin : gen_{port}\n"
                          f"        {assign}\n    end")
        else:
            inside.append("    " + assign)
    handed = ", ".join(f".{p}({p})" for line in parameters.splitlines() if (m := PARAMETER.match(line)) for p in [m[1]])
    print("`default_nettype none\n`include \"bundles.svh\"\n/* verilator lint_off WIDTH */\n/* verilator lint_off "
          "ENUMVALUE */\n/* verilator lint_off UNUSEDSIGNAL */\n"
          "/* verilator lint_off UNUSEDPARAM */")
    print(f"module flat_{name} {imports}" + (f"#({parameters.rstrip()}\n) " if parameters else "") + "(\n    "
          + ",\n    ".join(ports) + "\n);")
    print("\n".join(inside))
    print(f"    {name} {f'#({handed}) ' if handed else ''}i_dut (\n        {', '.join(pins)}\n    );\nendmodule\n"
          "`default_nettype wire")


if __name__ == "__main__":
    main()
