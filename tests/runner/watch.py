#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a program as long as it makes progress, however long that takes: on a slow or busy machine, a test
may take many times as long.

usage: watch.py COMMAND...    its exit status, or 124 when it was ended because it made no progress

Progress is output, or processor time of the program and of all that it started. A program is ended
  - where it writes nothing and does next to nothing: less than `least` seconds of processor time in `looks` looks, one
    each second. Looks are counted, not seconds: a machine that stands still does not look either;
  - where it does a lot and writes nothing of it: `most` seconds of processor time since the last output.
    That is a loop without an end.
"""
import dataclasses
import os
import pathlib
import signal
import subprocess
import sys
import threading

NO_PROGRESS = 124  # as timeout(1) has it
TICKS = os.sysconf("SC_CLK_TCK")
ABORT_S = 10       # libFuzzer keeps its input then, and sanitizers tell where it stands


@dataclasses.dataclass(frozen=True)
class Limits:
    looks: int = 600
    least: float = 30.0
    most: float = 3600.0
    period: float = 1.0


LIMITS = Limits()


class Progress:
    """What one look after the other shows of a program."""

    def __init__(self, limits):
        self.limits, self.written, self.idle = limits, 0, 0
        self.at_output = self.at_work = 0.0  # processor time

    def look(self, written, used):
        """Bytes written and processor time used so far. Returns why the program is ended, or None."""
        self.idle += 1
        wrote = written != self.written
        if wrote:
            self.written, self.at_output = written, used
        if wrote or used - self.at_work >= self.limits.least:
            self.at_work, self.idle = used, 0
        if self.idle >= self.limits.looks:
            return (f"no output and {used - self.at_work:.1f} s of processor time in {self.idle} looks, one each "
                    f"{self.limits.period:g} s")
        if used - self.at_output >= self.limits.most:
            return f"no output in {used - self.at_output:.0f} s of processor time"
        return None


def processes():
    """Of every process: parent, session, and seconds of processor time."""
    found = {}
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text(errors="replace").rpartition(")")[2].split()
        except OSError:
            continue  # it has ended
        found[int(stat.parent.name)] = int(fields[1]), int(fields[3]), (int(fields[11]) + int(fields[12])) / TICKS
    return found


def tree(roots, found):
    """Those processes, what they started, and what is in their sessions."""
    members = {p for p, (_, session, _) in found.items() if p in roots or session in roots}
    while more := {p for p, (parent, _, _) in found.items() if parent in members} - members:
        members |= more
    return members


class ProcessorTime:
    """Seconds that processes and all below them have used, as far as looks have seen them."""

    def __init__(self, roots):
        self.roots, self.last, self.total = set(roots), {}, 0.0

    def used(self):
        found = processes()
        # a process whose parent has ended is still one of them
        now = {p: found[p][2] for p in tree(self.roots | self.last.keys(), found)}
        self.total += sum(max(0.0, t - self.last.get(p, 0.0)) for p, t in now.items())
        self.last = now
        return self.total


def writers(pipe):
    """The processes that have a pipe open, but this one: also those that no look has seen."""
    name, found = f"pipe:[{os.fstat(pipe.fileno()).st_ino}]", set()
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if any(os.readlink(fd) == name for fd in (process / "fd").iterdir()):
                found.add(int(process.name))
        except OSError:
            continue  # it has ended, or is another user's
    return found - {os.getpid()}


def attend(roots, ended, written, limits=LIMITS):
    """Looks until ended(seconds), which waits so long, says so: None. Or why the processes `roots` are to be ended.
    And the processes of the last look."""
    progress, time = Progress(limits), ProcessorTime(roots)
    while not ended(limits.period):
        if why := progress.look(written(), time.used()):
            return why, time.last.keys()
    return None, ()


def end(root, seen=(), pause=lambda: None):
    """Ends a process, what it started, what is in its session, and the processes `seen` with them: one whose parent has
    ended is in no tree. First by SIGABRT, of which some tell where they stand in a pause."""
    members = tree({root}, processes()) | set(seen)
    os.kill(root, signal.SIGABRT)
    pause()
    for p in members | tree({root}, processes()):
        try:
            os.kill(p, signal.SIGKILL)
        except ProcessLookupError:
            pass


@dataclasses.dataclass
class Done:
    status: int | None  # None: it made no progress
    out: bytes
    why: str | None
    seconds: float      # of processor time


def capture(argv, limits=LIMITS, beside=(), copy=None, **how):
    """Runs argv. Output of both kinds is one text, which an open file `copy` gets as it comes. Processes `beside` it
    count as its own, and are not ended."""
    out = bytearray()
    p = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         start_new_session=True, **how)

    def read():
        while piece := os.read(p.stdout.fileno(), 1 << 16):
            out.extend(piece)
            if copy:
                copy.write(piece)
                copy.flush()

    reader = threading.Thread(target=read, daemon=True)
    reader.start()

    def ended(seconds):
        reader.join(seconds)
        return not reader.is_alive()

    why, seen = attend([p.pid, *beside], ended, lambda: len(out), limits)
    if why:
        end(p.pid, (seen | writers(p.stdout)) - tree(set(beside), processes()), lambda: reader.join(ABORT_S))
        reader.join(ABORT_S)
    _, status, usage = os.wait4(p.pid, 0)
    p.returncode = os.waitstatus_to_exitcode(status)
    p.stdout.close()
    return Done(None if why else p.returncode, bytes(out), why, usage.ru_utime + usage.ru_stime)


def to_file(argv, file, limits=LIMITS, **how):
    """Runs argv, whose output goes to the end of an open file. Exit status, or None, and why it was ended."""
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, start_new_session=True,
                          **how) as p:
        def ended(seconds):
            try:
                p.wait(seconds)
            except subprocess.TimeoutExpired:
                return False
            return True

        why, seen = attend([p.pid], ended, lambda: os.fstat(file.fileno()).st_size, limits)
        if why:
            end(p.pid, seen)
    return (None if why else p.returncode), why


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    done = capture(sys.argv[1:], copy=sys.stdout.buffer)
    if done.why:
        print(f"ended: {done.why}", flush=True)
        sys.exit(NO_PROGRESS)
    sys.exit(done.status if done.status >= 0 else 128 - done.status)


if __name__ == "__main__":
    main()
