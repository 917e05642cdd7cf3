# SPDX-License-Identifier: Apache-2.0
"""Shows the progress of a tool by the end of its log. Such a tool runs for minutes and prints nothing itself."""
import subprocess
import tempfile
import time

TERMINAL_SECONDS = 1  # between two looks at the log
LOG_SECONDS = 60      # between two lines where there is no terminal
TAIL = 4096           # bytes of the log that hold its last figures


def tail(log):
    try:
        with log.open("rb") as f:
            f.seek(max(0, log.stat().st_size - TAIL))
            return f.read().decode(errors="replace")
    except OSError:
        return ""


def wait(process, log, what, stage, out):
    """Waits until the process has ended. Shows `what` and stage(end of the log): on a terminal in one line that
    changes, else in a line now and then."""
    begin = time.monotonic()
    pause = TERMINAL_SECONDS if out.isatty() else LOG_SECONDS
    shown = 0
    while True:
        try:
            process.wait(pause)
            break
        except subprocess.TimeoutExpired:
            pass
        line = f"{what}: {stage(tail(log))}, {(time.monotonic() - begin) / 60:.0f} min"
        out.write(f"\r{line:<{shown}}" if out.isatty() else f"{line}\n")
        out.flush()
        shown = len(line)
    if out.isatty() and shown:
        out.write("\r" + " " * shown + "\r")
        out.flush()


def run(argv, log, what, stage, out):
    """Runs a program that writes this log, and shows what it is at. Returns its exit status, and
    what it said besides."""
    log.unlink(missing_ok=True)
    with tempfile.TemporaryFile("w+") as said:
        with subprocess.Popen(argv, stdout=said, stderr=said) as process:
            wait(process, log, what, stage, out)
        said.seek(0)
        return process.returncode, said.read()
