#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The model of a unit test is made anew when a parameter or a flag of it changes, and not otherwise.

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
)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    shutil.rmtree(folder, ignore_errors=True)
    made, wrong = 0, 0
    model = folder / "link_rate" / "Vlink_rate.mk"
    for words, anew in STEPS:
        done = subprocess.run(["make", f"UNIT_DIR={folder}", *words, str(model)], capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"make {' '.join(words)}: {done.stderr[:300]!r}")
        made, before = model.stat().st_mtime_ns, made
        if (made != before) != anew:
            wrong += 1
            print(f"make {' '.join(words)}: the model is {'not ' * anew}made anew")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
