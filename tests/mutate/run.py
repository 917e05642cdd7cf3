#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Mutates the netlist of each unit-tested module at random, and counts what the tests find.

usage: run.py [--mutations N] [--seed N] [--modules NAME,...] [--tests NAME,...] [--jobs N] [--others N] [--self-test]

For each module that the table of docs/developer/testing.md names: Yosys reads the bench of the most specific test
that names it and has cells of it, at that test's parameters, and keeps its hierarchy. Its command `mutate` chooses
places in the module: a bit of a port of a cell that is inverted, held at 0 or 1, or inverted when another bit is 0 or
1. All mutations of a bench are in one netlist (build/mutate/TEST/netlist.v), whose input chooses one or none; the test
is built around that once and runs once for each.

  control     without a mutation the test must pass: else the tool is at fault, and ends with status 2
  found       a test fails, the program crashes, or takes ten times the processor time of the control run
  excluded    no difference in DEPTH cycles from any state of registers and memories, or none ever behind reset
              (proof.py): nothing to be found
  survived    the rest, behind OTHERS further tests that the table names; survivors.toml holds the reason
              of each that is known

Fields of a [[survivor]] there: module, mode and place as the list of survivors has them, text: what the source line
holds; reason, in words. Found and survived count, whether there is a reason or not. Exit status 1 below SCORE per cent.
All that ran is in build/mutate/mutations.json.
"""
import argparse
import collections
import concurrent.futures
import hashlib
import importlib.metadata
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
import tomllib
import traceback

import proof

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "flow/ecp5"))
import flow
import settings

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path("tests/mutate")
WORK = pathlib.Path("build/mutate")
RTL_DIRS = ("common", "link", "switch", "hub", "gpu", "fabric", "host", "soc", "top")
SCORE = 92
MUTATIONS = 300
LEAST = 2        # of each module
DEPTH = 16       # cycles
OTHERS = 2
PROOF_S = 60     # of each step of a proof
MEMORY_BITS = 4096  # in a proof, larger ones are cut off: what is read is free, what is written must be the same
LIMIT = 10       # of the control run's processor time
SAMPLE = 40      # mutations of the self-test
PAIRS = 100000   # of reduce_lane, a tenth of what the test takes by itself
LOCK = threading.Lock()

PREPARE = """
proc; opt_expr; opt_clean; opt -noff -keepdc; wreduce -keepdc; opt_clean
select -set enables t:$memwr_v2 %ci1:+[EN] %ci1:+[Y] t:$mux %i
simplemap @enables; bwmuxmap; opt_expr -mux_bool; opt_clean
"""
AIGER = """
read_rtlil {il}; hierarchy -top {top}; flatten; async2sync; chformal -remove; opt_clean; memory_map; opt_expr
formalff -clk2ff; dffunmap; setundef -anyseq; opt_clean; techmap; setundef -anyseq
opt_clean; aigmap; opt_clean; write_aiger -ascii -symbols {aag}
"""


class Failure(Exception):
    """The tool could not do its work."""


def say(text):
    with LOCK:
        print(text, flush=True)


def environment(**more):
    return {**{k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}, **more}


def command(argv, log=None):
    r = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                       env=environment())
    if log:
        log.write_text(r.stdout)
    if r.returncode != 0:
        raise Failure(f"{' '.join(map(str, argv))[:200]}: {r.stdout[-2000:]}")
    return r.stdout


def yosys(folder, name, script):
    (folder / f"{name}.ys").write_text(script)
    return command([sys.executable, "flow/yosys/yosys.py", "-q", "-s", folder / f"{name}.ys"], folder / f"{name}.log")


def write(path, text):
    """Leaves a file that is the same as it is, so that make builds nothing anew."""
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


class Memory:
    """Answers of an earlier run that still hold: of the same question, by its hash."""

    def __init__(self, path):
        self.path = path
        self.known = json.loads(path.read_text()) if path.exists() else {}
        self.lock = threading.Lock()

    def get(self, question, find):
        if question not in self.known:
            answer = find()
            with self.lock:
                self.known[question] = answer
                self.path.write_text(json.dumps(self.known))
        return self.known[question]


def digest(*parts):
    h = hashlib.sha256()
    for p in parts:
        h.update(p if isinstance(p, bytes) else str(p).encode())
    return h.hexdigest()


# ---- which test for which module ----

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


# ---- the bench's netlist ----

CELL = re.compile(r"^  cell (\S+) (\S+)$")


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


# ---- mutations ----

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


def ports(unit):
    """(name, direction, width) of the bench's ports."""
    for line in unit.mods[f"\\{unit.top}"]:
        if m := re.match(r"  wire (?:width (\d+) )?(?:signed )?(?:upto )?(input|output) \d+ \\(\S+)$", line):
            yield m[3], m[2], int(m[1] or 1)


def top_module(unit, width):
    """The bench's own header, its arrays of ports made flat for the netlist inside, where a bundle is its bits."""
    text = pathlib.Path(unit.header_file).read_text()
    header = re.search(rf"^module {unit.top}\b.*?^\s*\)\s*;", text, re.S | re.M)[0]
    plain = re.sub(r"//.*|/\*.*?\*/", "", header)
    body, connections = "", [".mw_mutant(mw_select)"]
    for name, direction, bits in ports(unit):
        array = re.search(rf"\b{name}\s*(\[[^,)]*\])\s*[,)\n]", plain)
        if not array:
            connections.append(f".{name}({name})")
            continue
        # element 0 is the leftmost
        flat = f"{name}_flat[({bits} / $size({name})) * ($size({name}) - 1 - i) +: {bits} / $size({name})]"
        body += f"    wire [{bits - 1}:0] {name}_flat;\n    for (genvar i = 0; i < $size({name}); i++) "
        body += f"assign {flat} = {name}[i];\n" if direction == "input" else f"assign {name}[i] = {flat};\n"
        connections.append(f".{name}({name}_flat)")
    return (f"`include \"bundles.svh\"\n{header}\n    import \"DPI-C\" function int mw_mutant();\n"
            f"    logic [{width - 1}:0] mw_select;\n    initial mw_select = {width}'(mw_mutant());\n{body}"
            f"    mw_netlist i_netlist ({', '.join(connections)});\nendmodule\n")


def build(unit, applied):
    """The program with `applied`, a list of (variant, cell, mutation), numbered from 1."""
    width = len(applied).bit_length()
    script = f"read_rtlil {unit.folder}/merged.il\nhierarchy -top {unit.top}\n"
    for n, (variant, cell, m) in enumerate(applied, 1):
        script += m.apply(variant, cell, "mw_mutant", width, n)
    yosys(unit.folder, "netlist", f"{script}rename {unit.top} mw_netlist\nwrite_verilog -noattr "
          f"{unit.folder}/netlist.new\n")
    write(unit.folder / "netlist.v", (unit.folder / "netlist.new").read_text())
    write(unit.folder / "top.sv", top_module(unit, width))
    unit.program = unit.folder / f"test_{unit.name}"
    command(["make", "-s", "--no-print-directory", "-j1", str(unit.program)], unit.folder / "build.log")


def run(unit, number, limit=None):
    """(what found it or "", processor seconds)."""
    argv = ["stdbuf", "-oL", unit.program]
    if limit:
        argv = ["prlimit", f"--cpu={limit}", *argv]
    env = environment(MW_MUTANT=str(number), MW_SEED=os.environ.get("MW_SEED", "1"), MW_PAIRS=str(PAIRS),
                      CMOCKA_MESSAGE_OUTPUT="TAP")
    p = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=env,
                         text=True, errors="replace", start_new_session=True)
    watch = threading.Timer(20 * limit if limit else 3600, lambda: os.killpg(p.pid, signal.SIGKILL))
    watch.start()
    found, passed, last = "", 0, ""
    for line in p.stdout:
        if line.startswith("not ok") and "# SKIP" not in line:
            found = line.split(" - ", 1)[-1].strip()
            os.killpg(p.pid, signal.SIGKILL)
            break
        passed += line.startswith("ok ")
        last = line.strip() or last
    p.stdout.close()
    _, status, usage = os.wait4(p.pid, 0)
    p.returncode = os.waitstatus_to_exitcode(status)
    watch.cancel()
    if not found and p.returncode < 0:
        found = "no end" if -p.returncode in (signal.SIGXCPU, signal.SIGKILL) else signal.Signals(-p.returncode).name
    elif not found and (p.returncode > 0 or not passed):
        found = f"exit status {p.returncode}"
    if found and not limit:
        found += f" ({last[-200:]})"
    return found, usage.ru_utime + usage.ru_stime


def control(unit):
    found, seconds = run(unit, 0)
    if found:
        raise Failure(f"{unit.name} fails without a mutation: {found}")
    return seconds


# ---- proofs ----

def sigspec_ports(mods, name):
    return {m[3]: (m[2], int(m[1] or 1)) for x in mods[name]
            if (m := re.match(r"  wire (?:width (\d+) )?(?:signed )?(?:upto )?(input|output|inout) \d+ (\S+)$", x))}


def cut(lines, mods, children):
    """Without large memories, and without instances where `children`: what they are given becomes an output,
    what they give an input."""
    memories = {m[3]: int(m[1] or 1) * int(m[2]) for x in lines
                if (m := re.match(r"  memory (?:width (\d+) )?(?:upto )?size (\d+) (\S+)$", x))}
    large = {k for k, bits in memories.items() if bits > MEMORY_BITS}
    out, extra, i = [], [], 0
    number = max([int(m[1]) for x in lines if (m := re.match(r"  wire .*?(?:input|output|inout) (\d+) ", x))],
                 default=0)

    def port(direction, width, signal):
        nonlocal number
        number += 1
        name = f"\\mw_cut_{number}"
        out.insert(1, f"  wire width {width} {direction} {number} {name}")
        extra.append(f"  connect {signal} {name}" if direction == "input" else f"  connect {name} {signal}")

    def gate(kind, a, b, width, more=""):
        nonlocal number
        number += 1
        name = f"\\mw_gate_{number}"
        out.insert(1, f"  wire width {width} {name}")
        extra.extend([f"  cell {kind} $mw_gate_{number}",
                      f"    parameter \\A_SIGNED 0\n    parameter \\B_SIGNED 0\n    parameter \\A_WIDTH {width}\n"
                      f"    parameter \\B_WIDTH {width}\n    parameter \\Y_WIDTH {width}",
                      f"    connect \\A {a}", f"    connect \\B {b}", f"    connect \\Y {name}", "  end"])
        return name

    while i < len(lines):
        m = CELL.match(lines[i])
        end = i
        if m:
            end = lines.index("  end", i)
            body = lines[i + 1:end]
            pins = {c[1]: c[2] for x in body if (c := re.match(r"    connect (\S+) (.*)$", x))}
            params = {c[1]: c[2] for x in body if (c := re.match(r"    parameter (?:signed )?(\S+) (.*)$", x))}
            memid = params.get("\\MEMID", "").strip('"').replace("\\\\", "\\")  # escaped, in a string
            if children and m[1] in mods:
                for pin, (direction, width) in sigspec_ports(mods, m[1]).items():
                    if pins.get(pin, "{ }") != "{ }":
                        port("input" if direction == "output" else "output", width, pins[pin])
                i = end + 1
                continue
            if m[1] == "$memrd_v2" and memid in large:
                port("input", int(params["\\WIDTH"]), pins["\\DATA"])
                port("output", int(params["\\ABITS"]), pins["\\ADDR"])
                port("output", 1, pins["\\EN"])
                i = end + 1
                continue
            if m[1] == "$memwr_v2" and memid in large:
                width = int(params["\\WIDTH"])
                port("output", width, pins["\\EN"])
                port("output", width, gate("$and", pins["\\DATA"], pins["\\EN"], width))
                port("output", int(params["\\ABITS"]), pins["\\ADDR"])
                i = end + 1
                continue
        if (m := re.match(r"  memory .* (\S+)$", lines[i])) and m[1] in large:
            i += 1
            continue
        out += lines[i:end + 1]
        i = end + 1
    return out[:-1] + extra + ["end"]


def prove(m):
    """In words, beginning with "same" where nothing can be found."""
    question = digest((m.unit.folder / "merged.il").read_bytes(), m.apply(m.variant, m.cell, "", 1, 1), DEPTH,
                      MEMORY_BITS, PROOF_S, pathlib.Path(proof.__file__).read_bytes())
    return m.unit.proofs.get(question, lambda: find_difference(m))


def find_difference(m):
    unit, top = m.unit, "\\" + m.variant
    folder = unit.folder / "proofs" / str(m.number)
    folder.mkdir(parents=True, exist_ok=True)
    yosys(folder, "mutate", f"read_rtlil {unit.folder}/merged.il\nhierarchy -top {m.variant}\n"
          f"{m.apply(m.variant, m.cell, 'mw_sel', 1, 1)}write_rtlil {folder}/whole.il\n")
    mods = read_rtlil((folder / "whole.il").read_text())
    answer = "no answer"
    # the module's own cells, and then with what is below it
    for children in (True, False) if len(mods) > 1 else (True,):
        if not children:
            yosys(folder, "flatten", f"read_rtlil {folder}/whole.il\nhierarchy -top {m.variant}\nflatten; opt_clean; "
                  f"write_rtlil {folder}/flat.il\n")
            mods = read_rtlil((folder / "flat.il").read_text())
        (folder / "cut.il").write_text("\n".join(cut(mods[top], mods, children)) + "\n")
        yosys(folder, "aiger", AIGER.format(il=folder / "cut.il", top=m.variant, aag=folder / "cut.aag"))
        module = proof.Module(folder / "cut.aag", "mw_sel", "rst_ni")
        if not module.reaches():
            return "same: no output depends on it"
        if len(module.ands) > 60000:
            return answer
        same = proof.same_from_any_state(module, DEPTH, folder / "depth.aig", PROOF_S)
        if same:
            return f"same: no difference in {DEPTH} cycles from any state"
        reset = proof.same_behind_reset(module, folder / "reset.aig", PROOF_S)
        if reset is True:
            return "same: no difference ever behind reset"
        if reset is not None:
            answer = f"differs in cycle {reset} behind reset" + (", at a port of a module inside" if children
                                                                 and len(mods) > 1 else "")
        elif same is False:
            answer = "differs from some state, none found behind reset"
    return answer


# ---- the run ----

def allocate(mutations, sizes):
    """{module: number}: LEAST each, the rest in proportion to its cells."""
    rest = max(0, mutations - LEAST * len(sizes))
    total = sum(sizes.values())
    return {m: LEAST + int(rest * (i + s) / total) - int(rest * i / total)
            for (m, s), i in zip(sizes.items(), prefix(sizes.values()))}


def prefix(values):
    total = 0
    for v in values:
        yield total
        total += v


def each(pool, what, items, faults):
    """What what(item) returns, side by side; None, and the text in `faults`, for what cannot be done."""
    def one(item):
        try:
            return what(item)
        except Exception as e:  # an error of this program must not lose what has run
            text = str(e) if isinstance(e, Failure) else traceback.format_exc()
            say(f"FAILED {text}")
            faults.append(text)
            return None

    return list(pool.map(one, items))


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


def execute(applied, unit, pool):
    """Builds and runs; `applied` as build() has it. Every mutation found gets its result."""
    begin = time.monotonic()
    build(unit, applied)
    built = time.monotonic() - begin
    program = digest(unit.program.read_bytes(), os.environ.get("MW_SEED", "1"))
    memory = Memory(unit.folder / "results.json")
    seconds = memory.get(f"{program} 0", lambda: control(unit))
    unit.limit = int(LIMIT * seconds) + 5
    say(f"{unit.name}: {len(applied)} mutations, built in {built:.0f} s, control run {seconds:.1f} s")

    def one(item):
        number, (_, _, m) = item
        found = memory.get(f"{program} {number}", lambda: run(unit, number, unit.limit)[0])
        if found:
            m.result, m.by = "found", f"{unit.name}: {found}"
        say(f"  {'found   ' if found else 'survived'} {m.module} {m.mode} {m.where} {m.line}: {m.by or unit.name}")

    return [pool.submit(one, item) for item in enumerate(applied, 1)]


def listed():
    path = HERE / "survivors.toml"
    return tomllib.loads(path.read_text()).get("survivor", []) if path.exists() else []


def reason_of(m, entries):
    return next((e["reason"] for e in entries if (e["module"], e["mode"], e["place"]) == (m.module, m.mode, m.where)
                 and e["text"] in m.text()), None)


def go(all_units, packages, dirs, order, counts_wanted, args):
    begin, faults = time.monotonic(), []
    primary = {m: all_units[t[0]] for m, t in order.items()}
    used = list(dict.fromkeys(primary.values()))
    runner = concurrent.futures.ThreadPoolExecutor(args.jobs)
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        each(pool, lambda u: read(u, packages, dirs), used, faults)
        for m in [m for m, u in primary.items() if not size(u, m)]:
            # the first test that has cells of it
            primary[m] = None
            for unit in (all_units[t] for t in order[m][1:]):
                if not unit.mods:
                    each(pool, lambda u: read(u, packages, dirs), [unit], faults)
                if size(unit, m):
                    primary[m] = unit
                    break
            else:
                faults.append(f"{m}: no cell in {', '.join(order[m])}")
                say(f"FAILED {faults[-1]}")
        used = list(dict.fromkeys(u for u in primary.values() if u))
        sizes = {m: size(u, m) for m, u in primary.items() if u}
        counts = counts_wanted(sizes)
        say(f"{sum(counts.values())} mutations of {len(counts)} modules in {len(used)} benches, seed {args.seed}: read "
            f"in {time.monotonic() - begin:.0f} s")

        def start(unit):
            of = {m: n for m, n in counts.items() if primary[m] is unit and n}
            if not of:
                return [], []
            chosen = choose(unit, of, args.seed)
            return chosen, execute([(m.variant, m.cell, m) for m in chosen], unit, runner)

        mutations, runs = [], []
        wanted = [u for u in used if not args.tests or u.name in args.tests.split(",")]
        for ms, fs in filter(None, each(pool, start, wanted, faults)):
            mutations += ms
            runs += fs
        for f in runs:
            f.result()
        for n, m in enumerate(mutations, 1):
            m.number = n
        say(f"tests: {time.monotonic() - begin:.0f} s")

        def exclude(m):
            m.result = "survived"
            m.detail = prove(m)
            m.result = "excluded" if m.detail.startswith("same") else "survived"
            say(f"  {m.result} {m.module} {m.mode} {m.where} {m.line}: {m.detail}")

        each(pool, exclude, [m for m in mutations if not m.result], faults)
        say(f"proofs: {time.monotonic() - begin:.0f} s")

        left = collections.defaultdict(list)
        for m in mutations:
            if m.result == "survived":
                # the same test with other parameters sees least that is new
                rest = sorted((t for t in order[m.module] if t != m.unit.name), key=lambda t: t.startswith(m.unit.name))
                for t in rest[:args.others]:
                    left[t].append(m)
        other_units = [all_units[t] for t in left]
        each(pool, lambda u: read(u, packages, dirs), [u for u in other_units if not u.mods], faults)

        def again(unit):
            applied = [(*at, m) for m in left[unit.name] if m.result != "found" and (at := transferred(m, unit))]
            return execute(applied, unit, runner) if applied else []

        for fs in filter(None, each(pool, again, other_units, faults)):
            for f in fs:
                f.result()
    runner.shutdown()
    say(f"other tests: {time.monotonic() - begin:.0f} s")
    return mutations, faults


def report(mutations):
    """Prints the table and the survivors; the score."""
    entries = listed()
    print(f"\n{'module':<18} {'test':<20} {'mutations':>9} {'found':>6} {'excluded':>8} {'survived':>8}")
    by_module = collections.defaultdict(list)
    for m in mutations:
        by_module[m.module].append(m)
    count = lambda ms, r: sum(m.result == r for m in ms)
    for name, ms in sorted(by_module.items()):
        print(f"{name:<18} {ms[0].unit.name:<20} {len(ms):>9} {count(ms, 'found'):>6} {count(ms, 'excluded'):>8} "
              f"{count(ms, 'survived'):>8}")
    found, excluded, survived = (count(mutations, r) for r in ("found", "excluded", "survived"))
    if survived:
        print("\nsurvivors:")
    for m in mutations:
        if m.result == "survived":
            print(f"{m.module} {m.mode} {m.where} {m.wire} {m.line} ({m.unit.name}, "
                  f"{m.unit.paths[chr(92) + m.variant]}): {m.detail}\n    {m.text()}\n"
                  f"    {reason_of(m, entries) or 'no reason listed'}")
    (WORK / "mutations.json").write_text(json.dumps([m.record() for m in mutations], indent=1))
    score = 100 * found / max(1, found + survived)
    print(f"\n{len(mutations)} mutations: {found} found, {excluded} excluded, {survived} survived: {score:.1f} % found "
          f"of those not excluded, asked are {SCORE}", flush=True)
    return score


def self_test(args):
    """The sample: what must be found is, what cannot be is excluded, what the test does not look at survives."""
    all_units, packages, dirs = units()
    unit = all_units["mutate_sample"]
    read(unit, packages, dirs)
    chosen = choose(unit, {"mutate_sample": SAMPLE}, 1)
    for n, m in enumerate(chosen, 1):
        m.number = n
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for f in execute([(m.variant, m.cell, m) for m in chosen], unit, pool):
            f.result()
        left = [m for m in chosen if not m.result]
        for m, answer in zip(left, pool.map(prove, left)):
            m.detail, m.result = answer, "excluded" if answer.startswith("same") else "survived"
    report(chosen)
    counts, faults = collections.Counter(), []
    for m in chosen:
        kind = next((k for k in ("spare_o", "same_o") if k in f"{m.where} {m.wire} {m.text()}"),
                    "sum_o" if "sum_o" in f"{m.where} {m.text()}" else "")
        counts[kind, m.result] += 1
        if (kind, m.result) in (("sum_o", "survived"), ("sum_o", "excluded"), ("spare_o", "found"),
                                ("spare_o", "excluded"), ("same_o", "survived")):
            faults.append(f"{m.mode} {m.where} {m.text()}: {m.result}, {m.detail}")
    faults += [f"nothing of {k} {r}" for k, r in (("sum_o", "found"), ("spare_o", "survived"), ("same_o", "excluded"),
                                                  ("same_o", "found")) if not counts[k, r]]
    for f in faults:
        print(f"self-test: {f}")
    return not faults


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--mutations", type=int, help=f"in all: {MUTATIONS}, or 12 for each of --modules")
    p.add_argument("--seed", type=int, default=int(os.environ.get("MW_SEED", "1")))
    p.add_argument("--modules", default="", metavar="NAME,...")
    p.add_argument("--tests", default="", metavar="NAME,...", help="of the same mutations only those in the benches of "
                   "these tests")
    p.add_argument("--jobs", type=int, default=os.cpu_count())
    p.add_argument("--others", type=int, default=OTHERS, help="further tests that a survivor meets")
    p.add_argument("--self-test", action="store_true")
    args = p.parse_args()
    os.chdir(ROOT)
    WORK.mkdir(parents=True, exist_ok=True)
    try:
        if args.self_test:
            sys.exit(0 if self_test(args) else 1)
        all_units, packages, dirs = units()
        order = tests_of(table(all_units))
        if args.modules:
            missing = [m for m in args.modules.split(",") if m not in order]
            if missing:
                raise Failure(f"no unit test in docs/developer/testing.md names {', '.join(missing)}")
            order = {m: order[m] for m in args.modules.split(",")}
        number = args.mutations or (12 * len(order) if args.modules else MUTATIONS)
        mutations, faults = go(all_units, packages, dirs, order, lambda sizes: allocate(number, sizes), args)
    except Failure as e:
        print(f"mutate: {e}", file=sys.stderr)
        sys.exit(2)
    score = report(mutations)
    for f in faults:
        print(f"mutate: {f}", file=sys.stderr)
    sys.exit(2 if faults else 0 if score >= SCORE else 1)


if __name__ == "__main__":
    main()
