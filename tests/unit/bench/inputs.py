#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes unit_inputs.h: what a Verilated model has as inputs, and their widths.

usage: inputs.py BUILD/Vtop.h >BUILD/unit_inputs.h

Verilator's header has them as VL_IN8(&name,msb,lsb), or as arrays of ports, of which only the name's _i tells the
direction. Clock and reset stay out.
"""
import pathlib
import re
import sys

PORT = re.compile(r"^\s*VL_IN\w*\(&(\w+),(\d+),(\d+).*\);$|^\s*VlUnpacked<[^/]*/\*(\d+):(\d+)\*/.*&(\w+_i);$")


def main():
    header = pathlib.Path(sys.argv[1])
    ports = [(m[1] or m[6], int(m[2] or m[4]) - int(m[3] or m[5]) + 1)
             for m in map(PORT.match, header.read_text().splitlines()) if m]
    print(f'#include "{header.name}"\n\nnamespace tb {{\ntemplate <class Dut> struct inputs;\ntemplate <> struct '
          f'inputs<{header.stem}> {{')
    print(f"    template <class Each> static void each([[maybe_unused]] {header.stem} &dut, [[maybe_unused]] Each "
          f"f)\n    {{")
    for name, width in ports:
        if name not in ("clk_i", "rst_ni"):
            print(f"        f(dut.{name}, {width});")
    print("    }\n};\n} // namespace tb")


if __name__ == "__main__":
    main()
