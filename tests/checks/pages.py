#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Manual pages and completion against the program that they are about.

usage: pages.py MOESWITCH MAN COMPLETION HEADER

MAN is the folder of the pages, COMPLETION the script for bash, HEADER moeswitch.h. Every option that help lists must be
parsed, stand in the page and be completed, and no other; pages must pass man's own warnings; completion runs in bash.
"""
import re
import subprocess
import sys
from pathlib import Path

failures = []


def check(true, text):
    if not true:
        failures.append(text)


def output(*command):
    run = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    return run.stdout + run.stderr


def page_text(page):
    """A page as a reader sees it; whatever its formatter warns of fails."""
    run = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-P", "cat", "-l", page], capture_output=True, text=True,
                         env={"PATH": "/usr/bin:/bin", "MANWIDTH": "200", "LC_ALL": "C.UTF-8"}, check=False)
    check(run.returncode == 0 and not run.stderr, f"{page}: {run.stderr}")
    return re.sub(".\b", "", run.stdout)


class Completion:
    def __init__(self, script):
        self.script = script

    def __call__(self, line):
        """What the script offers for a line, in the order of its list."""
        program = ('source "$1"; COMP_LINE=$2 COMP_POINT=${#2}; _moeswitch; '
                   '((${#COMPREPLY[@]} == 0)) || printf "%s\\n" "${COMPREPLY[@]}"')
        run = subprocess.run(["bash", "--norc", "-c", program, "bash", self.script, line], capture_output=True,
                             text=True, check=False)
        check(run.returncode == 0 and not run.stderr, f"completion of '{line}': {run.stderr}")
        return run.stdout.split("\n")[:-1]

    def expect(self, line, *words):
        got = self(line)
        check(got == list(words), f"completion of '{line}': {got}, expected {list(words)}")


def options_of(text, indent):
    return re.findall(rf"^ {{{indent}}}--([a-z][a-z-]*)", text, re.M)


def check_command(tool, man, complete, command):
    help_text = output(tool, *command.split(), "--help")
    check(output(tool, *command.split(), "-h") == help_text, f"{command}: -h is not --help")
    page = page_text(man / f"moeswitch-{command.replace(' ', '-')}.1")
    helped = options_of(help_text, 2)
    check(len(set(helped)) == len(helped) and "help" in helped, f"{command}: options of help: {helped}")
    check(options_of(page, 7) == helped, f"{command}: the page has {options_of(page, 7)}, help {helped}")
    completed = [word[2:] for word in complete(f"moeswitch {command} --")]
    check(completed == helped, f"{command}: completed are {completed}, help has {helped}")
    for name in helped:
        if name != "help":
            text = output(tool, *command.split(), f"--{name}=")
            check(f"--{name}" in text and "unknown option" not in text, f"{command} --{name}=: {text}")
    for title in re.findall(r"^(\S.*)$", help_text, re.M)[1:]:
        if title in ("Exit status", "Settings of --set", "Columns", "Patterns"):
            check(title.upper() in page, f"{command}: the page lacks {title}")


def check_completion(complete, systems):
    complete.expect("moeswitch ru", "run")
    complete.expect("moeswitch --v", "--version")
    complete.expect("moeswitch help sel", "selftest")
    complete.expect("moeswitch run --sys", "--system")
    complete.expect("moeswitch run --system ", *systems, "all")
    complete.expect("moeswitch run --gpus 4 --system=moes", "moeswitch")
    complete.expect("moeswitch run --device sim:l", "lanes")
    complete.expect("moeswitch run --set token", "token_order=")
    complete.expect("moeswitch run --set adder", "adder_bypass=")
    complete.expect("moeswitch bench unicast --set token")
    complete.expect("moeswitch bench unicast --set adder", "adder_bypass=")
    complete.expect("moeswitch run --gpus ")
    complete.expect("moeswitch run --model mix", "mixtral-8x7b")
    complete.expect("moeswitch bench uni", "unicast")
    complete.expect("moeswitch bench unicast,mul", "unicast,multicast")
    complete.expect("moeswitch bench link --gp", "--gpus")
    complete.expect("moeswitch bench link --wi")
    complete.expect("moeswitch trace i", "info")
    complete.expect("moeswitch trace info rtl/com", "rtl/common")
    complete.expect("moeswitch run --trace rtl/com", "rtl/common")
    complete.expect("moeswitch run --json READ", "README.md")
    complete.expect("moeswitch firmware requirements.t", "requirements.txt")


def main(tool, man, script, header):
    complete = Completion(script)
    commands = re.findall(r"^  ([a-z]+(?: [a-z]+)*)  +", output(tool, "--help"), re.M)
    check(len(commands) >= 8, f"commands: {commands}")
    overview = page_text(man / "moeswitch.1")
    for command in commands:
        check(re.search(rf"^ +{command}\b", overview, re.M), f"moeswitch.1 lacks {command}")
        check_command(tool, man, complete, command)
    pages = {f"moeswitch-{c.replace(' ', '-')}.1" for c in commands} | {"moeswitch.1", "libmoeswitch.3"}
    check({p.name for p in man.iterdir()} == pages, f"pages: {sorted(p.name for p in man.iterdir())}")
    systems = re.search(r"--system NAME +((?:\S+, )+\S+) or all", re.sub(r"\s+", " ", output(tool, "run", "--help")))
    check_completion(complete, systems[1].split(", "))
    library = page_text(man / "libmoeswitch.3")
    functions = re.findall(r"MW_API [^;(]*?(mw_\w+)\(", Path(header).read_text())
    check(len(functions) > 50, f"{header}: {len(functions)} functions")
    for name in functions:
        check(re.search(rf"\b{name}\(", library), f"libmoeswitch.3 lacks {name}")
    for line in failures:
        print(line, file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], Path(sys.argv[2]), sys.argv[3], sys.argv[4]))
