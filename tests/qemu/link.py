#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How fast the way to a device is in a virtual machine, with a stub in place of the model, beside a bare libusb program
and its device, in the same machine.

usage: link.py BUILD REFERENCE [ROUNDS]

REFERENCE holds usbtest.c and redir_dev.c; ROUNDS (default 3): how often, in turn.
The round trip of a register read and bulk MB/s of both, the best of all rounds, and their ratio: above 1 where
this project is better. The reference's round trip is a bulk transfer of 512 bytes out and one in, its rates are
those of 8 transfers under way.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

from machine import Machine, expect


def build_reference(sources, folder):
    """The program and its device."""
    for name, library in (("usbtest", "usb-1.0"), ("redir_dev", "usbredirparser")):
        subprocess.run(["gcc", "-O2", "-w", "-o", folder / name, sources / f"{name}.c", f"-l{library}"], check=True)
    return folder / "usbtest", folder / "redir_dev"


def own_figures(text):
    """Round trip in us, MB/s out and in, of `moeswitch bench link`."""
    rows = [line.split() for line in text.splitlines() if line.startswith(" ")]
    return float(rows[0][2]), max(float(r[2]) for r in rows[1:]), max(float(r[4]) for r in rows[1:])


def reference_figures(text):
    trip = float(re.search(r"loopback.* (\d+) us each", text)[1])
    return trip, *(max(float(x) for x in re.findall(rf"async {d} +\S+ B: (\S+) MB/s", text)) for d in ("OUT", "IN"))


def best(figures):
    return min(f[0] for f in figures), max(f[1] for f in figures), max(f[2] for f in figures)


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    build, sources = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    rounds = range(int(sys.argv[3]) if len(sys.argv) == 4 else 3)
    if not (sources / "usbtest.c").exists():
        sys.exit(f"{sources}: there is no usbtest.c")
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        program, device = build_reference(sources, work)
        with Machine(build, work) as machine:
            machine.plug("STUB", "--stub")
            machine.plug_program("reference", [device])
            machine.programs.append(program)
            commands = [(f"{name}{i}", command) for i in rounds
                        for name, command in (("own", "moeswitch bench link --device usb:STUB"),
                                              ("reference", "usbtest 16 16384"))]
            results = machine.run(commands)
    for name, _ in commands:
        expect(results, name)
    own = best([own_figures(results[f"own{i}"][1]) for i in rounds])
    theirs = best([reference_figures(results[f"reference{i}"][1]) for i in rounds])
    ratio = theirs[0] / own[0], own[1] / theirs[1], own[2] / theirs[2]
    print(f"{'':12} {'round trip us':>14} {'out MB/s':>10} {'in MB/s':>10}")
    for name, row in (("moeswitch", own), ("reference", theirs)):
        print(f"{name:12} {row[0]:14.0f} {row[1]:10.1f} {row[2]:10.1f}")
    print(f"{'ratio':12} {ratio[0]:14.2f} {ratio[1]:10.2f} {ratio[2]:10.2f}")
    sys.exit(any(r < 1 for r in ratio))


if __name__ == "__main__":
    main()
