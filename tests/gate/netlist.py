#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes Verilog of the netlist that goes to place and route, for Verilator: Yosys' own models of LUTs, carries,
flip-flops and LUT RAM, those of tests/gate/cells for the rest. The PLL and the pads of the bus are cut: what they drive
are inputs of the module, what drives them outputs.

usage: netlist.py NETLIST.json TOP RANDOM.hex FIRMWARE.hex OUT.v

The CPU's RAM gets the firmware. The module is called netlist; its ports besides those of TOP: pll_CLKOS, pll_CLKOS2,
pll_LOCK, and of each pad PAD_i, PAD_o, PAD_t. Exit status 2: it could not be made.
"""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "flow/ecp5"))
import flow
import ram_init

MODELS = ["common_sim.vh", "ccu2c_sim.vh"]
LUT4 = "tests/gate/cells/LUT4.sv"


def cut(module):
    """Takes PLL and pads out."""
    ports, cells = module["ports"], module["cells"]
    pads = {}
    for name, cell in list(cells.items()):
        pins = cell["connections"]
        if cell["type"] == "EHXPLLL":
            for pin in ("CLKOS", "CLKOS2", "LOCK"):
                if pins.get(pin):
                    ports[f"pll_{pin}"] = {"direction": "input", "bits": pins[pin]}
            del cells[name]
        elif cell["type"] == "TRELLIS_IO":
            pads[pins["B"][0]] = pins
            del cells[name]
        elif cell["type"] == "$scopeinfo":
            del cells[name]
    for name, port in list(ports.items()):
        if port["direction"] == "inout":
            inside = [pads[b] for b in port["bits"]]
            del ports[name]
            for suffix, pin, direction in (("i", "O", "input"), ("o", "I", "output"), ("t", "T", "output")):
                ports[f"{name}_{suffix}"] = {"direction": direction, "bits": [p[pin][0] for p in inside]}
    module["netnames"] = {n: v for n, v in module["netnames"].items() if n not in ports}
    for name, port in ports.items():
        module["netnames"][name] = {"hide_name": 0, "bits": port["bits"], "attributes": {}}


def convert(folder, top, name, out):
    """FOLDER/cut.json to Verilog of a module NAME."""
    flow.yosys(folder, "cut", f"""
read_json {folder}/cut.json
read_verilog -lib +/ecp5/cells_bb.v
{chr(10).join('read_verilog -icells +/ecp5/' + m for m in MODELS)}
read_verilog -sv -overwrite {LUT4}
hierarchy -top {top}
proc
flatten
setattr -unset keep w:* c:*
opt_expr
opt_clean -purge
rename -hide w:* i:* %d o:* %d
rename -enumerate w:$*
rename {top} {name}
write_verilog -noattr {out}
""")


def main():
    if len(sys.argv) != 6:
        sys.exit(__doc__)
    source, top, old, new, out = sys.argv[1:]
    design = json.loads(pathlib.Path(source).read_text())
    design["modules"] = {top: design["modules"][top]}
    found = ram_init.into_netlist(design, ram_init.read_hex(old), ram_init.read_firmware(new))
    if not found:
        print(f"netlist: {source}: no RAM of the CPU in it", file=sys.stderr)
        sys.exit(2)
    cut(design["modules"][top])
    folder = pathlib.Path(out).parent
    (folder / "cut.json").write_text(json.dumps(design))
    convert(folder, top, "netlist", out)
    print(f"netlist: firmware in {found} block RAMs")


if __name__ == "__main__":
    main()
