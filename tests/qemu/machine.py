# SPDX-License-Identifier: Apache-2.0
"""A virtual machine with Debian's kernel, whose xHCI is connected by usb-redir to processes that hold devices; commands
run in it one after the other."""
import pathlib
import re
import subprocess
import sys
import time

import initrd

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "runner"))
import watch

# nothing that the guest runs needs a tenth of that before it writes a line
LIMITS = watch.Limits(most=900)

# libusb asks udev, of which there is only what it looks at: a note per device that it is ready
INIT = """#!/bin/sh
mount -t proc p /proc; mount -t sysfs s /sys; mount -t devtmpfs d /dev
for m in usb-common usbcore xhci-hcd xhci-pci; do insmod /modules/$m.ko; done
mkdir -p /run/udev/data; echo > /run/udev/control
ready() {{ for d in /sys/bus/usb/devices/*/dev; do echo I:1 > /run/udev/data/c$(cat $d); done 2>/dev/null; }}
n=0
while [ $(grep -l 1209 /sys/bus/usb/devices/*/idVendor 2>/dev/null | wc -l) -lt {devices} ] && [ $n -lt 300 ]; do
    sleep 0.1; n=$((n+1))
done
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
        init = INIT.format(devices=len(self.devices), commands=lines).replace('"$@"; echo; echo "=END $n $?=',
                                                                              '"$@"; s=$?; echo; echo "=END $n $s=')
        initrd.build(kernel, self.programs, init, self.work / "initrd")
        for _ in range(100):
            if all(s.exists() for s in self.devices):
                break
            time.sleep(0.05)
        # the kernel gives its timer some milliseconds to tick, in which a busy machine may not run the guest at all
        line = ["qemu-system-x86_64", "-M", "q35", "-cpu", "max", "-m", "256", "-nographic", "-no-reboot",
                "-nodefaults", "-serial", "stdio",
                "-kernel", next((kernel / "boot").glob("vmlinuz-*")), "-initrd", self.work / "initrd", "-append",
                "console=ttyS0 quiet panic=-1 no_timer_check",
                "-device", "qemu-xhci,id=x,p2=8,p3=8"]
        for i, socket in enumerate(self.devices):
            line += ["-chardev", f"socket,id=c{i},path={socket}", "-device", f"usb-redir,chardev=c{i},bus=x.0"]
        done = watch.capture(line, LIMITS, beside=[p.pid for p in self.processes])
        text = done.out.decode(errors="replace").replace("\r", "")
        (self.build / "qemu/console.log").write_text(text)
        if done.why:
            print(text[-3000:])
            fail(f"the machine made no progress: {done.why}")
        results = {}
        for name, _ in commands:
            m = re.search(rf"=BEGIN {name}=\n(.*?)\n?=END {name} (\d+)= at (\S+) s", text, re.S)
            if not m:
                print(text[-3000:])
                fail(f"the machine did not get to {name}")
            print(f"{name}: status {m[2]}, at {m[3]} s")
            results[name] = (int(m[2]), m[1])
        return results


def expect(results, name, *parts, status=0):
    code, text = results[name]
    missing = [p for p in parts if not re.search(p, text)]
    if code != status or missing:
        print(text)
        fail(f"{name}: status {code}, expected {status}; not found: {missing}")
