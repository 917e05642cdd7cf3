#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The packages of `make deb` in a bare Debian: its essential packages and apt, no compiler, no make, no Python, no
sources.

usage: bare.py PACKAGES WORK [--gpus N] [--flit-bytes F]

PACKAGES is their folder, WORK one for the Debian root, which is made anew by mmdebstrap from the mirror of this
machine. In it the packages are installed by apt, and a user without rights runs the tool, whose report must be that of
build/moeswitch here, and the example, compiled here with what pkg-config says from libmoeswitch-dev. Exit status 1 with
a line for what went wrong; 77 with a line `skipped: ` where this machine cannot do it.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

SKIPPED = 77
ROOT_NEEDS = ["mmdebstrap", "unshare", "chroot"]
BUILD_TOOLS = ["gcc", "cc", "g++", "clang", "clang++-19", "make", "python3", "pkg-config", "verilator"]
# of the simulation, not of the device: here some systems run on models with fewer registers to write
OF_THE_MODEL = ("simulated_cycles", "seconds_wall", "sim_cycles_per_s", "simulated_by")
ENV = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/tmp", "LC_ALL": "C", "MW_SIM_THREADS": "1"}


def fail(text):
    print(f"packages: {text}")
    sys.exit(1)


def call(command, **options):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, **options)


def must(command, **options):
    done = call(command, **options)
    if done.returncode:
        fail(f"{' '.join(map(str, command))}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def why_not():
    if os.geteuid() != 0:
        return "a Debian root needs root"
    missing = [t for t in ROOT_NEEDS if not shutil.which(t)]
    if missing:
        return f"no {missing[0]}"
    if call(["unshare", "--mount", "--pid", "--fork", "true"]).returncode:
        return "this container may not mount"
    if not mirror():
        return "apt of this machine has Debian from nowhere"
    return None


def mirror():
    """where apt of this machine has Debian from, or None"""
    apt = pathlib.Path("/etc/apt")
    debian = re.compile(r"^(?:URIs:|deb(?: \[.*?\])?) *(\S+/debian/?)(?:\s|$)", re.M)
    for f in [apt / "sources.list", *sorted((apt / "sources.list.d").glob("*"))]:
        found = f.exists() and debian.search(f.read_text())
        if found:
            return found[1]
    return None


def make_root(root, packages):
    """Debian of this machine's release with the packages, and what apt finds that they need"""
    system = dict(line.split("=", 1) for line in pathlib.Path("/etc/os-release").read_text().splitlines()
                  if "=" in line)
    shutil.rmtree(root, ignore_errors=True)
    copy = f"copy-in {' '.join(str(p.resolve()) for p in packages)} /"
    install = 'chroot "$1" apt-get install --yes --no-install-recommends ' + " ".join(f"/{p.name}" for p in packages)
    must(["mmdebstrap", "--mode=root", "--variant=minbase", "--quiet", f"--customize-hook={copy}",
          f"--customize-hook={install}", system["VERSION_CODENAME"], root, mirror()],
         env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})


class Bare:
    def __init__(self, root):
        self.root = root

    def call(self, *command):
        """as a user without rights"""
        return call(["unshare", "--mount", "--pid", "--fork", f"--mount-proc={self.root.resolve()}/proc", "chroot",
                     "--userspec=nobody:nogroup", self.root, *command], env=ENV)

    def must(self, *command):
        done = self.call(*command)
        if done.returncode or done.stderr:
            fail(f"in the bare Debian: {' '.join(command)}: status {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout


def report(path):
    found = json.loads(path.read_text())
    for system in found["systems"]:
        for key in OF_THE_MODEL:
            system.pop(key, None)
    return found


def no_build_paths(packages, work):
    """Nobody's folder is in what is packaged."""
    unpacked = work / "unpacked"
    shutil.rmtree(unpacked, ignore_errors=True)
    (unpacked / "control").mkdir(parents=True)
    for p in packages:
        must(["dpkg-deb", "-x", p, unpacked])
        must(["dpkg-deb", "-e", p, unpacked / "control" / p.stem])
    here = os.getcwd().encode()
    for f in sorted(unpacked.rglob("*")):
        if f.is_file() and not f.is_symlink() and here in f.read_bytes():
            fail(f"{f.relative_to(unpacked)} names the folder that it was built in")
    return unpacked


def example(unpacked, root):
    """driver/examples/layer.c, compiled from libmoeswitch-dev, to be run in the root"""
    pc = next(unpacked.rglob("moeswitch.pc"))
    env = {**os.environ, "PKG_CONFIG_LIBDIR": str(pc.parent), "PKG_CONFIG_SYSROOT_DIR": str(unpacked.resolve())}
    # by the paths of a system, which are unpacked elsewhere here
    env |= {"PKG_CONFIG_ALLOW_SYSTEM_CFLAGS": "1", "PKG_CONFIG_ALLOW_SYSTEM_LIBS": "1"}
    flags = must(["pkg-config", "--cflags", "--libs", "moeswitch"], env=env).split()
    source = next(unpacked.rglob("layer.c"))
    must(["gcc", "-std=c17", "-Wall", "-Werror", "-o", root / "layer", source, *flags])
    os.chmod(root / "layer", 0o755)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("packages", type=pathlib.Path)
    p.add_argument("work", type=pathlib.Path)
    p.add_argument("--gpus", default="2")
    p.add_argument("--flit-bytes", default="8")
    a = p.parse_args()
    why = why_not()
    if why:
        print(f"skipped: {why}")
        sys.exit(SKIPPED)
    packages = sorted(a.packages.glob("*.deb"))
    if [p.name.split("_")[0] for p in packages] != ["libmoeswitch-dev", "moeswitch"]:
        fail(f"{a.packages} has {[p.name for p in packages]}")
    a.work.mkdir(parents=True, exist_ok=True)
    unpacked = no_build_paths(packages, a.work)
    root = a.work / "root"
    make_root(root, packages)
    bare = Bare(root)
    for tool in BUILD_TOOLS:
        if bare.call("sh", "-c", f"command -v {tool}").returncode == 0:
            fail(f"the Debian is not bare: it has {tool}")
    size = ["--gpus", a.gpus, "--flit-bytes", a.flit_bytes]
    run = ["run", *size, *"--hidden 64 --experts 8 --k 2 --tokens-per-gpu 8 --tile 2 --system all".split()]
    here = a.work / "here.json"
    must(["build/moeswitch", *run, "--json", here])
    for backend in ("sim", "sim:plain"):
        bare.must("moeswitch", *run, "--device", backend, "--json", "/tmp/run.json")
        if report(root / "tmp/run.json") != report(here):
            fail(f"the report of moeswitch run --device {backend} differs from {here}: {root}/tmp/run.json")
        (root / "tmp/run.json").unlink()
    bare.must("moeswitch", "bench", "all", *size)
    example(unpacked, root)
    bare.must("/layer")
    other = bare.call("moeswitch", "info", "--gpus", "3", "--flit-bytes", a.flit_bytes)
    if other.returncode != 4 or "MOESWITCH_SOURCE" not in other.stderr or len(other.stderr.splitlines()) != 1:
        fail(f"a model that is not installed: status {other.returncode}, {other.stderr}")
    must(["chroot", root, "dpkg", "--verify"], env=ENV)
    must(["chroot", root, "dpkg", "--purge", "libmoeswitch-dev", "moeswitch"], env=ENV)
    left = [f for f in root.rglob("*moeswitch*")
            if f.suffix != ".deb" and f.relative_to(root).parts[0] not in ("proc", "tmp", "var")]
    if left:
        fail(f"dpkg --purge leaves {left[0]}")
    print(f"{' and '.join(p.name for p in packages)}: as here")
    shutil.rmtree(root)


if __name__ == "__main__":
    main()
