#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs test programs side by side and counts their tests.

usage: run.py [--filter WORD] [--jobs N] [--again PROGRAM]... [--command 'NAME: COMMAND']... PROGRAM...

A PROGRAM is a cmocka test; each of its tests is one line here. A COMMAND is one test, passed when its exit status is 0,
skipped when it is 77. A program that crashes, makes no progress (watch.py), ends with an error without naming a failed
test, runs no test, or another number of tests than it has announced, counts as a failed test. A test that was skipped
is neither passed nor failed, and shown with its reason. Programs run with the seed MW_SEED, 1 without; those of --again
once more with a fresh seed, which is printed, unless MW_SEED is set. Output of what failed is shown, and kept below
build/test-logs. The last line reads 'N passed, N failed, N skipped'; the exit status is 1 when something failed.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import secrets
import signal
import sys
import threading
import time

import watch

LOGS = pathlib.Path("build/test-logs")
# cmocka writes a skipped test as "not ok N # SKIP name", others as "ok N - name # SKIP"
TAP = re.compile(r"^(ok|not ok) \d+ (?:(# SKIP) )?(?:- )?(.*?)\s*(# SKIP.*)?$")
PLAN = re.compile(r"^1\.\.(\d+)", re.M)
PASSED, FAILED, SKIPPED = "ok", "FAILED", "skipped"
COMMAND_SKIPPED = 77  # as automake has it
MOST_SHOWN = 20
LOCK = threading.Lock()


def parse():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--filter", default="", metavar="WORD")
    p.add_argument("--jobs", type=int, default=os.cpu_count())
    p.add_argument("--command", action="append", default=[], metavar="'NAME: COMMAND'")
    p.add_argument("--again", action="append", default=[], metavar="PROGRAM", help="run it once more with a fresh seed")
    p.add_argument("program", nargs="*")
    return p.parse_args()


def environment(seed):
    """The tests' environment: a `make` inside a test must not look for this make's job slots."""
    env = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    # side by side they have no second core for a simulation (sim/lanes/beside.h)
    env.setdefault("MW_SIM_THREADS", "1")
    return {**env, "CMOCKA_MESSAGE_OUTPUT": "TAP", "MW_SEED": str(seed)}


def results_of(name, is_command, status, out):
    """List of (test, PASSED, FAILED or SKIPPED) of one program."""
    if is_command:
        return [(name, {0: PASSED, COMMAND_SKIPPED: SKIPPED}.get(status, FAILED))]
    found = [(f"{name}: {m[3]}", SKIPPED if m[2] or m[4] else PASSED if m[1] == "ok" else FAILED)
             for m in map(TAP.match, out.splitlines()) if m]
    planned = sum(map(int, PLAN.findall(out)))
    if status is None:
        found.append((f"{name}: made no progress", FAILED))
    elif status < 0:
        found.append((f"{name}: ended by {signal.Signals(-status).name}", FAILED))
    elif status > 0 and all(r != FAILED for _, r in found):
        found.append((f"{name}: exit status {status}", FAILED))
    elif not found:
        found.append((f"{name}: ran no test", FAILED))
    elif planned != len(found):
        found.append((f"{name}: announced {planned} tests and ran {len(found)}", FAILED))
    return found


def reason(out):
    """The lines in which a program says why it skips."""
    return [line for line in out.splitlines() if line.startswith("skipped: ")]


def run(job):
    """Its results, and (seconds of processor time, name)."""
    name, argv, is_command, seed = job
    start = time.monotonic()
    done = watch.capture(argv, env=environment(seed))
    out = done.out.decode(errors="replace") + (f"\nended: {done.why}\n" if done.why else "")
    results = results_of(name, is_command, done.status, out)
    (LOGS / (re.sub(r"[^\w.-]+", "-", name) + ".log")).write_text(out)
    with LOCK:
        for test, result in results:
            print(f"{result:<7}{test}")
        print(f"       {name}: {time.monotonic() - start:.1f} s, {done.seconds:.1f} s of processor time", flush=True)
        for line in reason(out):
            print("    | " + line, flush=True)
        if any(r == FAILED for _, r in results):
            print("\n".join("    | " + line for line in out.splitlines()[-60:]))
            if not is_command:
                print(f"    | repeat it: MW_SEED={seed} {' '.join(argv)}", flush=True)
    return results, (done.seconds, name)


def print_times(times):
    """What takes the most processor time."""
    print(f"{sum(s for s, _ in times):.0f} s of processor time; the most:")
    for seconds, name in sorted(times, reverse=True)[:MOST_SHOWN]:
        print(f"{seconds:8.1f} s  {name}")


def short(program):
    return str(pathlib.Path(program).relative_to("build")) if program.startswith("build/") else program


def jobs_of(a):
    """(name, command line, whether it is a COMMAND, seed) of every run"""
    seed = os.environ.get("MW_SEED", "1")
    jobs = [(n, ["bash", "-c", c], True, seed) for n, c in (c.split(": ", 1) for c in a.command)]
    jobs += [(short(p), [p], False, seed) for p in a.program]
    if "MW_SEED" not in os.environ:
        fresh = secrets.randbelow(2**31 - 2) + 2
        jobs += [(f"{short(p)} seed {fresh}", [p], False, fresh) for p in a.again]
    return [j for j in jobs if a.filter in j[0]]


def main():
    # a job in the background of a shell ignores SIGINT, and so would all programs that tests interrupt
    signal.signal(signal.SIGINT, signal.default_int_handler)
    a = parse()
    jobs = jobs_of(a)
    LOGS.mkdir(parents=True, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(max(1, a.jobs)) as pool:
        ran = list(pool.map(run, jobs))
    results = [r for rs, _ in ran for r in rs]
    if len(ran) > 1:
        print_times([t for _, t in ran])
    for kind in (SKIPPED, FAILED):
        for test, result in results:
            if result == kind:
                print(f"{result:<7}{test}")
    count = [sum(r == kind for _, r in results) for kind in (PASSED, FAILED, SKIPPED)]
    print(f"{count[0]} passed, {count[1]} failed, {count[2]} skipped", flush=True)
    sys.exit(1 if count[1] or not count[0] + count[2] else 0)


if __name__ == "__main__":
    main()
