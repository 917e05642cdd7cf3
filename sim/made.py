#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What models are made with, and of.

usage: made.py tools --verilator ROOT --verilator-bin FILE --plain-cxx CXX --model-cxx CXX --arch ARCH
       made.py note --model fabric|device --backend lanes|plain [--make WORDS] --definitions FILE --tools FILE
               --flags FILE --deps FILE... -- SOURCE...

tools prints a line each: `verilator`, `plain` and `lanes` (versions of their compilers), `machine`, `cpu` (features
that the compiler of lanes may use, named as /proc/cpuinfo names them), and `why`, if lanes do not work here.

note prints an assembler file, which puts what a model was made of into it as an ELF note: who loads the model reads it
first (driver/src/transport_sim/model_note.c), as code for another processor cannot say so itself. The note's text is
lines of a word, a blank and a value. `definitions` is the digest of build/gen/definitions.h, and `make` has the words
that build the model anew.
"""
import argparse
import hashlib
import pathlib
import platform
import re
import subprocess
import sys

# 5.034 and before do not take variables of which one bit is assigned in a clocked block and another by a continuous
# assignment (BLKANDNBLK); where they are told to, and in 5.038, which takes them, models are wrong. None between
# 5.038 and 5.048 was tried.
LEAST = (5, 48)

# of a model, the header of its interface, that interface's number, and the goal of make
INTERFACES = {"fabric": ("sim/mw_sim.h", "MW_SIM_ABI", "model"),
              "device": ("sim/mw_device.h", "MW_DEVICE_ABI", "device-model")}

# What compilers make instructions of by themselves: their macro, and the name in /proc/cpuinfo. Others are there
# for who asks for them by name.
CPU = {
    "SSE3": "pni", "SSSE3": "ssse3", "SSE4_1": "sse4_1", "SSE4_2": "sse4_2", "POPCNT": "popcnt", "MOVBE": "movbe",
    "LZCNT": "abm", "BMI": "bmi1",
    "BMI2": "bmi2", "ADX": "adx", "F16C": "f16c", "FMA": "fma", "AVX": "avx", "AVX2": "avx2", "GFNI": "gfni",
    "AVXVNNI": "avx_vnni", "AVX512F": "avx512f",
    "AVX512BW": "avx512bw", "AVX512CD": "avx512cd", "AVX512DQ": "avx512dq", "AVX512VL": "avx512vl",
    "AVX512IFMA": "avx512ifma", "AVX512VBMI": "avx512vbmi",
    "AVX512VBMI2": "avx512_vbmi2", "AVX512VNNI": "avx512_vnni", "AVX512BITALG": "avx512_bitalg",
    "AVX512VPOPCNTDQ": "avx512_vpopcntdq",
    "AVX512BF16": "avx512_bf16", "AVX512FP16": "avx512_fp16",
}


def output(*command):
    """what a command prints, or None"""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None


def version(cxx):
    return ((output(cxx, "--version") or "").splitlines() or ["none"])[0]


def why_not(args, macros):
    """why lanes do not work with these tools on this machine, or None"""
    if macros is None:
        return f"{args.model_cxx} is not there, or does not know -march={args.arch}"
    if "clang" not in macros:
        return f"{args.model_cxx} is not clang"
    if "x86_64" not in macros:
        return f"lanes are for x86-64 with AVX2, and {args.model_cxx} makes code for {platform.machine()}"
    if "AVX2" not in macros:
        return f"lanes are for x86-64 with AVX2, which -march={args.arch} has not"
    return None


def verilator_version(root):
    """the version of Verilator, which must be one that takes the RTL"""
    config = root / "include/verilated_config.h"
    if not config.exists():
        sys.exit(f"no Verilator in {root}: give make the folder and the program of one, VROOT= and VERILATOR_BIN= "
                 "(docs/developer/simulation.md)")
    config = config.read_text()
    number = re.search(r'#define VERILATOR_VERSION "(.*)"', config)[1]
    major, minor = map(int, re.match(r"(\d+)\.(\d+)", number).groups())
    if (major, minor) < LEAST:
        sys.exit(f"Verilator {number} is too old: from {LEAST[0]}.{LEAST[1]:03} on it takes this RTL "
                 "(docs/developer/simulation.md)")
    return number


def tools(args):
    number = verilator_version(args.verilator)
    code = output(args.model_cxx, f"-march={args.arch}", "-w", "-dM", "-E", "-x", "c++", "/dev/null")
    macros = code and set(re.findall(r"^#define __(\w+?)__ ", code, re.M))
    print("verilator", number, re.sub(r"^Verilator|rev", "", output(args.verilator_bin, "--version") or "").strip())
    print("plain", version(args.plain_cxx))
    print("lanes", version(args.model_cxx))
    print("machine", platform.machine())
    print("cpu", *sorted(name for macro, name in CPU.items() if macro in (macros or ())))
    why = why_not(args, macros)
    if why:
        print("why", why)


def digest(files):
    h = hashlib.sha256()
    for f in sorted(files):
        h.update(f"{f.name}\n".encode())  # wherever what is generated lies
        h.update(f.read_bytes())
    return h.hexdigest()


def note(args):
    made_with = dict(line.partition(" ")[::2] for line in args.tools.read_text().splitlines())
    sources = set(args.source)
    for deps in args.deps:
        if deps.exists():
            sources.update(map(pathlib.Path, re.findall(r"^\S+: (\S+)$", deps.read_text(), re.M)))
    header, number = INTERFACES[args.model][:2]
    lines = {
        "interface": re.search(rf"{number} = (\d+)", pathlib.Path(header).read_text())[1],
        "model": args.model,
        "definitions": re.search(r'"([0-9a-f]{64})"', args.definitions.read_text())[1],
        "make": args.make or INTERFACES[args.model][2],
        "backend": args.backend,
        "cpu": made_with["cpu"] if args.backend == "lanes" else "",
        "verilator": made_with["verilator"],
        "compiler": made_with[args.backend],
        "flags": args.flags.read_text().strip(),
        "sources": digest(f for f in sources if f.exists()),
    }
    text = "".join(f"{word} {value}\n" for word, value in lines.items())
    print('    .section .note.moeswitch, "a", %note\n    .balign 4')
    print("    .long 10, 2f - 1f, 1\n    .asciz \"moeswitch\"\n    .balign 4\n1:")
    for line in text.splitlines():
        escaped = line.replace("\\", "\\\\").replace('"', '\\"')
        print(f'    .ascii "{escaped}\\n"')
    print('2:\n    .balign 4\n    .section .note.GNU-stack, "", %progbits')


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    t = commands.add_parser("tools")
    t.add_argument("--verilator", type=pathlib.Path)
    t.add_argument("--verilator-bin")
    t.add_argument("--plain-cxx")
    t.add_argument("--model-cxx")
    t.add_argument("--arch")
    n = commands.add_parser("note")
    n.add_argument("--model", choices=INTERFACES, required=True)
    n.add_argument("--backend", choices=["lanes", "plain"])
    n.add_argument("--make", default="")
    n.add_argument("--definitions", type=pathlib.Path, required=True)
    n.add_argument("--tools", type=pathlib.Path)
    n.add_argument("--flags", type=pathlib.Path)
    n.add_argument("--deps", type=pathlib.Path, nargs="*")
    n.add_argument("source", type=pathlib.Path, nargs="*")
    args = parser.parse_args()
    tools(args) if args.command == "tools" else note(args)


if __name__ == "__main__":
    main()
