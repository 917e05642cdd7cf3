#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the image that a linked firmware is, its header filled in (spec/host.toml), as words for $readmemh.

usage: image.py OBJCOPY ELF RAM_BYTES OUT
       image.py --at    byte of the header
"""
import pathlib
import struct
import subprocess
import sys
import tempfile
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "spec"))
from gen import load

SPEC = load("host.toml")
AT = SPEC["constants"]["IMAGE_AT"]["value"]
MAGIC = SPEC["constants"]["IMAGE_MAGIC"]["value"]
FIELDS = [name for name, _, _ in SPEC["image"]["fields"]]
PER_LINE = 8


def seal(image, ram_bytes):
    """The image with size, RAM and CRC in its header; a multiple of 4 bytes."""
    image = bytearray(image + bytes(-len(image) % 4))
    header = dict(zip(FIELDS, struct.unpack_from(f"<{len(FIELDS)}I", image, AT)))
    if header["magic"] != MAGIC:
        sys.exit(f"firmware: no header at byte {AT} of the image")
    header |= {"bytes": len(image), "ram_bytes": ram_bytes, "crc": 0}

    def put():
        struct.pack_into(f"<{len(FIELDS)}I", image, AT, *(header[f] for f in FIELDS))

    put()
    header["crc"] = zlib.crc32(image)
    put()
    return bytes(image)


class BadImage(Exception):
    """The text says why, as `moeswitch firmware` does."""


def check(words, ram_bytes):
    """These words are an image, whole, for a RAM of so many bytes (mw_firmware_check in C)."""
    data = struct.pack(f"<{len(words)}I", *words)
    size = AT + 4 * len(FIELDS)
    header = dict(zip(FIELDS, struct.unpack_from(f"<{len(FIELDS)}I", data.ljust(size, b"\0"), AT)))
    if header["magic"] != MAGIC:
        raise BadImage("no firmware: it has no header")
    if header["bytes"] % 4 or not size <= header["bytes"] <= header["ram_bytes"]:
        raise BadImage(f"damaged firmware: its header says {header['bytes']} bytes, in a RAM of {header['ram_bytes']}")
    if header["bytes"] > len(data):
        raise BadImage(f"the firmware is cut short: {len(data)} of {header['bytes']} bytes")
    at = AT + 4 * FIELDS.index("crc")
    crc = zlib.crc32(data[:at] + bytes(4) + data[at + 4:header["bytes"]])
    if crc != header["crc"]:
        raise BadImage(f"damaged firmware: its checksum is 0x{crc:x}, not 0x{header['crc']:x}")
    if len(data) > header["bytes"]:
        raise BadImage(f"{(len(data) - header['bytes']) // 4} words after the firmware's end")
    if header["ram_bytes"] > ram_bytes:
        raise BadImage(f"the firmware needs a RAM of {header['ram_bytes']} bytes, the board's has {ram_bytes}")


def main():
    if sys.argv[1:] == ["--at"]:
        return print(AT)
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    objcopy, elf, ram_bytes, out = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        binary = pathlib.Path(folder, "image")
        subprocess.run([objcopy, "-O", "binary", elf, str(binary)], check=True)
        image = seal(binary.read_bytes(), int(ram_bytes))
    words = [f"{w:08X}" for (w,) in struct.iter_unpack("<I", image)]
    lines = [" ".join(words[i:i + PER_LINE]) for i in range(0, len(words), PER_LINE)]
    pathlib.Path(out).write_text("@00000000\n" + "\n".join(lines) + "\n")
    return None


if __name__ == "__main__":
    main()
