#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Settings of cfg_pkg.sv for a tool that builds a part by itself, given as NAME=VALUE beside parameters of its own.

usage: settings.py FOLDER NAME=VALUE...    prints the options of read_slang"""
import pathlib
import re
import sys

CFG_PKG = pathlib.Path(__file__).resolve().parents[2] / "rtl/common/cfg_pkg.sv"


def names():
    text = re.search(r"---- settings ----\n(.*?)// ----", CFG_PKG.read_text(), re.S)[1]
    return re.findall(r"^\s*[\w:]+(?: unsigned)?\s+(\w+);", text, re.M)


def parameters(file):
    """Names of a module's own parameters."""
    return re.findall(r"^\s*parameter\s+[\w:]+(?: unsigned)?\s+(\w+)", pathlib.Path(file).read_text(), re.M)


def slang(assignments, folder, own=()):
    """Options of read_slang, where the types of ports are found among them; OWN names parameters of the top, which no
    setting is. The macro stands in a file, as Yosys ends a command at a semicolon."""
    known = [name for name in names() if name not in own]
    settings = [a for a in assignments if a.split("=")[0] in known]
    options = " -I rtl/common" + "".join(f" -G {a}" for a in assignments if a not in settings)
    if settings:
        file = pathlib.Path(folder) / "settings.f"
        text = f'-DMW_CFG="{" ".join(f"c.{a};" for a in settings)}"\n'
        if not file.exists() or file.read_text() != text:
            file.write_text(text)
        options += f" -f {file}"
    return options


if __name__ == "__main__":
    print(slang(sys.argv[2:], sys.argv[1]))
