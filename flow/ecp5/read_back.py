# SPDX-License-Identifier: Apache-2.0
"""Checks that a bitstream is complete. ecpunpack follows its commands and checksums. The result must have the block
RAMs of the configuration that the bitstream was packed from, including the CPU's with the firmware."""
import subprocess

import flow


def block_rams(path):
    """{number: its words, as text} of a configuration; a RAM of zeros may be left out of one."""
    rams, now = {}, None
    with path.open() as f:
        for line in f:
            if line.startswith("."):
                now = rams.setdefault(line.split()[1], []) if line.startswith(".bram_init ") else None
            elif now is not None:
                now += line.split()
    return {number: words for number, words in rams.items() if any(int(w, 16) for w in words)}


def fault(bit, config):
    """What is wrong with the bitstream BIT, packed from CONFIG; or None."""
    out = bit.with_suffix(".read")  # beside it: the tools of yowasp see no folder for temporary files
    try:
        r = subprocess.run([flow.tool("yowasp-ecpunpack"), str(bit), str(out)], capture_output=True, text=True)
        if r.returncode != 0 or not out.exists():
            return (f"{bit} cannot be read back: "
                    f"{((r.stderr or r.stdout).strip().splitlines() or ['ecpunpack failed'])[-1]}")
        read, packed = block_rams(out), block_rams(config)
    finally:
        out.unlink(missing_ok=True)
    wrong = sorted(n for n in {*read, *packed} if read.get(n) != packed.get(n))
    return f"{bit} has other words in block RAM {wrong[0]} than {config} ({len(wrong)} differ)" if wrong else None
