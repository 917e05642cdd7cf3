# SPDX-License-Identifier: Apache-2.0
"""Commands, files and messages of the mutation tool, and answers of earlier runs."""
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import threading

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORK = pathlib.Path("build/mutate")
LOCK = threading.Lock()


class Failure(Exception):
    """The tool could not do its work."""


def say(text):
    with LOCK:
        print(text, flush=True)


def environment(**more):
    return {**{k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}, **more}


def command(argv, log=None):
    r = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                       env=environment())
    if log:
        log.write_text(r.stdout)
    if r.returncode != 0:
        raise Failure(f"{' '.join(map(str, argv))[:200]}: {r.stdout[-2000:]}")
    return r.stdout


def yosys(folder, name, script):
    (folder / f"{name}.ys").write_text(script)
    return command([sys.executable, "flow/yosys/yosys.py", "-q", "-s", folder / f"{name}.ys"], folder / f"{name}.log")


def write(path, text):
    """Leaves a file that is the same as it is, so that make builds nothing anew."""
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


class Memory:
    """Answers of an earlier run that still hold: of the same question, by its hash."""

    def __init__(self, path):
        self.path = path
        self.known = json.loads(path.read_text()) if path.exists() else {}
        self.lock = threading.Lock()

    def get(self, question, find):
        if question not in self.known:
            answer = find()
            with self.lock:
                self.known[question] = answer
                self.path.write_text(json.dumps(self.known))
        return self.known[question]


def digest(*parts):
    h = hashlib.sha256()
    for p in parts:
        h.update(p if isinstance(p, bytes) else str(p).encode())
    return h.hexdigest()
