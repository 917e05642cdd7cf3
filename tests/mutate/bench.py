# SPDX-License-Identifier: Apache-2.0
"""Unit tests, the modules that each one tests, and the netlist of its bench as RTLIL."""
import collections
import importlib.metadata
import pathlib
import re
import sys

from tool import ROOT, WORK, Failure, Memory, command, digest, yosys

sys.path.insert(0, str(ROOT / "flow/ecp5"))
import flow
import settings

RTL_DIRS = ("common", "link", "switch", "hub", "gpu", "fabric", "host", "soc", "top")
PREPARE = """
proc; opt_expr; opt_clean; opt -noff -keepdc; wreduce -keepdc; opt_clean
select -set enables t:$memwr_v2 %ci1:+[EN] %ci1:+[Y] t:$mux %i
simplemap @enables; bwmuxmap; opt_expr -mux_bool; opt_clean
"""
CELL = re.compile(r"^  cell (\S+) (\S+)$")


class Unit:
    """A unit test: its bench's netlist, and the program with all mutations of it."""

    def __init__(self, line):
        self.name, self.top, sources, parameters, needs, given = line.split("|")
        self.sources, self.parameters, self.needs = sources.split(), parameters.split(), needs.split()
        self.given = [f"-G {g}" for g in given.split()]  # of the module, with names of settings
        self.folder = WORK / self.name
        self.mods, self.paths, self.variants = {}, {}, {}
        self.folder.mkdir(parents=True, exist_ok=True)
        self.proofs = Memory(self.folder / "proofs.json")


def units():
    """{name: Unit}, the packages and the folders of modules, as the Makefile has them."""
    printed = command(["make", "-s", "--no-print-directory", "mutate-list"]).splitlines()
    # in a folder where nothing was built yet, make says what it generates before
    lines = printed[next((i for i, x in enumerate(printed) if x.startswith("packages|")), len(printed)):]
    if not lines:
        raise Failure(f"make mutate-list prints no list: {printed[-1:]}")
    _, packages, dirs = lines[0].split("|")
    return {u.name: u for u in map(Unit, lines[1:])}, packages.split(), dirs.split()


def table(names):
    """Rows of docs/developer/testing.md: (unit tests, modules, how many their benches have: `as above` counts, too). A
    test's name may be short for one like the first: `ingress`, `_16`."""
    rows, above = [], 0
    known = {f.stem for d in RTL_DIRS for f in pathlib.Path("rtl", d).rglob("*.sv")}
    for line in pathlib.Path("docs/developer/testing.md").read_text().splitlines():
        cells = line.split("|")
        if len(cells) != 4 or cells[1].strip().startswith("no test"):
            continue
        words = [re.findall(r"`(\w+)`", c) for c in cells[1:3]]
        tests = []
        for w in words[0]:
            stems = ([tests[0][:m.start()] for m in re.finditer("_", tests[0])][::-1] + [tests[0]] if tests
                     and w[0] == "_" else [""])
            tests += [s + w for s in stems if s + w in names and s + w not in tests][:1]
        modules = [m for m in words[1] if m in known and not m.endswith("_pkg")]
        above = len(modules) + (above if "as above" in cells[2] else 0)
        if tests and modules:
            rows.append((tests, modules, above))
    return rows


def tests_of(rows):
    """{module: its tests, the most specific first: of the row whose benches have the fewest modules}."""
    order = collections.defaultdict(list)
    for tests, modules, _ in sorted(rows, key=lambda r: r[2]):
        for m in modules:
            order[m] += [t for t in tests if t not in order[m]]
    return dict(order)


def read_rtlil(text):
    """{module: its lines, from `module` to `end`}."""
    mods, lines = {}, None
    for line in text.splitlines():
        if line.startswith("module "):
            lines = mods.setdefault(line[7:], [])
        if lines is not None:
            lines.append(line)
        if line == "end":
            lines = None
    return mods


def merge(mods, top):
    """The front end makes a module of every instance. Keeps one of those that are equal, as NAME__0, NAME__1, ...;
    {new name: lines}, {new name: path of its first instance}."""
    first, new, kept, paths, count = {}, {}, {}, {}, collections.Counter()

    def visit(name):
        if name in new:
            return new[name]
        lines = [f"  cell {visit(m[1])} {m[2]}" if (m := CELL.match(x)) and m[1] in mods else x for x in mods[name]]
        key = flow.statements([x for x in lines[1:-1] if not x.lstrip().startswith("attribute ")])
        base = name[1:].split("$")[0]
        if (base, key) not in first:
            first[base, key] = f"\\{base}__{count[base]}" if name != top else name
            count[base] += 1
            kept[first[base, key]] = [f"module {first[base, key]}"] + lines[1:]
            paths[first[base, key]] = name[1:].partition("$")[2]
        new[name] = first[base, key]
        return new[name]

    visit(top)
    return kept, paths


def read(unit, packages, dirs):
    """Makes unit.mods, {module of the RTL: names of what the bench has of it}, and merged.il of it."""
    folder = unit.folder
    if unit.needs:
        command(["make", "-s", "--no-print-directory", *unit.needs])
    sources = packages + [s for s in unit.sources if s not in packages]
    top_file = f"{unit.top}.sv"
    unit.header_file = next((s for s in unit.sources if pathlib.Path(s).stem == unit.top),
                            None) or str(next(pathlib.Path("rtl").rglob(top_file)))
    if unit.header_file not in sources:
        sources.append(unit.header_file)
    script = (f"read_slang --threads 1 --keep-hierarchy {' '.join(f'-y {d}' for d in dirs)} "
              f"{settings.slang(unit.parameters, folder)} {' '.join(unit.given + sources)} --top {unit.top}\n"
              f"{PREPARE}write_rtlil {folder}/read.il\n")
    read_of = digest(script, repr(unit.parameters), importlib.metadata.version("pyosys"),
                     *(f.read_bytes() for f in sorted({*map(pathlib.Path, sources + unit.needs),
                                                       *(f for d in dirs for f in pathlib.Path(d).glob("*.*v*"))})))
    known = folder / "read.hash"
    if not (folder / "read.il").exists() or not known.exists() or known.read_text() != read_of:
        yosys(folder, "read", script)
        known.write_text(read_of)
    unit.mods, unit.paths = merge(read_rtlil((folder / "read.il").read_text()), f"\\{unit.top}")
    (folder / "merged.il").write_text("\n".join("\n".join(x) for x in unit.mods.values()) + "\n")
    unit.variants = collections.defaultdict(list)
    for name in unit.mods:
        unit.variants[name[1:].rpartition("__")[0] or name[1:]].append(name)


def size(unit, module):
    return max((sum(bool(CELL.match(x)) for x in unit.mods[v]) for v in unit.variants.get(module, [])), default=0)


def sigspec_ports(mods, name):
    return {m[3]: (m[2], int(m[1] or 1)) for x in mods[name]
            if (m := re.match(r"  wire (?:width (\d+) )?(?:signed )?(?:upto )?(input|output|inout) \d+ (\S+)$", x))}


def width_of(lines, at, port, mods):
    """Bits of a cell's port."""
    end = lines.index("  end", at)
    params = {c[1]: int(c[2]) for x in lines[at:end] if (c := re.match(r"    parameter (?:signed )?\\(\S+) (\d+)$", x))}
    kind = CELL.match(lines[at])[1]
    if kind in mods:
        return sigspec_ports(mods, kind).get("\\" + port, ("", 0))[1]
    if f"{port}_WIDTH" in params:
        return params[f"{port}_WIDTH"]
    return {"S": params.get("S_WIDTH", 1), "ADDR": params.get("ABITS", 1), "ARST": 1,
            "SRST": 1}.get(port, params.get("WIDTH", 1) if not (kind == "$memrd_v2" and port == "EN") else 1)
