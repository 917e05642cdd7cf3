# SPDX-License-Identifier: Apache-2.0
"""Mutations of a module's cells: chosen by Yosys, named by source line, found again in another bench."""
import collections
import pathlib
import re
import shlex

from bench import CELL, width_of
from tool import Failure, yosys


class Mutation:
    """One mutation, from a line that Yosys' `mutate -list` wrote."""

    def __init__(self, unit, module, line):
        self.unit, self.module = unit, module
        words = shlex.split(line)
        self.options = {}
        for key, value in zip(words[1::2], words[2::2]):
            self.options.setdefault(key, []).append(value)
        get = lambda k: self.options.get(k, [""])[0]
        self.variant, self.cell, self.mode, self.port = get("-module"), get("-cell"), get("-mode"), get("-port")
        self.wire = f"{get('-wire')}[{get('-wirebit')}]" if get("-wire") else ""
        self.type, self.src, self.nth = place(unit.mods["\\" + self.variant], self.cell)
        self.where = (f"{re.sub('__[0-9]+$', '', self.type)}{self.holds(unit)}.{self.port}[{get('-portbit')}]"
                      + (f" by [{get('-ctrlbit')}]" if get("-ctrlbit") else ""))
        self.line = (self.src or get("-src")).split("|")[0]
        self.number, self.result, self.by, self.detail = 0, None, "", ""

    def holds(self, unit):
        """Of a register or memory: its name."""
        lines = unit.mods["\\" + self.variant]
        at = next(i for i, x in enumerate(lines) if (c := CELL.match(x)) and c[2].lstrip("\\") == self.cell)
        body = "\n".join(lines[at:lines.index("  end", at)])
        name = re.search(r"connect \\Q \\(\S+)" if "dff" in self.type else r'parameter \\MEMID "\\*(\S+)"',
                         body) if self.type.startswith("$") else None
        return f"({name[1]})" if name else f"({self.cell})" if not self.type.startswith("$") else ""

    def beside(self):
        """Of no logic: the clock, and what a memory holds at power-up, which must be constant."""
        return self.port in ("CLK", "clk_i") or self.wire.startswith("clk_i[") or self.type.startswith("$meminit")

    def apply(self, variant, cell, ctrl, width, number):
        o = "".join(f" {k} {v[0]}" for k, v in self.options.items() if k in ("-mode", "-port", "-portbit", "-ctrlbit"))
        return f"mutate -ctrl {ctrl} {width} {number} -module {variant} -cell {cell}{o}\n"

    def text(self):
        """The source line."""
        file, _, at = self.line.partition(":")
        try:
            return pathlib.Path(file).read_text().splitlines()[int(at.split(".")[0]) - 1].strip()
        except (OSError, ValueError, IndexError):
            return ""

    def record(self):
        return {"module": self.module, "test": self.unit.name, "instance": self.unit.paths["\\" + self.variant],
                "mode": self.mode, "place": self.where, "cell": self.cell,
                "wire": self.wire, "src": self.line, "text": self.text(), "result": self.result, "by": self.by,
                "detail": self.detail}


def cells_of(lines):
    """(type, src, name) of each cell."""
    src = ""
    for line in lines:
        if line.startswith("  attribute \\src "):
            src = line[18:-1]
        elif m := CELL.match(line):
            yield m[1].lstrip("\\"), src, m[2].lstrip("\\")
            src = ""
        elif line[:4].strip() and not line.startswith("  attribute"):
            src = ""


def place(lines, cell):
    """Type and source of a cell, and how many of the same are before it."""
    seen = collections.Counter()
    for kind, src, name in cells_of(lines):
        key = re.sub("__[0-9]+$", "", kind), src
        if name == cell:
            return kind, src, seen[key]
        seen[key] += 1
    raise Failure(f"no cell {cell}")


def choose(unit, counts, seed):
    """Lists of mutations for {module: number}."""
    script = f"read_rtlil {unit.folder}/merged.il\nhierarchy -top {unit.top}\n"
    for m, n in counts.items():
        script += (f"mutate -list {n + n // 2 + 4} -seed {seed} -o {unit.folder}/{m}.list "
                   f"{' '.join(v[1:] for v in unit.variants[m])}\n")
    yosys(unit.folder, "list", script)
    out = []
    for m, n in counts.items():
        lines = [x for x in (unit.folder / f"{m}.list").read_text().splitlines() if x.startswith("mutate ")]
        out += [x for x in (Mutation(unit, m, x) for x in lines) if not x.beside()][:n]
    return out


def transferred(m, unit):
    """(variant, cell) of the same place in the bench of another test, or None: the same cell in order among
    those of its source line."""
    for v in unit.variants.get(m.module, []):
        seen = collections.Counter()
        for kind, src, name in cells_of(unit.mods[v]):
            key = re.sub("__[0-9]+$", "", kind), src
            if key == (re.sub("__[0-9]+$", "", m.type), m.src) and seen[key] == m.nth:
                bits = [int(x) for k in ("-portbit", "-ctrlbit") for x in m.options.get(k, [])]
                lines = unit.mods[v]
                at = next(i for i, x in enumerate(lines) if (c := CELL.match(x)) and c[2].lstrip("\\") == name)
                if width_of(lines, at, m.port, unit.mods) > max(bits):
                    return v[1:], name
            seen[key] += 1
    return None
