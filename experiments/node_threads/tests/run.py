#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs `moeswitch run` on the fabric with one node for all, and on both fabrics compared in every cycle: the reports
must be those of the model that every other test has.

usage: run.py [--long]

Builds nothing: build/moeswitch and the models n4f8-small, -beside, and with --long -threads must be there.
The tool takes the model beside it, so it runs from a folder of its own for each. Exit status 1: a report
differs, or a run failed.
"""
import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys

BUILD = pathlib.Path("build")
SHORT_KINDS = ("spatial", "beside")
LONG_KINDS = ("spatial", "threads", "beside")
DEVICE = "--set small=1 --gpus 4 --flit-bytes 8"
SHORT = ["run {} --hidden 32 --experts 16 --k 3 --tokens-per-gpu 7 --tile 2 --partial-tiles --link-latency 8 "
         "--system all",
         "run {} --hidden 32 --experts 8 --k 2 --tokens-per-gpu 8 --tile 1 --layers 0,1,2 --system all"]
LONG = ["run {} --hidden 32 --experts 4 --k 1 --tokens-per-gpu 5 --tile 3 --system all --set store_credits=1 --set "
        "part_credits=1 --set ctrl_credits=1",
        "run {} --hidden 16 --experts 16 --k 2 --tokens-per-gpu 6 --tile 2 --partial-tiles --system all --set "
        "throttle=200 --link-latency 3"]
# what differs between models of one fabric
OF_THE_MODEL = ("seconds_wall", "sim_cycles_per_s", "sim_cycles_per_second", "seconds", "simulated_by")
COMPARED = re.compile(r"^beside: (\d+) cycles, the same in all$", re.M)


def place(kind):
    """Where the tool finds this model as n4f8-small."""
    folder = BUILD / "tests" / "threads" / kind
    (folder / "model").mkdir(parents=True, exist_ok=True)
    shutil.copy(BUILD / "moeswitch", folder / "moeswitch")
    link = folder / "model" / "n4f8-small"
    link.unlink(missing_ok=True)
    link.symlink_to((BUILD / "model" / ("n4f8-small" + ("" if kind == "spatial" else f"-{kind}"))).resolve())
    return folder


def of_the_fabric(value):
    if isinstance(value, dict):
        return {k: of_the_fabric(v) for k, v in value.items() if k not in OF_THE_MODEL}
    return [of_the_fabric(v) for v in value] if isinstance(value, list) else value


def report(kind, words):
    folder = place(kind)
    file = folder / "report.json"
    file.unlink(missing_ok=True)
    r = subprocess.run([folder / "moeswitch", *words.split(), "--json", file], capture_output=True, text=True)
    if r.returncode or not file.exists():
        sys.exit(f"threads: FAILED: {kind}: moeswitch {words}: status {r.returncode}\n"
                 f"{r.stdout[-800:]}{r.stderr[-800:]}")
    return of_the_fabric(json.loads(file.read_text())), sum(map(int, COMPARED.findall(r.stdout)))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--long", action="store_true")
    long = p.parse_args().long
    runs, kinds, compared = SHORT + (LONG if long else []), LONG_KINDS if long else SHORT_KINDS, 0
    for words in (r.format(DEVICE) for r in runs):
        want, _ = report("spatial", words)
        for kind in kinds[1:]:
            got, cycles = report(kind, words)
            compared += cycles
            if got != want:
                sys.exit(f"threads: FAILED: {kind}: moeswitch {words}: another report, see {BUILD}/tests/threads")
            if kind == "beside" and not cycles:
                sys.exit(f"threads: FAILED: moeswitch {words}: nothing was compared")
    print(f"threads: {len(runs)} runs with the same reports, {compared} cycles with the same outputs of every node")


if __name__ == "__main__":
    main()
