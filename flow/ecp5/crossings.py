#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lists every path of a netlist between clocks, and from pins, and checks that each ends in a register that a module of
rtl/cdc has marked.

usage: crossings.py NETLIST.json TOP [PIN=CLOCK ...] [CLOCK~CLOCK ...]

NETLIST: as Yosys writes it, of ECP5 cells. The name of a clock is that of the net that clocks registers. PIN=CLOCK:
the port belongs to this clock, with which an external chip drives it. Every other input belongs to no clock.
CLOCK~CLOCK: both come from one oscillator in phase, and count as one here, because timing analysis covers the paths
between them. The attribute mw_cdc of the net that a register drives is its mark:
  sync    its data come from one register of another clock, or a pin, with no logic between
  data    (cdc_fifo) its data come from a RAM that another clock writes, by addresses of its own clock
  reset   (cdc_reset) its asynchronous reset comes from a register or a net of any clock
The script reports every other path from another clock, or from a pin without one, with its start. Exit status 1: there
is such a path; 2: bad input.
"""
import collections
import json
import sys

CLOCK_PINS = {"TRELLIS_FF": "CLK", "TRELLIS_DPR16X4": "WCK", "IFS1P3DX": "SCLK", "OFS1P3DX": "SCLK", "OFS1P3BX": "SCLK",
              "ODDRX1F": "SCLK"}
# cells whose outputs are logic of their inputs
LOGIC = {"LUT4", "CCU2C", "PFUMX", "L6MUX21", "INV", "IB", "OB", "OBZ", "DELAYG", "$_TBUF_"}
CONSTANT = {"0", "1", "x", "z"}


class Netlist:
    def __init__(self, design, top):
        m = design["modules"][top]
        self.cells, self.ports, self.nets = m["cells"], m["ports"], m["netnames"]
        self.names, self.marks, self.driver = {}, {}, {}
        for name, net in m["netnames"].items():
            for i, bit in enumerate(net["bits"]):
                text = f"{name}[{i}]" if len(net["bits"]) > 1 else name
                # the shortest name is the one of the source
                if bit not in self.names or (net.get("hide_name", 0), len(text)) < self.names[bit][0]:
                    self.names[bit] = ((net.get("hide_name", 0), len(text)), text)
                if "mw_cdc" in net["attributes"]:
                    self.marks[bit] = net["attributes"]["mw_cdc"]
        for name, cell in self.cells.items():
            for pin, bits in cell["connections"].items():
                if cell["port_directions"].get(pin) in ("output", "inout") and pin != "B":
                    for bit in bits:
                        self.driver[bit] = (name, pin)
        self.together = {}  # a clock's name: that of one it belongs with
        self.inputs = {bit: port for port, p in self.ports.items() if p["direction"] in ("input", "inout")
                       for bit in p["bits"]}

    def name(self, bit):
        return self.names[bit][1] if bit in self.names else f"net {bit}"

    def aliases(self, bit):
        return {name for name, net in self.nets.items() if bit in net["bits"]}

    def clock_of(self, cell):
        return self.clock(cell["connections"][CLOCK_PINS[cell["type"]]][0])

    def clock(self, bit):
        return self.together.get(self.name(bit), self.name(bit))


def ram_clocks(net, cell):
    """Clocks of the two ports of a block RAM; a port that is not used has none."""
    return [net.clock(bits[0]) if (bits := cell["connections"].get(p)) and bits[0] not in CONSTANT else None
            for p in ("CLKA", "CLKB")]


def port_of(pin):
    """A or B: of which port of a block RAM a pin is, DIA17 or OCEB."""
    return pin.rstrip("0123456789")[-1]


def sources(net, pins):
    """{bit: what is behind it, as a set of (clock, kind, name)}, through logic. Kinds: ff, ram (LUT RAM written in
    that clock), pin, other."""
    sys.setrecursionlimit(100000)
    known = {}

    def of(bit):
        if bit in CONSTANT:
            return frozenset()
        if bit in known:
            return known[bit]
        known[bit] = frozenset()  # a loop of logic has no source of its own
        found = set()
        if bit in net.driver:
            name, pin = net.driver[bit]
            cell = net.cells[name]
            kind = cell["type"]
            if kind in ("TRELLIS_FF", "IFS1P3DX", "OFS1P3DX", "OFS1P3BX", "ODDRX1F"):
                found.add((net.clock_of(cell), "ff", net.name(bit)))
            elif kind == "TRELLIS_DPR16X4":
                found.add((net.clock_of(cell), "ram", net.name(bit)))
                for b in cell["connections"]["RAD"]:
                    found |= of(b)
            elif kind == "DP16KD":
                clock = ram_clocks(net, cell)[port_of(pin) == "B"]
                found.add((clock, "ff", net.name(bit)))
            elif kind in ("BB", "TRELLIS_IO"):
                found |= {pin_source(b) for b in cell["connections"]["B"]}
            elif kind in LOGIC or kind == "MULT18X18D":
                for p, bits in cell["connections"].items():
                    if cell["port_directions"].get(p) == "input":
                        for b in bits:
                            found |= of(b)
            else:
                found.add((None, "other", f"{net.name(bit)} of {kind} {name}"))
        elif bit in net.inputs:
            found.add(pin_source(bit))
        known[bit] = frozenset(found)
        return known[bit]

    def pin_source(bit):
        port = net.inputs.get(bit, net.name(bit))
        return (pins.get(port), "pin", port)

    return of


def direct(net, bit):
    """The register or pin that drives a bit with nothing between but a pad, else None."""
    while bit in net.driver:
        name, _ = net.driver[bit]
        cell = net.cells[name]
        if cell["type"] in ("IB", "DELAYG"):
            bit = cell["connections"]["I" if cell["type"] == "IB" else "A"][0]
        elif cell["type"] in ("BB", "TRELLIS_IO"):
            return cell["connections"]["B"][0]
        elif cell["type"] in ("TRELLIS_FF", "EHXPLLL"):
            return bit
        else:
            return None
    return bit


def ends(net):
    """Every (cell, pin, bit, clock) that a path ends in."""
    for name, cell in net.cells.items():
        kind = cell["type"]
        if kind in CLOCK_PINS:
            clock = net.clock_of(cell)
            for pin, bits in cell["connections"].items():
                if cell["port_directions"].get(pin) != "input" or pin == CLOCK_PINS[kind] or pin == "RAD":
                    continue
                for bit in bits:
                    yield name, pin, bit, clock
        elif kind == "DP16KD":
            a, b = ram_clocks(net, cell)
            for pin, bits in cell["connections"].items():
                clock = b if port_of(pin) == "B" else a
                if cell["port_directions"].get(pin) == "input" and clock and not pin.startswith("CLK"):
                    for bit in bits:
                        yield name, pin, bit, clock


def check(net, pins):
    """([allowed crossings as text], [forbidden ones])."""
    of = sources(net, pins)
    allowed, forbidden = collections.Counter(), []
    for name, pin, bit, clock in ends(net):
        foreign = [s for s in of(bit) if s[0] != clock]
        if not foreign:
            continue
        cell = net.cells[name]
        q = cell["connections"].get("Q", [None])[0]
        mark = net.marks.get(q)
        where = net.name(q) if q is not None else name
        begins = ", ".join(sorted({f"{s[2]} ({s[0] or 'no clock'})" for s in foreign})[:3])
        asynchronous = pin in ("LSR", "CD", "PD") and cell["parameters"].get("SRMODE") == "ASYNC"
        good = ((mark == "sync" and pin in ("DI", "D", "M") and len(of(bit)) == 1 and direct(net, bit) is not None)
                or (mark == "data" and pin in ("DI", "D", "M") and all(s[1] == "ram" for s in foreign))
                or (mark == "reset" and asynchronous))
        if good:
            allowed[f"{mark}: {', '.join(sorted({str(s[0] or 'pin ' + s[2]) for s in foreign}))} -> {clock}, "
                    f"{where.rpartition('.')[0] or where}"] += 1
        else:
            forbidden.append(f"{begins} -> {where}.{pin} ({clock})")
    return allowed, forbidden


def main():
    try:
        net = Netlist(json.load(open(sys.argv[1])), sys.argv[2])
        pins = dict(a.split("=") for a in sys.argv[3:] if "~" not in a)
        net.together = dict(a.split("~") for a in sys.argv[3:] if "~" in a)
    except (IndexError, ValueError, OSError, KeyError) as e:
        print(f"crossings: {e}\n{__doc__}", file=sys.stderr)
        sys.exit(2)
    allowed, forbidden = check(net, pins)
    for text, count in sorted(allowed.items()):
        print(f"{count:4} {text}")
    for text in sorted(set(forbidden)):
        print(f"crossings: FAILED: {text}")
    print(f"crossings: {sum(allowed.values())} bits cross in modules for it, {len(set(forbidden))} elsewhere")
    sys.exit(1 if forbidden else 0)


if __name__ == "__main__":
    main()
