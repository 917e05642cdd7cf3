#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the page of a routed board, with its floorplan, from the files that bitstream.py left in a folder.

usage: board_report.py BOARD FOLDER OUT

Writes OUT/BOARD.md and OUT/BOARD.svg. Exit status 2: nothing is placed and routed in FOLDER, or a file of it is
missing.
The floorplan shows, for each tile of the device, the part that most of its cells belong to. `make board-area` measured
the area of each primitive below FOLDER's parent, on this board or on one whose device has the same settings.
"""
import base64
import collections
import json
import pathlib
import re
import struct
import sys
import zlib

import board as boards
import check
from paragraph import text

# a part, its colour, and what the path of its instances holds: the first that does
PARTS = (
    ("switch", (0x1f, 0x77, 0xb4), r"\.i_switch\b"),
    ("hub", (0xd6, 0x27, 0x28), r"\.i_hub\b"),
    ("emulated GPU", (0x2c, 0xa0, 0x2c), r"\.i_gpu\b"),
    ("rest of the node", (0x98, 0xdf, 0x8a), r"\.i_node\b"),
    ("links, registers of the fabric", (0xae, 0xc7, 0xe8), r"\.i_fabric\b"),
    ("control SoC", (0xff, 0x7f, 0x0e), r"\.i_soc\b"),
    ("host link", (0x94, 0x67, 0xbd), r"\.i_device\.(i_link|i_ports|i_bus|i_reset)\b"),
    ("USB core", (0xbc, 0xbd, 0x22), r"\.i_usb\b"),
    ("clocks, crossings, pads", (0x7f, 0x7f, 0x7f), ""),
)
KINDS = ("TRELLIS_COMB", "TRELLIS_FF", "DP16KD", "MULT18X18D")
SCALE = 8   # pixels of a tile
ROOM = 230  # of the legend


def part_of(name):
    return next(i for i, (_, _, path) in enumerate(PARTS) if re.search(path, name))


def cells_of(path):
    """[(part, type, x, y)] of a routed design, as nextpnr writes it."""
    top = next(m for m in json.loads(path.read_text())["modules"].values()
               if any("NEXTPNR_BEL" in c["attributes"] for c in m["cells"].values()))
    found = []
    for name, cell in top["cells"].items():
        at = re.match(r"X(\d+)/Y(\d+)/", cell["attributes"].get("NEXTPNR_BEL", ""))
        if at:
            found.append((part_of(name), cell["type"], int(at[1]), int(at[2])))
    return found


def png(pixels):
    """A picture of rows of (r, g, b), as bytes."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + b"".join(bytes(p) for p in row) for row in pixels)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", len(pixels[0]), len(pixels), 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b""))


def picture(title, cells):
    """SVG of the floorplan."""
    tiles = collections.defaultdict(collections.Counter)
    for part, _, x, y in cells:
        tiles[x, y][part] += 1
    wide, high = (max(t[i] for t in tiles) + 1 for i in (0, 1))
    pixels = [[PARTS[tiles[x, y].most_common(1)[0][0]][1] if (x, y) in tiles else (0xff, 0xff, 0xff)
               for x in range(wide)] for y in range(high)]
    count = collections.Counter(c[0] for c in cells)
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide * SCALE + ROOM}" height="{high * SCALE}" '
             'font-family="sans-serif" font-size="13">',
             f"<title>{title}</title>", '<rect width="100%" height="100%" fill="#fff"/>',
             f'<image width="{wide * SCALE}" height="{high * SCALE}" style="image-rendering:pixelated" '
             f'href="data:image/png;base64,{base64.b64encode(png(pixels)).decode()}"/>']
    for i, (name, colour, _) in enumerate(p for n, p in enumerate(PARTS) if count[n]):
        y = 24 + 22 * i
        lines += [f'<rect x="{wide * SCALE + 12}" y="{y - 11}" width="14" height="14" fill="#{bytes(colour).hex()}"/>',
                  f'<text x="{wide * SCALE + 34}" y="{y}">{name}</text>']
    return "\n".join([*lines, "</svg>", ""])


def table(head, rows):
    return ["| " + " | ".join(head) + " |", "|" + "---|" * len(head),
            *("| " + " | ".join(map(str, r)) + " |" for r in rows), ""]


def areas(b, folder, settings):
    """(name of the board that was measured, commit, {primitive: cells that go with it}, cells of all), or None."""
    def read(place):
        file = place / "area.json"
        return json.loads(file.read_text()) if file.exists() else None

    for place in sorted(folder.parent.glob("*-n*"), key=lambda p: (p != folder, p.name)):
        whole = read(place)
        less = {p: read(place.with_name(f"{place.name}-without-{p}")) for p in b["primitives"]}
        if less and whole and whole["settings"] == settings and all(less.values()):
            return (place.name.rpartition("-n")[0], whole["tree"],
                    {p: [whole["cells"][k] - m["cells"][k] for k in check.KEYS] for p, m in less.items()},
                    [whole["cells"][k] for k in check.KEYS])
    return None


def by_primitive(b, measured):
    """The section of the page."""
    board, tree, primitives, whole = measured

    def name(p):
        kept = boards.without(b, p)["primitives"]
        return f"`{p}`" + "".join(f", and with it `{q}`" for q in b["primitives"] if q != p and q not in kept)

    rows = [[name(p), *cells] for p, cells in primitives.items()]
    return ["## Area by primitive",
            *text("Cells before packing by which the netlist is smaller without the primitive. `make board-area BOARD="
                  f"{board}` measured them at commit {tree}. Primitives share logic, so the sum of the rows is not the "
                  "area of all primitives."), "",
            *table(["primitive", *KINDS], [*rows, ["all of the device", *whole]])]


def page(b, report, cells, measured):
    n = next(int(p.partition("=")[2]) for p in report["settings"] if p.startswith("N="))
    best = next(t for t in report["seeds"] if t["seed"] == report["seed"])
    per = report["cycle_clocks"]
    lines = [f"# {b['name']}: the routed device", "",
             *text(f"Written by `make board-page BOARD={b['id']}` of what `make bitstream BOARD={b['id']} N={n}` made "
                   f"of commit {report['tree']} with {report['tools']}.",
                   f"Part {report['part']}. Settings: {', '.join(report['settings'])}.",
                   f"One node serves all {n} GPUs ([threads](../../design/threads.md)), {per} of its clocks are a "
                   "cycle of the fabric:" if per > 1 else "A clock is a cycle of the fabric:",
                   f"{report['mhz']['node' if per > 1 else 'fabric'] / per:.2f} million cycles per second."), "",
             f"To place and route it took {report['seconds'] / 60:.0f} minutes and {report['mebibytes'] / 1024:.1f} "
             f"GiB, on one core{', all seeds together' if len(report['seeds']) > 1 else ''}.", "", "## Clocks",
             *text("Seed by seed: MHz required and reached, ns for the longest way to and from the pads of the bus, "
                   "and between clocks.",
                   f"The bitstream is of seed {report['seed']}."), ""]
    names = list(best["clocks"])
    lines += table(["seed", *(f"{d}: {best['clocks'][d]['asked_mhz']:.1f} MHz" for d in names),
                    *(f"{w}: {best['pads'][w]['limit_ns']} ns" for w in best["pads"]), *best["between"], ""],
                   [[t["seed"], *(f"{t['clocks'][d]['reached_mhz']:.1f}" for d in names),
                     *(t["pads"][w]["ns"] for w in best["pads"]), *(t["between"].get(w, "") for w in best["between"]),
                     "**met**" if not t["missed"] else "missed"] for t in report["seeds"]])
    lines += ["## Cells"]
    count = collections.Counter((c[0], c[1]) for c in cells)
    total = collections.Counter(c[1] for c in cells)
    lines += table(["part", *KINDS], [[PARTS[i][0], *(count[i, k] for k in KINDS)] for i in range(len(PARTS))
                                      if any(count[i, k] for k in KINDS)]
                   + [["**all**", *(f"**{total[k]}**, {100 * total[k] / boards.CAPACITY[k]:.1f} %" for k in KINDS)]])
    if measured:
        lines += by_primitive(b, measured)
    return "\n".join([*lines, "## Floorplan", f"![Which part each tile is of]({b['id']}.svg)", ""])


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    b, folder, out = boards.load(sys.argv[1]), pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    source = folder / f"{b['id']}.json"
    if not source.exists():
        boards.refuse(f"board-page: {folder}: nothing is placed and routed there: make bitstream BOARD={b['id']} first")
    report = json.loads(source.read_text())
    design = folder / f"seed-{report['seed']}.json"
    if not design.exists():
        boards.refuse(f"board-page: {design} is missing: make bitstream BOARD={b['id']} makes it again")
    cells = cells_of(design)
    out.mkdir(parents=True, exist_ok=True)
    (out / f"{b['id']}.svg").write_text(picture(f"Floorplan of {b['name']}", cells))
    measured = areas(b, folder, report["settings"])
    (out / f"{b['id']}.md").write_text(page(b, report, cells, measured))
    if b["primitives"] and not measured:
        print(f"board-page: without the area of each primitive, which make board-area BOARD={b['id']} measures")
    print(f"board-page: {out}/{b['id']}.md")


if __name__ == "__main__":
    main()
