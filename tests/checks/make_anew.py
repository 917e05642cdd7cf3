#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The model of a unit test is made anew when a parameter, a flag or a tool of it changes, and not otherwise. What a
package of requirements*.txt writes is written anew when the list names other versions, which are installed first.

usage: make_anew.py FOLDER    which is made, with the model of link_rate
"""
import pathlib
import shutil
import subprocess
import sys

# variables of make, one set behind the other, and whether the model is made anew
STEPS = (
    ((), True),
    ((), False),
    (("UNIT_PARAMS_link_rate=Ahead=2 MaxPkt=12",), True),
    (("UNIT_PARAMS_link_rate=Ahead=2 MaxPkt=12",), False),
    (("UNIT_PARAMS_link_rate=Ahead=2 MaxPkt=12", "UNIT_FLAGS_link_rate=-Wno-UNUSED"), True),
    ((), True),
    (("PLAIN_CXX=g++",), True),
    (("PLAIN_CXX=g++",), False),
)
# list of versions, what a package of it writes, and a word of the command that does
WRITTEN = (
    ("requirements-build.txt", "gen/node_regs.sv", "spec/regs.py"),
    ("requirements-build.txt", "gen/mw_node_access.h", "spec/access.py"),
    ("requirements.txt", "gen/usb_core.v", "usb_core.py"),
    ("requirements.txt", "gen/usb_core_pins.v", "usb_core.py"),
    ("requirements.txt", "ip/picorv32.v", "timescale"),
)


def versions():
    """How many targets are not written anew for other versions, or are written anew without."""
    wrong = 0
    for listed, target, word in WRITTEN:
        make = ["make", f"build/{target}"]
        subprocess.run(make, check=True, stdout=subprocess.DEVNULL)
        for asks in ([], ["-W", listed]):
            out = subprocess.run([*make, "-n", *asks], check=True, capture_output=True, text=True).stdout
            if any((w in out) != bool(asks) for w in (".ci/setup", word)):
                wrong += 1
                print(f"{' '.join([*make, '-n', *asks])}: {out[:200]!r}")
    return wrong


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    shutil.rmtree(folder, ignore_errors=True)
    made, wrong = 0, versions()
    model = folder / "link_rate" / "Vlink_rate.mk"
    for words, anew in STEPS:
        done = subprocess.run(["make", f"UNIT_DIR={folder}", f"TOOLS={folder}/tools", *words, str(model)],
                              capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"make {' '.join(words)}: {done.stderr[:300]!r}")
        made, before = model.stat().st_mtime_ns, made
        if (made != before) != anew:
            wrong += 1
            print(f"make {' '.join(words)}: the model is {'not ' * anew}made anew")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
