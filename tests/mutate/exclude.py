# SPDX-License-Identifier: Apache-2.0
"""Mutations that change nothing: proof.py compares the module with one and without it."""
import pathlib
import re

import proof
from bench import CELL, read_rtlil, sigspec_ports
from tool import digest, yosys

DEPTH = 16       # cycles
PROOF_S = 60     # of each step of a proof
MEMORY_BITS = 4096  # in a proof, larger ones are cut off: what is read is free, what is written must be the same
AIGER = """
read_rtlil {il}; hierarchy -top {top}; flatten; async2sync; chformal -remove; opt_clean; memory_map; opt_expr
formalff -clk2ff; dffunmap; setundef -anyseq; opt_clean; techmap; setundef -anyseq
opt_clean; aigmap; opt_clean; write_aiger -ascii -symbols {aag}
"""


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
