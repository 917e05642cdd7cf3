#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the timeline of `moeswitch run --timeline` against the JSON of the same run.

usage: timeline.py BUILD    exit status 1, with a line, when something is wrong

Of every system and layer: all lies inside the layer's cycles; each stream runs its instructions one behind the other
and ends; the tiles of each expert hold its rows, each once and in their order, and all of a GPU those that the routing
sends there; never are more reductions open at a port than may be, and none at the end. The run takes the same cycles
as one that nobody watches, and the plain model shows what the one in lanes does, byte for byte. A tensor-parallel
workload is one span, and each GPU's tiles hold the rows of its parts.
"""
import json
import pathlib
import re
import subprocess
import sys
import tomllib
import xml.etree.ElementTree as ET

from command import check_refused, fail, run, scratch_folder

TILE, OPEN = 3, 4
WORDS = f"--hidden 64 --k 3 --tokens-per-gpu 20 --tile {TILE} --open-rows {OPEN} --layers 0,1 "
ENGINE = 4  # the thread of the expert engine, behind the streams
# what the streams of a GPU run (docs/design/systems.md); others have several units in one
STREAMS = {"overlap": [["count", "wait", "prefix"] + ["st", "flag", "flag"] * 3 + ["wait", "st", "flag", "flag"] * 12,
                       ["wait", "expert.rows", "flag"] * 15, ["wait", "sum.st", "flag"] * 15, ["wait", "sum"] * 30],
           "moe-hub": [["count"], ["st.rowsp"], ["expert"], ["sum"]],
           "flashdmoe": [["st.rowsp", "flag"], ["expert"], ["sum"]],
           "dysharp": [["count"], ["dymultimem.st"], ["expert"], ["dymultimem.ld_reduce"]],
           "moeswitch": [["count", "count", "wait", "order"], ["dymultimem.st"], ["expert"], ["dymultimem.ld_reduce"]]}


def names_of(events, kind):
    return {(e["pid"], thread(e)): e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == kind}


def thread(event):
    """Numbers of threads are each process's own, and not 0."""
    return event["tid"] - 8 * event["pid"]


def inside(events, pid, begin, end):
    """of that process, those that begin in there; a layer begins behind the cycle in which the last one ends"""
    return [e for e in events if e["ph"] != "M" and e["pid"] == pid and begin <= e["ts"] < end]


def check_threads(events, what, end):
    """Slices follow each other, and end in time."""
    last = {}
    for e in events:
        if e["ph"] == "X":
            if e["dur"] <= 0 or e["ts"] < last.get(e["tid"], 0) or e["ts"] + e["dur"] > end:
                fail(f"{what}: a slice before the last one's end, or behind the layer's: {e}")
            last[e["tid"]] = e["ts"] + e["dur"]
        elif e["ts"] > end:
            fail(f"{what}: behind the layer's end: {e}")


def check_stream(events, what, names):
    """Instructions from 0 on, each as it waits and runs; then the end."""
    ran = []
    for e in events[:-1]:
        a = e.get("args", {"instruction": -1})
        known = e["ph"] == "X" and e["cat"] in ("run", "wait") and e["name"] in names
        if not known or a["instruction"] not in (len(ran), len(ran) - 1):
            fail(f"{what}: {e} behind {ran}")
        if a["instruction"] == len(ran):
            ran.append(e["name"])
        elif e["name"] != ran[-1] or e["cat"] == "wait":
            fail(f"{what}: {e} once more")
    if events[-1]["ph"] != "i" or events[-1]["name"] != "end":
        fail(f"{what}: ends with {events[-1]}")
    return ran


def check_tiles(tiles, what, rows, whole):
    """Of one GPU: rows of each expert in their order, as many as the routing has."""
    have = {}
    for t in tiles:
        a = t["args"]
        named = t["name"] == f"expert {a['expert']}"
        if not named or a["first_row"] != have.get(a["expert"], 0) or not 1 <= a["rows"] <= TILE:
            fail(f"{what}: {t}, with {have} before")
        have[a["expert"]] = a["first_row"] + a["rows"]
    if sum(have.values()) != rows:
        fail(f"{what}: {sum(have.values())} rows in tiles, the routing has {rows}")
    if whole and len(tiles) != sum(-(-n // TILE) for n in have.values()):
        fail(f"{what}: {len(tiles)} tiles of {have} rows")


def check_open(counts, what, limit):
    levels = [c["args"]["rows"] for c in counts]
    if bool(limit) != bool(levels) or levels and not (1 < max(levels) <= limit and levels[-1] == 0):
        fail(f"{what}: open rows {levels}, at most {limit}")


def check_gpu(events, system, what, rows, end, names, limits):
    check_threads(events, what, end)
    ran = []
    for s in range(ENGINE):
        own = [e for e in events if thread(e) == s and e["ph"] in "Xi"]
        if own:
            ran.append(check_stream(own, f"{what}, stream {s}", names))
    if ran != STREAMS.get(system, ran) or not ran:
        fail(f"{what}: the streams ran {ran}")
    if system == "unicast" and [r.count("wait") for r in ran] != [2, 6, 7]:
        fail(f"{what}: the streams ran {ran}")
    check_tiles([e for e in events if e.get("cat") == "tile"], what, rows, system in ("dysharp-basic", "dysharp"))
    check_open([e for e in events if e["ph"] == "C"], what, limits[system])


def check_run(build, scratch, words):
    timeline, data, plain = (scratch / name for name in ("timeline.json", "run.json", "plain.json"))
    run(build, [*words, "--timeline", timeline, "--json", data])
    run(build, [*words, "--json", plain])
    root, events = json.loads(data.read_text()), json.loads(timeline.read_text())["traceEvents"]
    for a, b in zip(root["systems"], json.loads(plain.read_text())["systems"], strict=True):
        if [x["cycles"] for x in a["layers"]] != [x["cycles"] for x in b["layers"]] or a["stalls"] != b["stalls"]:
            fail(f"{a['system']}: other cycles or stalls than without --timeline")
    isa = tomllib.loads(pathlib.Path("spec/isa.toml").read_text())
    names, gpus = {i["name"] for i in isa["instr"]}, root["params"]["gpus"]
    processes, threads = names_of(events, "process_name"), names_of(events, "thread_name")
    # with switch-initiated reductions it opens as many as the device has
    words = ["info", "--gpus", str(gpus), "--flit-bytes", str(root["params"]["flit_bytes"])]
    info = subprocess.run([f"{build}/moeswitch", *words], capture_output=True, text=True).stdout
    device = int(re.search(r"(\d+) open reductions", info)[1])
    limits = {"unicast": 0, "overlap": 0, "nvls": OPEN, "moe-hub": 0, "flashdmoe": 0, "dysharp-basic": OPEN,
               "dysharp": OPEN, "moeswitch": device}
    pid = 1
    for s in root["systems"]:
        if processes.get((pid, 0)) != s["system"]:
            fail(f"process {pid} is not {s['system']}")
        spans = [e for e in events if e["pid"] == pid and e["ph"] == "X"]
        if [(e["name"], e["dur"]) for e in spans] != [(f"layer {x['layer']}", x["cycles"]) for x in s["layers"]]:
            fail(f"{s['system']}: layers {spans}")
        for g in range(gpus):
            at = pid + 1 + g
            if processes.get((at, 0)) != f"{s['system']}, GPU {g}" or threads.get((at, ENGINE)) != "expert engine":
                fail(f"process {at} is not GPU {g} of {s['system']}")
            for span, layer in zip(spans, root["workload"]):
                end = span["ts"] + span["dur"]
                what = f"{s['system']}, GPU {g}, {span['name']}"
                own, rows = inside(events, at, span["ts"], end), layer["expert_rows"][g]
                check_gpu(own, s["system"], what, rows, end, names, limits)
        pid += 1 + gpus
    if {e["pid"] for e in events} != set(range(1, pid)) or not {thread(e) for e in events} <= set(range(ENGINE + 1)):
        fail("events of another process")
    return len(events)


def check_plain(build, scratch):
    words = "--gpus 2 --flit-bytes 8 --hidden 32 --experts 8 --k 2 --tokens-per-gpu 9 --tile 2".split()
    for backend in "lanes", "plain":
        run(build, [*words, "--device", f"sim:{backend}", "--timeline", scratch / backend])
    if (scratch / "lanes").read_bytes() != (scratch / "plain").read_bytes():
        fail("lanes and plain show another timeline")


def check_tensor_parallel(build, scratch):
    """The same of a tensor-parallel workload, and a panel of each system in the picture."""
    gpus, rows, files = 4, 36, [scratch / name for name in ("tp.json", "tp-plain.json", "tp-timeline.json", "tp.svg")]
    words = f"--workload sublayer --gpus {gpus} --flit-bytes 8 --rows {rows} --hidden 64 --tile {TILE}".split()
    run(build, [*words, "--json", files[0], "--timeline", files[2], "--plot", files[3]])
    run(build, [*words, "--json", files[1]])
    systems, plain = (json.loads(f.read_text())["systems"] for f in files[:2])
    events = json.loads(files[2].read_text())["traceEvents"]
    if [s["cycles"] for s in systems] != [s["cycles"] for s in plain]:
        fail("sublayer: other cycles than without --timeline and --plot")
    processes, wanted = names_of(events, "process_name"), {"GEMM-1": rows, "LN": rows // gpus, "GEMM-2": rows}
    for i, s in enumerate(systems):
        pid = 1 + i * (gpus + 1)
        spans = [(e["name"], e["dur"]) for e in events if e["pid"] == pid and e["ph"] == "X"]
        if processes.get((pid, 0)) != s["system"] or spans != [("sublayer", s["cycles"])]:
            fail(f"process {pid} is {processes.get((pid, 0))} with {spans}, not {s['system']}")
        for gpu in range(gpus):
            own = [e for e in events if e["ph"] != "M" and e["pid"] == pid + 1 + gpu]
            check_threads(own, f"{s['system']}, GPU {gpu}", s["cycles"])
            have = dict.fromkeys(wanted, 0)
            for tile in [e for e in own if e.get("cat") == "tile"]:
                have[tile["name"]] += tile["args"]["rows"]
            if have != wanted:
                fail(f"{s['system']}, GPU {gpu}: tiles of {have} rows, not {wanted}")
    titles = [t.text for t in ET.parse(files[3]).iter("{http://www.w3.org/2000/svg}text") if t.get("class") == "t"]
    if titles != [f"{s['system']}, sublayer" for s in systems]:
        fail(f"the picture has panels {titles}")
    for option in "--html", "--plot", "--timeline":
        if "/nowhere/x: cannot write" not in run(build, [*words, option, "/nowhere/x"], 2):
            fail(f"sublayer: {option} in a folder that is not there")


def check_left_out(build, scratch):
    """A register that Verilator has left out: the model shows nothing, and is made all the same."""
    (scratch / "fabric").mkdir()
    header = pathlib.Path(build, "model/n2f8-plain/fabric/Vfabric___024root.h").read_text()
    for name, shown in ("i_join__DOT__level_q", 0), ("no_such_name", 1):
        (scratch / "fabric" / "Vfabric___024root.h").write_text(header.replace(name, "another"))
        done = subprocess.run([sys.executable, "sim/watch.py", "plain", "2", scratch], capture_output=True, text=True)
        if done.returncode or f"#define MW_SIM_WATCHED {shown}\n" not in done.stdout or (name in done.stdout) == shown:
            fail(f"sim/watch.py without {name}: {done.stdout}{done.stderr}")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    build = sys.argv[1]
    scratch = scratch_folder(build, "timeline")
    for more in "--gpus 4 --flit-bytes 8 --experts 8", "--gpus 3 --experts 9 --jobs 2 --seed 3 --in-flight 9":
        words = WORDS + more
        print(f"{words}: {check_run(build, scratch, words.split())} events")
    check_plain(build, scratch)
    check_left_out(build, scratch)
    check_tensor_parallel(build, scratch)
    check_refused(build, scratch, "--timeline")
    if "--timeline: only with --device sim" not in run(build, ["--device", "usb", "--timeline", scratch / "usb"], 2):
        fail("a device on USB")


if __name__ == "__main__":
    main()
