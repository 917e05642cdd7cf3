# SPDX-License-Identifier: Apache-2.0
"""Moves LUTs of a mapped ECP5 netlist into carry cells, which mapping leaves half empty.

A half of a CCU2C is a LUT4 for the propagate p of its bit; the lowest four entries of that table are the generate g, a
function of A and B: S = p ^ CIN, COUT = p ? CIN : g. So g counts only where p is 0: with D tied to 1 p is any function
of A, B and C, and D can be used too where p(A, B, 0, 0) is what g has to be. Mapping uses A and B alone, and leaves
inverters, the XORs of a subtraction and multiplexers in front of them in LUTs of their own; and a chain of an odd
number of bits leaves its last half idle.

fold() takes a LUT into the halves behind it, where nothing else reads it and all of them can hold what it does.
fill() puts a LUT into an idle half. Both work on a module of Yosys' JSON, and change LUT4 and CCU2C only.
A half is changed after S and COUT were compared for all values of its inputs with what they were, by the equations
of the cell (outputs()).
"""
import functools
import itertools

PINS = "ABCD"
REACH = 30  # nets that are searched for a LUT that may stand in an idle half
HALF_PINS = {f"{p}{k}": k for p in PINS for k in (0, 1)}


class WrongFold(Exception):
    """A half would not be what it was: an error of this module."""


def lut(init, values):
    return init >> sum(v << i for i, v in enumerate(values)) & 1


def outputs(init, values, cin):
    """S and COUT of a half with INJECT "NO", as in Yosys' cells_sim.v."""
    p, g = lut(init, values), lut(init & 15, values[:2])
    return p ^ cin, cin if p else g


@functools.lru_cache(None)
def fit(p, g):
    """A half with these tables over its inputs (g: None where it does not count): the number of the input, or "0" or
    "1", for each pin, and INIT. None if there is none."""
    count = (len(p) - 1).bit_length()
    for ties in itertools.product("10", repeat=len(PINS) - count):
        for pins in sorted(set(itertools.permutations([*range(count), *ties])), key=str):
            table = {}
            for n, (pn, gn) in enumerate(zip(p, g)):
                at = sum((n >> q & 1 if isinstance(q, int) else int(q)) << i for i, q in enumerate(pins))
                if table.setdefault(at, pn) != pn or (gn is not None and table.setdefault(at & 3, gn) != gn):
                    break
            else:
                return pins, sum(v << at for at, v in table.items())
    return None


class Netlist:
    """A module's cells, and who reads which net. A net is its number; "0" and "1" are constants."""

    def __init__(self, module):
        self.cells = module["cells"]
        self.readers, self.lut_of = {}, {}
        kept = {b for n in module["netnames"].values() if "keep" in n["attributes"] for b in n["bits"]}
        for port in module["ports"].values():
            for b in port["bits"]:
                self.readers.setdefault(b, set()).add((None, None))
        for name, cell in self.cells.items():
            for port, bits in cell["connections"].items():
                if cell["port_directions"].get(port) != "output":
                    for b in bits:
                        self.readers.setdefault(b, set()).add((name, port))
            if cell["type"] == "LUT4" and "keep" not in cell["attributes"] and self.net(name, "Z") not in kept:
                self.lut_of[self.net(name, "Z")] = name

    def net(self, name, port):
        """What is at the port; None if nothing."""
        return next(iter(self.cells[name]["connections"].get(port, [])), None)

    def inputs(self, name, half=""):
        """What a LUT or a half reads; an undefined input may be 0."""
        bits = (self.net(name, f"{p}{half}") for p in PINS)
        return ["0" if b in (None, "x", "z") else b for b in bits]

    def init(self, name, half=""):
        return int(self.cells[name]["parameters"][f"INIT{half}"], 2)

    def used(self, name, *ports):
        return any(self.readers.get(self.net(name, p)) for p in ports)

    def carry_cells(self):
        """Those that add: Yosys makes no others."""
        return sorted(n for n, c in self.cells.items() if c["type"] == "CCU2C" and "keep" not in c["attributes"]
                      and all(c["parameters"][f"INJECT1_{k}"] == "NO" for k in (0, 1)))

    def set_half(self, name, half, pins, init):
        for p, b in zip(PINS, pins):
            port = f"{p}{half}"
            self.readers.get(self.net(name, port), set()).discard((name, port))
            self.cells[name]["connections"][port] = [b]
            self.readers.setdefault(b, set()).add((name, port))
        self.cells[name]["parameters"][f"INIT{half}"] = f"{init:016b}"

    def remove_lut(self, name):
        del self.lut_of[self.net(name, "Z")]
        for p in PINS:
            self.readers.get(self.net(name, p), set()).discard((name, p))
        del self.cells[name]


def with_luts(netlist, name, half, luts):
    """The half's pins and INIT with the LUTs in it, {net: LUT}; None if they do not fit."""
    init, pins = netlist.init(name, half), netlist.inputs(name, half)
    carries = netlist.used(name, "COUT") or (half == 0 and netlist.used(name, "S1"))
    leaves = sorted({leaf for b in pins for leaf in (netlist.inputs(luts[b]) if b in luts else [b])} - {"0", "1"})
    if len(leaves) > len(PINS):
        return None
    rows = []  # of what is at the pins, for all values of the leaves
    for n in range(1 << len(leaves)):
        value = {"0": 0, "1": 1} | {b: n >> i & 1 for i, b in enumerate(leaves)}
        value |= {z: lut(netlist.init(cell), [value[b] for b in netlist.inputs(cell)]) for z, cell in luts.items()
                  if z in pins}
        rows.append((value, [value[b] for b in pins]))
    p = tuple(lut(init, v) for _, v in rows)
    g = tuple(lut(init & 15, v[:2]) if carries and not pn else None for (_, v), pn in zip(rows, p))
    found = fit(p, g)
    if not found:
        return None
    new_pins, new_init = [leaves[b] if isinstance(b, int) else b for b in found[0]], found[1]
    for value, before in rows:
        for cin in (0, 1):
            was, now = outputs(init, before, cin), outputs(new_init, [value[b] for b in new_pins], cin)
            if was[:1 + carries] != now[:1 + carries]:
                raise WrongFold(f"{name}: half {half} would be another")
    return new_pins, new_init


def take(netlist, nets, adders):
    """Whether the LUTs behind these nets could be taken into all halves that read them."""
    luts = {b: netlist.lut_of[b] for b in nets}
    readers = {r for b in nets for r in netlist.readers[b]}
    if not all(name in adders and port in HALF_PINS for name, port in readers) or any(b in luts for n in luts.values()
                                                                                      for b in netlist.inputs(n)):
        return False
    changed = {}
    for name, half in sorted({(name, HALF_PINS[port]) for name, port in readers}):
        changed[name, half] = with_luts(netlist, name, half, luts)
        if not changed[name, half]:
            return False
    for (name, half), (pins, init) in changed.items():
        netlist.set_half(name, half, pins, init)
    for n in luts.values():
        netlist.remove_lut(n)
    return True


def fold(netlist):
    """Returns the number of LUTs that went; a half is looked at again with the LUTs in front of those."""
    before = len(netlist.lut_of)
    order = netlist.carry_cells()
    adders, work = set(order), [(name, half) for name in order for half in (1, 0)]
    while work:
        name, half = work.pop()
        nets = sorted({b for b in netlist.inputs(name, half) if b in netlist.lut_of})
        if any(take(netlist, chosen, adders) for size in range(len(nets), 0, -1)
               for chosen in itertools.combinations(nets, size)):
            work.append((name, half))
    return before - len(netlist.lut_of)


def movable(netlist, net):
    """A LUT for the idle half beside the one that drives the net, the nearest behind it. To a tool that takes INJECT
    for no cut, that LUT will depend on the carry: it has to depend on the net without a register between, or to have
    nothing but registers behind it, so that no loop is seen and no path is longer than a sum with a LUT behind it.
    None if there is none within reach."""
    nets, through = [net], {net: True}  # in the order of their distance; whether there is no register between
    for at in itertools.islice(nets, REACH):  # nets grows
        for name, port in sorted(netlist.readers.get(at, ()), key=str):
            kind = netlist.cells[name]["type"] if name else None
            out = {"LUT4": "Z", "TRELLIS_FF": "Q"}.get(kind)
            z = out and netlist.net(name, out)
            if z is None or z in through:
                continue
            through[z] = through[at] and kind == "LUT4"
            if netlist.lut_of.get(z) == name and (through[z] or all(n and netlist.cells[n]["type"] == "TRELLIS_FF"
                                                                    for n, _ in netlist.readers[z])):
                return name
            nets.append(z)
    return None


def fill(netlist):
    """Returns the number of LUTs that went."""
    count = 0
    for name in netlist.carry_cells():
        if netlist.used(name, "S1", "COUT"):
            continue
        found = movable(netlist, netlist.net(name, "S0"))
        if not found:
            continue
        cell, z = netlist.cells[name], netlist.net(found, "Z")
        netlist.set_half(name, 1, netlist.inputs(found), netlist.init(found))
        cell["parameters"]["INJECT1_1"] = "YES"
        cell["connections"]["S1"] = [z]
        cell["port_directions"]["S1"] = "output"
        netlist.remove_lut(found)
        count += 1
    return count


def pack(module):
    """Both; returns the number of LUTs that went."""
    netlist = Netlist(module)
    return fold(netlist) + fill(netlist)
