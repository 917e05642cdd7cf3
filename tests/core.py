#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the file list of moeswitch.core.

usage: core.py VERILATOR FILE... -- FILE...

The FILEs are the Makefile's RTL, first the fabric's, then what a device adds. The core must list each of them once in
its fileset (rtl, device) and nothing else, every package behind those that it uses and in front of every module, and
what RTL includes as include files; Verilator must find all of the design in that list alone, with the settings and
options of the core, and has nothing to say. Exit status 1 and a line
per difference otherwise.
"""
import pathlib
import re
import subprocess
import sys


def core_files(fileset, mark=""):
    text = pathlib.Path("moeswitch.core").read_text()
    part = re.search(rf"^  {fileset}:\n(.*?)^  \w", text, re.M | re.S).group(1)
    return re.findall(rf"^      - (\S+){mark}$", part, re.M)


def differences(listed, expected, known=()):
    for f in sorted({f for f in listed if listed.count(f) > 1}):
        yield f"{f}: listed twice"
    for f in sorted(set(expected) - set(listed)):
        yield f"{f}: not listed"
    for f in sorted(set(listed) - set(expected)):
        yield f"{f}: listed, but not part of the RTL"
    ready = {pathlib.Path(f).stem for f in known if f.endswith("_pkg.sv")}
    for f in listed:
        code = re.sub(r"//.*", "", pathlib.Path(f).read_text()) if pathlib.Path(f).exists() else ""
        for used in sorted(set(re.findall(r"\b(\w+_pkg)::", code)) - ready - {pathlib.Path(f).stem}):
            yield f"{f}: uses {used}, which is listed behind it"
        if f.endswith("_pkg.sv"):
            ready.add(pathlib.Path(f).stem)


def settings():
    """What FuseSoC hands to Verilator by a file of options, where a space would end one: of the settings, and those of the target lint."""
    text = pathlib.Path("moeswitch.core").read_text()
    config = re.search(r'^    default: "(.*)"$', text, re.M)[1]
    if re.search(r"\s", config):
        sys.exit(f"moeswitch.core: MW_CFG has a space, which ends it in FuseSoC's file of options: {config}")
    return [f"-DMW_CFG={config}", *re.search(r"verilator_options: \[(.*)\]", text)[1].split(", ")]


def lint(verilator, top, files, included):
    return subprocess.run([verilator, "--lint-only", "--quiet", *settings(), "--top-module", top,
                           *sorted({f"-I{pathlib.Path(f).parent}" for f in included}),
                           *sorted(map(str, pathlib.Path("rtl/spec").glob("*.vlt"))), *files]).returncode


def main():
    split = sys.argv.index("--")
    fabric, device = core_files("rtl"), core_files("device")
    included = core_files("rtl", r": \{is_include_file: true\}")
    found = [*differences(fabric, sys.argv[2:split]), *differences(device, sys.argv[split + 1:], fabric),
             *differences(included, sorted(map(str, pathlib.Path("rtl").glob("*/*.svh"))), fabric)]
    for line in found:
        print(f"moeswitch.core: {line}")
    if found:
        sys.exit(1)
    sys.exit(lint(sys.argv[1], "fabric", fabric, included)
             or any(lint(sys.argv[1], top, fabric + device, included) for top in ("device_usb", "device_pins")))


if __name__ == "__main__":
    main()
