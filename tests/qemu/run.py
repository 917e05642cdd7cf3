#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The whole host path with a real kernel: a virtual machine with Debian's kernel, whose xHCI is connected by usb-redir
to processes that hold the devices; in it, usbfs, libusb and the tool as they are.

usage: run.py BUILD [BOARD]

BUILD holds moeswitch, mw-usb-device, tests/usb/soak, qemu/kernel (unpacked), and the models dev-n2f8 and n4f8.
The device is the whole Verilated one of two GPUs: host link, PicoRV32 with its firmware, fabric. Beside it stand
some with the link and the firmware in C (sim/usb), in front of a fabric of four GPUs and of stubs, for what needs
another size, speed or fault. With BOARD, a folder of boards, there is the whole device of that board as well. Its
models are n4f8-BOARD and dev-n4f8-BOARD (`make model LIKE=BOARD`).

What the guest writes comes back over its serial console. Checked: list, info and selftest; a layer of every system
through USB has the same bits, cycles and counters as through `sim` in this process; so have tensor-parallel workloads
under every system (the whole device: under two), the lines of `bench`, and batches that are fed while the one before
runs; a device that is unplugged again and again loses nothing that it acknowledged.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import tomllib

from machine import Machine, expect, fail

CONSTANTS = tomllib.loads(pathlib.Path(__file__).resolve().parents[2].joinpath("spec/host.toml").read_text())[
    "constants"]
PROTOCOL = rf"{CONSTANTS['PROTOCOL_MAJOR']['value']}\.{CONSTANTS['PROTOCOL_MINOR']['value']:02}"
# The whole device runs some 10 000 cycles a second, so that it gets few layers and rows unless MW_LONG is set.
LONG = "MW_LONG" in os.environ
SIZES = "--flit-bytes 8 --hidden 64 --experts 8 --k 2 --tokens-per-gpu 8 --tile 2 --partial-tiles"
# device: what it runs. The whole device's serial number is what its firmware was built with.
RUNS = {
    "sim": f"--gpus 2 {SIZES} --layers {'0,1' if LONG else '0 --system nvls,moe-hub,dysharp,moeswitch'}",
    "FABRIC": f"--gpus 4 {SIZES} --layers 0,1",
}
BENCH = {"sim": f"all --gpus 2 --flit-bytes 8 --maxbytes 4K{'' if LONG else ' --iters 1'}",
         "FABRIC": "all --gpus 4 --flit-bytes 8 --maxbytes 4K --iters 2 --seed 7"}
# tensor-parallel workloads, whose parts have times of their own
PARALLEL = {
    "sim": f"--workload sublayer --gpus 2 --flit-bytes 8 --rows {12 if LONG else 4} --hidden 64 --tile 2 "
           f"--gemm-rs-cycles 30 --ln-cycles 5 --jitter 20 --start-spread 100{'' if LONG else ' --system chain,tiles'}",
    "FABRIC": "--workload gemm-ar --gpus 4 --flit-bytes 8 --rows 20 --hidden 64 --tile 2 --gemm-rs-cycles 30",
}
# what the device of a board runs
BOARD_RUN = "--system all --gpus 4 --flit-bytes 8 --hidden 32 --experts 4 --k 2 --tokens-per-gpu 4 --tile 1"
BOARD_PARALLEL = "--system all --workload sublayer --gpus 4 --flit-bytes 8 --rows 4 --hidden 64 --tile 1"
FEEDS = {"sim": f"--gpus 2 {SIZES} --batches {'4' if LONG else '3 --system dysharp,moeswitch'}",
         "FABRIC": f"--gpus 4 {SIZES} --batches 4 --system dysharp"}
DISCONNECTS = 20 if LONG else 7
# of the whole device it takes half a million cycles; `make test` has it at the device's endpoints (tests/device)
SELFTEST = "sim" if LONG else "FABRIC"
# one program has the device until a second one has been refused
SECOND = ("sh -c 'soak --serial STUB --seconds 100 & p=$!; n=0; while ! moeswitch list | grep \"STUB .*in use\" && [ "
          "$n -lt 100 ]; do n=$((n+1)); "
          "sleep 0.1; done; moeswitch info --device usb:STUB; r=$?; kill $p; wait; exit $r'")
MEMORY = "/sys/module/usbcore/parameters/usbfs_memory_mb"
# of the simulation, not of the device
OF_THE_MODEL = ("simulated_cycles", "simulated_by", "seconds_wall", "sim_cycles_per_s")

def strip(report):
    """A report without what depends on how long it took, on when it sent what it fed."""
    for system in report.get("systems", ()):  # bench has none
        for key in OF_THE_MODEL:
            del system[key]
        if "feeding" in system:
            feeding = system["feeding"]
            system["feeding"] = {"wrong": feeding["wrong"], "layer_cycles": feeding["apart"]["layer_cycles"]}
    return report


def on_device(verb, runs, command="run"):
    """Commands that run them on their devices, and print the report."""
    for device, words in runs.items():
        yield f"{verb}-{device}", f"moeswitch {command} --device usb:{device} {words} --json /tmp/{verb}-{device}.json"
        yield f"{verb}-report-{device}", f"cat /tmp/{verb}-{device}.json"


def compare_reports(results, verb, expected, shows="dysharp"):
    for device, want in expected.items():
        expect(results, f"{verb}-{device}", shows)
        expect(results, f"{verb}-report-{device}")
        text = results[f"{verb}-report-{device}"][1]
        if strip(json.loads(text)) != strip(want):
            (pathlib.Path(sys.argv[1]) / "qemu" / f"{verb}-{device}.json").write_text(text)
            fail(f"{device}: {verb}: cycles or counters through USB differ from those through sim")


def run_here(build, work, words, command="run", fabric=None):
    """The report of a run through `sim` in this process, on the fabric that the library takes or another one."""
    path = work / "report.json"
    subprocess.run([build / "moeswitch", command, *words.split(), "--json", path], check=True,
                   stdout=subprocess.DEVNULL, env=on_fabric(build, fabric))
    return json.loads(path.read_text())


def on_fabric(build, fabric):
    return os.environ | ({"MOESWITCH_MODEL": f"{build}/model/{fabric}/libmwsim.so"} if fabric else {})


class Board:
    """The device of a board: the lines of systems that `moeswitch info` prints, and which systems of each verb it
    leaves out for which primitive."""

    def __init__(self, build, name):
        self.device, self.fabric = build / f"model/dev-n4f8-{name}/libmwdevice.so", f"n4f8-{name}"
        said = subprocess.run([build / "moeswitch", "info", "--gpus", "4", "--flit-bytes", "8"], check=True, text=True,
                              stdout=subprocess.PIPE, env=on_fabric(build, self.fabric)).stdout
        self.lines = re.findall(r"^(?:MoE systems|tensor-parallel|lacks for) .*", said, re.M)
        self.left, self.runs, verb = {"run": {}, "parallel": {}}, {"run": BOARD_RUN}, "run"
        for line in self.lines:
            if line.startswith("tensor-parallel"):
                verb, self.runs["parallel"] = "parallel", BOARD_PARALLEL
            if line.startswith("lacks for"):
                self.left[verb] = dict(re.findall(r"(\S+): (\w+)", line))

    def commands(self):
        return [("board", "moeswitch info --device usb:BOARD"),
                *(c for verb, words in self.runs.items() for c in on_device(verb, {"BOARD": words}))]

    def check(self, results, wanted):
        expect(results, "board", *map(re.escape, self.lines))
        for verb, want in wanted.items():
            expect(results, f"{verb}-BOARD", *(rf"\b{system} is left out: the device lacks the primitive {primitive}\b"
                                               for system, primitive in self.left[verb].items()))
            compare_reports(results, verb, {"BOARD": want}, want["systems"][0]["system"])


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    build = pathlib.Path(sys.argv[1]).resolve()
    board = Board(build, sys.argv[2]) if len(sys.argv) == 3 else None
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        runs, parallel, feeds = ({device: run_here(build, work, words) for device, words in r.items()}
                                 for r in (RUNS, PARALLEL, FEEDS))
        benches = {device: run_here(build, work, words, "bench") for device, words in BENCH.items()}
        of_board = {verb: run_here(build, work, words, fabric=board.fabric)
                    for verb, words in (board.runs.items() if board else ())}
        with Machine(build, work) as machine:
            machine.plug("sim", "--whole", build / "model/dev-n2f8/libmwdevice.so")
            machine.plug("FABRIC", "--model", build / "model/n4f8/libmwsim.so")
            if board:
                machine.plug("BOARD", "--whole", board.device)
            machine.plug("DROPS", "--stub", "--drop-after", "500")
            machine.plug("STUB", "--stub")
            machine.plug("FULL", "--stub", "--full-speed")
            seed = os.environ.get("MW_SEED", "1")
            results = machine.run([
                ("list", "moeswitch list"),
                ("info", "moeswitch info --device usb:sim"),
                ("ambiguous", "moeswitch info --device usb"),
                ("selftest", f"moeswitch selftest --device usb:{SELFTEST}"),
                *on_device("run", RUNS),
                *on_device("parallel", PARALLEL),
                *on_device("bench", BENCH, "bench"),
                *on_device("feed", FEEDS),
                *(board.commands() if board else ()),
                ("second", SECOND),
                ("memory", f"sh -c 'echo 1 > {MEMORY}; moeswitch info --device usb:STUB; r=$?; echo 16 > {MEMORY}; "
                 "exit $r'"),
                ("full", "moeswitch info --device usb:FULL"),
                ("soak", f"soak --serial DROPS --disconnects {DISCONNECTS} --seed {seed}"),
            ])
    expect(results, "list", rf"sim +\S+ +480 +{PROTOCOL}  free", r"FABRIC +", r"STUB +",
           rf"FULL +\S+ +12 +{PROTOCOL}  free", rf"DROPS +\S+ +480 +{PROTOCOL}  free")
    expect(results, "info", r"moeswitch, serial number sim", r"GPUs +2,")
    expect(results, "ambiguous", f"{6 if board else 5} devices: name one by its serial number", status=2)
    expect(results, "selftest", r"MEMORY 1: \d+ checked, 0 wrong", *([r"LINK 1: \d+ checked, 0 wrong"] if LONG else []))
    expect(results, "second", rf"STUB +\S+ +480 +{PROTOCOL}  in use", "STUB is in use by another program",
           " 0 failures", " 0 lost", status=4)
    expect(results, "memory", rf"usbfs may use 1 MB, \d+ are needed: echo 16 \| sudo tee {MEMORY}", status=4)
    expect(results, "full", "serial number FULL", "GPUs +2,")
    expect(results, "soak", rf"{DISCONNECTS} disconnects", "0 lost")
    compare_reports(results, "run", runs)
    compare_reports(results, "parallel", parallel, "chain")
    compare_reports(results, "bench", benches, "reduce_scatter")
    compare_reports(results, "feed", feeds)
    if board:
        board.check(results, of_board)
    print(results["feed-sim"][1].split("\n\n")[-1])
    print(f"the same bits, cycles and counters through USB as through sim, in {time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main()
