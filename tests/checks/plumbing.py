#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How much of the RTL only passes things on.

usage: plumbing.py [--by-module]

Counts, of all modules below rtl: lines of code (neither empty nor only comment), and which of them are a module's
header (from `module` to its `);`) or an instance (from the name of another module to its `);`); parameters declared in
headers; the most ports that a module has, an array or a struct being one; `wire unused`, which reads what no
configuration does (unread.py). Exit status 1 where there are more than UNUSED of them.
"""
import argparse
import pathlib
import re
import sys

HEADER = re.compile(r"^\s*module\s+(\w+)")
PARAMETER = re.compile(r"^\s*(?:#\s*\()?\s*parameter\b")
PORT = re.compile(r"^\s*(?:input|output|inout)\b")
READS = re.compile(r"^\s*wire\s+unused")
UNUSED = 39
FOLDERS = ("common", "link", "cdc", "switch", "hub", "gpu", "fabric", "host", "soc", "top")


class Module:
    def __init__(self, name, path):
        self.name, self.path = name, path
        self.code = self.header = self.instances = self.parameters = self.ports = 0

    @property
    def plumbing(self):
        return self.header + self.instances


def stripped(text):
    """The lines of a source without comments."""
    text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m[0].count("\n"), text, flags=re.S)
    return [re.sub(r"//.*", "", line) for line in text.splitlines()]


def depth_change(line):
    return line.count("(") - line.count(")")


def count(path, names):
    """The modules of a file, with what is outside of all of them in the first."""
    instance = re.compile(r"^\s*(" + "|".join(names) + r")\b\s*(?:#|\w+\s*(?:\[[^\]]*\]\s*)?\()")
    found, outside, inside, depth = [], 0, None, 0
    for line in stripped(path.read_text()):
        if not line.strip():
            continue
        if inside is None and (m := HEADER.match(line)):
            found.append(Module(m[1], path))
            inside, depth = "header", 0
        elif inside is None and found and instance.match(line):
            inside, depth = "instances", 0
        if not found:
            outside += 1
            continue
        module = found[-1]
        module.code += 1
        if inside:
            setattr(module, inside, getattr(module, inside) + 1)
            depth += depth_change(line)
            if inside == "header":
                module.parameters += bool(PARAMETER.match(line))
                module.ports += bool(PORT.match(line))
            if depth == 0 and line.rstrip().endswith(";"):
                inside = None
    return found, outside


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--by-module", action="store_true", help="a line for each, those that pass most on first")
    args = p.parse_args()
    paths = sorted(f for folder in FOLDERS for f in pathlib.Path("rtl", folder).rglob("*.sv"))
    names = [m[1] for f in paths for line in stripped(f.read_text()) if (m := HEADER.match(line))]
    modules, code, lines, unused = [], 0, 0, 0
    for f in paths:
        found, outside = count(f, names)
        modules += found
        code += outside + sum(m.code for m in found)
        lines += len(f.read_text().splitlines())
        unused += sum(bool(READS.match(line)) for line in stripped(f.read_text()))
    if args.by_module:
        for m in sorted(modules, key=lambda m: -m.plumbing):
            print(f"{m.name:20} {m.code:4} lines, {m.header:3} header, {m.instances:3} instances, "
                  f"{100 * m.plumbing // m.code:3} %, {m.parameters:2} parameters, {m.ports:3} ports")
    most = max(modules, key=lambda m: m.ports)
    plumbing = sum(m.plumbing for m in modules)
    print(f"rtl: {lines} lines, {code} of code; headers and instances {plumbing} = {100 * plumbing / code:.1f} %; "
          f"{sum(m.parameters for m in modules)} parameters; "
          f"at most {most.ports} ports ({most.name}); {unused} wires unused")
    if unused > UNUSED:
        sys.exit(f"plumbing.py: more than {UNUSED} wires unused")


if __name__ == "__main__":
    main()
