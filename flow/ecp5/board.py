#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A board's folder below boards/: board.toml, pins.lpf, top.sv. docs/developer/porting.md has the fields.

usage: board.py BOARD [--without PRIMITIVE] NAME=VALUE...

Prints these settings of cfg_pkg.sv with the board's primitives in them. --without: it leaves out this primitive, and
those that need it.
"""
import pathlib
import re
import sys
import tomllib

ROOT = pathlib.Path("boards")
CAPACITY = {"TRELLIS_COMB": 83640, "TRELLIS_FF": 83640, "DP16KD": 208, "MULT18X18D": 156}  # of an 85F, by nextpnr
# nextpnr's packages of an 85F, and what each is in the name of a part
PACKAGES = {"CABGA381": "BG381", "CABGA554": "BG554", "CABGA756": "BG756", "CSFBGA285": "MG285"}
DEVICES = {"um5g-85k": "LFE5UM5G-85F", "85k": "LFE5U-85F"}
FIELDS = {"name": str, "top": str, "usb": str, "part": dict, "clock": dict, "domains": dict, "primitives": list,
          "floorplan": dict, "loader": dict, "io": dict}
PART = {"name": str, "device": str, "package": str, "speed": int}
FLOORPLAN = {"mirrored": bool}
# by their names in `moeswitch info`, what they are in cfg_pkg.sv
PRIMITIVES = {"adder_bypass": "AdderBypass=1", "target_list_cache": "TargetListCache=1",
              "switch_reductions": "SwitchReductions=1", "tile_reductions": "TileReductions=1",
              "token_order": "TokenOrder=1", "link_rate": "LinkRate=1", "delay": "Delay=1", "row_ranges": "RowRanges=1",
              "more_events": "Events=32", "gathered": "Gathered=1", "row_sparse": "RowSparse=1",
              "source_lists": "SourceLists=1", "packet_manager": "RpmEntries=8", "cache_limit": "CacheLimit=1",
              "multimem_red": "Reds=1"}
# the RTL refuses one without the others
NEEDS = {"switch_reductions": ("target_list_cache",), "source_lists": ("row_sparse",),
         "tile_reductions": ("switch_reductions", "gathered", "row_ranges")}
LOADER = {"load": list, "flash": list, "note": str}
NUMBER = (int, float)
CLOCK = {"input_mhz": NUMBER, "outputs": list}
OUTPUT = {"name": str, "mhz": NUMBER, "exact": bool}
DOMAIN = {"port": str, "mhz": NUMBER, "pins": list}
IO = {"in_ns": NUMBER, "out_ns": NUMBER}
USB = ("ulpi", "pins")
SPEEDS = (6, 7, 8)
NEAR = 0.02  # a domain's frequency to that of its output, which the PLL makes up to 2 % slower (pll.py)


def refuse(text):
    """One line, and exit status 2: what is asked for cannot be."""
    print(text, file=sys.stderr)
    sys.exit(2)


def names():
    return sorted(p.parent.name for p in ROOT.glob("*/board.toml"))


def need(where, table, fields, optional=()):
    """TABLE has these fields, of these types, and no others but the optional ones. A number is above 0."""
    if not isinstance(table, dict):
        refuse(f"{where} is no table")
    for field in table:
        if field not in fields and field not in optional:
            refuse(f"{where}: {field} is no field: it has {', '.join([*fields, *optional])}")
    for field, kind in fields.items():
        if field not in table:
            refuse(f"{where}: {field} is missing")
        if kind is NUMBER:
            if type(table[field]) not in NUMBER or not table[field] > 0:
                refuse(f"{where}: {field} is no number above 0")
        elif type(table[field]) is not kind:
            refuse(f"{where}: {field} is no {kind.__name__}")


def need_texts(where, items):
    """Every item of a list is a text."""
    for item in items:
        if not isinstance(item, str):
            refuse(f"{where}: {item} is no str")


def check_part(where, part):
    """Device, speed and package are ones that nextpnr has, and those of the part's name."""
    if part["speed"] not in SPEEDS:
        refuse(f"{where}: part: speed: {part['speed']} is none of {', '.join(map(str, SPEEDS))}")
    if part["package"] not in PACKAGES:
        refuse(f"{where}: part: package: {part['package']} is none of {', '.join(PACKAGES)}")
    if part["device"] not in DEVICES or not part["name"].startswith(DEVICES[part["device"]] + "-"):
        refuse(f"{where}: part {part['name']} is none that nextpnr has as --{part['device']}")
    begin = f"{DEVICES[part['device']]}-{part['speed']}{PACKAGES[part['package']]}"
    if not part["name"].startswith(begin):
        refuse(f"{where}: part: name: {part['name']} does not begin with {begin}, as device, speed and package say")


def check_clocks(where, b):
    """Clocks of the PLL, and the domains of the netlist: each has a port, and an output of the PLL where it names one.
    Delays of pads belong to a domain."""
    need(f"{where}: clock", b["clock"], CLOCK)
    made = {}
    for o in b["clock"]["outputs"]:
        need(f"{where}: clock: outputs", {"exact": False} | o if isinstance(o, dict) else o, OUTPUT)
        if o["name"] in made:
            refuse(f"{where}: clock: outputs: {o['name']} is there twice")
        made[o["name"]] = o["mhz"]
    if "fabric" not in made:
        refuse(f"{where}: clock: outputs: fabric is missing")
    for name in ("fabric", "usb"):
        if name not in b["domains"]:
            refuse(f"{where}: domains: {name} is missing")
    for name, d in b["domains"].items():
        at = f"{where}: domains: {name}"
        need(at, {"pins": []} | d if isinstance(d, dict) else d, DOMAIN, ("pll",))
        for port in (d["port"], *d.get("pins", [])):
            if port not in b["ports"]:
                refuse(f"{at}: {port} is no port of {b['folder']}/top.sv")
        if "pll" in d and d["pll"] not in made:
            refuse(f"{at}: {d['pll']} is no output of the clock: it has {', '.join(made)}")
        if "pll" in d and not made[d["pll"]] * (1 - NEAR) <= d["mhz"] <= made[d["pll"]] * (1 + NEAR):
            refuse(f"{at}: {d['mhz']:g} MHz, where the clock's output has {made[d['pll']]:g} MHz")
    for name, limits in b["io"].items():
        if name not in b["domains"]:
            refuse(f"{where}: io: {name} is no domain: it has {', '.join(b['domains'])}")
        need(f"{where}: io: {name}", limits, IO)


def load(name):
    """The board's description, checked."""
    if name not in names():
        refuse(f"no board '{name}': BOARD= is one of {', '.join(names())} (folders of {ROOT})")
    folder = ROOT / name
    where = folder / "board.toml"
    try:
        b = {"floorplan": {}, "primitives": [], "io": {}} | tomllib.loads(where.read_text())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as e:
        refuse(f"{where}: {e}")
    need(where, b, FIELDS)
    need(f"{where}: part", b["part"], PART)
    need(f"{where}: loader", b["loader"], LOADER)
    for way in ("load", "flash"):
        need_texts(f"{where}: loader: {way}", b["loader"][way])
    need_texts(f"{where}: primitives", b["primitives"])
    b["floorplan"] = dict.fromkeys(FLOORPLAN, False) | b["floorplan"]
    need(f"{where}: floorplan", b["floorplan"], FLOORPLAN)
    if b["usb"] not in USB:
        refuse(f"{where}: usb: {b['usb']} is none of {', '.join(USB)}")
    check_part(where, b["part"])
    for primitive in b["primitives"]:
        if primitive not in PRIMITIVES:
            refuse(f"{where}: primitives: {primitive} is none of {', '.join(PRIMITIVES)}")
        if b["primitives"].count(primitive) > 1:
            refuse(f"{where}: primitives: {primitive} is there twice")
    for primitive in b["primitives"]:
        for other in NEEDS.get(primitive, ()):
            if other not in b["primitives"]:
                refuse(f"{where}: primitives: {primitive} needs {other}")
    for file in ("pins.lpf", "top.sv"):
        if not (folder / file).exists():
            refuse(f"{folder}: {file} is missing")
    if not re.search(rf"^module {re.escape(b['top'])}\b", (folder / "top.sv").read_text(), re.M):
        refuse(f"{where}: top: {b['top']} is no module of {folder}/top.sv")
    if not re.search(r"MCCLK_FREQ=[\d.]+", (folder / "pins.lpf").read_text()):
        refuse(f"{folder}/pins.lpf: SYSCONFIG MCCLK_FREQ, the clock of the flash, is missing")
    b |= {"folder": folder, "id": name, "ports": top_ports(folder / "top.sv"), "pins": located(folder / "pins.lpf")}
    check_clocks(where, b)
    return b


def settings(b, assignments):
    """These settings, NAME=VALUE, where the board's primitives replace those of their names."""
    own = dict(PRIMITIVES[p].split("=") for p in b["primitives"])
    return [f"{name}={own.get(name, value)}" for name, _, value in (a.partition("=") for a in assignments)]


def without(b, primitive):
    """The board without it, and without those that need it."""
    if primitive not in b["primitives"]:
        refuse(f"{b['folder']}/board.toml: {primitive} is none of its primitives: "
               f"{', '.join(b['primitives']) or 'it has none'}")
    out = {primitive}
    while more := {p for p in b["primitives"] if p not in out and out.intersection(NEEDS.get(p, ()))}:
        out |= more
    return b | {"primitives": [p for p in b["primitives"] if p not in out]}


def top_ports(path):
    """{port: width} of the top."""
    found = {}
    for m in re.finditer(r"^\s+(?:input|output|inout)\s+(?:wire\s+)?logic\s*(?:\[(\d+):0\])?\s*(\w+)",
                         path.read_text(), re.M):
        found[m[2]] = int(m[1] or 0) + 1
    return found


def located(path):
    """{port or port[bit]: ball} of the LPF."""
    return dict(re.findall(r'^LOCATE COMP "([^"]+)" SITE "([^"]+)"', path.read_text(), re.M))


def check_pins(b):
    """Every bit of every port has a ball of its own, and nothing else has."""
    bits = {f"{p}[{i}]" if w > 1 else p for p, w in b["ports"].items() for i in range(w)}
    where = b["folder"] / "pins.lpf"
    for bit in sorted(bits ^ set(b["pins"])):
        refuse(f"{where}: {bit} has no ball" if bit in bits else f"{where}: {bit} is no port of {b['top']}")
    balls = {}
    for port, ball in b["pins"].items():
        if ball in balls:
            refuse(f"{where}: {port} and {balls[ball]} have the same ball {ball}")
        balls[ball] = port


def main():
    b, assignments = load(sys.argv[1]), sys.argv[2:]
    if assignments[:1] == ["--without"]:
        b, assignments = without(b, assignments[1]), assignments[2:]
    print(*settings(b, assignments))


if __name__ == "__main__":
    main()
