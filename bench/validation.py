#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares dispatch and combine of `unicast` on descriptions of real machines with times that were measured there, and
writes the comparison as a page.

usage: validation.py [--most T] [--sizes T,T,...] [--libraries NAME,NAME] [OUTPUT]

OUTPUT is docs/validation.md unless named. --sizes: tokens per GPU that are simulated. --most: measured sizes above are
left out. What was simulated is kept in build/results, as bench/results.py keeps it.
"""
import argparse
import json
import math
import pathlib
import random
import statistics
import struct
import subprocess
import sys
import textwrap

from results import TOOL, measure, table

MEASURED = "bench/measured.json"
SIZES = [1, 32, 128, 256, 512]
KEPT = pathlib.Path("build/results/validation")
FLIT, PACKET = 16, 128  # bytes, the second of payload
OPERATIONS = ("dispatch", "combine")
MEDIAN, LARGEST = 0.10, 0.20  # errors that series that are not fitted may have


# ---- what is simulated ----------------------------------------------------------------------------

def plane_file(machine):
    """The machine's planes as a machine of one, so that a row can have the mean share of a plane; and how many."""
    shown = subprocess.run([TOOL, "hardware", machine], check=True, capture_output=True, text=True)
    whole = json.loads(shown.stdout)
    plane = whole | {"name": f"{machine}-plane", "planes": 1, "source": f"one plane of {machine}"}
    for key in ("link_gbytes_per_s", "memory_gbytes_per_s"):
        plane[key] = whole[key] / whole["planes"]
    KEPT.mkdir(parents=True, exist_ok=True)
    file = KEPT / f"{machine}.json"
    file.write_text(json.dumps(plane))
    return file, whole["planes"]


def balanced_trace(gpus, experts, k, tokens):
    """A file of routing in which a token's k experts are on k GPUs, and every GPU gets as many rows. k divides the
    GPUs."""
    file = KEPT / f"balanced-{gpus}-{experts}-{k}-{tokens}.npy"
    local, draw = experts // gpus, random.Random(1)
    ids = [(i * gpus // k + t) % gpus * local + draw.randrange(local) for t in range(gpus * tokens) for i in range(k)]
    head = f"{{'descr': '<u2', 'fortran_order': False, 'shape': (1, {gpus * tokens}, {k}), }}"
    head += " " * (-(len(head) + 11) % 64) + "\n"
    file.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() +
                     struct.pack(f"<{len(ids)}H", *ids))
    return file


def row_values(library, series, operation, planes):
    """bf16 values of the mean share that a plane has of a row, in whole flits; bytes of the whole row."""
    hidden = series["hidden"]
    if operation == "combine":
        size = 2 * hidden
    else:
        scales = hidden / library["dispatch_scale_values"] * library["dispatch_scale_bits"]
        size = (hidden * library["dispatch_bits"] + scales) / 8
    return max(1, round(size / planes / FLIT)) * FLIT // 2, size


def simulate(library, series, tokens, values, system="unicast"):
    """The report of one system for one size, with no time for experts."""
    plane, _ = plane_file(library["machine"])
    shape = [series[key] for key in ("gpus", "experts", "k")]
    if library["routing"] == "balanced":
        routing = f"--trace {balanced_trace(*shape, tokens)} --axes layers,tokens,k --experts {shape[1]}"
    else:
        routing = f"--experts {shape[1]} --k {shape[2]} --sigma 0 --locality 0"
    report = measure(f"--hardware {plane} --gpus {shape[0]} {routing} --tokens-per-gpu {tokens} --hidden {values} "
                     f"--expert-cycles 0 --system {system}")
    return report["systems"][0]


def metadata_factor(series, values, planes):
    """Flits of a row on a plane when its metadata (token, and weights and IDs of k experts, in a packet of their own)
    go over one plane, as a share of those when they go over each."""
    size = 2 * values
    row = size // FLIT + math.ceil(size / PACKET)
    metadata = 1 + math.ceil((4 + 6 * series["k"]) / FLIT)
    return (row + metadata / planes) / (row + metadata)


def simulated_us(library, series, sizes):
    """{operation: [us of each size]}: each from a layer whose rows are those of the operation."""
    _, planes = plane_file(library["machine"])
    found = {}
    for op in OPERATIONS:
        values, _ = row_values(library, series, op, planes)
        us = [simulate(library, series, t, values)[f"{op}_us"] for t in sizes]
        factor = metadata_factor(series, values, planes) if op == "dispatch" else 1
        found[op] = [us[0] + (u - us[0]) * factor for u in us]
    return found


def at(sizes, us, tokens):
    """Between two sizes, and beyond the last ones, on the line through them."""
    i = max(1, min(sum(s < tokens for s in sizes), len(sizes) - 1))
    a, b = sizes[i - 1], sizes[i]
    return us[i - 1] + (us[i] - us[i - 1]) * (tokens - a) / (b - a)


# ---- constants ------------------------------------------------------------------------------------

def solve(matrix, right):
    """Gaussian elimination."""
    n = len(right)
    rows = [[*m, r] for m, r in zip(matrix, right)]
    for i in range(n):
        rows[i:] = sorted(rows[i:], key=lambda row: -abs(row[i]))
        for j in range(i + 1, n):
            factor = rows[j][i] / rows[i][i]
            rows[j] = [a - factor * b for a, b in zip(rows[j], rows[i])]
    found = [0.0] * n
    for i in reversed(range(n)):
        found[i] = (rows[i][n] - sum(rows[i][j] * found[j] for j in range(i + 1, n))) / rows[i][i]
    return found


def fit(points):
    """Start-up us of each operation, and the rate, from {operation: (tokens, simulated us, measured us)}, with the
    least squares of relative errors."""
    rows = [[(op == o) / real for o in OPERATIONS] + [us / real] for op in points for _, us, real in points[op]]
    of = range(len(OPERATIONS) + 1)
    found = solve([[sum(r[i] * r[j] for r in rows) for j in of] for i in of], [sum(r[i] for r in rows) for i in of])
    return dict(zip(OPERATIONS, found)) | {"rate": 1 / found[-1]}


class Library:
    """A library's measured times, and those that the simulation predicts."""

    def __init__(self, data, sizes, most):
        self.data, self.sizes = data, sizes
        self.series = data["series"]
        us = [simulated_us(data, s, sizes) for s in self.series]
        self.points = [{op: [(p[0], at(sizes, u[op], p[0]), p[1 + i]) for p in s["points"] if p[0] <= most]
                        for i, op in enumerate(OPERATIONS)} for s, u in zip(self.series, us)]
        self.constants = fit(self.points[0])

    def predicted(self, op, us):
        return self.constants[op] + us / self.constants["rate"]

    def errors(self, series, op):
        return [abs(self.predicted(op, us) / real - 1) for _, us, real in self.points[series][op]]


# ---- the page -------------------------------------------------------------------------------------

def fill(text, indent=""):
    return textwrap.fill(" ".join(text.split()), 120, break_on_hyphens=False, break_long_words=False,
                         subsequent_indent=indent)


def rows_table(library):
    _, planes = plane_file(library.data["machine"])
    yield ["series", "operation", "bytes of a row", "simulated row of a plane, bytes", "factor of metadata"]
    for s in library.series:
        for op in OPERATIONS:
            values, size = row_values(library.data, s, op, planes)
            yield [s["name"], op, f"{size:.0f}", str(2 * values),
                   f"{metadata_factor(s, values, planes):.3f}" if op == "dispatch" else "-"]


def points_table(library):
    yield ["tokens per GPU"] + [f"{s['name']}, {op}" for s in library.series for op in OPERATIONS]
    for t in sorted({p[0] for series in library.points for op in OPERATIONS for p in series[op]}):
        row = [str(t)]
        for series in library.points:
            for op in OPERATIONS:
                found = [p for p in series[op] if p[0] == t]
                row.append(f"{found[0][2]:.1f}, {library.predicted(op, found[0][1]):.1f}" if found else "-")
        yield row


def library_page(library):
    d, c = library.data, library.constants
    yield f"## {d['library']}\n"
    yield fill(f"{d['what'][0].upper()}{d['what'][1:]}. Machine `{d['machine']}`, {d['routing']} routing.") + "\n"
    yield from table(list(rows_table(library)))
    yield ""
    yield from table([["fitted on", "start-up of dispatch, us", "start-up of combine, us",
                       "rate, of simulated `unicast`"],
                      [library.series[0]["name"], *(f"{c[op]:.1f}" for op in OPERATIONS), f"{c['rate']:.1%}"]])
    yield ""
    yield from table([["series", "operation", "median error", "largest error"]] + [
        [s["name"] + (" (fitted)" if not i else ""), op, f"{statistics.median(library.errors(i, op)):.1%}",
         f"{max(library.errors(i, op)):.1%}"] for i, s in enumerate(library.series) for op in OPERATIONS])
    yield "\nEach cell has the measured and the predicted time, in us:\n"
    yield from table(list(points_table(library)))
    yield ""


def verdict(library):
    """A line for each operation whose errors exceed the aim on the series that was not fitted."""
    first, other = library.series
    for op in OPERATIONS:
        errors = library.errors(1, op)
        if statistics.median(errors) <= MEDIAN and max(errors) <= LARGEST:
            continue
        worst = max(zip(errors, library.points[1][op]))[1][0]
        one = [s["points"][0][1 + OPERATIONS.index(op)] for s in (first, other)]
        why = (f"The smallest size, with almost no bytes, took {one[0]:.1f} us with {first['name']} and "
               f"{one[1]:.1f} us with {other['name']}. One start-up cannot match both.")
        yield fill(f"- {library.data['library']}, {op}, {other['name']}: median {statistics.median(errors):.1%}, "
                   f"largest {max(errors):.1%}, at {worst} token{'s' * (worst > 1)} per GPU. "
                   f"{why if abs(one[1] / one[0] - 1) > MEDIAN else ''}", "  ")


def savings(library):
    """Rows of a table: what dysharp saves of dispatch and combine of bf16 rows."""
    d, s = library.data, library.series[0]
    _, planes = plane_file(d["machine"])
    values, _ = row_values(d, s, "combine", planes)
    worst = max(e for i in range(2) for op in OPERATIONS for e in library.errors(i, op))
    for t in library.sizes[-2:]:
        unicast, fused = (simulate(d, s, t, values, name) for name in ("unicast", "dysharp"))
        before = (unicast["dispatch_us"] + unicast["combine_us"]) / library.constants["rate"]
        after = fused["us"] / library.constants["rate"]
        yield [d["machine"], str(t), f"{before:.1f}", f"{after:.1f}", f"{before - after:.1f}",
               f"± {worst * (before - after):.1f}"]


def page(libraries, source, command, sizes):
    yield "# Validation against real GPUs\n"
    yield fill("This page compares simulated times of dispatch and combine with times that others measured on real "
               "GPUs. The simulated system is `unicast`, with the row bytes of each operation, uniform or balanced "
               "routing, and no time for experts. The time of an operation is predicted as")
    yield "\n    start-up of the operation + simulated time / rate\n"
    yield fill("A start-up is a cost of software. The rate is the bandwidth of the library's kernels as a share of "
               "that of simulated `unicast`. Above 100% the library is faster than the simulation. A library has "
               "three constants: two start-ups and a rate. They are fitted to its first series by least squares of "
               "relative errors, and predict the second series. This command, which `make validation` "
               "runs, writes the page in about half an hour:")
    yield f"\n    {command}\n"
    yield fill(f"Measured times are in `{MEASURED}`: {source[0]}. {source[1]}.") + "\n"
    yield "## How the simulation differs from the machines\n"
    yield fill("**FP8 and FP4.** These simulations do not use `--dispatch-type`, so all rows of a layer have one "
               "length. Dispatch of quantized rows and combine of bf16 rows therefore run in two layers. The bf16 "
               "rows of each layer have as many bytes as the real rows with their scales.") + "\n"
    yield fill("**Planes.** A [plane](user/hardware.md#planes) is one of a machine's parallel switches, or an equal "
               "part of one. Each plane carries a part of every row. One plane is simulated, and stands for all. Its "
               "part of a row is the mean of all planes, rounded to flits. `--hardware` alone would take the largest "
               "part.") + "\n"
    yield fill("**Metadata.** The simulated plane carries a packet of metadata for every row: token, gate weights and "
               "expert IDs. A machine needs to send it on one plane only. The *factor of metadata* corrects this: "
               "flits of a row on a plane with an equal share of the metadata, divided by those with all of it. "
               "It multiplies the time of dispatch beyond that of the smallest size.") + "\n"
    yield fill(f"**Sizes.** {', '.join(map(str, sizes))} tokens per GPU are simulated. Times between them are "
               f"interpolated linearly. Times above {sizes[-1]} are extrapolated from the last two.") + "\n"
    yield fill("**Routing.** The tables do not state the routing. DeepEP is assumed to have uniform routing. For "
               "\"balanced\" of TensorRT-LLM, a token's k experts are assumed to be on k GPUs, "
               "with an equal number of rows on each GPU.") + "\n"
    yield fill("**Dispatch.** The simulated time of dispatch includes the exchange of counts, and the fence and "
               "barrier after the rows.") + "\n"
    for library in libraries:
        yield from library_page(library)
    yield "## Result\n"
    aim = f"a median error of at most {MEDIAN:.0%} and a largest error of at most {LARGEST:.0%}"
    beyond = [text for library in libraries for text in verdict(library)]
    if beyond:
        yield fill(f"The aim for the series that were not fitted is {aim}. These miss it:") + "\n"
        yield from beyond
    else:
        yield fill(f"The series that were not fitted keep to {aim}.")
    yield "\n## What multicast and reduction in the switch would save\n"
    yield fill("Times of dispatch and combine of bf16 rows, per layer. `unicast` runs the two phases one after the "
               "other, and `dysharp` overlaps them. They are simulated times divided by the rate above, without "
               "start-ups and without time for experts. The error is the saved time multiplied by the library's "
               "largest error above.") + "\n"
    yield from table([["machine", "tokens per GPU", "unicast, us", "dysharp, us", "saved, us", "error, us"]] +
                     [row for library in libraries for row in savings(library)])


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--most", type=int, default=8192, metavar="T")
    p.add_argument("--sizes", default=",".join(map(str, SIZES)), metavar="T,T")
    p.add_argument("--libraries", metavar="NAME,NAME")
    p.add_argument("output", nargs="?", default="docs/validation.md")
    a = p.parse_args()
    sizes = [int(t) for t in a.sizes.split(",")]
    data = json.loads(pathlib.Path(MEASURED).read_text())
    named = a.libraries.split(",") if a.libraries else [d["library"] for d in data["libraries"]]
    libraries = [Library(d, sizes, a.most) for d in data["libraries"] if d["library"] in named]
    command = " ".join(["bench/validation.py", *sys.argv[1:]])
    pathlib.Path(a.output).write_text("\n".join(page(libraries, data["source"], command, sizes)) + "\n")


if __name__ == "__main__":
    main()
