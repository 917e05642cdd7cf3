#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which folder of the RTL uses which other one.

usage: rtl_layers.py [--table] [ROOT]

A file uses another one by an instance of its module, a name of its package, or an include. Folders below rtl, boards
and experiments count. Fails on a circle of folders, on a name that two files define, and on a folder with more than
MOST files. --table prints who uses whom.
"""
import argparse
import collections
import pathlib
import re
import sys

from layers import MOST, find_circle

NOT_CODE = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
DEFINED = re.compile(r"^\s*(?:module|package)\s+(\w+)", re.M)
INSTANCE = re.compile(r"^\s*(\w+)\s*(?:#\s*\(|\w+\s*(?:\[[^\]\n]*\]\s*)*\()", re.M)
PACKAGE = re.compile(r"\b(\w+)::")
INCLUDE = re.compile(r'^\s*`include "([^"]+)"', re.M)


def read(root):
    """Code of each file, and the file that defines each name."""
    code = {f: NOT_CODE.sub("", f.read_text()) for folder in ("rtl", "boards", "experiments")
            for f in sorted((root / folder).rglob("*.sv*"))}
    owner, problems = {}, []
    for f, text in code.items():
        for name in DEFINED.findall(text) if f.suffix == ".sv" else [f.name]:
            # every board has a top.sv, of which one is built at a time
            if f.relative_to(root).parts[0] == "rtl" and name in owner:
                problems.append(f"{f}: {name} is in {owner[name]}, too")
            owner[name] = f
    return code, owner, problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", action="store_true")
    parser.add_argument("root", nargs="?", default=".", type=pathlib.Path)
    args = parser.parse_args()
    code, owner, problems = read(args.root)
    folder_of = {f: str(f.parent.relative_to(args.root)) for f in code}
    uses = {folder: {} for folder in sorted(folder_of.values())}  # folder by name -> where
    for f, text in code.items():
        for name in {*INSTANCE.findall(text), *PACKAGE.findall(text), *INCLUDE.findall(text)} & owner.keys():
            if folder_of[owner[name]] != folder_of[f]:
                uses[folder_of[f]].setdefault(folder_of[owner[name]], f"{f} uses {name} of {owner[name]}")
    if circle := find_circle(uses):
        problems.append(f"a circle of folders: {' > '.join(circle)}")
        problems += [f"    {uses[a][b]}" for a, b in zip(circle, circle[1:])]
    for folder, count in collections.Counter(folder_of.values()).items():
        if count > MOST:
            problems.append(f"{folder}: {count} files, at most {MOST} are wanted")
    for folder in uses if args.table else ():
        print(f"{folder}: {', '.join(sorted(uses[folder])) or 'none'}")
    print(*problems, sep="\n", end="\n" if problems else "", file=sys.stderr)
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
