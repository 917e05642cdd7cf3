#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The whole host path with a real kernel: a virtual machine with Debian's kernel, whose xHCI is connected by usb-redir to processes that hold
the devices; in it, usbfs, libusb and the tool as they are.

usage: run.py BUILD    BUILD holds moeswitch, mw-usb-device, tests/usb/soak, qemu/kernel (unpacked), and the model n4f8

What the guest writes comes back over its serial console. Checked: list, info and selftest; a layer of every system through USB has the same bits,
cycles and counters as through `sim` in this process; a device that is unplugged again and again loses nothing that it acknowledged; and how fast
the way is with a stub, beside the bare libusb of ../shared/reference/usb-in-qemu in the same machine, where that folder is.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import initrd

TIMEOUT = 170  # s; the whole may take 3 minutes
RUN = "--gpus 4 --flit-bytes 8 --hidden 64 --experts 8 --k 2 --tokens-per-gpu 8 --tile 2 --partial-tiles --layers 0,1"
DISCONNECTS = 20
REFERENCE = pathlib.Path("../shared/reference/usb-in-qemu")
MEMORY = "/sys/module/usbcore/parameters/usbfs_memory_mb"
TIMES = ("simulated_cycles", "seconds_wall", "sim_cycles_per_s")  # of the simulation, not of the device

# libusb asks udev, of which there is only what it looks at: a note per device that it is ready
INIT = """#!/bin/sh
mount -t proc p /proc; mount -t sysfs s /sys; mount -t devtmpfs d /dev
for m in usb-common usbcore xhci-hcd xhci-pci; do insmod /modules/$m.ko; done
mkdir -p /run/udev/data; echo > /run/udev/control
ready() {{ for d in /sys/bus/usb/devices/*/dev; do echo I:1 > /run/udev/data/c$(cat $d); done 2>/dev/null; }}
n=0; while [ $(grep -l 1209 /sys/bus/usb/devices/*/idVendor 2>/dev/null | wc -l) -lt {devices} ] && [ $n -lt 200 ]; do sleep 0.1; n=$((n+1)); done
sleep 0.2; ready
run() {{ n=$1; shift; echo "=BEGIN $n="; "$@"; echo; echo "=END $n $?= at $(cut -d' ' -f1 /proc/uptime) s"; }}
{commands}
poweroff -f
"""


def fail(text):
    print(f"FAILED: {text}")
    sys.exit(1)


class Machine:
    """Devices, and a guest that runs commands on them."""

    def __init__(self, build, work):
        self.build, self.work, self.devices, self.processes = build, work, [], []
        self.programs = [build / "moeswitch", build / "tests/usb/soak"]  # for the guest

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for p in self.processes:
            if p.poll() is None:
                p.terminate()
            p.wait()

    def plug(self, serial, *arguments):
        self.plug_program(serial, [self.build / "mw-usb-device", *arguments, "--serial", serial, "--socket"])

    def plug_program(self, name, words):
        """A device process; the path of its socket becomes its last argument."""
        socket = self.work / f"{name}.sock"
        self.processes.append(subprocess.Popen([*words, socket]))
        self.devices.append(socket)

    def run(self, commands):
        """What each command wrote, with its status: {name: (status, text)}."""
        kernel = self.build / "qemu/kernel"
        lines = "\n".join(f"run {name} {command}" for name, command in commands)
        # the tool's exit status, not that of the echo behind it
        init = INIT.format(devices=len(self.devices), commands=lines).replace('"$@"; echo; echo "=END $n $?=', '"$@"; s=$?; echo; echo "=END $n $s=')
        initrd.build(kernel, self.programs, init, self.work / "initrd")
        for _ in range(100):
            if all(s.exists() for s in self.devices):
                break
            time.sleep(0.05)
        line = ["qemu-system-x86_64", "-M", "q35", "-cpu", "max", "-m", "256", "-nographic", "-no-reboot", "-nodefaults", "-serial", "stdio",
                "-kernel", next((kernel / "boot").glob("vmlinuz-*")), "-initrd", self.work / "initrd", "-append", "console=ttyS0 quiet panic=-1",
                "-device", "qemu-xhci,id=x"]
        for i, socket in enumerate(self.devices):
            line += ["-chardev", f"socket,id=c{i},path={socket}", "-device", f"usb-redir,chardev=c{i},bus=x.0"]
        try:
            done = subprocess.run(line, stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT)
            text = (done.stdout + done.stderr).decode(errors="replace").replace("\r", "")
        except subprocess.TimeoutExpired as e:
            text = ((e.stdout or b"") + (e.stderr or b"")).decode(errors="replace").replace("\r", "")
            print(text[-3000:])
            fail(f"the machine did not end in {TIMEOUT} s")
        (self.build / "qemu/console.log").write_text(text)
        results = {}
        for name, _ in commands:
            m = re.search(rf"=BEGIN {name}=\n(.*?)\n?=END {name} (\d+)= at (\S+) s", text, re.S)
            if not m:
                print(text[-3000:])
                fail(f"the machine did not get to {name}")
            print(f"{name}: status {m[2]}, at {m[3]} s")
            results[name] = (int(m[2]), m[1])
        return results


def build_reference(build):
    """A bare libusb program and its device, to be measured beside: (program, device), or None where the sources are not there."""
    sources = REFERENCE
    if not sources.is_dir():
        return None
    folder = build / "qemu/reference"
    folder.mkdir(parents=True, exist_ok=True)
    for name, library in (("usbtest", "usb-1.0"), ("redir_dev", "usbredirparser")):
        subprocess.run(["gcc", "-O2", "-w", "-o", folder / name, sources / f"{name}.c", f"-l{library}"], check=True)
    return folder / "usbtest", folder / "redir_dev"


def compare_speed(results):
    """Prints the speed of the link, and what the reference reaches, as ratios above 1 where the link is better."""
    rows = [line.split() for line in results["speed"][1].splitlines() if line.startswith(" ")]
    trip, bulk = float(rows[0][2]), rows[1:]
    out, back = (max(float(r[i]) for r in bulk) for i in (2, 4))
    print(f"register read {trip:.0f} us; bulk {out:.1f} MB/s to the device, {back:.1f} MB/s from it")
    if "reference" not in results:
        return
    text = results["reference"][1]
    their_trip = float(re.search(r"loopback.* (\d+) us each", text)[1])
    their = {d: max(float(x) for x in re.findall(rf"async {d} +\S+ B: (\S+) MB/s", text)) for d in ("OUT", "IN")}
    print(f"reference     {their_trip:.0f} us;      {their['OUT']:.1f} MB/s,               {their['IN']:.1f} MB/s")
    print(f"ratio         {their_trip / trip:.2f}         {out / their['OUT']:.2f}                     {back / their['IN']:.2f}")


def strip(report):
    """A report without what depends on how long it took."""
    for system in report["systems"]:
        for key in TIMES:
            del system[key]
    return report


def expect(results, name, *parts, status=0):
    code, text = results[name]
    missing = [p for p in parts if not re.search(p, text)]
    if code != status or missing:
        print(text)
        fail(f"{name}: status {code}, expected {status}; not found: {missing}")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    build = pathlib.Path(sys.argv[1]).resolve()
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        reference = work / "sim.json"
        subprocess.run([build / "moeswitch", "run", *RUN.split(), "--json", reference], check=True, stdout=subprocess.DEVNULL)
        with Machine(build, work) as machine:
            machine.plug("FABRIC", "--model", build / "model/n4f8/libmwsim.so")
            machine.plug("DROPS", "--stub", "--drop-after", "2000")
            machine.plug("STUB", "--stub")
            machine.plug("FULL", "--stub", "--full-speed")
            reference_pair = build_reference(build)
            if reference_pair:
                machine.plug_program("reference", [reference_pair[1]])
                machine.programs.append(reference_pair[0])
            seed = os.environ.get("MW_SEED", "1")
            results = machine.run([
                ("list", "moeswitch list"),
                ("info", "moeswitch info --device usb:FABRIC"),
                ("ambiguous", "moeswitch info --device usb"),
                ("selftest", "moeswitch selftest --device usb:FABRIC"),
                ("layers", f"moeswitch run --device usb:FABRIC {RUN} --json /tmp/run.json"),
                ("report", "cat /tmp/run.json"),
                ("second", "sh -c 'soak --serial STUB --seconds 4 & sleep 1.5; moeswitch list; moeswitch info --device usb:STUB; r=$?; wait; exit $r'"),
                ("memory", f"sh -c 'echo 1 > {MEMORY}; moeswitch info --device usb:STUB; r=$?; echo 16 > {MEMORY}; exit $r'"),
                ("full", "moeswitch info --device usb:FULL"),
                ("speed", "moeswitch bench link --device usb:STUB"),
                *([("reference", "usbtest 16 16384")] if reference_pair else []),
                ("soak", f"soak --serial DROPS --disconnects {DISCONNECTS} --seed {seed}"),
            ])
        expected = json.loads(reference.read_text())
    expect(results, "list", r"FABRIC +\S+ +480 +1\.00  free", r"STUB +", r"FULL +\S+ +12 +1\.00  free", r"DROPS +\S+ +480 +1\.00  free")
    expect(results, "info", r"Verilated fabric, serial number FABRIC", r"GPUs +4,")
    expect(results, "ambiguous", "4 devices: name one by its serial number", status=2)
    expect(results, "selftest", r"MEMORY 3: \d+ checked, 0 wrong", r"0 wrong")
    expect(results, "layers", "dysharp")
    expect(results, "report")
    expect(results, "second", r"STUB +\S+ +480 +1\.00  in use", "STUB is in use by another program", " 0 failures", " 0 lost", status=4)
    expect(results, "memory", rf"usbfs may use 1 MB, \d+ are needed: echo 16 \| sudo tee {MEMORY}", status=4)
    expect(results, "full", "serial number FULL", "GPUs +2,")
    expect(results, "speed")
    expect(results, "soak", rf"{DISCONNECTS} disconnects", "0 lost")
    if strip(json.loads(results["report"][1])) != strip(expected):
        print(results["report"][1])
        fail("cycles or counters through USB differ from those through sim")
    compare_speed(results)
    print(f"the same bits, cycles and counters through USB as through sim, in {time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main()
