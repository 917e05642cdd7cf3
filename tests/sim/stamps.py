#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What models are made with makes them anew when it changes, and not otherwise: in a copy of the sources, by the
Verilated links of two GPUs.

usage: stamps.py ROOT FOLDER
"""
import pathlib
import re
import subprocess
import sys

from copied import copy, expect, make

MADE = "build/model/n2f8-small/node_link/Vnode_link.mk"


def kinds(folder):
    """Models without some primitives, which libmoeswitch takes in place of the whole one beside them."""
    for kind in ("basic", "published"):
        file = folder / f"build/model/n2f8-{kind}/libmwsim.so"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    said = make(folder, "-pq", "help")[1]
    rule = re.search(r"^build/model/n2f8/libmwsim\.so:.*$", said, re.M)
    beside = set(re.findall(r"build/model/n2f8-(\w+)/libmwsim", rule[0])) if rule else said
    expect("a model is made alone, whatever is beside it", beside == set(), beside)
    rule = re.search(r"^models-fast:.*$", said, re.M)
    made = set(re.findall(r"model/(\S+)/libmwsim", rule[0])) if rule else said
    expect("models-fast", made == {"n2f8", "n2f8-published", "n2f8-basic"}, made)
    for kind in ("all", "published", "basic"):
        status, said = make(folder, f"PRIMITIVES={kind}", "SMALL=0", "help")
        expect(f"PRIMITIVES={kind}", status == 0, said)
    for words in (("PRIMITIVES=published", "SMALL=1"), ("PRIMITIVES=basic", "SMALL=0", "TRACE=1"), ("PRIMITIVES=few",)):
        status, said = make(folder, *words, "help")
        expect(f"{words} are refused", status != 0 and f"*** {words[0]}: " in said, said)


def main():
    root, folder = pathlib.Path(sys.argv[1]).absolute(), pathlib.Path(sys.argv[2]).absolute()
    copy(root, folder)
    tools, flags = folder / "build/model/tools", folder / "build/model/n2f8-small/flags"

    def time_made(*what):
        status, said = make(folder, *what, MADE)
        expect("make", status == 0, said)
        return (folder / MADE).stat().st_mtime_ns

    def check(what, anew, *settings):
        nonlocal before
        now = time_made(*settings)
        expect(f"{what}: {'not ' * anew}made anew", (now != before) == anew, "")
        before = now

    def edit(file, pattern, text):
        before = file.read_text()
        after = re.sub(pattern, text, before, count=1, flags=re.M)
        expect(f"{file} has no {pattern}", before != after, before)
        file.write_text(after)

    before = time_made()
    check("nothing", False)
    for word in ("verilator", "lanes", "cpu"):
        edit(tools, rf"^{word} .*$", f"{word} another")
        check(f"another {word}", True)
        expect(f"{word} in the stamp", "another" not in tools.read_text(), tools.read_text())
    edit(flags, "-O3", "-O2")
    check("other flags", True)
    check("another processor", True, "MODEL_ARCH=x86-64-v3")
    check("and back", True)
    edit(folder / "rtl/gpu/gpu.sv", "^endmodule", "// more\nendmodule")
    check("a source of another part", False)
    edit(folder / "rtl/link/link.sv", "^endmodule", "// more\nendmodule")
    check("a source", True)
    check("nothing", False)

    def note(model="fabric"):
        command = [sys.executable, "sim/made.py", "note", "--model", model, "--backend", "lanes", "--tools", tools,
                   "--flags", flags, "--deps",
                   folder / "build/model/n2f8-small/node_link/deps.d", "--", "sim/shim.cpp"]
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout

    first = note()
    expect("the note", first == note() and "backend lanes" in first and "model fabric" in first, first)
    edit(folder / "sim/mw_device.h", r"MW_DEVICE_ABI = \d+", "MW_DEVICE_ABI = 77")
    expect("the note of a device", '"interface 77\\n"' in note("device") and "model device" in note("device"),
           note("device"))
    expect("the note with another interface of devices", note() == first, first)
    edit(folder / "rtl/link/link.sv", "^endmodule", "// still more\nendmodule")
    expect("the note with another source", note() != first, first)

    status, said = make(folder, "MODEL_ARCH=x86-64", "build/model/tools")
    why = tools.read_text()
    expect("a processor without AVX2", "why lanes are for x86-64 with AVX2, which -march=x86-64 has not" in why, why)
    kinds(folder)
    print("models are made anew when they should be")


if __name__ == "__main__":
    main()
