# SPDX-License-Identifier: Apache-2.0
"""The lines that a page prints to build and run the library's example are run as they stand there.

usage: example.py PAGE [--prefix /usr/local=FOLDER] [--away]: the block of indented lines that names the example. With
--prefix they are those of a tree installed elsewhere; with --away they run in an empty folder beside a link to driver/.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SOURCE = "driver/examples/layer.c"


def fail(text):
    print(f"example: {text}")
    sys.exit(1)


def block(page):
    blocks = re.findall(r"(?:^ {4}.*\n)+", page.read_text(), re.M)
    found = [b for b in blocks if SOURCE in b]
    if len(found) != 1:
        fail(f"{page}: {len(found)} blocks of lines name {SOURCE}, not one")
    return "".join(line[4:] + "\n" for line in found[0].splitlines())


def run(script, folder):
    done = subprocess.run(["bash", "-euxc", script], cwd=folder, capture_output=True, text=True,
                          env={k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS", "LD_LIB"))})
    last = done.stdout.splitlines()[-1:]
    if done.returncode or not last or not re.fullmatch(r"32 tokens in \d+ cycles", last[0]):
        fail(f"status {done.returncode} of\n{script}{done.stdout}{done.stderr}")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("page", type=pathlib.Path)
    p.add_argument("--prefix")
    p.add_argument("--away", action="store_true")
    a = p.parse_args()
    script = block(a.page)
    if a.prefix:
        old, new = a.prefix.split("=")
        if old not in script:
            fail(f"{a.page}: the lines do not name {old}")
        script = script.replace(old, new)
    if not a.away:
        run(script, ".")
        return
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "driver").symlink_to(pathlib.Path("driver").resolve())
        run(script, folder)


if __name__ == "__main__":
    main()
