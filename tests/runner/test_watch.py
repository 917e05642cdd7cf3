#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of watch.py: what makes progress slowly goes on, what makes none is ended.

usage: test_watch.py
"""
import pathlib
import subprocess
import sys
import tempfile
import time

import watch

QUICK = watch.Limits(looks=60, least=0.1, most=1000, period=0.05)
# more looks than one may take that does nothing, each with something done in it
COMPUTES = """import time
for i in range(20):
    end = time.process_time() + 0.03
    while time.process_time() < end: pass
    time.sleep(0.2)
"""
WRITES = """import time
for i in range(20):
    print('x', flush=True)
    time.sleep(0.2)
"""
BUSY = "while True: pass"


def expect(what, holds, found):
    if not holds:
        sys.exit(f"FAILED: {what}: {found}")


def first_end(limits, looks):
    """The look, from 1, at which a program is ended that shows these (bytes, seconds), and why; (None,
    None) where it is not."""
    progress = watch.Progress(limits)
    for i, look in enumerate(looks, 1):
        if why := progress.look(*look):
            return i, why
    return None, None


def check_decisions():
    limits = watch.Limits(looks=10, least=2.0, most=50)
    for what, ends, looks in (
            ("a byte in every tenth look", None, [((i + 1) // 10, 0.0) for i in range(1000)]),
            ("a byte in every eleventh look", 10, [((i + 1) // 11, 0.0) for i in range(1000)]),
            ("no output, two seconds of work in ten looks", None, [(0, 0.25 * i) for i in range(200)]),
            ("no output, less work than that", 10, [(0, 0.1 * i) for i in range(200)]),
            ("output for six looks, then none", 16, [(min(i, 5), 0.0) for i in range(200)]),
            ("work without output for longer than a loop may take", 101, [(0, 0.5 * i) for i in range(200)]),
            ("as much work, with output", None, [(i // 50, 0.5 * i) for i in range(2000)])):
        at, why = first_end(limits, looks)
        expect(what, at == ends, (at, why))


def python(code, limits=QUICK, **how):
    return watch.capture([sys.executable, "-c", code], limits, **how)


def check_survivors():
    done = python(WRITES)
    expect("one that writes slowly", done.status == 0 and done.out == b"x\n" * 20, done)
    done = python(COMPUTES + "raise SystemExit(3)")
    expect("one that computes slowly", done.status == 3 and done.seconds >= 0.6 and not done.out, done)
    done = python(f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {COMPUTES!r}], "
                  "start_new_session=True)")
    expect("one whose child computes, in a session of its own", done.status == 0, done)
    worker = subprocess.Popen([sys.executable, "-c", COMPUTES])
    done = python("import time\ntime.sleep(4)", beside=[worker.pid])
    worker.kill()
    worker.wait()
    expect("one that waits for a process beside it", done.status == 0, done)


def runs(stat):
    """Whether a process is there that has not ended, of its file of /proc."""
    try:
        return stat.read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def check_ended(folder):
    child = folder / "child"
    hangs = ("import subprocess, sys\np = subprocess.Popen(['sleep', '1000'], start_new_session=True)\n"
             f"open({str(child)!r}, 'w').write(str(p.pid))\n"
             "print('begun', flush=True)\np.wait()")
    done = python(hangs)
    expect("one that hangs", done.status is None and "no output and 0" in done.why and done.out == b"begun\n", done)
    gone = pathlib.Path("/proc") / child.read_text() / "stat"
    ended = time.monotonic() + 20  # a signal takes effect when the process next runs
    while runs(gone) and time.monotonic() < ended:
        time.sleep(0.05)
    expect("what it had started", not runs(gone), gone)
    done = watch.capture(["sh", "-c", "setsid sleep 1000 & exit 0"], QUICK)
    expect("a process in a session of its own, whose parent has ended", done.status is None
           and "no output and 0" in done.why, done)
    done = python(BUSY, watch.Limits(looks=600, least=0.1, most=1, period=0.05))
    expect("a loop without an end", done.status is None and "s of processor time" in done.why, done)
    with open(folder / "log", "ab") as log:
        status, why = watch.to_file(["sh", "-c", "echo begun; sleep 1000"], log, QUICK)
    expect("one that hangs and writes to a file", status is None and why and (folder / "log").read_text() == "begun\n",
           (status, why))
    with open(folder / "log", "ab") as log:
        expect("one that writes to a file", watch.to_file(["sh", "-c", "echo x; exit 5"], log, QUICK) == (5, None), "")


def main():
    check_decisions()
    check_survivors()
    with tempfile.TemporaryDirectory() as folder:
        check_ended(pathlib.Path(folder))
    print("what makes progress goes on, what makes none is ended")


if __name__ == "__main__":
    main()
