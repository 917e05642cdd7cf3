#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Yosys with its own front end for SystemVerilog, as the package pyosys has it: native code, which needs
no minutes to start first.

usage: yosys.py -V | [-q] [-l LOG] -p COMMANDS | [-q] [-l LOG] -s SCRIPT | -q -

The options mean what they mean to yosys. `-` is a script at standard input whose output is at standard output. Errors
are at standard error; the exit status is 1 then.
"""
import argparse
import ctypes
import os
import re
import sys
import tempfile

FAILED = 1


def parse():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("-V", action="store_true", dest="version")
    p.add_argument("-q", action="store_true", dest="quiet")
    p.add_argument("-l", dest="log")
    p.add_argument("-p", dest="commands")
    p.add_argument("-s", dest="script")
    p.add_argument("stdin", nargs="?", choices=["-"])
    a = p.parse_args()
    if not (a.version or a.commands or a.script or a.stdin):
        p.error("nothing to run: -p, -s or -")
    return a


def script_of(a, folder):
    """The script's file: the one that is named, or a copy of standard input."""
    if not a.stdin:
        return a.script
    path = os.path.join(folder, "script.ys")
    with open(path, "w") as f:
        f.write(sys.stdin.read())
    return path


def run(a, folder):
    """Runs what is asked; does not return, as Yosys itself ends the program at an error."""
    from pyosys import libyosys
    if a.version:
        print(libyosys.yosys_maybe_version(), flush=True)
    design = libyosys.Design()
    if a.commands:
        libyosys.run_pass(a.commands, design)
    elif a.stdin:
        libyosys.run_pass(f"tee -q script {script_of(a, folder)}", design)
    elif a.script:
        libyosys.run_pass(f"script {a.script}", design)
    ctypes.CDLL(None).fflush(None)
    os._exit(0)


def output(log):
    """What the script at standard input has written: all but what run_pass says first."""
    with open(log) as f:
        return re.sub(r"\A\s*-- Running command .*\n\s*", "", f.read())


def errors(log):
    with open(log, errors="replace") as f:
        return re.findall(r"^ERROR: .*(?:\n(?!\n).*)*|^\S.*: error: .*", f.read(), re.M)


def main():
    a = parse()
    with tempfile.TemporaryDirectory() as folder:
        log = a.log or os.path.join(folder, "log")
        child = os.fork()
        if not child:
            if not a.version and (a.log or a.quiet):
                os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666), 1)
            run(a, folder)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if status and os.path.exists(log):
            print("\n".join(errors(log)), file=sys.stderr)
        elif a.stdin:
            sys.stdout.write(output(log))
    sys.exit(FAILED if status else 0)


if __name__ == "__main__":
    main()
