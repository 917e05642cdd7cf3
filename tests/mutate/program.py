# SPDX-License-Identifier: Apache-2.0
"""The program of a unit test around its bench's netlist with all mutations, and its runs."""
import os
import pathlib
import re
import signal
import subprocess
import threading

from tool import Failure, command, environment, write, yosys

PAIRS = 100000   # of reduce_lane, a tenth of what the test takes by itself


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
