#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants faults in the RTL, one at a time, and runs the tests that must find each.

usage: run.py [NAME ...]

mutants.toml lists the faults: name, what it breaks, file, the text to find (must be there exactly once), its replacement, and `tests`: make
targets, any of which must fail. Each runs in a copy of the sources below build/mutants with the build folder's tools. A mutant that no test finds,
or whose text is no longer there, fails the run. Exit status 1 then.
"""
import pathlib
import shutil
import subprocess
import sys
import time
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORK = ROOT / "build" / "mutants"
PARTS = ["Makefile", "requirements.txt", ".ci", "rtl", "sim", "driver", "firmware", "host-tools", "tests", "docs", ".clang-format"]
TIMEOUT_S = 900


def prepare():
    """A copy of the sources with the tools of the build folder; what the copy builds stays for the next mutant."""
    WORK.mkdir(parents=True, exist_ok=True)
    for part in PARTS:
        src = ROOT / part
        if not src.exists():
            continue
        if src.is_dir():
            sync(src, WORK / part)
        elif not (WORK / part).exists() or (WORK / part).read_bytes() != src.read_bytes():
            shutil.copy(src, WORK / part)
    build = WORK / "build"
    build.mkdir(exist_ok=True)
    if not (build / "venv").exists():
        (build / "venv").symlink_to(ROOT / "build" / "venv")
    (build / ".setup").touch()


def sync(src, dst):
    """Copies changed files and removes those that are gone; a file put back gets the time of now, so that make builds it anew."""
    dst.mkdir(exist_ok=True)
    names = {p.name for p in src.iterdir()}
    for p in dst.iterdir():
        if p.name not in names:
            shutil.rmtree(p) if p.is_dir() else p.unlink()
    for p in src.iterdir():
        if p.is_dir():
            sync(p, dst / p.name)
        elif not (dst / p.name).exists() or (dst / p.name).read_bytes() != p.read_bytes():
            shutil.copy(p, dst / p.name)


def run_tests(targets):
    """The first target that fails, or None. A fault that does not even build is not a finding."""
    for t in targets:
        try:
            r = subprocess.run(["make", "-C", str(WORK), t], capture_output=True, text=True, timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            return f"{t} (no end)"
        text = r.stdout + r.stderr
        if "%Error" in text or "syntax error" in text:
            raise RuntimeError(f"the mutant does not build:\n{text[-1500:]}")
        if r.returncode != 0:
            return t
    return None


def main():
    mutants = tomllib.loads((pathlib.Path(__file__).parent / "mutants.toml").read_text())["mutant"]
    wanted = sys.argv[1:]
    found = missed = 0
    for m in mutants:
        if wanted and m["name"] not in wanted:
            continue
        prepare()
        path = WORK / m["file"]
        text = path.read_text()
        start = time.monotonic()
        if text.count(m["find"]) != 1:
            print(f"FAILED {m['name']}: its text is in {m['file']} {text.count(m['find'])} times, must be once", flush=True)
            missed += 1
            continue
        path.write_text(text.replace(m["find"], m["replace"]))
        try:
            by = run_tests(m["tests"])
            why = f"found by {by}" if by else "no test found it"
        except RuntimeError as e:
            by, why = None, str(e)
        found, missed = found + bool(by), missed + (not by)
        print(f"{'found ' if by else 'FAILED'} {m['name']}: {m['what']}: {why} ({time.monotonic() - start:.0f} s)", flush=True)
    print(f"{found} passed, {missed} failed")
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
