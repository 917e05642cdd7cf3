# SPDX-License-Identifier: Apache-2.0
"""Where the block RAMs lie on the 85F, as a function of the netlist's hierarchical names.

Without a plan nextpnr's placer fills some of the device's four rows of block RAMs completely. The wires to them then
cross in one place, and routing takes hours.

The switch of eight ports alone: each port has half a row, for a queue from each other port and its input's queue. The
columns are in the order of the ports that the flits come from, so the wires of an input run straight across the rows.
There is space between the block RAMs. The outermost places stay free, because a wire from corner to corner of the
device takes most of a cycle of 60 MHz.

The device of four GPUs: a wire to several block RAMs of one row runs along that row, where many others run, too. Block
RAMs on the same wires therefore lie in different rows, one below the other, and the wires run in the columns. Each row
has a port of the switch and a bank of the GPU's memory. From left to right, as flits go, lie switch, hub and GPU, and
the USB core at the upper right. If a board's USB pads are at the upper left, the plan is mirrored. A wire from an edge
to the middle of the device would take half of the time that ULPI leaves from a pad to a register. The placer has no
limits for pads, and follows the block RAMs.
"""
import re

ROWS = (22, 46, 70, 82)
# of a row, and which of the four block RAMs of its group is there
COLUMNS = [(x + 2 * k, k) for x in (*range(4, 59, 9), *range(69, 115, 9)) for k in range(4)]
LEFT = COLUMNS[6:28]
RIGHT = COLUMNS[28:50]
HALVES = [(y, side) for y in ROWS for side in (LEFT, RIGHT)]
QUEUE = re.compile(r"gen_port\[(\d+)\]\.i_port\.(?:gen_in\[(\d+)\]\.(?:i_voq|i_part\.gen_ram)|"
                   r"i_ingress\.i_queue\.i_queue)\.i_ram\.mem\.0\.(\d+)$")

# of the device: what the hierarchical name has in it, row, first of the row's COLUMNS, the one behind the last. Places
# beyond the number of block RAMs are space between them.
SWITCH, HUB, GPU, USB = (0, 18), (18, 38), (38, 48), (48, 52)
DEVICE_4 = (
    *((rf"\.i_switch\.gen_port\[{p}\]\.", y, *SWITCH) for p, y in enumerate(ROWS)),
    *((rf"\.i_gpu\.i_mem\.gen_bank\[{b}\]\.", y, *GPU) for b, y in enumerate(ROWS)),
    (r"\.i_hub\.i_reduction\.", 22, *HUB),
    (r"\.i_hub\.i_(?:rows|send|tx)\.", 46, *HUB),
    (r"\.i_hub\.i_rx_store\.", 70, *HUB),
    (r"\.i_soc\.|\.i_node\.i_csr\.", 82, *HUB),
    (r"\.i_usb\.", 22, *USB),
)
# With more primitives the hub has a third more of them: its adder bypass lies beside the uplink, where it ends.
WIDE_SWITCH, WIDE_HUB, WIDE_GPU = (0, 16), (16, 39), (39, 48)
WIDE_4 = (
    *((pattern, y, *WIDE_SWITCH) for pattern, y, *_ in DEVICE_4[:4]),
    *((pattern, y, *WIDE_GPU) for pattern, y, *_ in DEVICE_4[4:8]),
    (r"\.i_hub\.(?:i_(?:rows|tx)|i_reduction\.i_sum\.gen_lanes)\.", 46, *WIDE_HUB),
    (r"\.i_hub\.i_reduction\.", 22, *WIDE_HUB),
    (r"\.i_hub\.i_(?:rx_store|send)\.", 70, *WIDE_HUB),
    (r"\.i_soc\.|\.i_node\.i_csr\.|\.i_hub\.(?:i_(?:control|return|rx|tokens)|gen_manager)\.", 82, *WIDE_HUB),
    DEVICE_4[-1],
)
BLOCK = '\\ram_style "block"'
PLANS = {"DEVICE_4": DEVICE_4, "WIDE_4": WIDE_4}  # the first one that has a place for everything is taken


class NoPlace(Exception):
    """A block RAM that the plan does not know, or that finds its place taken."""


def source(name, ports):
    """Of a queue's block RAM: its port, and the one that the flits come from. None of any other."""
    found = QUEUE.search(name)
    if not found:
        return None
    port = int(found[1])
    return port, port if found[2] is None else (port + 1 + int(found[2])) % ports


def switch_8(names):
    """{name: BEL} of the block RAMs of switch_top with N=8 and PartSharedRam=1, whose words take two each."""
    plan, taken = {}, {}
    for name in names:
        found = source(name, 8)
        if not found:
            raise NoPlace(f"{name}: no queue of the switch, say in flow/ecp5/floorplan.py where it lies")
        port, sender = found
        row, side = HALVES[port]
        x, k = side[sender * len(side) // 8 + int(name.rpartition(".")[2])]
        bel = f"X{x}/Y{row}/EBR{k}"
        if taken.setdefault(bel, name) != name:
            raise NoPlace(f"{name}: its place {bel} is that of {taken[bel]}")
        plan[name] = bel
    return plan


def order(name):
    """Of block RAMs beside each other: in a port of the switch by where the flits come from, else by name."""
    return (source(name, 4) or (0, 0))[1], [int(t) if t.isdigit() else t for t in re.split(r"(\d+)", name)]


def unit_of(units, name):
    """Index of a block RAM's unit, or None."""
    return next((i for i, (pattern, *_) in enumerate(units) if re.search(pattern, name)), None)


def check_units(names):
    """Ends where no plan has a unit for each of these block RAMs, or memories that become some: what is to be added."""
    missing = [[n for n in names if unit_of(units, n) is None] for units in PLANS.values()]
    if all(missing):
        raise NoPlace(f"{missing[-1][0]}: of no unit of the device, add it in flow/ecp5/floorplan.py to "
                      f"{list(PLANS)[-1]}: what its hierarchical name has in it, the row with the most space, the "
                      "columns")


def memories(mods, top):
    """Hierarchical names of the memories below TOP that are to be in block RAM; MODS is of flow.read_rtlil."""
    found, block = [], False
    for line in mods[f"\\{top}"]:
        if line.startswith("  attribute "):
            block |= BLOCK in line
            continue
        if m := re.match(r"  (?:memory .*|cell \$mem_v2) \\(\S+)$", line):
            found += [m[1]] if block else []
        elif (m := re.match(r"  cell \\(\S+) \\(\S+)$", line)) and f"\\{m[1]}" in mods:
            found += [f"{m[2]}.{name}" for name in memories(mods, m[1])]
        block = False
    return found


def by_units(units, names, columns):
    members = [[] for _ in units]
    for name in names:
        members[unit_of(units, name)].append(name)
    plan = {}
    for (pattern, row, begin, end), unit in zip(units, members):
        if len(unit) > end - begin:
            raise NoPlace(f"{unit[end - begin]}: {len(unit)} block RAMs, and {end - begin} places for them in "
                          "flow/ecp5/floorplan.py")
        for i, name in enumerate(sorted(unit, key=order)):
            x, k = columns[begin + i * (end - begin) // len(unit)]
            plan[name] = f"X{x}/Y{row}/EBR{k}"
    return plan


def device_4(names, mirrored=False):
    """{name: BEL} of the block RAMs of a device of four GPUs and one node for all of them."""
    columns, fault = COLUMNS[::-1] if mirrored else COLUMNS, None
    check_units(names)
    for units in PLANS.values():
        if any(unit_of(units, n) is None for n in names):
            continue
        try:
            return by_units(units, names, columns)
        except NoPlace as e:
            fault = e
    raise fault


def apply(design, plan):
    """Fixes the block RAMs of a design, as Yosys' write_json gives it, where plan(names) says."""
    cells = {n: c for m in design["modules"].values() for n, c in m["cells"].items() if c["type"] == "DP16KD"}
    for name, bel in plan(cells).items():
        cells[name]["attributes"]["BEL"] = bel
