#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs test programs side by side and counts their tests.

usage: run.py [--filter WORD] [--jobs N] [--timeout SECONDS] [--command 'NAME: COMMAND']... PROGRAM...

A PROGRAM is a cmocka test; each of its tests is one line here. A COMMAND is one test, passed when its exit status is 0. A program that crashes, runs
out of time, ends with an error without naming a failed test, or runs no test, counts as a failed test. Output of what failed is shown, and kept below
build/test-logs. The last line reads 'N passed, N failed'; the exit status is 1 when something failed.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time

LOGS = pathlib.Path("build/test-logs")
TAP = re.compile(r"^(ok|not ok) \d+ - (.*?)\s*(# SKIP.*)?$")
LOCK = threading.Lock()


def parse():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--filter", default="", metavar="WORD")
    p.add_argument("--jobs", type=int, default=os.cpu_count())
    p.add_argument("--timeout", type=int, default=1500, metavar="SECONDS")
    p.add_argument("--command", action="append", default=[], metavar="'NAME: COMMAND'")
    p.add_argument("program", nargs="*")
    return p.parse_args()


def environment():
    """The tests' environment: a `make` inside a test must not look for this make's job slots."""
    env = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    env["CMOCKA_MESSAGE_OUTPUT"] = "TAP"
    return env


def execute(argv, timeout):
    """Exit status and whole output; everything that the program started ends with it."""
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment(), start_new_session=True) as p:
        try:
            out, _ = p.communicate(timeout=timeout)
            return p.returncode, out.decode(errors="replace")
        except subprocess.TimeoutExpired:
            os.killpg(p.pid, signal.SIGKILL)
            out, _ = p.communicate()
            return None, out.decode(errors="replace") + f"\nstopped after {timeout} s\n"


def results_of(name, is_command, status, out):
    """List of (test, passed) of one program."""
    if is_command:
        return [(name, status == 0)]
    found = [(f"{name}: {m[2]}", m[1] == "ok") for m in map(TAP.match, out.splitlines()) if m and not m[3]]
    if status is None:
        found.append((f"{name}: ran out of time", False))
    elif status < 0:
        found.append((f"{name}: ended by {signal.Signals(-status).name}", False))
    elif status > 0 and all(ok for _, ok in found):
        found.append((f"{name}: exit status {status}", False))
    elif not found:
        found.append((f"{name}: ran no test", False))
    return found


def run(job, timeout):
    name, argv, is_command = job
    start = time.monotonic()
    status, out = execute(argv, timeout)
    results = results_of(name, is_command, status, out)
    (LOGS / (re.sub(r"[^\w.-]+", "-", name) + ".log")).write_text(out)
    with LOCK:
        for test, ok in results:
            print(f"{'ok    ' if ok else 'FAILED'} {test}")
        print(f"       {name}: {time.monotonic() - start:.1f} s", flush=True)
        if not all(ok for _, ok in results):
            lines = out.splitlines()
            print("\n".join("    | " + line for line in lines[-60:]), flush=True)
    return results


def main():
    a = parse()
    jobs = [(n, ["bash", "-c", c], True) for n, c in (c.split(": ", 1) for c in a.command)]
    jobs += [(str(pathlib.Path(p).relative_to("build")) if p.startswith("build/") else p, [p], False) for p in a.program]
    jobs = [j for j in jobs if a.filter in j[0]]
    LOGS.mkdir(parents=True, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(max(1, a.jobs)) as pool:
        results = [r for rs in pool.map(lambda j: run(j, a.timeout), jobs) for r in rs]
    failed = [test for test, ok in results if not ok]
    for test in failed:
        print(f"FAILED {test}")
    print(f"{len(results) - len(failed)} passed, {len(failed)} failed", flush=True)
    sys.exit(1 if failed or not results else 0)


if __name__ == "__main__":
    main()
