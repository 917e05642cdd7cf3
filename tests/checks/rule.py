#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the udev rule against what a device says of itself.

usage: rule.py RULES    exit status 1, with a line, when the rule does not fit

It must match the numbers of spec/host.toml and the manufacturer that tests/unit/host/test_usb_core.cpp reads from the
core, and nothing else, tag the device for whoever sits at the machine, give it to a group that every Debian has and to
nobody else, and come before 73-seat-late.rules, which acts on that tag.
"""
import pathlib
import re
import sys
import tomllib


def fail(text):
    print(f"{sys.argv[1]}: {text}")
    sys.exit(1)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    rules = pathlib.Path(sys.argv[1])
    lines = [line for line in rules.read_text().splitlines() if line and not line.startswith("#")]
    if len(lines) != 1:
        fail("not one rule")
    host = {k: v["value"] for k, v in tomllib.loads(pathlib.Path("spec/host.toml").read_text())["constants"].items()}
    tests = dict(re.findall(r'(\w+(?:\{\w+\})?)=="([^"]*)"', lines[0]))
    device = {"SUBSYSTEM": "usb", "ENV{DEVTYPE}": "usb_device", "ATTR{idVendor}": f"{host['USB_VENDOR']:04x}",
              "ATTR{idProduct}": f"{host['USB_PRODUCT']:04x}",
              "ATTR{manufacturer}": "moeswitch"}
    if tests != device:
        fail(f"matches {tests}, a device is {device}")
    if 'TAG+="uaccess"' not in lines[0]:
        fail("no tag")
    if 'MODE="0660", GROUP="plugdev"' not in lines[0]:
        fail("not for the group plugdev alone")
    if not rules.name < "73-seat-late.rules":
        fail("sorted behind 73-seat-late.rules")


if __name__ == "__main__":
    main()
