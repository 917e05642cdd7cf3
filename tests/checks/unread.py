#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Signals of the RTL that no configuration reads.

usage: unread.py [--self-test] FOLDER ...

Each folder has what `verilator --lint-only --MMD` made of one configuration: `log`, its messages, and the list of files
that it read. What a module reads depends on its parameters, so that one configuration tells nothing: a signal must be
read in one of those that have its file. A part of a signal may be unread, as the fields of a struct that another module
needs. Any other warning than UNUSEDSIGNAL is an error. Exit status 1 then.
"""
import argparse
import pathlib
import re
import sys
import tempfile

UNREAD = re.compile(r"^%Warning-UNUSEDSIGNAL: ([^\s:]+):(\d+):\d+: Signal is not (?:used|driven, nor used): '(\w+)'")
PART = re.compile(r"^%Warning-UNUSEDSIGNAL: \S+ Bits of (?:signal|function variable) are not used: ")
MESSAGE = re.compile(r"^%(?:Warning|Error)")


def read(folder):
    """Files of a configuration, its unread signals as (file, line, name), and other messages."""
    text = next(folder.glob("*__ver.d")).read_text()
    unread, other = set(), []
    for line in (folder / "log").read_text().splitlines():
        if m := UNREAD.match(line):
            unread.add((m[1], int(m[2]), m[3]))
        elif MESSAGE.match(line) and not PART.match(line):
            other.append(line)
    return set(text.split()), unread, other


def judge(folders):
    """What is wrong, a line each."""
    read_of = [read(f) for f in folders]
    wrong = {line: None for _, _, other in read_of for line in other}
    for signal in sorted(set().union(*(unread for _, unread, _ in read_of))):
        if all(signal in unread for files, unread, _ in read_of if signal[0] in files):
            wrong["{}:{}: no configuration reads {}".format(*signal)] = None
    return list(wrong)


def self_test():
    """Both configurations have a.sv, one has b.sv."""
    message = "%Warning-UNUSEDSIGNAL: {}.sv:{}:5: {}: '{}'{}\n"
    whole, part = "Signal is not used", "Bits of signal are not used"
    variable = "Bits of function variable are not used"
    always = message.format("a", 1, whole, "x_i", "")
    logs = {"one": always + message.format("a", 2, whole, "y_i", "") + message.format("a", 3, part, "z_i", "[1]")
            + message.format("a", 4, variable, "op", "[1]"),
            "two": always + message.format("b", 4, whole, "w", "") + "%Warning-WIDTH: b.sv:5:1: too wide\n"}
    with tempfile.TemporaryDirectory() as d:
        folders = [pathlib.Path(d, name) for name in logs]
        for folder, files in zip(folders, ("a.sv", "a.sv b.sv")):
            folder.mkdir()
            (folder / "log").write_text(logs[folder.name])
            (folder / "Vtop__ver.d").write_text(f"Vtop.cpp : {files}\n")
        got = judge(folders)
    want = ["%Warning-WIDTH: b.sv:5:1: too wide", "a.sv:1: no configuration reads x_i",
            "b.sv:4: no configuration reads w"]
    if got != want:
        sys.exit(f"unread.py: {got}")
    print("3 found")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--self-test", action="store_true")
    p.add_argument("folders", nargs="*", type=pathlib.Path)
    args = p.parse_args()
    if args.self_test:
        self_test()
        return
    wrong = judge(args.folders)
    print("".join(f"{line}\n" for line in wrong), end="")
    sys.exit(1 if wrong or not args.folders else 0)


if __name__ == "__main__":
    main()
