#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Takes a bitstream to a board with openFPGALoader.

usage: loader.py load|flash --board NAME --out DIR [--options WORDS]

load: into the FPGA, until power-off; flash: for power-up. The options are those of board.toml, or WORDS, to which flash
adds -f. Exit status 2: bad input, or openFPGALoader is missing; else openFPGALoader's own.
"""
import argparse
import pathlib
import shlex
import shutil
import subprocess
import sys

import board as boards


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("how", choices=("load", "flash"))
    p.add_argument("--board", required=True)
    p.add_argument("--out", type=pathlib.Path, required=True)
    p.add_argument("--options", default="")
    a = p.parse_args()
    b = boards.load(a.board)
    bit = a.out / f"{b['id']}.bit"
    if not bit.exists():
        boards.refuse(f"{a.how}: {bit} is not there: make bitstream BOARD={b['id']} makes it")
    try:
        words = shlex.split(a.options)
    except ValueError as e:
        boards.refuse(f"{a.how}: LOADER={a.options}: {e}")
    options = [*words, *(["-f"] if a.how == "flash" else [])] if a.options else b["loader"][a.how]
    if not options:
        boards.refuse(f"{a.how}: {b['name']} has no way for that of its own: {b['loader']['note']}")
    program = shutil.which("openFPGALoader")
    if not program:
        boards.refuse(f"{a.how}: openFPGALoader is missing: apt-get install openfpgaloader")
    command = [program, *options, str(bit)]
    print(f"{' '.join(command)}    ({b['loader']['note']})", flush=True)
    sys.exit(subprocess.run(command).returncode)


if __name__ == "__main__":
    main()
