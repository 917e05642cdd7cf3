#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`moeswitch top` beside runs that it looks at.

usage: top.py BUILD    exit status 1, with a line, when something is wrong

What it shows is what the run has counted so far, and the run does the same as one that nobody looks at. A file that a
killed run left is taken away, one of another user's folder is not touched. The terminal is left as it was, whatever
ends it, and what is no terminal gets plain lines.
"""
import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import time

from command import fail, scratch_folder

SHORT = "run --gpus 4 --flit-bytes 8 --hidden 512 --experts 16 --k 4 --tile 4 --system dysharp".split()
RUN = [*SHORT, "--tokens-per-gpu", "512"]
HEAD = re.compile(r"moeswitch, process (\d+), device \d+: 4 GPUs on sim, flits of 8 bytes")
LAYER = re.compile(r"1 layer since it was opened, the last (?:running|done), cycle (\d+), (\d+) of 2048 tokens(?:, "
                   r"[\d.]+ kcycles/s)?, [\d.]+ s ago")
PORT = re.compile(r" +(\d+) \[.{18}\] \[.{18}\] +(\d+) +(\d+) +([\d.]+) +([\d.]+) +([\d.]+) +(\d+) +(\d+) +(\d+)")
NONE = "no program of this user shares a device\n"


class Tool:
    def __init__(self, build, folder):
        self.program = f"{build}/moeswitch"
        self.folder = folder
        folder.mkdir(mode=0o700)
        self.env = {**os.environ, "XDG_RUNTIME_DIR": str(folder), "TERM": "xterm"}

    def start(self, *words, **more):
        return subprocess.Popen([self.program, *words], env=self.env, text=True, stderr=subprocess.PIPE, **more)

    def top(self, *words, status=0, out=None):
        done = subprocess.run([self.program, "top", *words], env=self.env, stdout=out or subprocess.PIPE, text=True,
                              stderr=subprocess.PIPE)
        if done.returncode != status:
            fail(f"top {words}: exit status {done.returncode}: {done.stderr}")
        return done.stderr if status else done.stdout

    def files(self):
        return list(self.folder.glob("moeswitch/*")) + list(self.folder.glob("moeswitch/.*"))


def wait_for_file(tool, worker):
    """Until the run shares its device: the file is hidden until it is complete."""
    while not list(tool.folder.glob("moeswitch/[!.]*")):
        if worker.poll() is not None:
            fail("a run has ended and never shared its device")
        time.sleep(0.02)


def looks(text):
    """Of a device that was sampled: cycle, tokens, and what stands in the columns of each port."""
    found = []
    for block in re.split(r"(?=^moeswitch, process)", text, flags=re.M)[1:]:
        lines = block.splitlines()
        if not HEAD.fullmatch(lines[0]):
            fail(f"not the run's device: {lines[0]}")
        if lines[1].startswith("no sample yet"):
            continue
        layer, ports = LAYER.fullmatch(lines[1]), [PORT.fullmatch(line) for line in lines[4:8]]
        if not layer or not all(ports) or [int(p[1]) for p in ports] != [0, 1, 2, 3]:
            fail(f"not lines of a device: {block}")
        found.append((int(layer[1]), int(layer[2]), [[float(x) for x in p.groups()[1:]] for p in ports]))
    return found


def check_looks(found, root):
    """Never back, and never more than in the end."""
    system, rows = root["systems"][0], root["workload"][0]["expert_rows"]
    before, samples = (0, 0, [[0] * 8] * 4), 0
    for look in found:
        if look == before:
            continue  # no sample has come since
        if not before[0] < look[0] <= system["cycles"] or look[1] < before[1] or len(look[2]) != 4:
            fail(f"cycles or tokens: {look} behind {before}")
        for p, (now, was) in enumerate(zip(look[2], before[2])):
            port = system["ports"][p]
            most = [sum(v for k, v in port[d].items() if k != "payload_bytes") * 8 / 1024 for d in ("up", "down")]
            most += [rows[p], 512]
            shown = [now[0], now[1], now[6], now[7]]
            if any(a < b or a > c + 0.5 for a, b, c in zip(shown, [was[0], was[1], was[6], was[7]], most)):
                fail(f"port {p} of {look} behind {before}, in the end {most}")
            if max(now[2:5]) > 101:
                fail(f"port {p}: more cycles than there are: {now}")
        if abs(sum(p[7] for p in look[2]) - look[1]) > 0:
            fail(f"tokens of all GPUs: {look}")
        before, samples = look, samples + 1
    if samples < 2 or before[2][0][0] == 0:
        fail(f"too few samples: {found}")


def check_run(tool, scratch):
    watched, alone = scratch / "watched.json", scratch / "alone.json"
    worker = tool.start(*RUN, "--json", watched, stdout=subprocess.DEVNULL)
    wait_for_file(tool, worker)
    watcher = tool.start("top", "--interval", "0.1", "--pid", str(worker.pid), stdout=subprocess.PIPE)
    other = tool.top("--count", "1", "--interval", "0.05", "--pid", "1")
    worker.wait()
    watcher.send_signal(signal.SIGINT)
    text = watcher.communicate()[0]
    if worker.returncode or watcher.returncode != 130 or "\033" in text or other != NONE:
        fail(f"run {worker.returncode}, top {watcher.returncode}: {text}, of another process: {other}")
    if tool.files():
        fail("a file was left")
    if tool.start(*RUN, "--json", alone, stdout=subprocess.DEVNULL).wait():
        fail("the run alone")
    a, b = json.loads(watched.read_text()), json.loads(alone.read_text())
    for root in a, b:
        for key in "seconds_wall", "sim_cycles_per_s", "simulated_cycles":
            del root["systems"][0][key]
    if a != b:
        fail("a run does something else when somebody looks")
    check_looks(looks(text), a)


def check_killed(tool):
    worker = tool.start(*RUN, stdout=subprocess.DEVNULL)
    wait_for_file(tool, worker)
    worker.send_signal(signal.SIGKILL)
    worker.wait()
    if not tool.files() or tool.top("--count", "1", "--interval", "0.05") != NONE or tool.files():
        fail("what a killed run has left")


def on_terminal(tool, number, awaited):
    """On a terminal of 8 lines, ended by that signal behind such a text: the exit status, and all that came."""
    child, fd = pty.fork()
    if child == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 8, 100, 0, 0))
        os.environ.update(tool.env)
        os.execv(tool.program, [tool.program, "top", "--interval", "0.1"])
    text, sent = b"", False
    while True:
        try:
            part = os.read(fd, 65536)
        except OSError:
            break
        if not part:
            break
        text += part
        if awaited.encode() in text and text.count(b"\033[H") >= 4 and not sent:
            os.kill(child, number)
            sent = True
    os.close(fd)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), text.decode()


def check_terminal(tool):
    worker = tool.start(*RUN, stdout=subprocess.DEVNULL)
    wait_for_file(tool, worker)
    status, text = on_terminal(tool, signal.SIGINT, "uplink")
    worker.send_signal(signal.SIGINT)
    worker.wait()
    if status != 130 or not text.startswith("\033[?1049h\033[?25l") or not text.endswith("\033[?25h\033[?1049l"):
        fail(f"the terminal, status {status}: {text[:40]!r} ... {text[-40:]!r}")
    screens = text.split("\033[H")[1:]
    if any(s.count("\r\n") > 7 for s in screens) or not any("uplink" in s and "\033[34m|" in s for s in screens):
        fail(f"screens of a terminal of 8 lines: {screens[-1]!r}")
    status, text = on_terminal(tool, signal.SIGTERM, "no program")
    if status != 143 or not text.endswith("\033[?25h\033[?1049l") or NONE.strip() not in text:
        fail(f"the terminal behind SIGTERM: {status}, {text[-60:]!r}")


def check_folder(tool):
    """One that others may write to is not used: anybody may have made it."""
    (tool.folder / "moeswitch").chmod(0o777)
    worker = tool.start(*SHORT, "--tokens-per-gpu", "64", stdout=subprocess.DEVNULL)
    while worker.poll() is None:
        if tool.files():
            worker.kill()
            fail("a folder that others may write to was used")
        time.sleep(0.005)
    if worker.returncode or tool.top("--count", "1", "--interval", "0.05") != NONE:
        fail("a folder that others may write to")


def check_refused(tool):
    for words, said in ((["--interval", "0"], "--interval 0: expected a number from 0.05 to 3600"),
                        (["--count", "0"], "--count 0"), (["word"], "word: unexpected word"),
                        (["--pid", "x"], "--pid x")):
        message = tool.top(*words, status=2)
        if said not in message or message.count("\n") != 1:
            fail(f"top {words}: {message}")
    with open("/dev/full", "w") as full:
        if "cannot write" not in tool.top("--count", "1", "--interval", "0.05", status=4, out=full):
            fail("a full disk")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    scratch = scratch_folder(sys.argv[1], "top")
    tool = Tool(sys.argv[1], scratch / "run")
    if tool.top("--count", "1", "--interval", "0.05") != NONE:
        fail("a device where there is none")
    check_run(tool, scratch)
    check_killed(tool)
    check_terminal(tool)
    check_folder(tool)
    check_refused(tool)


if __name__ == "__main__":
    main()
