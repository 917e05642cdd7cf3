#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Keeps the inputs of one fuzz target in one archive.

usage: corpus.py unpack ARCHIVE FOLDER      the folder holds exactly the archive's inputs then
       corpus.py add ARCHIVE INPUT...       adds files, and all files of folders
       corpus.py replace ARCHIVE FOLDER     the archive holds exactly the folder's inputs then

The name of an input is the SHA-1 of its bytes, as libFuzzer has it. The same inputs make the same archive.
"""
import hashlib
import io
import lzma
import pathlib
import shutil
import sys
import tarfile


def name_of(data):
    return hashlib.sha1(data).hexdigest()


def read(archive):
    """The inputs of an archive by their names."""
    with tarfile.open(archive) as tar:
        inputs = {member.name: tar.extractfile(member).read() for member in tar}
    for name, data in inputs.items():
        if name != name_of(data):
            sys.exit(f"{archive}: {name} is not the SHA-1 of that input")
    return inputs


def inputs_of(paths):
    """The inputs in files and folders by their names."""
    files = [f for path in paths for f in (path.iterdir() if path.is_dir() else [path])]
    return {name_of(data): data for data in map(pathlib.Path.read_bytes, files)}


def write(archive, inputs):
    text = io.BytesIO()
    with tarfile.open(fileobj=text, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name in sorted(inputs):
            member = tarfile.TarInfo(name)
            member.size = len(inputs[name])
            tar.addfile(member, io.BytesIO(inputs[name]))
    archive.write_bytes(lzma.compress(text.getvalue(), preset=9 | lzma.PRESET_EXTREME))


def unpack(archive, folder):
    inputs = read(archive)
    # under another name first: a folder with this one is whole
    new = folder.with_name(folder.name + ".new")
    for old in (new, folder):
        shutil.rmtree(old, ignore_errors=True)
    new.mkdir(parents=True)
    for name, data in inputs.items():
        (new / name).write_bytes(data)
    new.rename(folder)


def main():
    if len(sys.argv) < 4 or sys.argv[1] not in ("unpack", "add", "replace"):
        sys.exit(__doc__)
    archive, *paths = map(pathlib.Path, sys.argv[2:])
    if sys.argv[1] == "unpack":
        unpack(archive, *paths)
        return
    before = read(archive) if archive.exists() else {}
    after = {**(before if sys.argv[1] == "add" else {}), **inputs_of(paths)}
    write(archive, after)
    print(f"{archive}: {len(after)} inputs, {len(after.keys() - before.keys())} of them new")


if __name__ == "__main__":
    main()
