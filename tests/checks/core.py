#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks moeswitch.core: its file list, and its targets with FuseSoC.

usage: core.py VERILATOR FUSESOC FILE... -- FILE...

The FILEs are the Makefile's RTL, first the fabric's, then what a device adds. The core must list each of them
once in its fileset (rtl, device) and nothing else, every package behind those that it uses and in front of every
module, and what RTL includes as include files. FuseSoC must run the target `lint` and set up all others.
Verilator must accept what it has set up, and device_pins with the same files, without a warning. Exit status 1 and a
line per difference otherwise.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

CONFIGURATION = "c.N=2;c.FlitBytes=8;"  # what is not listed is missing with few nodes as with many


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


def targets():
    """Name and top module of each target of the core; that of `lint` is the default's."""
    text = pathlib.Path("moeswitch.core").read_text()
    found = re.findall(r"^  (\w+):(.*?)(?=^  \w|\Z)", text[text.index("\ntargets:"):], re.M | re.S)
    return [(name, m[1]) for name, body in found if (m := re.search(r"toplevel: (\w+)", body))]


def lint_options():
    text = pathlib.Path("moeswitch.core").read_text()
    return re.search(r"verilator_options: \[(.*)\]", text)[1].split(", ")


def fusesoc(program, verilator, folder, *words):
    """Runs FuseSoC in a build folder of its own, with that Verilator."""
    environment = {**os.environ, "PATH": f"{pathlib.Path(verilator).absolute().parent}:{os.environ['PATH']}"}
    done = subprocess.run([program, "--cores-root", ".", "run", "--build-root", folder, *words, "moeswitch",
                           f"--MW_CFG={CONFIGURATION}"],
                          env=environment,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    # FuseSoC reports a warning of the tool, and ends with 0
    if done.returncode or re.search(r"^(ERROR|Error|%Warning|%Error)", done.stdout, re.M):
        sys.exit(f"moeswitch.core: fusesoc run {' '.join(words)}:\n{done.stdout}")


def lint_set_up(verilator, folder, top):
    """Lints what FuseSoC has set up in a folder, with that top."""
    options = next(folder.rglob("*.vc"))
    waivers = sorted(str(f.absolute()) for f in pathlib.Path("spec").glob("*.vlt"))
    text = re.sub(r"^--top-module .*$", f"--top-module {top}", options.read_text(), flags=re.M)
    options.write_text(re.sub(r"^--(?:cc|exe|Mdir .*)$", "", text, flags=re.M))
    return subprocess.run([verilator, "--lint-only", "--quiet", *lint_options(), *waivers, "-f", options.name],
                          cwd=options.parent).returncode


def main():
    verilator, program, *words = sys.argv[1:]
    split = words.index("--")
    fabric, device = core_files("rtl"), core_files("device")
    included = core_files("rtl", r": \{is_include_file: true\}")
    found = [*differences(fabric, words[:split]), *differences(device, words[split + 1:], fabric),
             *differences(included, sorted(map(str, pathlib.Path("rtl").rglob("*.svh"))), fabric)]
    for line in found:
        print(f"moeswitch.core: {line}")
    if found:
        sys.exit(1)
    with tempfile.TemporaryDirectory() as folder:
        fusesoc(program, verilator, folder, "--target", "lint")
        for target, top in targets():
            fusesoc(program, verilator, folder, "--setup", "--target", target, "--tool", "verilator")
            for lint_top in [top] if top == "fabric" else [top, "device_pins"]:
                if target != "default" and lint_set_up(str(pathlib.Path(verilator).absolute()),
                                                       pathlib.Path(folder, "moeswitch_0.1.0",
                                                                    f"{target}-verilator"), lint_top):
                    sys.exit(1)


if __name__ == "__main__":
    main()
