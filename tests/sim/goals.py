#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What make's main goals need, by make's own list of rules: a user's goals build one model, no test bench, and
install nothing of the tests.

usage: goals.py ROOT FOLDER
"""
import pathlib
import re
import shutil
import subprocess
import sys

from copied import expect, make


def needs(root, *goals):
    """All that the first goal needs, directly or not, and what make says."""
    said = make(root, "-pq", *goals)[1]
    rules = {}
    for target, needed in re.findall(r"^([^\s#:=%]+):(?!=)([^\n=]*)$", said, re.M):
        rules.setdefault(target, set()).update(needed.replace("|", " ").split())
    todo, found = [goals[0] if goals else "all"], set()
    while todo:
        for n in rules.get(todo.pop(), ()):
            if n not in found:
                found.add(n)
                todo.append(n)
    return found


def models(found):
    return set(re.findall(r"model/(\S+)/libmw\w+\.so", " ".join(found)))


def main():
    root, folder = pathlib.Path(sys.argv[1]).absolute(), pathlib.Path(sys.argv[2]).absolute()
    for goals in ((), ("all",), ("run",), ("models-fast",)):
        found = needs(root, *goals)
        wanted = {"n2f8", "n2f8-published", "n2f8-basic"} if goals == ("models-fast",) else {"n8f16"}
        expect(f"models of {goals}", models(found) == wanted, models(found))
        strange = [f for f in found if re.search(r"unit/|/tests/|sanitized|setup-all", f)]
        expect(f"{goals} needs nothing of the tests", not strange and "build/.setup" in found, strange)
    found = needs(root, "test")
    expect("the tests need theirs", {"build/.setup-all", "build/unit/rr_arb_sizes/test_rr_arb_sizes"} <= found,
           len(found))

    spaced = folder / "a b"
    shutil.rmtree(folder, ignore_errors=True)
    spaced.mkdir(parents=True)
    shutil.copy(root / "Makefile", spaced)
    done = subprocess.run(["make", "--no-print-directory", "run"], cwd=spaced, capture_output=True, text=True)
    expect("a path with a space", done.returncode == 2 and done.stderr.count("\n") == 1
           and f"{spaced}: make cannot build" in done.stderr, done)
    print("a user's goals build what a user runs")


if __name__ == "__main__":
    main()
