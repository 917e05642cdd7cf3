#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests flow/ecp5/carry.py: samples.sv, and random netlists, are the same circuits behind it, as Yosys proves; of the
samples the LUTs go that can. Tests flow/ecp5/floorplan.py: each block RAM of the switch, and of a device, has a place
of its own, that of no other is guessed, no row of the device is full. Tests which modules flow.merge_equal takes for
one.

usage: run.py [--out DIR]   (seed: MW_SEED)

A fold that is wrong must be found, by the pass itself and by Yosys. Exit status 1: a test failed, 2: Yosys failed.
"""
import argparse
import copy
import json
import os
import pathlib
import random
import re
import subprocess
import sys

sys.path.insert(0, "flow/ecp5")
import carry  # noqa: E402
import floorplan  # noqa: E402
import flow  # noqa: E402

# LUTs of each sample before and behind it
SAMPLES = {"add_sub": (16, 0), "add_one_of": (16, 0), "count_up": (17, 1), "compare": (17, 1), "two_chains": (12, 0),
           "shared": (12, 12), "odd_sum": (1, 0), "registers": (10, 0)}
RANDOM = 40  # netlists
# half and bit of its table that, turned over, make another circuit of what is left of a sample
FAULTS = {"add_sub": (0, 15), "add_one_of": (1, 0), "odd_sum": (1, 12)}


def fail(text):
    print(f"synth: FAILED: {text}")
    sys.exit(1)


def cell(kind, parameters, inputs, outputs, attributes=None):
    return {"hide_name": 0, "type": kind, "parameters": parameters, "attributes": attributes or {},
            "port_directions": {p: "input" for p in inputs} | {p: "output" for p in outputs},
            "connections": {p: [b] for p, b in {**inputs, **outputs}.items()}}


def random_module(rng):
    """Two carry chains of any tables and pins, with two layers of LUTs in front, and LUTs behind: some nets leave the
    module, some LUTs are to be kept."""
    free = iter(range(2, 10**6))
    inputs = [next(free) for _ in range(8)]
    nets, cells, outputs = list(inputs), {}, []

    def lut(sources, sizes):
        used = rng.choices(sources, k=rng.choice(sizes))
        pins = used + [rng.choice("01") for _ in range(4 - len(used))]
        rng.shuffle(pins)
        z = next(free)
        cells[f"lut{z}"] = cell("LUT4", {"INIT": f"{rng.getrandbits(16):016b}"}, dict(zip("ABCD", pins)), {"Z": z},
                                {"keep": "1"} if rng.random() < 0.05 else {})
        return z

    front = [lut(inputs, (1, 1, 2, 2, 3, 4)) for _ in range(6)]
    front += [lut(inputs + front, (1, 2, 2, 3)) for _ in range(12)]
    sums = []
    for _ in range(2):
        carried = rng.choice("01")
        for _ in range(rng.randint(1, 4)):
            name, pins = f"carry{next(free)}", {}
            for k in "01":
                pins |= {f"{p}{k}": rng.choice([*front, *front, *inputs, "0", "1"]) if p in "AB" else rng.choice("01")
                         for p in "ABCD"}
                if rng.random() < 0.7:
                    pins[f"D{k}"] = "1"
            out = {p: next(free) for p in ("S0", "S1", "COUT")}
            init = {f"INIT{k}": rng.choice(["1001011010101010", f"{rng.getrandbits(16):016b}"]) for k in (0, 1)}
            cells[name] = cell("CCU2C", {**init, "INJECT1_0": "NO", "INJECT1_1": "NO"}, {"CIN": carried, **pins}, out)
            carried = out["COUT"]
            sums += [out["S0"]] + ([out["S1"]] if rng.random() < 0.7 else [])
        if rng.random() < 0.5:
            outputs.append(carried)
    back = [lut(sums + inputs, (2, 3, 4)) for _ in range(4)]
    outputs += [s for s in sums if rng.random() < 0.7] + back + [b for b in front if rng.random() < 0.1]
    return {"attributes": {}, "ports": {"x": {"direction": "input", "bits": inputs},
                                        "y": {"direction": "output", "bits": outputs}}, "cells": cells, "netnames": {}}


def luts(module):
    return flow.cell_types(module)["LUT4"]


def rest(module):
    """What the pass has to leave as it is."""
    return module["ports"], module["netnames"], {n: c for n, c in module["cells"].items()
                                                 if c["type"] not in ("LUT4", "CCU2C") or "keep" in c["attributes"]}


def prove(out, name, design, pairs, equal=True):
    """Whether Yosys finds the two modules of each pair the same, or, with EQUAL = False, of each pair different.
    All registers of a module leave it, so that one step of an induction is enough."""
    kinds = {m: {**design[m], "attributes": {}} for pair in pairs for m in pair}
    (out / f"{name}.json").write_text(json.dumps({"creator": "", "modules": kinds}))
    sat = "-verify" if equal else "-falsify"
    steps = "\n".join(f"miter -equiv -flatten -make_outputs {a} {b} miter_{a}\nsat {sat} -tempinduct -prove trigger 0 "
                      f"miter_{a}" for a, b in pairs)
    (out / f"{name}.ys").write_text(f"read_verilog -D NO_INCLUDES +/ecp5/cells_sim.v\nread_json {out}/{name}.json\n"
                                    f"hierarchy\nproc\n{steps}\n")
    r = subprocess.run([*flow.YOSYS(), "-q", "-l", str(out / f"{name}.log"), "-s", str(out / f"{name}.ys")],
                       capture_output=True, text=True)
    if r.returncode and "Called with -" not in r.stderr:
        sys.stderr.write(r.stdout[-2000:] + r.stderr[-4000:])
        sys.exit(2)
    return r.returncode == 0


def packed(name, module):
    after = copy.deepcopy(module)
    carry.pack(after)
    counts = luts(module), luts(after)
    if counts != SAMPLES.get(name, counts):
        fail(f"{name} has {counts[0]} LUTs, then {counts[1]}, not {SAMPLES[name]}")
    if rest(after) != rest(module):
        fail(f"{name}: something else than a LUT or a carry cell changed")
    return after


def with_fault(name, module):
    half, at = FAULTS[name]
    faulty = copy.deepcopy(module)
    first = faulty["cells"][min(n for n, c in faulty["cells"].items() if c["type"] == "CCU2C"
                                and (name != "odd_sum" or c["parameters"]["INJECT1_1"] == "YES"))]
    first["parameters"][f"INIT{half}"] = f"{int(first['parameters'][f'INIT{half}'], 2) ^ 1 << at:016b}"
    return faulty


def pass_finds_fault(module):
    """Whether it stops when the search for a table returns a wrong one."""
    fit = carry.fit
    carry.fit = lambda p, g: (found := fit(p, g)) and (found[0], found[1] ^ 1 << 15)
    try:
        carry.pack(copy.deepcopy(module))
    except carry.WrongFold:
        return True
    finally:
        carry.fit = fit
    return False


def check_floorplan():
    queues = [f"gen_port[{p}].i_port.{q}.i_ram.mem.0.{half}" for p in range(8)
              for q in [*(f"gen_in[{i}].i_voq" for i in range(7)), "i_ingress.i_queue.i_queue"] for half in range(2)]
    plan = floorplan.switch_8(queues)
    places = {f"X{x}/Y{y}/EBR{k}" for y, side in floorplan.HALVES for x, k in side}
    if len(places) != 176 or len(set(plan.values())) != len(queues) or not set(plan.values()) <= places:
        fail("two block RAMs in a place, or one where the device has none")
    for p in range(8):  # what port p sends lies in the same two columns of all left halves, and of all right ones
        sent = [name for name in queues if any(name.startswith(f"gen_port[{q}].i_port.gen_in[{(p - q - 1) % 8}].")
                                               for q in range(8) if q != p)]
        for side in (0, 1):
            columns = {plan[n].split("/")[0] for n in sent if int(n[9]) % 2 == side}
            if len(sent) != 14 or len(columns) != 2:
                fail(f"what port {p} sends lies in columns {sorted(columns)}")
    design = {"modules": {"top": {"cells": {n: cell("DP16KD", {}, {}, {}) for n in queues}
                                  | {"lut": cell("LUT4", {}, {}, {})}}}}
    floorplan.apply(design, floorplan.switch_8)
    if {n: c["attributes"].get("BEL") for n, c in design["modules"]["top"]["cells"].items()} != plan | {"lut": None}:
        fail("the netlist does not have the plan")
    for wrong in (["gen_port[0].i_port.i_join.i_ring.mem.0.0"], [queues[0], "i_dut." + queues[0]]):
        try:
            floorplan.switch_8(wrong)
        except floorplan.NoPlace:
            continue
        fail(f"a place for {wrong}")


# block RAMs of the hub: of a device with the primitives of few systems, or of all
FEW = {"i_reduction.i_serve.i_ram": 17, "i_rows.i_list": 8, "i_send.i_read": 2, "i_tx.i_store": 6,
       "i_rx_store.i_payload": 18}
MANY = {"i_reduction.i_serve.i_ram": 4, "i_reduction.i_sum.i_read": 16, "i_reduction.i_sum.gen_lanes.i_copy": 7,
        "i_rows.i_list": 8, "i_send.i_read": 2, "i_tx.i_store": 6, "i_rx_store.i_payload": 19, "i_rx.gen_grants": 2,
        "i_return.gen_returns": 3, "i_tokens.gen_returns": 2}


def device_rams(hub):
    """Names of block RAMs as a device of four GPUs has them: of the switch's ports, of the GPU's banks, of what else
    has a place, and of the USB core."""
    device = "i_board.i_device.i_cross.i_device"
    fabric = f"{device}.gen_threads.i_fabric"
    queues = [*(f"gen_in[{i}].{k}" for i in range(3) for k in ("i_voq", "i_part.gen_ram")), "i_ingress.i_queue.i_queue"]
    ports = [f"{fabric}.i_core.i_switch.gen_port[{p}].i_port.{q}.i_ram.mem.0.{half}"
             for p in range(4) for q in queues for half in range(2)]
    banks = [f"{fabric}.i_node.i_gpu.i_mem.gen_bank[{b}].i_ram.mem.0.{n}" for b in range(4) for n in range(8)]
    rest = [f"{fabric}.i_node.i_hub.{unit}.mem.0.{n}" for unit, many in hub.items() for n in range(many)]
    rest += [f"{fabric}.i_node.i_csr.i_counts.mem.0.0", *(f"{device}.i_soc.i_ram.mem.0.{n}" for n in range(13))]
    return ports, banks, rest, [f"i_board.i_device.i_usb.device.fifo.{n}.0" for n in range(4)]


def check_device_plan(hub, most):
    ports, banks, rest, usb = device_rams(hub)
    names = ports + banks + rest + usb
    plan = floorplan.device_4(names)
    places = {f"X{x}/Y{y}/EBR{k}" for y in floorplan.ROWS for x, k in floorplan.COLUMNS}
    if len(places) != 208 or len(set(plan.values())) != len(plan) or not set(plan.values()) <= places:
        fail("two block RAMs of a device in a place, or one where there is none")
    if set(plan) != set(names):
        fail("a block RAM of a device without a place")
    column = {name: bel.split("/")[0] for name, bel in plan.items()}
    row = {name: floorplan.ROWS.index(int(bel.split("/")[1][1:])) for name, bel in plan.items()}
    if max(list(row.values()).count(r) for r in range(4)) > most:
        fail("a row of the device is full")
    for name in ports + banks:
        if row[name] != int(re.search(r"gen_(?:port|bank)\[(\d)", name)[1]):
            fail(f"{name} lies in row {row[name]}")
    for name in banks:
        if column[name] != column[re.sub(r"gen_bank\[\d\]", "gen_bank[0]", name)]:
            fail(f"{name} does not lie below that of bank 0")
    mirror = floorplan.device_4(names, mirrored=True)
    for name, bel in mirror.items():
        x, y, k = re.match(r"X(\d+)/Y(\d+)/EBR(\d)", bel).groups()
        at = floorplan.COLUMNS.index((int(x), int(k)))
        if plan[name] != "X{}/Y{}/EBR{}".format(floorplan.COLUMNS[-1 - at][0], y, floorplan.COLUMNS[-1 - at][1]):
            fail(f"{name} lies at {bel}, and at {plan[name]} where the plan is not mirrored")
    edge = {c[0] for c in floorplan.COLUMNS[:4]}
    if any(int(mirror[n].split("/")[0][1:]) not in edge or row[n] != 0 for n in usb):
        fail("the USB core's block RAMs do not lie at the upper left of a mirrored device")
    for wrong in (["i_board.i_device.i_new.i_ram.mem.0.0"], banks[:8] + [b + "0" for b in banks[1:4]]):
        try:
            floorplan.device_4(wrong)
        except floorplan.NoPlace:
            continue
        fail(f"a place for each of {wrong}")


def check_memories():
    """Memories that are to be block RAMs are found in the RTL and in a node that is flat, and a unit that has no place
    is named before synthesis."""
    mods = {"\\top": [r"  cell \port$1 \gen_port[0].i_port", r"  cell \nodes \i_node", "  cell $and $1"],
            "\\port$1": ['  attribute \\ram_style "block"', "  attribute \\no_rw_check 1'1",
                         r"  memory width 32 size 64 \i_ram.mem", r"  memory width 4 size 16 \lut"],
            "\\nodes": ['  attribute \\ram_style "distributed"', r"  cell $mem_v2 \i_hub.i_few.mem",
                       "    parameter \\SIZE 64", '  attribute \\ram_style "block"',
                       r"  cell $mem_v2 \i_hub.i_new.mem"]}
    found = floorplan.memories(mods, "top")
    if found != ["gen_port[0].i_port.i_ram.mem", "i_node.i_hub.i_new.mem"]:
        fail(f"memories for block RAM: {found}")
    try:
        floorplan.check_units(found)
    except floorplan.NoPlace as e:
        if "gen_port[0].i_port.i_ram.mem: of no unit" in str(e) and "WIDE_4" in str(e):
            return
    fail("a unit without a place is not named")


def check_merge():
    """Modules that differ in automatic names alone are one, wherever the numbers in these begin, in whatever order
    Yosys sorts them by; modules that differ in anything else are not."""
    def gates(first, inverted, width=1):
        """An inverter of one input and a buffer of it, by names that hold FIRST and the number behind it."""
        names = sorted((f"$gate${first}", f"$gate${first + 1}"))
        kinds = {f"$gate${first}": ("$not", rf"\{inverted}"), f"$gate${first + 1}": ("$pos", r"\a")}
        wires = [f"  wire width {width} {n}_Y" for n in names]
        cells = [line for n in names for line in (r"  attribute \keep 1", f"  cell {kinds[n][0]} {n}",
                                                  rf"    connect \A {kinds[n][1]}", rf"    connect \Y {n}_Y", "  end")]
        return ["module x", r"  wire input 1 \a", r"  wire input 2 \b", *wires, *cells, "end"]

    equal = {rf"\m$top.i_{n}": gates(n, "a") for n in (7, 9, 99)}
    other = {r"\m$top.i_b": gates(9, "b"), r"\m$top.i_wide": gates(9, "a", 2)}
    mods = equal | other
    parts = [line for m in mods for line in (f"  cell {m} {m.replace('m$top.', '')}", "  end")]
    mods[r"\top"] = [r"module \top", *parts, "end"]
    kept = flow.merge_equal(mods)
    if list(kept) != [r"\m$top.i_7", *other, r"\top"]:
        fail(f"of modules that are equal or not these are kept: {', '.join(kept)}")
    if sum(line == r"  cell \m$top.i_7 \i_" + n for line in kept[r"\top"] for n in ("7", "9", "99")) != 3:
        fail(f"instances of equal modules: {kept[chr(92) + 'top']}")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--out", default="build/tests/synth")
    out = pathlib.Path(p.parse_args().out)
    out.mkdir(parents=True, exist_ok=True)
    seed = int(os.environ.get("MW_SEED", "1"))
    print(f"synth: seed {seed}", flush=True)
    rng = random.Random(seed)
    check_floorplan()
    check_device_plan(FEW, 44)
    check_device_plan(MANY, 46)
    check_memories()
    check_merge()
    flow.yosys(out, "samples", "read_slang --threads 1 --keep-hierarchy --top samples tests/synth/samples.sv\n"
               f"synth_ecp5 -top samples -noflatten -nowidelut\nwrite_json {out}/samples.json")
    mapped = {name.split("$")[0]: m for name, m in json.loads((out / "samples.json").read_text())["modules"].items()}
    before = {name: mapped[name] for name in SAMPLES} | {f"random{n}": random_module(rng) for n in range(RANDOM)}
    design = {}
    for name, module in before.items():
        design |= {f"{name}_a": module, f"{name}_b": packed(name, module)}
    gone = sum(luts(design[f"{n}_a"]) - luts(design[f"{n}_b"]) for n in before)
    if not prove(out, "equal", design, [(f"{n}_a", f"{n}_b") for n in before]):
        fail(f"another circuit, see {out}/equal.log")
    design |= {f"{n}_c": with_fault(n, design[f"{n}_b"]) for n in FAULTS}
    if not prove(out, "faults", design, [(f"{n}_a", f"{n}_c") for n in FAULTS], equal=False):
        fail(f"a fault in a carry cell is not found, see {out}/faults.log")
    if not pass_finds_fault(before["add_sub"]):
        fail("the pass takes a wrong table")
    print(f"synth: {len(before)} netlists are the same circuits without {gone} of their LUTs")


if __name__ == "__main__":
    main()
