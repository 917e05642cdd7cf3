#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What models are made with makes them anew when it changes, and not otherwise: in a copy of the sources, by the
Verilated links of two GPUs; netlists of nodes with threads, by the settings that they depend on.

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


def nodes(folder):
    """Netlists of nodes with threads: that of the models, and of a board, which has more primitives."""
    board = folder / "boards/ecpix5-85f/board.toml"
    text, found = re.subn(r"^primitives = \[[^]]*\]", 'primitives = ["delay", "more_events"]', board.read_text(),
                          flags=re.M)
    expect("board.toml names primitives", found == 1, text)
    board.write_text(text)
    places = {"build/threads/n4f8-small-threads": "Delay=0", "build/board/ecpix5-85f-n4/node": "Delay=1"}
    for place, delay in places.items():
        file, said = folder / place / "settings", make(folder, "-pq", "help")[1]
        rule = re.search(rf"^{place}/node_threads\.il:.*$", said, re.M)
        expect(f"{place}: made anew with other settings", rule and f"{place}/settings" in rule[0], rule or said)
        status, said = make(folder, f"{place}/settings")
        expect(f"{place}: settings", status == 0 and delay in file.read_text().split(), said)
        before = file.stat().st_mtime_ns
        make(folder, f"{place}/settings")
        expect(f"{place}: not made anew with the same settings", file.stat().st_mtime_ns == before, "")
        make(folder, f"{place}/settings", "SMALL_PARAMS=Delay=0 Events=16 MemBytesLog2=13")
        expect(f"{place}: other settings", file.stat().st_mtime_ns != before
               and {"MemBytesLog2=13", delay} <= set(file.read_text().split()), file.read_text())


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
        command = [sys.executable, "sim/made.py", "note", "--model", model, "--backend", "lanes", "--definitions",
                   "build/gen/definitions.h", "--tools", tools, "--flags", flags, "--deps",
                   folder / "build/model/n2f8-small/node_link/deps.d", "--", "sim/shim.cpp"]
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout

    def definitions():
        status, said = make(folder, "build/gen/definitions.h")
        expect("definitions.h", status == 0, said)
        return (folder / "build/gen/definitions.h").read_text()

    defined, first = definitions(), note()
    expect("the note", first == note() and "backend lanes" in first and "model fabric" in first, first)
    edit(folder / "sim/mw_device.h", r"MW_DEVICE_ABI = \d+", "MW_DEVICE_ABI = 77")
    expect("the note of a device", '"interface 77\\n"' in note("device") and "model device" in note("device"),
           note("device"))
    expect("the note with another interface of devices", note() == first, first)
    edit(folder / "rtl/link/link.sv", "^endmodule", "// still more\nendmodule")
    expect("the note with another source", note() != first, first)

    noted = note()
    edit(folder / "rtl/link/link.sv", "^endmodule", "// more once again\nendmodule")
    edit(folder / "spec/host.toml", "^", "# more\n")
    expect("definitions of other RTL and another host protocol", definitions() == defined, "")
    for name in ("isa.toml", "packet.toml", "errors.toml", "map.toml", "fabric.rdl", "node.rdl"):
        before = definitions()
        edit(folder / "spec" / name, "^", "// more\n" if name.endswith("rdl") else "# more\n")
        expect(f"definitions with another {name}", definitions() != before, before)
    line = re.search(r'"definitions [0-9a-f]{64}', noted)
    expect("the note with other definitions", line and line[0] not in note(), note())

    status, said = make(folder, "MODEL_ARCH=x86-64", "build/model/tools")
    why = tools.read_text()
    expect("a processor without AVX2", "why lanes are for x86-64 with AVX2, which -march=x86-64 has not" in why, why)
    kinds(folder)
    nodes(folder)
    print("models are made anew when they should be")


if __name__ == "__main__":
    main()
