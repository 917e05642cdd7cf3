#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The netlist of tests/gate/gate_parts.sv in Verilog, as netlist.py makes it of a board's, for the unit test
gate_cells, which runs it beside the RTL.

usage: parts.py FOLDER

Writes FOLDER/words.hex and FOLDER/gate_parts_netlist.v. Exit status 1: a mode that a board's
netlist has is missing in it.
"""
import json
import pathlib
import sys

import netlist
from netlist import flow, ram_init

# of DP16KD: what the netlists of the boards have
MODES = {("4", "18", "NORMAL"), ("36", "36", None), ("9", "9", "READBEFOREWRITE"), ("4", "4", "READBEFOREWRITE")}


def mode(cell):
    p = cell["parameters"]
    return (str(int(p["DATA_WIDTH_A"], 2)), str(int(p["DATA_WIDTH_B"], 2)), p.get("WRITEMODE_A"))


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    ram_init.write_hex(folder / "words.hex", ram_init.random_words(7))
    flow.yosys(folder, "parts", f"""
read_slang --threads 1 --top gate_parts rtl/common/ram_sdp.sv rtl/soc/cpu_ram.sv tests/gate/gate_parts.sv
synth_ecp5 -top gate_parts -nowidelut
write_json {folder}/cut.json
""")
    design = json.loads((folder / "cut.json").read_text())
    top = design["modules"]["gate_parts"]
    top["cells"] = {n: c for n, c in top["cells"].items() if c["type"] != "$scopeinfo"}
    (folder / "cut.json").write_text(json.dumps({"modules": {"gate_parts": top}}))
    rams = {mode(c) for c in top["cells"].values() if c["type"] == "DP16KD"}
    kinds = {c["type"] for c in top["cells"].values()}
    missing = sorted(str(m) for m in MODES - rams) + sorted({"MULT18X18D", "LUT4", "CCU2C", "TRELLIS_FF",
                                                             "TRELLIS_DPR16X4"} - kinds)
    if missing:
        sys.exit(f"parts: gate_parts.sv has no {', '.join(missing)}")
    netlist.convert(folder, "gate_parts", "gate_parts_netlist", folder / "gate_parts_netlist.v")


if __name__ == "__main__":
    main()
