#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which folder of C sources may use which other one.

usage: layers.py [--table]

LAYERS has a line per folder, with the folders whose headers its files may include, and whose functions they may call.
A root that has files of its own has a line for "." too. Fails on a file that uses another folder, on a folder without
a line, on one with more than MOST files and, of the roots in ONE_SOURCE, on a circle of files (a header and the source
of its name are one).
--table prints who uses whom.
"""
import argparse
import collections
import pathlib
import re
import sys

MOST = 25
LAYERS = {
    "driver/src": {
        "moe": ("api", "core"),
        "api": ("core", "observe", "transport_sim", "transport_usb"),
        "observe": ("core",),
        "transport_sim": ("core",),
        "transport_usb": ("core",),
        "core": (),
    },
    "host-tools": {
        "program/pages": ("program", "cli"),
        "program": ("calibrate", "sweep", "plan", "bench", "run", "device", "hardware", "trace", "cli", "base"),
        "calibrate": ("sweep", "cost", "systems", "tp", "trace", "cli", "formats", "base"),
        "plan": ("report", "cost", "systems", "experiment", "tp", "analysis", "hardware", "trace", "cli", "formats",
                 "base"),
        "cost": ("systems", "tp", "analysis", "hardware", "trace", "cli", "formats", "base"),
        "sweep": ("plan", "run", "tp_run", "systems", "experiment", "tp", "analysis", "device", "hardware", "trace",
                  "cli", "formats", "base"),
        "bench": ("experiment", "device", "golden", "hardware", "trace", "cli", "formats", "base"),
        "run": ("report", "tp_run", "systems", "experiment", "tp", "analysis", "device", "golden", "hardware",
                "placement", "trace", "cli", "formats", "base"),
        "report": ("systems", "experiment", "analysis", "golden", "hardware", "placement", "trace", "cli", "formats",
                   "base"),
        "tp_run": ("report", "systems", "experiment", "tp", "analysis", "device", "golden", "cli", "formats", "base"),
        "systems": ("experiment", "tp", "analysis", "device", "trace", "cli", "base"),
        "experiment": ("tp", "analysis", "device", "golden", "hardware", "placement", "trace", "cli", "formats",
                       "base"),
        "tp": ("analysis", "golden", "trace", "cli", "base"),
        "analysis": ("device", "golden", "trace", "cli", "base"),
        "device": ("trace", "cli", "base"),
        "golden": ("trace",),
        "hardware": ("cli", "formats", "base"),
        "placement": ("trace", "cli", "formats", "base"),
        "trace": ("cli", "formats", "base"),
        "cli": ("formats", "base"),
        "formats": ("base",),
        "base": (),
    },
}
# roots in which a header has one source, of its name
ONE_SOURCE = {"driver/src"}
NOT_CODE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.S)
DEFINED = re.compile(r"^(?!static|extern|typedef)\w[\w \*]*?\b(\w+)\([^;{}]*\)\n\{", re.M)
CALLED = re.compile(r"\b(\w+)\(")


class Unit:
    """A header and the source of its name, by its path below the root."""

    def __init__(self, name):
        self.name, self.folder = name, str(pathlib.PurePath(name).parent)
        self.defined, self.uses = set(), {}  # uses: unit by name -> where, and how


def read_units(root):
    """The units of a root, by name, and the code of each file."""
    units, code = {}, {}
    for path in sorted(root.rglob("*.[ch]")):
        name = str(path.relative_to(root).with_suffix(""))
        unit = units.setdefault(name, Unit(name))
        code[path] = unit, path.read_text()
        if path.suffix == ".c":
            unit.defined.update(DEFINED.findall(NOT_CODE.sub("", code[path][1])))
    return units, code


def find_uses(root, units, code):
    owners = collections.defaultdict(list)
    for unit in units.values():
        for name in unit.defined:
            owners[name].append(unit)
    for path, (unit, text) in code.items():
        for number, line in enumerate(text.splitlines(), 1):
            if m := re.match(r'#include "([^"]+)\.h"', line):
                for place in (path.parent / m[1], root / m[1]):
                    name = str(place.relative_to(root)) if place.is_relative_to(root) else ""
                    if name in units:
                        unit.uses.setdefault(name, f"{path}:{number} includes {m[1]}.h")
                        break
        for called in set(CALLED.findall(NOT_CODE.sub("", text))):
            # a name that several define is no one's: tests and programs beside each other
            if len(owners[called]) == 1 and called not in re.findall(r"^static [^;]*?\b(\w+)\(", text, re.M):
                unit.uses.setdefault(owners[called][0].name, f"{path} calls {called}")
        unit.uses.pop(unit.name, None)


def find_circle(graph):
    """Names in a circle of {name: names}, or an empty list."""
    left = {name: set(used) for name, used in graph.items()}
    while free := [name for name, used in left.items() if not used & left.keys()]:
        for name in free:
            del left[name]
    circle = []
    while left and (not circle or circle[-1] not in circle[:-1]):
        circle.append(min((left[circle[-1]] if circle else left) & left.keys()))
    return circle[circle.index(circle[-1]):] if circle else []


def check(root, rules):
    problems = []
    units, code = read_units(root)
    find_uses(root, units, code)
    files = collections.Counter(unit.folder for unit, _ in code.values())
    for folder, count in files.items():
        if folder not in rules:
            problems.append(f"{root / folder}: a folder without a line in tests/checks/layers.py")
        if count > MOST:
            problems.append(f"{root / folder}: {count} files, at most {MOST} are wanted")
    for unit in units.values():
        for used, where in unit.uses.items():
            folder = units[used].folder
            if folder != unit.folder and folder not in rules.get(unit.folder, ()):
                problems.append(f"{where}: {unit.folder} may not use {folder}")
    if circle := find_circle(rules):
        problems.append(f"{root}: a circle of folders: {' > '.join(circle)}")
    if str(root) in ONE_SOURCE and (circle := find_circle({unit.name: unit.uses for unit in units.values()})):
        problems.append(f"{root}: a circle of files: {' > '.join(circle)}")
        problems += [f"    {units[a].uses[b]}" for a, b in zip(circle, circle[1:])]
    return problems, units


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", action="store_true")
    table = parser.parse_args().table
    failed = []
    for root, rules in LAYERS.items():
        problems, units = check(pathlib.Path(root), rules)
        failed += problems
        for folder in rules if table else ():
            used = {units[u].folder for unit in units.values() if unit.folder == folder for u in unit.uses}
            print(f"{root}/{folder}: {', '.join(sorted(used - {folder})) or 'none'}")
    print(*failed, sep="\n", end="\n" if failed else "", file=sys.stderr)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
