#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prose of the pages is within 120 columns: tables and code aside, which have no other place to break. Every row of a
table has as many cells as its head: in a cell a bar is written \\|, in code, too.

usage: prose.py FILE...     Exit status 1: some line is longer, or some row has other cells, and which"""
import pathlib
import re
import sys

WIDTH = 120
BAR = re.compile(r"(?<!\\)\|")


def unfenced(path):
    fenced = False
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.startswith("```"):
            fenced = not fenced
        if not fenced:
            yield number, line


def too_long(path):
    for number, line in unfenced(path):
        if len(line) > WIDTH and not line.startswith(("|", "    ")):
            yield f"{path}:{number}: {len(line)} columns of {WIDTH}"


def uneven(path):
    head = None
    for number, line in unfenced(path):
        bars = len(BAR.findall(line)) if line.startswith("|") else None
        if bars and head and bars != head:
            yield f"{path}:{number}: {bars - 1} cells, the table's head has {head - 1}"
        head = bars and (head or bars)


found = [line for file in map(pathlib.Path, sys.argv[1:]) for check in (too_long, uneven) for line in check(file)]
print("\n".join(found), end="\n" if found else "")
sys.exit(bool(found))
