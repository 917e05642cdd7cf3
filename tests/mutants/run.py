#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants faults in the RTL, one at a time, and runs the tests that must find each.

usage: run.py [--texts | NAME ...]

mutants.toml lists the faults: name, what it breaks, file, the text to find (must be there exactly once), its
replacement, and `tests`: make targets, any of which must fail. Each runs in a copy of the sources below build/mutants
with the build folder's tools, and each target once without a fault: it must pass there. A target finds a fault when it
runs tests, and one fails: its last line is `N passed, N failed`. Where make ends without one, something does not build,
which finds nothing. A mutant that no test finds, that does not build, or whose text is no longer there, fails the run.
Exit status 1 then. --texts looks for the texts alone, those of tests/formal/proofs.toml included, and plants nothing.
It also looks for names that the SystemVerilog file does not have: what replaces a text must build.
"""
import pathlib
import re
import shutil
import sys
import time
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/formal"), str(ROOT / "tests/runner")]
import run as formal  # that of tests/formal
import watch
WORK = ROOT / "build" / "mutants"
PARTS = ["Makefile", "requirements-build.txt", "requirements.txt", "packaging", "bindings", ".ci", "spec", "rtl",
         "flow", "experiments", "sim",
         "driver", "firmware", "host-tools", "boards", "tests", "docs", ".clang-format"]
LIMITS = watch.Limits(most=900)
SUMMARY = re.compile(r"^\d+ passed, [1-9]\d* failed", re.M)  # of tests/runner/run.py and tests/formal/run.py
UNREAD = "Yosys does not read it"                          # a proof that could not begin
COMMENT = re.compile(r"//.*")
NAME = re.compile(r"(?<![\w.:'$])[a-z]\w+")  # of the file: not a member, of a package or a number


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
    for stamp in (".setup-all", ".setup"):
        (build / stamp).touch()


def sync(src, dst):
    """Copies changed files and removes those that are gone; a file put back gets the time of now, so that
    make builds it anew."""
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


class Broken(Exception):
    """A target that could not run its tests."""


def fails(target):
    """Whether a test of the target fails; the text of it."""
    done = watch.capture(["make", "-C", str(WORK), target], LIMITS)
    if done.why:
        return f"{target} (no progress)"
    text = done.out.decode(errors="replace")
    if done.status == 0:
        return None
    if not SUMMARY.search(text) or UNREAD in text:
        raise Broken(f"{target} does not build:\n{text[-1500:]}")
    return target


def run_tests(targets):
    """The first target that fails, or None."""
    return next((by for by in map(fails, targets) if by), None)


def control(targets):
    """Targets that do not pass without a fault, and why."""
    prepare()
    bad = {}
    for t in targets:
        start = time.monotonic()
        try:
            why = "fails without a fault" if fails(t) else None
        except Broken as e:
            why = str(e)
        if why:
            bad[t] = why
        print(f"{'FAILED' if why else 'ok    '} control run of {t}{f': {why}' if why else ''} "
              f"({time.monotonic() - start:.0f} s)", flush=True)
    return bad


def unknown_names(fault, text):
    """Names in the replacement that the file does not have."""
    if not fault["file"].endswith(".sv"):
        return set()
    return set(NAME.findall(COMMENT.sub("", fault["replace"]))) - set(re.findall(r"\w+", text))


def check_texts(faults):
    """Those whose text is there once, and whose replacement can build; tells of the others."""
    there = []
    for m in faults:
        text = (ROOT / m["file"]).read_text()
        count, names = text.count(m["find"]), unknown_names(m, text)
        if count != 1:
            print(f"FAILED {m['name']}: its text is in {m['file']} {count} times, must be once", flush=True)
        elif names:
            print(f"FAILED {m['name']}: {m['file']} does not have {', '.join(sorted(names))}", flush=True)
        else:
            there.append(m)
    return there


def faults_of_proofs():
    """Those of tests/formal/proofs.toml, under the proof's name."""
    return [{"name": p["name"], **bug} for p in formal.proofs() for bug in formal.bugs_of(p)]


def main():
    mutants = tomllib.loads((pathlib.Path(__file__).parent / "mutants.toml").read_text())["mutant"]
    texts = sys.argv[1:] == ["--texts"]
    wanted = [] if texts else sys.argv[1:]
    if unknown := set(wanted) - {m["name"] for m in mutants}:
        sys.exit(f"no such mutant: {', '.join(sorted(unknown))}")
    mutants = [m for m in mutants if not wanted or m["name"] in wanted] + (faults_of_proofs() if texts else [])
    asked, mutants = len(mutants), check_texts(mutants)
    if texts:
        print(f"{len(mutants)} passed, {asked - len(mutants)} failed")
        sys.exit(len(mutants) != asked)
    bad = control(dict.fromkeys(t for m in mutants for t in m["tests"]))
    found, missed = 0, len(bad) + asked - len(mutants)
    for m in mutants:
        prepare()
        path = WORK / m["file"]
        text = path.read_text()
        start = time.monotonic()
        path.write_text(text.replace(m["find"], m["replace"]))
        try:
            by = run_tests([t for t in m["tests"] if t not in bad])
            why = f"found by {by}" if by else "no test found it"
        except Broken as e:
            by, why = None, str(e)
        found, missed = found + bool(by), missed + (not by)
        print(f"{'found ' if by else 'FAILED'} {m['name']}: {m['what']}: {why} ({time.monotonic() - start:.0f} s)",
              flush=(True))
    print(f"{found} passed, {missed} failed")
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
