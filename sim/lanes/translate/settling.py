# SPDX-License-Identifier: Apache-2.0
"""What follows from inputs without a clock edge, in the order in which copies that are wired to each other know it."""
from .refuse import fail
from .variables import declare, leaf


def give_ranks(statements, rank):
    """the least rank for each of some statements, in their order, so that it runs behind what it needs; `rank` of what
    they read has those of their inputs, and is completed"""
    reader = {}
    for s in statements:
        s.rank = max([rank.get(v, 0) for v in s.reads | s.writes] + [reader.get(v, 0) for v in s.writes], default=0)
        for v in s.writes:
            rank[v] = s.rank
        for v in s.reads:
            reader[v] = max(s.rank, reader.get(v, 0))


def each_block(function):
    """C++ that calls a function for one block of copies after the other"""
    return f"for (unsigned i = 0; i < count; i++) {function}(*blocks[i]);"


class Settling:
    """what follows from inputs, in steps: with a ring, a step for what needs nothing of other copies, one for what
    needs the step before of them, ..."""

    MOST = 4

    def __init__(self, functions, types, ring):
        self.functions = [(f, f.statements()) for f in functions]
        self.types = types
        pairs = [(t[:-2] + "_o", t) for t in types if ring and t.endswith("_i") and t[:-2] + "_o" in types]
        self.wires = {i: 0 for _, i in pairs}  # input: step in front of which it is taken
        everything = [s for _, ss in self.functions for s in ss]
        for _ in range(self.MOST + 1):
            rank = dict(self.wires)
            give_ranks(everything, rank)
            written = set().union(*(s.writes for s in everything)) if everything else set()
            wires = {i: rank[o] + 1 if o in written else 0 for o, i in pairs}
            if wires == self.wires:
                break
            self.wires = wires
        else:
            fail(f"the copies wait for each other in a circle, or in more than {self.MOST} steps")
        self.steps = 1 + max([s.rank for s in everything] + list(self.wires.values()), default=0)
        self.shared = []  # (field, type) of local variables that several steps use
        self.bodies = []  # (name, lines)
        for f, ss in self.functions:
            used = [set().union(*((s.reads | s.writes) & f.locals.keys() for s in ss if s.rank == r))
                    for r in range(self.steps)]
            for r in range(self.steps):
                lines = []
                for v in sorted(used[r]):
                    field = f"{f.name}__{v}"
                    if sum(v in u for u in used) > 1:
                        lines.append(f"auto &{v} = s.{field};")
                        if (field, f.locals[v]) not in self.shared:
                            self.shared.append((field, f.locals[v]))
                    else:
                        lines.append(declare(v, f.locals[v]))
                statements = [line for s in ss if s.rank == r for line in s.lines]
                if statements:
                    self.bodies.append((r, f"{f.name}_{r}", lines + statements))

    def wire(self, top, i):
        """C++ that takes one input of all copies from the outputs of the others"""
        o = i[:-2] + "_o"
        to, out = self.types[i], self.types[o]
        ports = f"(blocks, &{top}_lanes::{i}, &{top}_lanes::{o});"
        if to[0] == "a":
            if leaf(to) != (leaf(out)[0], to[2], leaf(out)[2]):
                fail(f"{i}, {o} are not alike")
            return f"lanes::ring_each<{leaf(to)[2]}>{ports}"
        if to == out:
            return f"lanes::ring_sets<{to[-1]}>{ports}"
        if out == ("u", 1):
            return f"lanes::ring_bits{ports}"
        fail(f"{i}, {o} are not alike")

    def calls(self, top):
        """C++ of inputs(), of all blocks"""
        for r in range(self.steps):
            yield from (self.wire(top, i) for i, at in self.wires.items() if at == r)
            yield from (each_block(name) for at, name, _ in self.bodies if at == r)
