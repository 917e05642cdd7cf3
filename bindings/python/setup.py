# SPDX-License-Identifier: Apache-2.0
"""What pyproject.toml cannot say: the C declarations and the version are those of moeswitch.h.

The header is the one that the C compiler (CC) finds with CFLAGS, or without these with what pkg-config says of an
installed libmoeswitch.
"""
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

from setuptools import setup
from setuptools.command.build_py import build_py

# Headers of the system declare more than cffi reads, which knows their types; this one it does not.
SYSTEM = {"signal.h": "typedef int sig_atomic_t;\n", "stdbool.h": "", "stddef.h": "", "stdint.h": ""}


def cflags():
    if "CFLAGS" in os.environ:
        return shlex.split(os.environ["CFLAGS"])
    try:
        command = ["pkg-config", "--cflags", "moeswitch"]
        return shlex.split(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    except (OSError, subprocess.CalledProcessError):
        sys.exit("moeswitch.h is not there: install libmoeswitch-dev and pkg-config, or set CFLAGS=-I... to its folder")


def preprocess(*options):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in SYSTEM.items():
            pathlib.Path(folder, name).write_text(text)
        command = [*shlex.split(os.environ.get("CC", "cc")), "-E", "-P", "-nostdinc", "-isystem", folder, *cflags(),
                   "-D__attribute__(x)=", *options, "-x", "c", "-"]
        done = subprocess.run(command, input="#include <moeswitch.h>\n", capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{shlex.join(command)}:\n{done.stderr}")
    return done.stdout


def declarations():
    # functions that the header defines itself are not in the library
    return re.sub(r"static inline .*?^}$", "", preprocess(), flags=re.M | re.S)


def defined(name):
    return re.search(rf"^#define {name} (.*)$", preprocess("-dM"), re.M)[1]


def version():
    return defined("MW_VERSION").strip('"')


class BuildPy(build_py):
    def run(self):
        super().run()
        text = (f'"""Generated from moeswitch.h."""\nVERSION = "{version()}"\n'
                f'SCALE_BLOCK = {defined("MW_SCALE_BLOCK")}\n'
                f'SCALE_GROUP = {defined("MW_SCALE_GROUP")}\nCDEF = """{declarations()}"""\n')
        pathlib.Path(self.build_lib, "moeswitch", "_cdef.py").write_text(text)


setup(version=version(), cmdclass={"build_py": BuildPy})
