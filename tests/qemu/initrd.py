# SPDX-License-Identifier: Apache-2.0
"""An initial RAM disk for the virtual machine: busybox, kernel modules, programs with the libraries that
they need, and an /init."""
import os
import pathlib
import re
import shutil
import subprocess

# in the order in which they must be loaded
MODULES = ("drivers/usb/common/usb-common", "drivers/usb/core/usbcore", "drivers/usb/host/xhci-hcd",
           "drivers/usb/host/xhci-pci")
APPLETS = ("sh", "mount", "insmod", "cat", "echo", "sleep", "cut", "mkdir", "poweroff", "dmesg", "grep", "tail", "ls",
           "kill", "wc")


class Cpio:
    """An archive of the kernel's "newc" format."""

    def __init__(self):
        self.data = bytearray()
        self.inode = 1
        self.folders = set()

    def _entry(self, name, mode, content):
        path = name.encode() + b"\0"
        fields = (self.inode, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(path), 0)
        self.data += b"070701" + b"".join(b"%08x" % f for f in fields) + path
        self.data += b"\0" * (-len(self.data) % 4) + content
        self.data += b"\0" * (-len(self.data) % 4)
        self.inode += 1

    def folder(self, name):
        parts = pathlib.PurePath(name).parts
        for i in range(1, len(parts) + 1):
            path = "/".join(parts[:i])
            if path not in self.folders:
                self.folders.add(path)
                self._entry(path, 0o040755, b"")

    def file(self, name, content, mode=0o644):
        self.folder(str(pathlib.PurePath(name).parent)) if "/" in name else None
        self._entry(name, 0o100000 | mode, content)

    def link(self, name, target):
        self.folder(str(pathlib.PurePath(name).parent))
        self._entry(name, 0o120777, target.encode())

    def finish(self):
        self._entry("TRAILER!!!", 0, b"")
        return bytes(self.data)


def libraries(program):
    """Paths of the shared libraries that a program is linked with, the loader included."""
    out = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    return sorted(set(re.findall(r"(/\S+\.so\S*)", out)))


def build(kernel_root, programs, init, path):
    """Write the disk. `kernel_root`: the unpacked kernel package; `programs`: files that go to /bin;
    `init`: text of /init."""
    disk = Cpio()
    for f in ("proc", "sys", "dev", "tmp", "run"):
        disk.folder(f)
    disk.file("bin/busybox", pathlib.Path(shutil.which("busybox")).read_bytes(), 0o755)
    for applet in APPLETS:
        disk.link(f"bin/{applet}", "busybox")
    tree = next((kernel_root / "lib/modules").iterdir()) / "kernel"
    for module in MODULES:
        disk.file(f"modules/{os.path.basename(module)}.ko", (tree / f"{module}.ko").read_bytes())
    needed = set()
    for program in programs:
        disk.file(f"bin/{program.name}", program.read_bytes(), 0o755)
        needed.update(libraries(program))
    for library in sorted(needed):
        disk.file(library.lstrip("/"), pathlib.Path(library).resolve().read_bytes(), 0o755)
    disk.file("init", init.encode(), 0o755)
    path.write_bytes(disk.finish())
