#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Generates the package, the C header and the section of docs/reference/registers.md of the address map, map.toml.

usage: gen_map.py OUTDIR    writes map_pkg.sv, map.h, map.md
"""
import pathlib
import sys

from gen import C_HEAD, SV_HEAD, camel, load, md_table


def head(text):
    return text.format(src="map.toml").replace("gen.py", "gen_map.py")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    p = load("map.toml")
    sv = head(SV_HEAD) + "package map_pkg;\n"
    c = head(C_HEAD) + "#ifndef MW_MAP_H\n#define MW_MAP_H\n\n"
    md = "## Address map\n\nGenerated from `spec/map.toml`.\n\n" + p["doc"] + "\n"
    for group, prefix, title in (("area", "", "Bus"), ("cpu", "CPU_", "Soft CPU")):
        for a in p[group]:
            sv += f"  localparam logic [31:0] {camel(prefix + a['name'])} = 32'h{a['value']:08x};  // {a['doc']}\n"
            c += f"#define MW_MAP_{prefix}{a['name']} 0x{a['value']:x}u /* {a['doc']} */\n"
        md += f"### {title}\n\n" + md_table(["name", "value", "meaning"],
                                            [(f"`{a['name']}`", f"0x{a['value']:x}", a["doc"]) for a in p[group]])
    for m in p["monitor"]:
        name = "MONITOR_" + m["name"]
        sv += f"  localparam int unsigned {camel(name)} = {m['value']};  // {m['doc']}\n"
        c += f"#define MW_{name} {m['value']}u /* {m['doc']} */\n"
    md += "### Monitors of the ports\n\n" + md_table(
        ["name", "value", "meaning"], [(f"`MW_MONITOR_{m['name']}`", str(m["value"]), m["doc"]) for m in p["monitor"]])
    (out / "map_pkg.sv").write_text(sv + "endpackage\n/* verilator lint_on UNUSEDPARAM */\n`default_nettype wire\n")
    (out / "map.h").write_text(c + "\n#endif\n")
    (out / "map.md").write_text(md)


if __name__ == "__main__":
    main()
