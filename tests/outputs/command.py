# SPDX-License-Identifier: Apache-2.0
"""`moeswitch run`, for tests of what it writes."""
import pathlib
import shutil
import subprocess
import sys


def fail(text):
    print(text)
    sys.exit(1)


def scratch_folder(build, name):
    """empty"""
    folder = pathlib.Path(build).resolve() / "tests" / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def call(build, words, status=0):
    """`moeswitch` with these words; must end with that exit status"""
    done = subprocess.run([f"{build}/moeswitch", *words], capture_output=True, text=True, errors="surrogateescape")
    if done.returncode != status:
        fail(f"{' '.join(map(str, words))}: exit status {done.returncode}: {done.stderr}")
    return done


def run(build, words, status=0):
    """returns what it says on standard error"""
    return call(build, ["run", *words], status).stderr


def check_refused(build, scratch, option):
    """A file that cannot be written, or is another output's, too: one line, and no file."""
    words = "--gpus 4 --flit-bytes 8 --hidden 32 --experts 8 --k 2 --tokens-per-gpu 4 --system dysharp".split()
    same = scratch / "same"
    for first in "--json", "--plot":
        if run(build, [*words, first, same, option, same], 2).count("\n") != 1:
            fail("two outputs in one file")
    if "/nowhere/x: cannot write" not in run(build, [*words, option, "/nowhere/x"], 2):
        fail("a folder that is not there")
    if "/dev/full: cannot write: No space left" not in run(build, [*words, option, "/dev/full"], 4):
        fail("a full disk")
    if same.exists() or list(scratch.glob("*.tmp")):
        fail("a file was left")
