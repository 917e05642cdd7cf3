#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a check unless the same one has passed before.

usage: remember.py NAME FILE... -- COMMAND...

A check is its command line and the contents of the FILEs that it reads, and of requirements-build.txt and
requirements.txt, which have the tools' versions. What has passed is remembered by their hash below build/remembered,
with what they printed, which is printed again; what failed is run again. FORGET=1 runs it in any case.
Exit status: that of the command, 0 when it was remembered.
"""
import hashlib
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
STORE = ROOT / "build" / "remembered"


def hash_of(command, files, texts=()):
    """The hash of a check: command, a string; files, whose contents count; texts, what else does."""
    h = hashlib.sha256()
    parts = [command.encode(), *(t.encode() for t in texts)]
    for f in sorted({str(f) for f in (*files, "requirements-build.txt", "requirements.txt")}):
        parts += [f.encode(), (ROOT / f).read_bytes()]
    for p in parts:
        h.update(len(p).to_bytes(8, "little") + p)
    return h.hexdigest()


def recall(key):
    """What a check printed when it passed, or None."""
    kept = STORE / key
    return kept.read_text() if kept.exists() and not os.environ.get("FORGET") else None


def keep(key, printed):
    STORE.mkdir(parents=True, exist_ok=True)
    new = STORE / f"{key}.{os.getpid()}"
    new.write_text(printed)
    new.replace(STORE / key)


def run(command):
    """Exit status and standard output, which is shown as it comes."""
    printed = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, errors="replace") as p:
        for line in p.stdout:
            print(line, end="", flush=True)
            printed.append(line)
    return p.returncode, "".join(printed)


def main():
    if "--" not in sys.argv[2:]:
        sys.exit(__doc__)
    split = sys.argv.index("--")
    name, files, command = sys.argv[1], sys.argv[2:split], sys.argv[split + 1:]
    key = hash_of("\0".join(command), files)
    printed = recall(key)
    if printed is not None:
        print(f"  SAME       {name}: as when it passed\n{printed}", end="")
        return 0
    status, printed = run(command)
    if status == 0:
        keep(key, printed)
    return status


if __name__ == "__main__":
    sys.exit(main())
