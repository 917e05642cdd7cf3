# SPDX-License-Identifier: Apache-2.0
"""A copy of the sources, to change and to make models of."""
import os
import shutil
import subprocess
import sys

PARTS = ["Makefile", "requirements-build.txt", "requirements.txt", "packaging", "bindings", ".ci", "spec", "rtl",
         "flow", "experiments", "sim",
         "firmware", "tests", "driver", "host-tools", "boards"]


def copy(root, folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for part in PARTS:
        source = root / part
        (shutil.copytree if source.is_dir() else shutil.copy)(source, folder / part)
    (folder / "build").mkdir()
    (folder / "build/venv").symlink_to(root / "build/venv")
    shutil.copytree(root / "build/gen", folder / "build/gen")
    for stamp in (".setup-all", ".setup"):
        (folder / "build" / stamp).touch()


def make(folder, *what):
    """exit status and what it says; nothing of a make around it"""
    own = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    run = subprocess.run(["make", "--no-print-directory", "-C", folder, "N=2", "F=8", "SMALL=1", *what],
                         capture_output=True, text=True, env=own)
    return run.returncode, run.stdout + run.stderr


def expect(what, right, said):
    if not right:
        sys.exit(f"{what}:\n{said}")
