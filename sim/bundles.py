#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads the bundles, the types of ports that rtl/common/bundle_pkg.sv and bundles.svh define.

usage: bundles.py >bundles.h

The header says of each bundle where its fields lie, for those whose widths are numbers or that of a flit:
bundle::bus_req::addr.
"""
import pathlib
import re
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[1]
COMMON = ROOT / "rtl/common"


def without_comments(path):
    return re.sub(r"/\*.*?\*/|//[^\n]*", "", pathlib.Path(path).read_text(), flags=re.S)


def bundles():
    """{type of a port: [(field, its type)]}, the field at the highest bits first"""
    packed = re.finditer(r"typedef struct packed \{(.*?)\}\s*(\w+);", without_comments(COMMON / "bundle_pkg.sv"), re.S)
    macros = re.finditer(r"^`define (MW_\w+)\(Cfg\) struct packed \{(.*?)\}$",
                         without_comments(COMMON / "bundles.svh").replace("\\\n", ""), re.M)
    kinds = {**{f"bundle_pkg::{m[2]}": m[1] for m in packed}, **{f"`{m[1]}(Cfg)": m[2] for m in macros}}
    return {kind: [(name, f.strip()) for f, name in re.findall(r"\s*(.*?)\s+(\w+);", fields, re.S)]
            for kind, fields in kinds.items()}


def width(kind):
    """of a field, as C++ says it; None: neither a number nor that of a flit"""
    if kind == "logic":
        return "1"
    if kind == "packet_pkg::port_t":
        return str(tomllib.loads((ROOT / "spec/packet.toml").read_text())["constants"]["PORT_BITS"]["value"])
    m = re.fullmatch(r"logic \[(\d+|Cfg\.FlitW-1):0\]", kind)
    return m and ("FLIT_BITS" if m[1][0] == "C" else str(int(m[1]) + 1))


def main():
    print("// Where the fields of bundles lie, by sim/bundles.py\n#pragma once\n\n"
          "namespace bundle {\nconstexpr unsigned FLIT_BITS = MW_SIM_F * 8;\n"
          "struct field {\n    unsigned at, width;\n};")
    for kind, fields in bundles().items():
        widths = [width(f) for _, f in fields]
        if None in widths:
            continue
        name = re.sub(r"^bundle_pkg::|^`MW_|_t$|\(Cfg\)$", "", kind).lower()
        print(f"\nnamespace {name} {{")
        for i, (field, _) in enumerate(fields):
            print(f"constexpr field {field}{{{' + '.join(widths[i + 1:]) or 0}, {widths[i]}}};")
        print("}")
    print("} // namespace bundle")


if __name__ == "__main__":
    main()
