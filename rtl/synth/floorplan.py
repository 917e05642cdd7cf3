# SPDX-License-Identifier: Apache-2.0
"""Where the block RAMs of a part lie on the 85F.

nextpnr's placer piles the RAMs of the switch of eight ports up in two of the device's four rows of them, one beside the other; the wires to them then cross in
one place, and routing takes hours. Here each port has half a row: its queues, one from each other port, and its input's queue. The columns are in
the order of the ports that the flits come from, so that what an input sends runs straight across the rows. There is space between them, and the outermost
places stay free: from corner to corner of the device takes most of a cycle of 60 MHz.
"""
import re

ROWS = (22, 46, 70, 82)
LEFT = [(x + 2 * k, k) for x in range(4, 59, 9) for k in range(4)][6:]  # columns, and which of the four block RAMs of its group is there
RIGHT = [(x + 2 * k, k) for x in range(69, 115, 9) for k in range(4)][:22]
HALVES = [(y, side) for y in ROWS for side in (LEFT, RIGHT)]
QUEUE = re.compile(r"gen_port\[(\d+)\]\.i_port\.(?:gen_in\[(\d+)\]\.i_voq|i_ingress\.i_queue\.i_queue)\.i_ram\.mem\.0\.(\d+)$")


class NoPlace(Exception):
    """A block RAM that the plan does not know, or that finds its place taken."""


def switch_8(names):
    """{name: BEL} of the block RAMs of switch_top with N=8 and PartGuest=1, whose words take two each."""
    plan, taken = {}, {}
    for name in names:
        found = QUEUE.search(name)
        if not found:
            raise NoPlace(f"{name}: no queue of the switch, say in rtl/synth/floorplan.py where it lies")
        port, half = int(found[1]), int(found[3])
        source = port if found[2] is None else (port + 1 + int(found[2])) % 8
        row, side = HALVES[port]
        x, k = side[source * len(side) // 8 + half]
        bel = f"X{x}/Y{row}/EBR{k}"
        if taken.setdefault(bel, name) != name:
            raise NoPlace(f"{name}: its place {bel} is that of {taken[bel]}")
        plan[name] = bel
    return plan


def apply(design, plan):
    """Fixes the block RAMs of a design, as Yosys' write_json gives it, where plan(names) says."""
    cells = {n: c for m in design["modules"].values() for n, c in m["cells"].items() if c["type"] == "DP16KD"}
    for name, bel in plan(cells).items():
        cells[name]["attributes"]["BEL"] = bel
