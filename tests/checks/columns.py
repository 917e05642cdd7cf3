#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails on a line of a source that is longer than its kind allows (LIMITS).

usage: columns.py [--self-test] [ROOT]

Counts characters of the files that git tracks below ROOT. --self-test checks the check itself, in a folder of its own.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

# by the end of a file's name
LIMITS = {(".c", ".h", ".cpp", ".sv", ".svh", ".v"): 100, (".py", ".mk", "Makefile"): 120}


def limit(name):
    """The columns of a file, or None where none are set."""
    return next((columns for ends, columns in LIMITS.items() if name.endswith(ends)), None)


def too_long(root):
    """The lines that are, as text."""
    names = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True, check=True).stdout.split("\n")
    for name in names:
        columns = limit(name)
        if columns is None or not (root / name).is_file():
            continue
        for number, line in enumerate((root / name).read_text().split("\n"), 1):
            if len(line) > columns:
                yield f"{name}:{number}: {len(line)} columns, at most {columns} are allowed"


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        subprocess.run(["git", "init", "-q", folder], check=True)
        for ends, columns in LIMITS.items():
            for end in ends:
                (root / f"fits{end}").write_text("\u00e4" * columns + "\n")
                (root / f"long{end}").write_text("\n" + "x" * (columns + 1))
        (root / "long.csv").write_text("x" * 1000)
        subprocess.run(["git", "-C", folder, "add", "."], check=True)
        found = sorted(too_long(root))
    expected = sorted(f"long{end}:2: {columns + 1} columns, at most {columns} are allowed"
                      for ends, columns in LIMITS.items() for end in ends)
    if found != expected:
        sys.exit(f"columns.py finds {found}, not {expected}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("root", nargs="?", default=".", type=pathlib.Path)
    args = parser.parse_args()
    if args.self_test:
        return self_test()
    found = list(too_long(args.root))
    print(*found, sep="\n", end="\n" if found else "", file=sys.stderr)
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
