# SPDX-License-Identifier: Apache-2.0
"""Whether a mutation can change anything: two copies of a module's and-inverter graph, side by side, one with
the mutation and one without.

Both copies have the same inputs in every cycle, and begin with the same contents of registers and
memories, whatever they are.

- From any contents: no output differs in the first `depth` cycles. Where that holds the mutation changes nothing within
  that time of any state, reached or not.
- Behind RESET cycles of reset: no output ever differs (ABC's pdr), or one does in some cycle.
"""
import re
import subprocess

FALSE, TRUE = 0, 1
RESET = 4  # cycles


class Graph:
    """And-inverter graph under construction; literals as AIGER has them. Equal gates are one."""

    def __init__(self):
        self.kind, self.hash, self.latches = [None], {}, []

    def leaf(self, kind):
        self.kind.append(kind)
        return 2 * (len(self.kind) - 1)

    def both(self, a, b):
        if a > b:
            a, b = b, a
        if a == FALSE or a == b ^ 1:
            return FALSE
        if a == TRUE or a == b:
            return b
        n = self.hash.get((a, b))
        if n is None:
            n = self.leaf((a, b))
            self.hash[a, b] = n
        return n

    def differ(self, a, b):
        return self.both(self.both(a, b ^ 1) ^ 1, self.both(a ^ 1, b) ^ 1) ^ 1

    def either(self, a, b):
        return self.both(a ^ 1, b ^ 1) ^ 1

    def choose(self, s, a, b):
        return self.either(self.both(s, a), self.both(s ^ 1, b))

    def write(self, path, output, following=()):
        """The cone of `output`, and latches whose next values `following` gives, as binary AIGER."""
        new, order = {0: 0}, []
        inputs = [n for n, k in enumerate(self.kind) if k == "input"]
        for n in inputs + self.latches:
            new[n] = len(new)
        stack, seen = [output >> 1] + [f >> 1 for f in following], set(new)
        while stack:
            n = stack[-1]
            if n in seen:
                stack.pop()
                continue
            todo = [lit >> 1 for lit in self.kind[n] if lit >> 1 not in seen]
            if todo:
                stack += todo
            else:
                seen.add(n)
                order.append(n)
                new[n] = len(new)
                stack.pop()
        lit = lambda x: 2 * new[x >> 1] | x & 1
        with open(path, "wb") as f:
            f.write(f"aig {len(new) - 1} {len(inputs)} {len(self.latches)} 1 {len(order)}\n".encode())
            f.write("".join(f"{lit(x)}\n" for x in following).encode() + f"{lit(output)}\n".encode())
            for n in order:
                a, b = sorted(map(lit, self.kind[n]))
                for delta in (2 * new[n] - b, b - a):
                    while delta > 127:
                        f.write(bytes([delta & 127 | 128]))
                        delta >>= 7
                    f.write(bytes([delta]))


class Module:
    """What Yosys wrote with `write_aiger -ascii -symbols`."""

    def __init__(self, path, select, reset):
        lines = path.read_text().splitlines()
        _, inputs, latches, outputs, ands = map(int, lines[0].split()[1:6])
        part = iter(lines[1:])
        self.inputs = [int(next(part)) >> 1 for _ in range(inputs)]
        self.latches = [list(map(int, next(part).split()[:2])) for _ in range(latches)]
        self.outputs = [int(next(part)) for _ in range(outputs)]
        self.ands = [tuple(map(int, next(part).split())) for _ in range(ands)]
        names = {}
        for line in part:
            if m := re.match(r"i(\d+) (\S+)", line):
                names[m[2]] = self.inputs[int(m[1])]
        self.select, self.reset = names.get(select), names.get(reset)

    def reaches(self):
        """Whether an output depends on the mutation, in any cycle: what does not needs no proof, however
        large the module is."""
        gates = {lhs >> 1: (a, b) for lhs, a, b in self.ands} | {q >> 1: (n,) for q, n in self.latches}
        seen, todo = set(), [x >> 1 for x in self.outputs]
        while todo:
            n = todo.pop()
            if n not in seen:
                seen.add(n)
                todo += [x >> 1 for x in gates.get(n, ())]
        return self.select in seen

    def copy(self, graph, inputs, state, mutated):
        """Outputs and next state of a copy."""
        value = {0: FALSE, **dict(zip(self.inputs, inputs)),
                 **{lit >> 1: s for (lit, _), s in zip(self.latches, state)}}
        if self.select is not None:
            value[self.select] = TRUE if mutated else FALSE
        get = lambda x: value[x >> 1] ^ x & 1
        for lhs, a, b in self.ands:
            value[lhs >> 1] = graph.both(get(a), get(b))
        return [get(x) for x in self.outputs], [get(n) for _, n in self.latches]

    def cycle(self, graph, states, inputs):
        """Whether an output of the two copies differs, and their next states."""
        outs, after = zip(*(self.copy(graph, inputs, s, m) for s, m in zip(states, (False, True))))
        wrong = FALSE
        for a, b in zip(*outs):
            wrong = graph.either(wrong, graph.differ(a, b))
        return wrong, after


def abc(path, how, timeout):
    """Its output; "" when it takes too long."""
    try:
        r = subprocess.run(["berkeley-abc", "-c", f"read_aiger {path}; {how}"], stdin=subprocess.DEVNULL,
                           capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        return ""
    return r.stdout + r.stderr


def same_from_any_state(module, depth, path, timeout):
    """True, False, or None without an answer in time."""
    g = Graph()
    first = [g.leaf("input") for _ in module.latches]
    states, wrong = (first, first), FALSE
    for _ in range(depth):
        w, states = module.cycle(g, states, [g.leaf("input") for _ in module.inputs])
        wrong = g.either(wrong, w)
    if wrong == FALSE:
        return True
    if wrong == TRUE:
        return False
    g.write(path, wrong)
    out = abc(path, "bmc3 -F 1", timeout)
    return True if "No output asserted" in out else False if "was asserted" in out else None


def same_behind_reset(module, path, timeout):
    """True, the cycle in which an output differs, or None without an answer in time."""
    g = Graph()
    reset = [g.leaf("latch") for _ in range(RESET)]  # 0, and 1 from the cycle on that many cycles later
    states = []
    first = [g.leaf("input") for _ in module.latches]
    g.latches = [x >> 1 for x in reset]
    for _ in range(2):
        own = [g.leaf("latch") for _ in module.latches]
        g.latches += [x >> 1 for x in own]
        states.append([g.choose(reset[0], q, f) for q, f in zip(own, first)])
    inputs = [g.leaf("input") for _ in module.inputs]
    if module.reset is not None:
        at = module.inputs.index(module.reset)
        inputs[at] = g.both(inputs[at], reset[-1])
    wrong, after = module.cycle(g, states, inputs)
    wrong = g.both(wrong, reset[-1])
    if wrong == FALSE:
        return True
    g.write(path, wrong, [TRUE, *reset[:-1], *after[0], *after[1]])
    # what leads to a difference soon is found by bmc3 at once, and what makes none is for the most part equal
    # signals, which scorr joins
    for how in (f"bmc3 -F 40 -T {timeout // 3}", f"scorr; pdr -T {timeout}"):
        out = abc(path, how, 2 * timeout)
        if m := re.search(r"was asserted in frame (\d+)", out):
            return int(m[1]) - RESET
        if "Property proved" in out or "Networks are equivalent" in out:
            return True
    return None
