#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the assertions in modules of rtl (rtl/common/assert.svh), and fails below FLOOR per 1 000 lines.

usage: contracts.py [--by-folder]

Lines are all lines of the modules' files, with comments. Fails, too, where a module has two assertions of one text: a
simulation that ends names the module and the text alone.
"""
import argparse
import pathlib
import re
import sys

FLOOR = 8
ASSERTION = re.compile(r"^ *`MW_(?:ASSERT|ASSERT_AT|CONTRACT|NEXT|STABLE)\(.*?\"([^\"]*)\"\)$", re.M | re.S)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--by-folder", action="store_true", help="a line for each")
    args = p.parse_args()
    folders, twice = {}, []
    for path in sorted(pathlib.Path("rtl").rglob("*.sv")):
        text = path.read_text()
        texts = ASSERTION.findall(text)
        twice += [f"{path}: two assertions of the text \"{t}\"" for t in sorted(set(texts)) if texts.count(t) > 1]
        lines, count = folders.get(path.parent, (0, 0))
        folders[path.parent] = lines + len(text.splitlines()), count + len(texts)
    rate = lambda lines, count: f"{1000 * count / lines:.1f} per 1 000 lines"
    if args.by_folder:
        for folder, (lines, count) in folders.items():
            print(f"{str(folder):24} {count:3} assertions, {rate(lines, count)}")
    lines, count = (sum(n[i] for n in folders.values()) for i in range(2))
    print(f"rtl: {count} assertions in {lines} lines, {rate(lines, count)}, at least {FLOOR} are required")
    print(*twice, sep="\n", end="\n" if twice else "", file=sys.stderr)
    return bool(twice) or 1000 * count < FLOOR * lines


if __name__ == "__main__":
    sys.exit(main())
