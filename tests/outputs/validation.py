#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks bench/validation.py and the page that it has written.

usage: validation.py BUILD    exit status 1, with a line, when something is wrong

Runs are replaced by times that grow with tokens and row bytes, and measured times by these times under constants that
are known: the page must state these constants, no error, and every point. docs/validation.md must have the figures of
bench/measured.json. A trace of balanced routing must be balanced.
"""
import json
import pathlib
import re
import struct
import sys

from command import fail, scratch_folder

sys.path.insert(0, "bench")
import validation  # noqa: E402

START, RATE = {"dispatch": 20.5, "combine": 31.0}, 0.8
# of dispatch, by hand: flits of a row with a quarter of those of its metadata, of all
FACTOR = {4096: (66 + 9 + 5 / 4) / (66 + 9 + 5), 2048: (33 + 5 + 5 / 4) / (33 + 5 + 5)}


def us(tokens, size):
    return 3 + tokens * size / 5000


def fake_measure(options):
    tokens, values = (int(re.search(rf"--{name} (\d+)", options)[1]) for name in ("tokens-per-gpu", "hidden"))
    each = us(tokens, 2 * values)
    return {"systems": [{"dispatch_us": each, "combine_us": each, "us": 1.5 * each}]}


def write_measured(folder):
    """Four planes of hgx-h100: rows whose share of a plane is whole flits."""
    def measured(operation, tokens, size, factor=1):
        least = us(1, size / 4)
        return START[operation] + (least + (us(tokens, size / 4) - least) * factor) / RATE
    library = {"library": "L", "machine": "hgx-h100", "what": "w", "routing": "uniform", "dispatch_bits": 8,
               "dispatch_scale_bits": 32, "dispatch_scale_values": 128, "series": []}
    for hidden in (4096, 2048):
        points = [[t, measured("dispatch", t, hidden * 33 / 32, FACTOR[hidden]), measured("combine", t, 2 * hidden)]
                  for t in (1, 6, 40, 300, 1000)]
        library["series"].append({"name": f"h{hidden}", "gpus": 8, "hidden": hidden, "experts": 64, "k": 8,
                                  "points": points})
    file = folder / "measured.json"
    file.write_text(json.dumps({"source": ["s", "t"], "libraries": [library]}))
    return file


def check_page(folder):
    page = folder / "page.md"
    validation.measure, validation.MEASURED = fake_measure, write_measured(folder)
    sys.argv = ["validation.py", "--most", "500", "--sizes", "1,32,256", str(page)]
    validation.main()
    text = page.read_text()
    for line in (f"| h4096 | {START['dispatch']} | {START['combine']} | {RATE:.1%} |",
                 "| h4096 | dispatch | 4224 | 1056 | 0.953 |",
                 "| h4096 (fitted) | dispatch | 0.0% | 0.0% |",
                 "| h2048 | combine | 0.0% | 0.0% |", "keep to a median error"):
        if line not in text:
            fail(f"the page has no '{line}': {text}")
    if not all(f"\n| {t} | " in text for t in (1, 6, 40, 300)) or "\n| 1000 | " in text:
        fail(f"the page has other points than those up to --most: {text}")


def check_trace():
    for gpus in (8, 16):
        data = validation.balanced_trace(gpus, 256, 8, 6).read_bytes()
        size = struct.unpack("<H", data[8:10])[0] + 10
        ids = struct.unpack(f"<{gpus * 6 * 8}H", data[size:])
        rows = [0] * gpus
        for t in range(gpus * 6):
            on = [e * gpus // 256 for e in ids[8 * t:8 * t + 8]]
            if len(set(on)) != 8:
                fail(f"{gpus} GPUs, token {t}: experts on GPUs {on}")
            for g in on:
                rows[g] += 1
        if len(set(rows)) != 1:
            fail(f"{gpus} GPUs: rows {rows}")


def check_written():
    text = pathlib.Path("docs/validation.md").read_text()
    for library in json.loads(pathlib.Path("bench/measured.json").read_text())["libraries"]:
        for i, series in enumerate(library["series"]):
            for tokens, *times in series["points"]:
                lines = [line.split(" | ") for line in text.splitlines() if line.startswith(f"| {tokens} | ")]
                if not any(all(line[1 + 2 * i + o].startswith(f"{time:.1f}, ") for o, time in enumerate(times))
                           for line in lines if len(line) > 2 + 2 * i):
                    fail(f"docs/validation.md has no {library['library']}, {series['name']}, {tokens} tokens: {times}")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    validation.TOOL = f"{sys.argv[1]}/moeswitch"
    folder = scratch_folder(sys.argv[1], "validation")
    validation.KEPT = folder
    check_written()
    check_page(folder)
    check_trace()


if __name__ == "__main__":
    main()
