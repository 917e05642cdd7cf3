#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The waveforms of `make unit-NAME WAVES=1`: every test has files, with signals and time in them.

usage: waves.py FOLDER TEST...
"""
import pathlib
import struct
import sys

HEADER = ">BQQQ8xQQQ"  # of FST: kind of block, its length, first and last time, memory, scopes, variables


def main():
    folder, tests = pathlib.Path(sys.argv[1]), sys.argv[2:]
    for test in tests:
        files = sorted(folder.glob(f"{test}-*.fst"))
        if not files or files[0].name != f"{test}-1.fst":
            sys.exit(f"no waves of {test} in {folder}: {files}")
        for f in files:
            kind, _, first, last, _, scopes, variables = struct.unpack(HEADER, f.read_bytes()[:struct.calcsize(HEADER)])
            if kind or first or last < 10 or not scopes or variables < 5:
                sys.exit(f"{f}: time {first} to {last}, {scopes} scopes, {variables} variables")
    print(f"waves of {len(tests)} tests")


if __name__ == "__main__":
    main()
