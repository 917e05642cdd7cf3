#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Generates from one SystemRDL file what a bus access to each of its registers does, for devices without hardware.

usage: access.py FILE.rdl OUTPUT.h

The output is a list R(address, words, readable bits, writable bits, value after reset), a line for
each register or memory.
"""
import pathlib
import sys

from systemrdl import RDLCompiler
from systemrdl.node import MemNode, RegNode

ALL = 0xFFFFFFFF


def mask(field):
    return (ALL >> (31 - field.high)) & (ALL << field.low) & ALL


def entry(node):
    """Address, words, readable and writable bits, reset value."""
    if isinstance(node, MemNode):
        words, access = node.get_property("mementries"), node.get_property("sw").name
        return node.absolute_address, words, ALL if "r" in access else 0, ALL if "w" in access else 0, 0
    fields = list(node.fields())
    reset = sum((f.get_property("reset") or 0) << f.low for f in fields)
    return (node.raw_absolute_address if node.is_array else node.absolute_address,
            node.array_dimensions[0] if node.is_array else 1, sum(mask(f) for f in fields if f.is_sw_readable),
            sum(mask(f) for f in fields if f.is_sw_writable), reset)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    rdl, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    compiler = RDLCompiler()
    compiler.compile_file(str(rdl))
    top = compiler.elaborate().top
    nodes = [n for n in top.descendants(unroll=False) if isinstance(n, (MemNode, RegNode))]
    lines = [f"    R(0x{a:04x}, {w}, 0x{r:08x}, 0x{x:08x}, 0x{v:08x})" for a, w, r, x, v in map(entry, nodes)]
    out.write_text(f"// Generated from {rdl} by spec/access.py.\n#define {out.stem.upper()}(R) \\\n"
                   + " \\\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
