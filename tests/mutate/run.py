#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Mutates the netlist of each unit-tested module at random, and counts what the tests find.

usage: run.py [--mutations N] [--seed N] [--modules NAME,...] [--tests NAME,...] [--jobs N] [--others N] [--self-test]

For each module that the table of docs/developer/testing.md names: Yosys reads the bench of the most specific test
that names it and has cells of it, at that test's parameters, and keeps its hierarchy. Its command `mutate` chooses
places in the module: a bit of a port of a cell that is inverted, held at 0 or 1, or inverted when another bit is 0 or
1. All mutations of a bench are in one netlist (build/mutate/TEST/netlist.v), whose input chooses one or none; the test
is built around that once and runs once for each.

  control     without a mutation the test must pass: else the tool is at fault, and ends with status 2
  found       a test fails, the program crashes, or takes ten times the processor time of the control run
  excluded    no difference in DEPTH cycles from any state of registers and memories, or none ever behind reset
              (exclude.py): nothing to be found
  survived    the rest, behind OTHERS further tests that the table names; survivors.toml holds the reason
              of each that is known

Fields of a [[survivor]] there: module, mode and place as the list of survivors has them, text: what the source line
holds; reason, in words. Found and survived count, whether there is a reason or not. Exit status 1 below SCORE per cent.
All that ran is in build/mutate/mutations.json.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import sys
import time
import tomllib
import traceback

from bench import read, size, tests_of, table, units
from exclude import prove
from mutation import choose, transferred
from program import build, control, run
from tool import ROOT, WORK, Failure, Memory, digest, say

HERE = pathlib.Path("tests/mutate")
SCORE = 92
MUTATIONS = 300
LEAST = 2        # of each module
OTHERS = 2
LIMIT = 10       # of the control run's processor time
SAMPLE = 40      # mutations of the self-test


def allocate(mutations, sizes):
    """{module: number}: LEAST each, the rest in proportion to its cells."""
    rest = max(0, mutations - LEAST * len(sizes))
    total = sum(sizes.values())
    return {m: LEAST + int(rest * (i + s) / total) - int(rest * i / total)
            for (m, s), i in zip(sizes.items(), prefix(sizes.values()))}


def prefix(values):
    total = 0
    for v in values:
        yield total
        total += v


def each(pool, what, items, faults):
    """What what(item) returns, side by side; None, and the text in `faults`, for what cannot be done."""
    def one(item):
        try:
            return what(item)
        except Exception as e:  # an error of this program must not lose what has run
            text = str(e) if isinstance(e, Failure) else traceback.format_exc()
            say(f"FAILED {text}")
            faults.append(text)
            return None

    return list(pool.map(one, items))


def execute(applied, unit, pool):
    """Builds and runs; `applied` as build() has it. Every mutation found gets its result."""
    begin = time.monotonic()
    build(unit, applied)
    built = time.monotonic() - begin
    program = digest(unit.program.read_bytes(), os.environ.get("MW_SEED", "1"))
    memory = Memory(unit.folder / "results.json")
    seconds = memory.get(f"{program} 0", lambda: control(unit))
    unit.limit = int(LIMIT * seconds) + 5
    say(f"{unit.name}: {len(applied)} mutations, built in {built:.0f} s, control run {seconds:.1f} s")

    def one(item):
        number, (_, _, m) = item
        found = memory.get(f"{program} {number}", lambda: run(unit, number, unit.limit)[0])
        if found:
            m.result, m.by = "found", f"{unit.name}: {found}"
        say(f"  {'found   ' if found else 'survived'} {m.module} {m.mode} {m.where} {m.line}: {m.by or unit.name}")

    return [pool.submit(one, item) for item in enumerate(applied, 1)]


def listed():
    path = HERE / "survivors.toml"
    return tomllib.loads(path.read_text()).get("survivor", []) if path.exists() else []


def reason_of(m, entries):
    return next((e["reason"] for e in entries if (e["module"], e["mode"], e["place"]) == (m.module, m.mode, m.where)
                 and e["text"] in m.text()), None)


def go(all_units, packages, dirs, order, counts_wanted, args):
    begin, faults = time.monotonic(), []
    primary = {m: all_units[t[0]] for m, t in order.items()}
    used = list(dict.fromkeys(primary.values()))
    runner = concurrent.futures.ThreadPoolExecutor(args.jobs)
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        each(pool, lambda u: read(u, packages, dirs), used, faults)
        for m in [m for m, u in primary.items() if not size(u, m)]:
            # the first test that has cells of it
            primary[m] = None
            for unit in (all_units[t] for t in order[m][1:]):
                if not unit.mods:
                    each(pool, lambda u: read(u, packages, dirs), [unit], faults)
                if size(unit, m):
                    primary[m] = unit
                    break
            else:
                faults.append(f"{m}: no cell in {', '.join(order[m])}")
                say(f"FAILED {faults[-1]}")
        used = list(dict.fromkeys(u for u in primary.values() if u))
        sizes = {m: size(u, m) for m, u in primary.items() if u}
        counts = counts_wanted(sizes)
        say(f"{sum(counts.values())} mutations of {len(counts)} modules in {len(used)} benches, seed {args.seed}: read "
            f"in {time.monotonic() - begin:.0f} s")

        def start(unit):
            of = {m: n for m, n in counts.items() if primary[m] is unit and n}
            if not of:
                return [], []
            chosen = choose(unit, of, args.seed)
            return chosen, execute([(m.variant, m.cell, m) for m in chosen], unit, runner)

        mutations, runs = [], []
        wanted = [u for u in used if not args.tests or u.name in args.tests.split(",")]
        for ms, fs in filter(None, each(pool, start, wanted, faults)):
            mutations += ms
            runs += fs
        for f in runs:
            f.result()
        for n, m in enumerate(mutations, 1):
            m.number = n
        say(f"tests: {time.monotonic() - begin:.0f} s")

        def exclude(m):
            m.result = "survived"
            m.detail = prove(m)
            m.result = "excluded" if m.detail.startswith("same") else "survived"
            say(f"  {m.result} {m.module} {m.mode} {m.where} {m.line}: {m.detail}")

        each(pool, exclude, [m for m in mutations if not m.result], faults)
        say(f"proofs: {time.monotonic() - begin:.0f} s")

        left = collections.defaultdict(list)
        for m in mutations:
            if m.result == "survived":
                # the same test with other parameters sees least that is new
                rest = sorted((t for t in order[m.module] if t != m.unit.name), key=lambda t: t.startswith(m.unit.name))
                for t in rest[:args.others]:
                    left[t].append(m)
        other_units = [all_units[t] for t in left]
        each(pool, lambda u: read(u, packages, dirs), [u for u in other_units if not u.mods], faults)

        def again(unit):
            applied = [(*at, m) for m in left[unit.name] if m.result != "found" and (at := transferred(m, unit))]
            return execute(applied, unit, runner) if applied else []

        for fs in filter(None, each(pool, again, other_units, faults)):
            for f in fs:
                f.result()
    runner.shutdown()
    say(f"other tests: {time.monotonic() - begin:.0f} s")
    return mutations, faults


def report(mutations):
    """Prints the table and the survivors; the score."""
    entries = listed()
    print(f"\n{'module':<18} {'test':<20} {'mutations':>9} {'found':>6} {'excluded':>8} {'survived':>8}")
    by_module = collections.defaultdict(list)
    for m in mutations:
        by_module[m.module].append(m)
    count = lambda ms, r: sum(m.result == r for m in ms)
    for name, ms in sorted(by_module.items()):
        print(f"{name:<18} {ms[0].unit.name:<20} {len(ms):>9} {count(ms, 'found'):>6} {count(ms, 'excluded'):>8} "
              f"{count(ms, 'survived'):>8}")
    found, excluded, survived = (count(mutations, r) for r in ("found", "excluded", "survived"))
    if survived:
        print("\nsurvivors:")
    for m in mutations:
        if m.result == "survived":
            print(f"{m.module} {m.mode} {m.where} {m.wire} {m.line} ({m.unit.name}, "
                  f"{m.unit.paths[chr(92) + m.variant]}): {m.detail}\n    {m.text()}\n"
                  f"    {reason_of(m, entries) or 'no reason listed'}")
    (WORK / "mutations.json").write_text(json.dumps([m.record() for m in mutations], indent=1))
    score = 100 * found / max(1, found + survived)
    print(f"\n{len(mutations)} mutations: {found} found, {excluded} excluded, {survived} survived: {score:.1f} % found "
          f"of those not excluded, asked are {SCORE}", flush=True)
    return score


def self_test(args):
    """The sample: what must be found is, what cannot be is excluded, what the test does not look at survives."""
    all_units, packages, dirs = units()
    unit = all_units["mutate_sample"]
    read(unit, packages, dirs)
    chosen = choose(unit, {"mutate_sample": SAMPLE}, 1)
    for n, m in enumerate(chosen, 1):
        m.number = n
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for f in execute([(m.variant, m.cell, m) for m in chosen], unit, pool):
            f.result()
        left = [m for m in chosen if not m.result]
        for m, answer in zip(left, pool.map(prove, left)):
            m.detail, m.result = answer, "excluded" if answer.startswith("same") else "survived"
    report(chosen)
    counts, faults = collections.Counter(), []
    for m in chosen:
        kind = next((k for k in ("spare_o", "same_o") if k in f"{m.where} {m.wire} {m.text()}"),
                    "sum_o" if "sum_o" in f"{m.where} {m.text()}" else "")
        counts[kind, m.result] += 1
        if (kind, m.result) in (("sum_o", "survived"), ("sum_o", "excluded"), ("spare_o", "found"),
                                ("spare_o", "excluded"), ("same_o", "survived")):
            faults.append(f"{m.mode} {m.where} {m.text()}: {m.result}, {m.detail}")
    faults += [f"nothing of {k} {r}" for k, r in (("sum_o", "found"), ("spare_o", "survived"), ("same_o", "excluded"),
                                                  ("same_o", "found")) if not counts[k, r]]
    for f in faults:
        print(f"self-test: {f}")
    return not faults


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--mutations", type=int, help=f"in all: {MUTATIONS}, or 12 for each of --modules")
    p.add_argument("--seed", type=int, default=int(os.environ.get("MW_SEED", "1")))
    p.add_argument("--modules", default="", metavar="NAME,...")
    p.add_argument("--tests", default="", metavar="NAME,...", help="of the same mutations only those in the benches of "
                   "these tests")
    p.add_argument("--jobs", type=int, default=os.cpu_count())
    p.add_argument("--others", type=int, default=OTHERS, help="further tests that a survivor meets")
    p.add_argument("--self-test", action="store_true")
    args = p.parse_args()
    os.chdir(ROOT)
    WORK.mkdir(parents=True, exist_ok=True)
    try:
        if args.self_test:
            sys.exit(0 if self_test(args) else 1)
        all_units, packages, dirs = units()
        order = tests_of(table(all_units))
        if args.modules:
            missing = [m for m in args.modules.split(",") if m not in order]
            if missing:
                raise Failure(f"no unit test in docs/developer/testing.md names {', '.join(missing)}")
            order = {m: order[m] for m in args.modules.split(",")}
        number = args.mutations or (12 * len(order) if args.modules else MUTATIONS)
        mutations, faults = go(all_units, packages, dirs, order, lambda sizes: allocate(number, sizes), args)
    except Failure as e:
        print(f"mutate: {e}", file=sys.stderr)
        sys.exit(2)
    score = report(mutations)
    for f in faults:
        print(f"mutate: {f}", file=sys.stderr)
    sys.exit(2 if faults else 0 if score >= SCORE else 1)


if __name__ == "__main__":
    main()
