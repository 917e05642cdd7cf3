#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where lanes do not work: in a copy of the sources, the RTL with a construct that they do not take, then a
compiler that is not there.

usage: fallback.py ROOT FOLDER [--whole]

make lint must fail, and name the place; the model must be plain, and say why; with BACKEND=lanes there must be none.
--whole builds it, too, and asks it what it is.
"""
import pathlib
import re
import shutil
import subprocess
import sys

from copied import copy, expect, make

PLACE = "rtl/fabric/node_link.sv"
BEFORE = "node_reset_o <= rst_ni && flush_i;"
AFTER = "node_reset_o <= rst_ni && flush_i && $countbits(latency_i, flush_i) < 9;"  # which is the same


def plant(folder):
    """returns the line"""
    file = folder / PLACE
    text = file.read_text()
    before, after = text.split(BEFORE)
    file.write_text(before + AFTER + after)
    return before.count("\n") + 1


def main():
    root, folder = pathlib.Path(sys.argv[1]).absolute(), pathlib.Path(sys.argv[2]).absolute()
    copy(root, folder)
    backend = folder / "build/model/n2f8-small/backend"

    status, said = make(folder, "MODEL_CXX=clang++-none", "build/model/n2f8-small/backend")
    why = backend.read_text() if not status else said
    expect("without the compiler", re.fullmatch(r"plain\nclang\+\+-none is not there, .*\n", why), why)

    status, said = make(folder, "lint-lanes-node_link")
    expect("lint of RTL that lanes take", status == 0, said)
    line = plant(folder)
    refusal = rf"{PLACE}:{line}: \$countbits \(Verilator's \w+\).*BACKEND=plain does"
    status, said = make(folder, "lint-lanes-node_link")
    expect("lint of a construct that lanes do not take", status != 0 and re.search(refusal, said), said)
    status, said = make(folder, "build/model/n2f8-small/backend")
    why = backend.read_text() if not status else said
    expect("a construct that lanes do not take", re.fullmatch(rf"plain\n{refusal}\n", why), why)
    status, said = make(folder, "BACKEND=lanes", "model")
    expect("BACKEND=lanes", status != 0 and re.search(rf"BACKEND=lanes does not work: {refusal}", said), said)

    if "--whole" in sys.argv:
        status, said = make(folder, "model")
        expect("the build", status == 0 and len(re.findall(rf"^  WARNING    n2f8-small is plain, not lanes: {refusal}$",
                                                           said, re.M)) == 1, said)
        shutil.copy(root / "build/moeswitch", folder / "build/moeswitch")
        run = [folder / "build/moeswitch", "run", "--gpus", "2", "--flit-bytes", "8", "--set", "small=1", "--hidden",
               "32", "--experts", "4", "--k", "2",
               "--tokens-per-gpu", "4"]
        said = subprocess.run(run, capture_output=True, text=True).stdout
        expect("the model", "simulated by plain" in said, said)
    print(f"{PLACE}:{line} is refused, and the model is plain")


if __name__ == "__main__":
    main()
