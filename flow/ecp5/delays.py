# SPDX-License-Identifier: Apache-2.0
"""What legalize knows of timing: delays of cells, and what the paths to them may take. All of it is an estimate, with
which wires compete; nextpnr judges the routed design."""

# ps from a clock or the inputs to the outputs, of speed grade 8 of the 5G; and how much slower the others are. Source:
# Project Trellis' database, ECP5/timing.
OUTPUT = {"TRELLIS_COMB": 141, "CCU2": 278, "TRELLIS_FF": 309, "DP16KD": 1364, "MULT18X18D": 2416}
SLOWER = {6: 1.6, 7: 1.4, 8: 1.0}
CLOCKS = ("CLK", "CLKA", "CLK0", "WCK")
LOGIC = {"A", "B", "C", "D", "FCI"}  # the inputs that a LUT's outputs depend on; the others write its RAM


class Limits:
    """Of a board: b is its board.toml with the names of its clock nets, mhz what each clock must reach."""

    def __init__(self, b, mhz, domain_of):
        self.domain_of = domain_of
        self.slower = SLOWER[b["part"]["speed"]]
        self.cycle = {d: 1000 / f for d, f in mhz.items()}
        # paths between the fabric and its nodes may take a cycle of the faster (timing.between_ns)
        both = [d for d in ("fabric", "node") if d in self.cycle]
        self.cycle |= dict.fromkeys(both, min(self.cycle[d] for d in both))
        pads = next(iter(b.get("io", {}).items()), None)
        self.from_pad, self.to_pad = 0, min(self.cycle.values())
        if pads:
            self.from_pad, self.to_pad = self.cycle[pads[0]] - pads[1]["in_ns"], pads[1]["out_ns"]

    def clocks(self, names):
        """{net: ns of its cycle}, of the clocks of a netlist: {net: its names}."""
        found = {net: next(filter(None, map(self.domain_of, all_names)), None) for net, all_names in names.items()}
        return {net: self.cycle[d] for net, d in found.items() if d}

    def of_cell(self, cell, clocks):
        """(ps to its outputs, ps that a path to it may take)."""
        if cell["type"] == "TRELLIS_IO":
            return self.ps(self.from_pad), self.ps(self.to_pad)
        clock = next((n for c in CLOCKS for n in cell["connections"].get(c, []) if n in clocks), None)
        kind = cell["parameters"].get("MODE")
        return OUTPUT.get(kind, OUTPUT.get(cell["type"], 0)), self.ps(clocks.get(clock, max(self.cycle.values())))

    def ps(self, ns):
        """As speed grade 8 has it."""
        return max(1, round(1000 * ns / self.slower))

    def ns(self, ps):
        return ps * self.slower / 1000


def ends(cell, port):
    """Whether paths end at this input."""
    return not (cell["type"] == "MULT18X18D" or (cell["type"] == "TRELLIS_COMB" and port in LOGIC))
