#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where the processor time of a build goes.

usage: times.py FILE [COUNT]

FILE: what `make ... TIMES=FILE` has written (an absolute path); COUNT: how many targets (30).

A table by folder, in which what is below build/model, build/unit and build/obj is summed up by kind, and one of the
targets that take the most.
"""
import collections
import re
import sys

# a target below the build folder: its kind
KINDS = ((r"model/dev-", "models of the device"), (r"model/.*(\.mk|translated)$", "models: Verilator and translation"),
         (r"model/", "models: compilers"),
         (r"unit/.*\.mk$", "unit tests: Verilator"), (r"unit/", "unit tests: compilers"),
         (r"(obj|lib|tests|examples|moeswitch)", "C"), (r"fuzz|sanitized", "C with sanitizers"),
         (r"gen|ip|firmware", "generated sources, firmware"), (r"verilated", "Verilator's run time"),
         (r"threads", "one node for all"), (r"\.setup", "installation"))


def kind_of(target):
    inside = re.sub(r"^.*?build/", "", target)
    if inside == target:
        return target
    return next((kind for pattern, kind in KINDS if re.match(pattern, inside)), inside.split("/")[0])


def print_table(seconds, count):
    for name, s in sorted(seconds.items(), key=lambda item: -item[1])[:count]:
        print(f"{s:8.1f} s  {name}")


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    kinds, targets = collections.Counter(), collections.Counter()
    with open(sys.argv[1]) as file:
        for line in file:
            hundredths, target = line.split(maxsplit=1)
            targets[target.strip()] += int(hundredths) / 100
            kinds[kind_of(target.strip())] += int(hundredths) / 100
    print(f"{sum(targets.values()):.0f} s of processor time")
    print_table(kinds, len(kinds))
    print("the most:")
    print_table(targets, int(sys.argv[2]) if len(sys.argv) == 3 else 30)


if __name__ == "__main__":
    main()
