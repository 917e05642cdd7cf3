#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every parameter of the fabric's parts can be set at the top, and is handed on with the same default.

usage: params.py

From the parts that a configuration is made for (node, switch_top, node_link, fabric_csr) up to device_usb and device_pins: a parameter of a part is one of
the module that holds it, and handed on by name, or a constant there; and its default is the same in all of them, so that a device is what its fabric is.
"""
import pathlib
import re
import sys

# module: the modules in it that its parameters are for, and parameters of theirs that it sets itself
HOLDS = {
    "fabric_core": {"fabric_csr": {"Banks", "Groups"}, "node_link": set(), "switch_top": {"CtrlPkts", "Groups", "RxResultPkts", "RxCtrlPkts"}},
    "fabric": {"fabric_core": set(), "node": set()},
    "device": {"fabric": set()},
    "device_usb": {"device": set()},
    "device_pins": {"device": set()},
}
OWN_DEFAULT = {"ClockMhz"}  # a board's clock
OF_ITS_OWN = {"switch_top"}  # its defaults are for those who take the switch alone
FOLDERS = ("rtl/top", "rtl/switch")


def source(module):
    for folder in FOLDERS:
        path = pathlib.Path(folder, module + ".sv")
        if path.exists():
            return re.sub(r"//.*", "", path.read_text())
    sys.exit(f"no module {module}")


def parameters(module):
    """{name: default} of the module's header"""
    header = re.search(r"\bmodule\s+" + module + r"\b(.*?)\)\s*\(", source(module), re.S)[1]
    found = re.finditer(r"^\s*parameter\b[^=]*?(\w+)\s*=\s*([^,\n]+)", header, re.M)
    return {m[1]: m[2].strip() for m in found}


def handed(module, part):
    """{parameter: expression} of the instance of `part` in `module`"""
    m = re.search(r"\b" + part + r"\s*#\((.*?)\)\s*i_\w+\s*\(", source(module), re.S)
    return dict(re.findall(r"\.(\w+)\(([^()]*)\)", m[1]))


def main():
    faults = []
    for module, parts in HOLDS.items():
        own = parameters(module)
        for part, constant in parts.items():
            theirs, given = parameters(part), handed(module, part)
            for name, default in theirs.items():
                if name in constant:
                    continue
                if name not in own:
                    faults.append(f"{module}: {part} has parameter {name}, {module} has not")
                elif given.get(name) != name:
                    faults.append(f"{module}: does not hand {name} on to {part}")
                elif own[name] != default and name not in OWN_DEFAULT and part not in OF_ITS_OWN:
                    faults.append(f"{module}: {name} is {own[name]}, of {part} {default}")
    print("\n".join(faults), end="\n" if faults else "")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
