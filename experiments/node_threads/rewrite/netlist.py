# SPDX-License-Identifier: Apache-2.0
"""A module of Yosys' JSON with cells of word width: what the rules of registers.py and memories.py read and write.

A net is its number, or "0", "1", "x" of a constant; a word is a list of them, lowest bit first, as Yosys' JSON has it.
"""


class Refused(Exception):
    """The netlist holds what no rule is for."""


def number(parameter):
    return int(parameter, 2)


def parameter(value):
    return f"{value:032b}"


class Netlist:
    def __init__(self, name, module):
        self.name, self.module, self.cells, self.nets = name, module, module["cells"], module["netnames"]
        words = ([w["bits"] for w in self.nets.values()] + [p["bits"] for p in module["ports"].values()]
                 + [b for c in self.cells.values() for b in c["connections"].values()])
        self.free = 1 + max((b for w in words for b in w if isinstance(b, int)), default=1)
        self.init, self.name_of = {}, {}
        for name, net in self.nets.items():
            for i, b in enumerate(net["bits"]):
                if not net.get("hide_name") or b not in self.name_of:
                    self.name_of[b] = (name, net.get("hide_name", 0))
            for b, v in zip(net["bits"], reversed(net["attributes"].get("init", ""))):
                if v != "x":
                    self.init[b] = v
        self.clock, self.edge = None, None
        self.delayed = {}

    def only_clock(self, what, bit, polarity):
        """All state of the module changes at one edge of one clock."""
        polarity = parameter(number(polarity))
        if self.clock is None:
            self.clock, self.edge = bit, polarity
        if (bit, polarity) != (self.clock, self.edge):
            raise Refused(f"{self.name}: {what} is clocked by another edge than the rest; registers must have "
                          "one clock")

    def word(self, width):
        self.free += width
        return list(range(self.free - width, self.free))

    def cell(self, kind, name, parameters, inputs, outputs, attributes=None):
        if name in self.cells:
            raise Refused(f"{self.name}: a cell is called {name} already")
        self.cells[name] = {"hide_name": 1, "type": kind, "parameters": parameters, "attributes": attributes or {},
                            "port_directions": {p: "input" for p in inputs} | {p: "output" for p in outputs},
                            "connections": inputs | outputs}

    def inits(self, word):
        """What the bits begin with, highest first, x where that is open."""
        return "".join(self.init.get(b, "x") for b in reversed(word))

    def named(self, word, like, suffix, init):
        """Gives new nets a name beside that of the net LIKE, and what they begin with."""
        name, hide = self.name_of.get(like, (f"$threads${word[0]}", 1))
        name = f"{name}.{suffix}"
        while name in self.nets:
            name += "'"
        self.nets[name] = {"hide_name": hide, "bits": word, "attributes": {"init": init} if set(init) - {"x"} else {}}
        for b, v in zip(word, reversed(init)):
            if v != "x":
                self.init[b] = v

    def dff(self, name, d, q):
        self.cell("$dff", name, {"WIDTH": parameter(len(d)), "CLK_POLARITY": self.edge},
                  {"CLK": [self.clock], "D": d}, {"Q": q})

    def mux(self, name, select, zero, one):
        """The word ONE where SELECT is 1, else ZERO."""
        y = self.word(len(zero))
        self.cell("$mux", name, {"WIDTH": parameter(len(zero))}, {"A": zero, "B": one, "S": [select]}, {"Y": y})
        return y

    def invert(self, name, bit):
        y = self.word(1)
        self.cell("$not", name, {"A_SIGNED": parameter(0), "A_WIDTH": parameter(1), "Y_WIDTH": parameter(1)},
                  {"A": [bit]}, {"Y": y})
        return y[0]

    def delay(self, word, clocks, init=None):
        """The word, that many clocks later. A bit that is asked for twice has one register; a constant needs none,
        unless it is to begin as something else."""
        if clocks == 0:
            return word
        init = init or "x" * len(word)
        now = self.delay(word, clocks - 1, init)
        new = []
        for b, v in zip(now, reversed(init)):
            if (b, v) not in self.delayed and not (isinstance(b, str) and v in ("x", b)):
                self.delayed[b, v] = None
                new.append((b, v))
        if new:
            q = self.word(len(new))
            self.named(q, next((b for b in word if isinstance(b, int)), None), f"later{clocks}",
                       "".join(v for _, v in reversed(new)))
            self.dff(f"$threads$later${q[0]}", [b for b, _ in new], q)
            self.delayed.update(zip(new, q))
        return [self.delayed.get((b, v), b) for b, v in zip(now, reversed(init))]
