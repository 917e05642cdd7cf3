#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the rewrite has no rule for it must refuse: one line that says what and where, status 1, no netlist. Likewise
numbers of threads that are not possible.

usage: refused.py [--out DIR]     Exit status 1: something was taken, or refused in other words.
"""
import argparse
import pathlib
import subprocess
import sys

TOOL = "experiments/node_threads/rewrite/rewrite.py"
SAMPLE = "experiments/node_threads/tests/refused.sv"
# What, threads, words of the line; None: it is taken
CASES = [(0, 4, "$adff"), (1, 4, "$dlatch"), (2, 4, "one clock"), (3, 4, "one clock"), (4, 4, "one clock"),
         (5, 2, "3 to 32"), (5, 33, "3 to 32"), (5, 4, None)]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--out", default="build/tests/threads/refused")
    out = pathlib.Path(p.parse_args().out)
    for what, threads, words in CASES:
        made = out / "refused_threads.v"
        made.unlink(missing_ok=True)
        r = subprocess.run([sys.executable, TOOL, "--top", "refused", "--threads", str(threads), "--out", str(out),
                            "--param", f"What={what}", SAMPLE], capture_output=True, text=True)
        lines = r.stderr.splitlines()
        right = (r.returncode == 0 and made.exists() if words is None else r.returncode == 1 and len(lines) == 1
                 and words in lines[0] and not made.exists())
        if not right:
            sys.exit(f"threads: FAILED: case {what} with {threads} threads: status {r.returncode}, netlist "
                     f"{'made' if made.exists() else 'not made'}: {r.stderr[-600:]}")
    print(f"threads: {len(CASES) - 1} modules refused, each by name")


if __name__ == "__main__":
    main()
