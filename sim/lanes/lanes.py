#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a Verilated part again so that one run serves a block of copies, a lane of a vector each (sim/lanes/lanes.h).

usage: lanes.py TOP FOLDER [--ring]

FOLDER holds the C++ that Verilator made of TOP. Written there, for fabric_lanes.cpp, nodes.cpp and ports.cpp:
  V<TOP>_lanes.h      struct V<TOP>_lanes: every variable of V<TOP>___024root, with the lanes of a block of copies;
                      load() from a scalar model; inputs() and edge() of several blocks: each function runs for all of
                      them before the next one does, as fetching its code costs as much as executing it
  V<TOP>_lanes_K.cpp  the functions that inputs() and edge() call, in parts to compile side by side, and load()
  V<TOP>_lanes.mk     rules that make V<TOP>_lanes.a of them, with CXX, which is clang, CXXFLAGS, and HEADERS:
                      lanes.h, ring.h

inputs() is for what follows from inputs without a clock edge, edge() for the rising edge; outputs that follow from
inputs are known behind inputs() only.

With --ring the copies are wired to each other too: a port x_i of each is x_o of the others, by distance
(sim/lanes/ring.h). inputs() takes these wires as they become known: what depends on no other copy is computed first,
then what depends on that of others, and so on, each statement once.

What Verilator writes is a small part of C++: assignments, if, while, forward goto, and macros. Anything else is an
error (exit status 1) that names it, because a model that left something out would be wrong without a word.
"""
import argparse
import pathlib
import re
import sys

from translate.refuse import PLACE, fail, run
from translate.rows import by_rows
from translate.settling import Settling, each_block
from translate.statement import Function
from translate.variables import begins_random, copy_from, declare, element_bits, flat, keep_small, leaf, parse_type
from translate.verilated import calls, function_body, structures, variables, without_trigger


def write_rules(folder, top, parts):
    """What every part begins with takes as long to read as the part itself to compile: clang reads it once.

    Of some code clang's choice of AVX-512 instructions does not end. COMPILE_SECONDS of processor time are many times
    what the largest part needs: a part that takes more is compiled without AVX-512, which makes it slower and no
    different."""
    header, objects = f"{top}_lanes.h", " ".join(f"{top}_lanes_{i}.o" for i in (*range(parts), "load"))
    (folder / f"{top}_lanes.mk").write_text(f"""COMPILE_SECONDS ?= 200
{top}_lanes.a: {objects}
\trm -f $@ && ar rcs $@ $^
{objects}: %.o: %.cpp {header}.pch
\t@(ulimit -t $(COMPILE_SECONDS) && exec $(CXX) $(CXXFLAGS) -include-pch {header}.pch -c -o $@ $<) || {{ \\
\t    [ $$? -gt 128 ] && echo "  WARNING    $<: no end in $(COMPILE_SECONDS) s, so without AVX-512" >&2 && \\
\t    $(CXX) $(CXXFLAGS) -mno-avx512f -c -o $@ $<; }}
.INTERMEDIATE: {header}.pch
{header}.pch: {header} $(HEADERS)
\t$(CXX) $(CXXFLAGS) -x c++-header -o $@ $<
""")


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("top")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--ring", action="store_true")
    args = parser.parse_args()
    top, folder = "V" + args.top, args.folder
    root = f"{top}___024root"
    header = PLACE.sub("", (folder / f"{root}.h").read_text())
    code = "\n".join(f.read_text() for f in sorted(folder.glob(f"{root}__*.cpp")))
    packages = "\n".join(PLACE.sub("", f.read_text()) for f in sorted(folder.glob(f"{top}_*_pkg.h")))
    structs = structures(packages + "\n" + header)
    types = variables(header, root, structs)
    # what a copy gets from each other one is no memory, however many there are
    wired = [leaf(t)[1] for n, t in types.items() if args.ring and n.endswith("_i") and t[0] == "a"]
    if keep_small(max(wired, default=0)):
        structs = structures(packages + "\n" + header)
        types = variables(header, root, structs)
    types_of_tables = {m[2]: m[1] for m in re.finditer(rf"^extern const (.*) ({top}__ConstPool__\w+);$",
                                                       PLACE.sub("", code), re.M)}
    tables = {t: parse_type(text, {}) for t, text in types_of_tables.items()}
    inputs, edge = calls(top, code)

    def function(name, known=frozenset()):
        body = function_body(top, name, code) or fail(f"{top} has no function {name}")
        return Function(name, f"{{{without_trigger(body)}}}", types, tables, structs, known)

    # what follows from inputs is not computed behind an edge too: inputs() comes before the next one
    settling = Settling([function(name) for name in inputs], types, args.ring)
    known = set().union(*(f.texts for f, _ in settling.functions)) if inputs else set()
    bodies = [(name, lines) for _, name, lines in settling.bodies] + [(name, function(name, known).translate())
                                                                      for name in edge]

    fields = [(n, t) for n, _, t in flat(types)] + settling.shared
    bodies = [(name, by_rows(body)) for name, body in bodies]

    lines = ["// Generated by sim/lanes/lanes.py.", "#pragma once",
             f'#include "{"ring.h" if args.ring else "lanes.h"}"', f'#include "{root}.h"', f"struct {top}_lanes {{"]
    # in the order in which they are used, so that what is used together is in the caches together; those
    # of one bit side by side
    first = {}
    for name in (m[1] for _, body in bodies for line in body for m in re.finditer(r"\bs\.(\w+)", line)):
        first.setdefault(name, len(first))
    lines += [declare(n, t) for n, t in sorted(fields, key=lambda f: (leaf(f[1])[0] != "b",
                                                                      first.get(f[0], len(first))))]
    blocks = f"({top}_lanes *const *blocks, unsigned count)"
    lines += [f"void load(unsigned lane, const {root} &from);", "void start(unsigned lane);",
              f"static void inputs{blocks};", f"static void edge{blocks};",
              f"void inputs() {{ {top}_lanes *one = this; inputs(&one, 1); }}",
              f"void edge() {{ {top}_lanes *one = this; edge(&one, 1); }}", "};"]
    lines += [f"void {f}({top}_lanes &);" for f, _ in bodies]
    for name, run in (("inputs", settling.calls(top)), ("edge", map(each_block, edge))):
        lines += [f"inline void {top}_lanes::{name}{blocks}", "{", *run, "}"]
    (folder / f"{top}_lanes.h").write_text("\n".join(lines) + "\n")

    for i, (name, body) in enumerate(bodies):
        text = "\n".join(body)
        used = sorted(t for t in tables if t in text)
        out = ["// Generated by sim/lanes/lanes.py.", f'#include "{top}_lanes.h"'] + [
            f"extern const {types_of_tables[t]} {t};" for t in used]
        out += [f"void {name}({top}_lanes &s)", "{"] + body + ["}"]
        (folder / f"{top}_lanes_{i}.cpp").write_text("\n".join(out) + "\n")
    # runs once: the pragma is -O0 for what comes after it
    loads = ["// Generated by sim/lanes/lanes.py.", f'#include "{top}_lanes.h"', "#pragma clang optimize off",
             f"void {top}_lanes::load(unsigned lane, const {root} &from)", "{"]
    starts = ["}", "", f"void {top}_lanes::start(unsigned lane)", "{"] + [f"{n}.start(lane, {element_bits(t)});"
                                                                          for n, t in fields if begins_random(n, t)]
    (folder / f"{top}_lanes_load.cpp").write_text(
        "\n".join(loads + list(filter(None, (copy_from(*v) for v in flat(types)))) + starts + ["}", ""]))
    write_rules(folder, top, len(bodies))


if __name__ == "__main__":
    sys.setrecursionlimit(50000)  # what N ports are asked is an expression of depth N and more
    run(main)
