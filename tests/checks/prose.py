#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prose of the pages is within 120 columns: tables and code aside, which have no other place to break.

usage: prose.py FILE...     Exit status 1: some line is longer, and which"""
import pathlib
import sys

WIDTH = 120


def too_long(path):
    fenced = False
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.startswith("```"):
            fenced = not fenced
        if len(line) > WIDTH and not fenced and not line.startswith(("|", "    ")):
            yield f"{path}:{number}: {len(line)} columns of {WIDTH}"


found = [line for file in sys.argv[1:] for line in too_long(pathlib.Path(file))]
print("\n".join(found), end="\n" if found else "")
sys.exit(bool(found))
