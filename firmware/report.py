#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tells the firmware's size and the deepest stack that it can need, and holds both against the RAM.

usage: report.py OBJDUMP SIZE ELF RAM_BYTES STACK_BYTES

The stack comes from the disassembly: what each function takes from sp, and whom it calls. Recursion, and calls
through pointers, are errors.
"""
import bisect
import re
import subprocess
import sys

FUNCTION = re.compile(r"^([0-9a-f]+) <([\w.]+)>:$")
TAKES = re.compile(r"\taddi?\tsp,sp,-(\d+)")
CALLS = re.compile(r"\t(?:jal|j)\t(?:ra,)?([0-9a-f]+) <")


def functions(text):
    """{name: [bytes of stack, functions called]}. A jump is a call when it leaves its function; targets are addresses,
    as objdump names the nearest symbol of any kind."""
    starts = [(int(m[1], 16), m[2]) for m in map(FUNCTION.match, text.splitlines()) if m]
    found, name = {n: [0, set()] for _, n in starts}, None
    for line in text.splitlines():
        if m := FUNCTION.match(line):
            name = m[2]
        elif m := TAKES.search(line):
            found[name][0] += int(m[1])
        elif m := CALLS.search(line):
            target = starts[bisect.bisect(starts, (int(m[1], 16), "~")) - 1][1]
            if target != name or "\tjal\t" in line:
                found[name][1].add(target)
        elif "\tjalr\t" in line or re.search(r"\tsub\tsp,", line):
            sys.exit(f"firmware: {name}: the stack of this cannot be reported: {line.strip()}")
    return found


def deepest(found, name, above=()):
    if name in above:
        sys.exit(f"firmware: recursion: {' '.join(above)} {name}")
    takes, calls = found[name]
    depth, path = max((deepest(found, c, (*above, name)) for c in calls), default=(0, []))
    return takes + depth, [name, *path]


def main():
    objdump, size, elf = sys.argv[1:4]
    ram, stack = int(sys.argv[4]), int(sys.argv[5])
    text = subprocess.run([objdump, "-d", "--no-show-raw-insn", elf], check=True, capture_output=True, text=True).stdout
    depth, path = deepest(functions(text), "_start")
    rows = subprocess.run([size, "-A", elf], check=True, capture_output=True, text=True).stdout
    part = {m[1]: int(m[2]) for m in re.finditer(r"^(\.\w+)\s+(\d+)", rows, re.M)}
    used = sum(part.get(p, 0) for p in (".text", ".bss", ".noinit"))
    print(f"firmware: {part['.text']} bytes of program and constants, {part.get('.bss', 0)} of data, "
          f"{part.get('.noinit', 0)} of log; "
          f"stack {depth} of {stack} ({' > '.join(path)}); {used + stack} of {ram} bytes of RAM")
    if depth > stack or used + stack > ram:
        sys.exit("firmware: too large for its RAM")


if __name__ == "__main__":
    main()
