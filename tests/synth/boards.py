#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Boards: flow/ecp5/pll.py against the PLL's equations, board.toml and pins.lpf of every board and of broken ones, the
crossing check on designs in which one is planted, firmware for the CPU's RAM, and every refusal of bitstream.py and
loader.py: one line, status 2, nothing written.

usage: boards.py BUILD
"""
import argparse
import base64
import fcntl
import io
import json
import os
import pathlib
import random
import re
import shutil
import struct
import subprocess
import sys
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
SYNTH = ROOT / "flow/ecp5"
sys.path.insert(0, str(SYNTH))
import bitstream
import board as boards
import clocks
import crossings
import flow
import nextpnr_run
import progress
import pll
import ram_init
import read_back

CDC = [f"rtl/cdc/cdc_{m}.sv" for m in ("sync", "fifo", "reset", "restart")]
# a module between clocks a and b, what the check says of it: None, or a part of the line
HEAD = ("module t(input wire a, input wire b, input wire r, input wire [7:0] pin, output logic [7:0] q, output logic "
        "[7:0] u);\nlogic [7:0] x, y, z; always_ff @(posedge a) begin x <= pin ^ u; y <= x + 8'd3; end\n")
DESIGNS = {
    "through the modules": ("cdc_sync i_s(.clk_i(b), .rst_ni(r), .data_i(x[0]), .data_o(z[0]));\nlogic n; cdc_reset "
                            "i_r(.clk_i(b), .rst_ni(x[1]), .rst_no(n));\n"
                            "logic v, w; cdc_fifo #(.Width(6)) i_f(.wclk_i(a), .wrst_ni(1'b1), .wclear_i(1'b0), "
                            ".valid_i(x[7]), .ready_o(w), .data_i(y[5:0]),\n"
                            ".rclk_i(b), .rrst_ni(n), .rclear_i(1'b0), .valid_o(v), .ready_i(1'b1), .data_o(z[6:1]));\n"
                            "always_ff @(posedge b) q <= {v, z[6:0]};\nalways_ff @(posedge a) u <= {8{w}};", None),
    "a register by itself": ("always_ff @(posedge b) q <= y;\nassign u = y;", r"\(a\) -> q"),
    "logic before it": ("cdc_sync i_s(.clk_i(b), .rst_ni(1'b1), .data_i(x[0] & y[0]), .data_o(q[0]));\nassign q[7:1] = "
                        "'0, u = y;", r"-> i_s\.first_q"),
    "a clock enable": ("logic [7:0] c; always_ff @(posedge b) if (y[2]) c <= c + 8'd1;\nassign q = c, u = y;",
                       r"\(a\) -> "),
    "both clocks before it": ("always_ff @(posedge b) z <= q;\ncdc_sync #(.Width(8)) i_s(.clk_i(b), .rst_ni(1'b1), "
                              ".data_i(x & z), .data_o(q));\nassign u = y;", r"-> i_s\.first_q"),
    "a RAM that is read by itself": ("(* ram_style = \"distributed\" *) logic [7:0] m [16]; always_ff @(posedge a) "
                                     "m[x[3:0]] <= y;\nalways_ff @(posedge b) begin z <= z + 8'd1; q <= m[z[3:0]]; "
                                     "end\nassign u = y;", r"\(a\) -> q"),
    "a block RAM's address": ("(* ram_style = \"block\" *) logic [7:0] m [2048]; always_ff @(posedge b) begin m[{3'd0, "
                              "z}] <= z; z <= z + 8'd1; q <= m[{3'd0, x}]; end\nassign u = y;", r"\(a\) -> .*ADB"),
    "a pin": ("always_ff @(posedge b) q <= pin;\nassign u = y;", r"pin \(no clock\) -> q"),
    "an asynchronous reset elsewhere": ("always_ff @(posedge b or negedge y[0]) if (!y[0]) q <= '0; else q <= q + "
                                        "8'd1;\nassign u = y;", r"\.LSR"),
}
failed = []


def expect(what, holds, detail=""):
    print(f"{'ok' if holds else 'FAILED'}: {what}{'' if holds else ': ' + str(detail)}")
    if not holds:
        failed.append(what)


def test_pll():
    r = random.Random(1)
    made = slow = 0
    for _ in range(60):
        f = r.choice([12.0, 25.0, 27.0, 30.0, 48.0, 100.0])
        outputs = [(f"c{i}", r.choice([48.0, 60.0, 36.0, 40.0, 33.3, 28.0, 71.7]), r.random() < 0.4)
                   for i in range(r.randint(1, 3))]
        divided = ([("slow", r.randrange(len(outputs)), r.randint(4, 8))] if len(outputs) < 3
                   and r.random() < 0.5 else [])
        try:
            s = pll.solve(f, outputs, divided)
        except pll.Impossible:
            continue
        made += 1
        slow += len(divided)
        vco = f / s["clki"] * s["clkfb"] * s["clkop"]
        good = 400 <= vco <= 800 and 3.125 <= f / s["clki"] <= 400 and abs(vco - s["vco"]) < 1e-6
        for (_, asked, exact), d, mhz in zip(outputs, s["divisors"], s["mhz"]):
            good &= abs(vco / d - mhz) < 1e-6 and 1 <= d <= 128 and (abs(mhz - asked) <= asked * 1e-4 if exact
                                                                     else asked * 0.98 <= mhz <= asked * (1 + 1e-9))
        for (_, of, by), d, mhz in zip(divided, s["divisors"][len(outputs):], s["mhz"][len(outputs):]):
            good &= d == s["divisors"][of] * by <= 128 and abs(mhz * by - s["mhz"][of]) < 1e-6 and 3.125 <= mhz
        good &= len(s["divisors"]) == len(s["mhz"]) == len(outputs) + len(divided)
        if not good:
            expect(f"PLL {f} to {outputs} {divided}", False, s)
    expect("PLL: every setting gives what it says, within the bounds", made > 20 and slow > 5, (made, slow))
    try:
        pll.solve(25.0, [("a", 20.0, False)], [("slow", 0, 8)])
        expect("PLL refuses a clock that is divided too far", False)
    except pll.Impossible as e:
        expect("PLL refuses a clock that is divided too far", "slow of 2.5 MHz" in str(e), e)
    for f, outputs, word in ((5.0, [("a", 40.0, False)], "input"), (25.0, [("a", 47.123, True)], "no divisors"),
                             (25.0, [("a", 900.0, False)], "makes"), (25.0, [(str(i), 40.0, False) for i in range(4)],
                                                                      "4 clocks")):
        try:
            pll.solve(f, outputs)
            expect(f"PLL refuses {outputs}", False)
        except pll.Impossible as e:
            expect(f"PLL refuses {word}", word in str(e), e)


def python(*args, cwd=ROOT):
    return subprocess.run([sys.executable, *map(str, args)], cwd=cwd, capture_output=True, text=True)


def would_make(*words):
    """What make would run for them, whatever make runs this test."""
    return subprocess.run(["make", "-n", *words], cwd=ROOT, capture_output=True, text=True,
                          env={k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")})


def refused(what, r, words, status=2):
    expect(what, r.returncode == status and len(r.stderr.strip().splitlines()) == 1 and words in r.stderr,
           f"{r.returncode}: {r.stdout}{r.stderr}")


def test_boards(work):
    work = work.resolve()  # broken boards are read from another current folder
    work.mkdir(parents=True, exist_ok=True)
    for name in boards.names():
        b = boards.load(name)
        boards.check_pins(b)
        c = b["clock"]
        mhz = pll.solve(c["input_mhz"], [(o["name"], o["mhz"], o.get("exact", False)) for o in c["outputs"]])["mhz"]
        frequency = dict(re.findall(r'FREQUENCY PORT "(\w+)" ([\d.]+) MHZ', (b["folder"] / "pins.lpf").read_text()))
        ports = {d["port"] for d in b["domains"].values()}
        expect(f"{name}: every clock that comes in has its frequency, and the PLL's input its own",
               ports == set(frequency) and any(float(v) == c["input_mhz"] for v in frequency.values()), frequency)
        expect(f"{name}: domains as the PLL makes them", all(abs(b["domains"][o["name"]]["mhz"] - m) < 1e-6
                                                             for o, m in zip(c["outputs"], mhz)), mhz)
        made = clocks.write(b, work, clocks.solve(b, None, 4))
        text = (work / "board_clocks.sv").read_text()
        expect(f"{name}: with one node for four, its clock is four times the fabric's, and both have a port "
               "and a domain",
               abs(made["node"] - 4 * made["fabric"]) < 1e-6 and {"node", "fabric"} <= set(b["domains"])
               and all(f"logic {n}_o" in text for n in ("node", "fabric")), made)
        alone = boards.load(name)
        made = clocks.write(alone, work, clocks.solve(alone))
        expect(f"{name}: with a node each, both names are one clock", "node" not in made
               and "assign node_o = fabric_o;" in (work / "board_clocks.sv").read_text(), made)
        r = would_make("bitstream", f"BOARD={name}")
        own = f"--node build/board/{name}-n4/node/node_threads.il" in r.stdout
        expect(f"{name}: its node has its primitives", r.returncode == 0 and own == bool(alone["primitives"]), r.stderr)
        for p in alone["primitives"][:1]:
            r = would_make("bitstream", f"BOARD={name}", f"WITHOUT={p}")
            there = f"build/board/{name}-n4-without-{p}"
            expect(f"{name}: a folder of its own without {p}", f"--out {there} " in r.stdout
                   and f"--without {p} --node {there}/node/node_threads.il" in r.stdout, r.stdout + r.stderr)
    some = {"primitives": ["delay", "more_events"]}
    expect("primitives replace settings of their names",
           boards.settings(some, ["N=4", "Delay=0", "Events=16", "Gathered=0"])
           == ["N=4", "Delay=1", "Events=32", "Gathered=0"])
    one = boards.load("ecpix5-85f")
    fewer = boards.without(one, "target_list_cache")["primitives"]
    expect("without a primitive, without what needs it",
           set(one["primitives"]) - set(fewer) == {"target_list_cache", "switch_reductions"}, fewer)
    tiles = boards.without({"primitives": [*one["primitives"], "tile_reductions"]}, "target_list_cache")["primitives"]
    expect("without a primitive, without what needs one that needs it",
           "tile_reductions" not in tiles and len(tiles) == len(one["primitives"]) - 2, tiles)
    refused("refused: without a primitive that the board lacks",
            python(SYNTH / "board.py", "ecpix5-85f", "--without", "link_rate", "N=4"),
            "boards/ecpix5-85f/board.toml: link_rate is none of its primitives: adder_bypass,")
    known = (ROOT / "rtl/common/cfg_pkg.sv").read_text()
    expect("primitives are settings", all(f" {p.split('=')[0]};" in known for p in boards.PRIMITIVES.values()))
    glossary = (ROOT / "docs/reference/glossary.md").read_text()
    missing = [n for n, s in boards.PRIMITIVES.items() if f"(`{s.split('=')[0]}`, `{n}`)" not in glossary]
    expect("primitives are in the glossary", not missing, missing)
    # broken folders: one change each
    base = work / "boards"
    shutil.rmtree(work, ignore_errors=True)
    for what, file, old, new, words in (
            ("a port without a ball", "pins.lpf", 'LOCATE COMP "uart_rx" SITE "R26";', "", "uart_rx has no ball"),
            ("one ball twice", "pins.lpf", 'SITE "R26"', 'SITE "R24"', "the same ball R24"),
            ("a ball for no port", "pins.lpf", '"ulpi_stp"', '"ulpi_stop"', "ulpi_st"),
            ("a part that nextpnr does not have so", "board.toml", "LFE5UM5G-85F-8BG554I", "LFE5UM5G-45F-8BG554I",
             "LFE5UM5G-45F-8BG554I"),
            ("a clock that the PLL cannot make", "board.toml", "input_mhz = 100.0", "input_mhz = 5.0",
             "board.toml: an input of 5 MHz"),
            ("a field that is missing", "board.toml", 'usb = "ulpi"', "", "usb is missing"),
            ("a primitive that is none", "board.toml", "primitives = [", 'primitives = ["delays", ',
             "primitives: delays is none of adder_bypass,"),
            ("a primitive without one that it needs", "board.toml", '"row_sparse", ', "",
             "primitives: source_lists needs row_sparse"),
            ("a floorplan that is no table", "board.toml", 'usb = "ulpi"', 'usb = "ulpi"\nfloorplan = true',
             "floorplan is no dict"),
            ("a floorplan of another kind", "board.toml", "[loader]", "[floorplan]\nmirrored = 1\n[loader]",
             "mirrored is no bool"),
            ("a floorplan's field that is none", "board.toml", "[loader]", "[floorplan]\nmirored = true\n[loader]",
             "mirored is no field"),
            ("no TOML", "board.toml", "[part]", "[part", "board.toml"),
            ("a field that is none", "board.toml", "primitives = [", "primitive = [", "primitive is no field"),
            ("a bus of no kind", "board.toml", 'usb = "ulpi"', 'usb = "ULPI"', "ULPI is none of ulpi, pins"),
            ("a top that is no module", "board.toml", 'top = "ecpix5_85f"', 'top = "ecpix5"', "ecpix5 is no module"),
            ("a primitive that is no text", "board.toml", "primitives = [", 'primitives = [["delay"], ', "is no str"),
            ("a primitive twice", "board.toml", "primitives = [", 'primitives = ["delay", ', "delay is there twice"),
            ("a package that is none", "board.toml", 'package = "CABGA554"', 'package = "CABGA555"',
             "part: package: CABGA555 is none of CABGA381, CABGA554, CABGA756, CSFBGA285"),
            ("a package of another part", "board.toml", 'package = "CABGA554"', 'package = "CABGA381"',
             "part: name: LFE5UM5G-85F-8BG554I does not begin with LFE5UM5G-85F-8BG381, as device, speed and package "
             "say"),
            ("a speed grade of another part", "board.toml", "speed = 8", "speed = 7",
             "part: name: LFE5UM5G-85F-8BG554I does not begin with LFE5UM5G-85F-7BG554"),
            ("a speed grade that is none", "board.toml", "speed = 8", "speed = 9", "9 is none of 6, 7, 8"),
            ("no output for the nodes", "board.toml", 'name = "fabric"', 'name = "node"', "fabric is missing"),
            ("an output without its frequency", "board.toml", ", mhz = 36.0 }]", " }]", "mhz is missing"),
            ("a frequency that is no number", "board.toml", "input_mhz = 100.0", 'input_mhz = "100"', "no number"),
            ("a domain of no output", "board.toml", 'pll = "fabric"', 'pll = "nodes"', "nodes is no output"),
            ("a domain of no port", "board.toml", 'port = "clk100"', 'port = "clk"', "clk is no port"),
            ("a domain's pin that is no port", "board.toml", '"ulpi_nxt"]', '"nxt"]', "nxt is no port"),
            ("a domain that the PLL does not make so", "board.toml", 'pll = "fabric", mhz = 36.0',
             'pll = "fabric", mhz = 50.0', "50 MHz, where the clock's output has 36 MHz"),
            ("no domain of the bus", "board.toml", "\nusb = {", "\nbus = {", "usb is missing"),
            ("delays of pads of no domain", "board.toml", "[io.usb]", "[io.bus]", "bus is no domain"),
            ("a delay of pads that is misspelt", "board.toml", "in_ns = ", "inn_ns = ", "inn_ns is no field"),
            ("a delay of pads that is missing", "board.toml", "in_ns = 11.2", "", "in_ns is missing"),
            ("a flash without its clock", "pins.lpf", "MCCLK_FREQ", "CLK_FREQ", "MCCLK_FREQ"),
            ("an option of the loader that is no text", "board.toml", 'load = ["-b", ', "load = [1, ", "1 is no str")):
        shutil.rmtree(base, ignore_errors=True)
        shutil.copytree(ROOT / "boards/ecpix5-85f", base / "ecpix5-85f")
        path = base / "ecpix5-85f" / file
        text = path.read_text()
        assert old in text, old
        path.write_text(text.replace(old, new, 1))
        refused(f"refused: {what}", python(SYNTH / "bitstream.py", "--board", "ecpix5-85f", "--out",
                                           work / "out", "--firmware", ROOT / "build/firmware/firmware.hex", "none.sv",
                                           cwd=work), words)
        expect(f"nothing written: {what}", not list((work / "out").glob("*")) if (work / "out").exists() else True)


def hex_text(words):
    return "".join(f"{w:x}\n" for w in words)


def test_refusals(work):
    bit = [SYNTH / "bitstream.py", "--out", work / "out", "--firmware", "build/firmware/firmware.hex"]
    refused("refused: no such board", python(*bit, "--board", "nothing", "x.sv"), "ecpix5-85f")
    bad = work / "bad.hex"
    good = ram_init.read_hex(ROOT / "build/firmware/firmware.hex")
    for what, text, words in (
            *((repr(text), text, f"bad.hex:{line}: '{word}' is no hexadecimal word: make firmware writes")
              for text, line, word in (("@0\n12zz\n", 2, "12zz"), ("123456789\n", 1, "123456789"),
                                       ("@-1 1\n", 1, "@-1"), ("1_2\n", 1, "1_2"), ("\n0x34\n", 2, "0x34"),
                                       ("@\n", 1, "@"), ("@@0\n", 1, "@@0"))),
            ("behind the RAM", "@fff\n1 2\n", "bad.hex:2: more than the RAM's 4096 words"),
            ("without words", "", "bad.hex: no firmware: it has no header: make firmware writes"),
            ("without a header", "12345678\n" * 100, "bad.hex: no firmware: it has no header"),
            ("of which a bit is another", hex_text([*good[:99], good[99] ^ 32, *good[100:]]),
             "bad.hex: damaged firmware: its checksum is 0x"),
            ("whose size is another", hex_text([*good[:3], 5, *good[4:]]),
             "bad.hex: damaged firmware: its header says 5 bytes, in a RAM of 16384"),
            ("of a larger RAM", hex_text(struct.unpack(f"<{len(good)}I", ram_init.image.seal(
                struct.pack(f"<{len(good)}I", *good), 32768))),
             "bad.hex: the firmware needs a RAM of 32768 bytes, the board's has 16384"),
            ("cut short", hex_text(good[:-1]), f"bad.hex: the firmware is cut short: {4 * len(good) - 4} of "
             f"{4 * len(good)} bytes"),
            ("with more behind it", hex_text([*good, 1]), "bad.hex: 1 words after the firmware's end")):
        bad.write_text(text)
        refused(f"refused: firmware {what}", python(SYNTH / "bitstream.py", "--out", work / "out", "--board",
                                                    "ecpix5-85f", "--firmware", bad, "--only-firmware"), words)
    bad.write_text("")
    refused("refused: a bitstream with no firmware", python(SYNTH / "bitstream.py", "--out", work / "out", "--board",
                                                            "ecpix5-85f", "--firmware", bad, "x.sv"), "no firmware")
    for option, value, words in (("--seed", "a", "--seed"), ("--seed", "0", "seed 0: seeds are 1 and above"),
                                 ("--until", "route", "--until"), ("--fabric-mhz", "fast", "--fabric-mhz")):
        refused(f"refused: {option} {value}", python(*bit, "--board", "ecpix5-85f", option, value, "x.sv"), words)
    shutil.rmtree(work / "out", ignore_errors=True)
    for mhz in (0, 1000):
        refused(f"refused: --fabric-mhz {mhz}", python(*bit, "--board", "ecpix5-85f", "--fabric-mhz", mhz, "x.sv"),
                f"board.toml with FABRIC_MHZ={mhz}: fabric of")
        expect(f"nothing written: --fabric-mhz {mhz}", not (work / "out").exists())
    refused("refused: firmware into what is not there", python(*bit, "--board", "ecpix5-85f", "--only-firmware"),
            "make bitstream")
    for how in ("load", "flash"):
        refused(f"refused: {how} without a bitstream", python(SYNTH / "loader.py", how, "--board", "ulx3s-85f", "--out",
                                                              work / "out"), "make bitstream")
    (work / "out").mkdir(exist_ok=True)
    (work / "out/ecpix5-85f.json").write_text('{"seed": 2}')
    refused("refused: firmware into a routed design that is gone", python(*bit, "--board", "ecpix5-85f",
                                                                          "--only-firmware"),
            "seed-2.config is missing: make bitstream")
    refused("refused: a page of a routed design that is gone",
            python(SYNTH / "board_report.py", "ecpix5-85f", work / "out", work / "page"), "seed-2.json is missing")
    (work / "out/butterstick-85f.bit").write_text("bits")
    refused("refused: options of the loader without their end", python(
        SYNTH / "loader.py", "load", "--board", "butterstick-85f", "--out", work / "out", "--options", "-c 'x"),
            "LOADER=-c 'x: No closing quotation")
    refused("refused: load of a board that only has flash",
            python(SYNTH / "loader.py", "load", "--board", "butterstick-85f", "--out", work / "out"), "JTAG lead")
    if not shutil.which("openFPGALoader"):
        refused("refused: no openFPGALoader", python(SYNTH / "loader.py", "flash", "--board", "butterstick-85f",
                                                     "--out", work / "out"), "apt-get install openfpgaloader")


def test_placement(work):
    """What is placed is placed again only for another netlist, other pins or other options, and when
    nextpnr did not end well."""
    out = work / "placed"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    (out / "n.json").write_text("{}")
    (out / "pins.lpf").write_text("")
    calls, old = [], bitstream.nextpnr

    def nextpnr(b, out, name, source, args):
        calls.append(args)
        (out / f"{name}.json").write_text("{}")
        os.utime(out / f"{name}.json", (2e9, 2e9))
        return None if "bad" not in args else "nextpnr: bad"

    b = {"id": "t", "placer": ["--placer", "static"], "legalize": None, "netlist": "n.json", "folder": out}
    bitstream.nextpnr = nextpnr
    try:
        for what, args, runs in (("the first time", ["a"], 1), ("not again", ["a"], 1),
                                 ("with other options", ["b"], 2)):
            bitstream.place(b, out, 1, args, {})
            expect(f"placed: {what}", len(calls) == runs, calls)
        os.utime(out / "n.json", (2.1e9, 2.1e9))
        bitstream.place(b, out, 1, ["b"], {})
        expect("placed: another netlist", len(calls) == 3 and "static" in calls[-1]
               and "--no-route" in calls[-1], calls)
        os.utime(out / "n.json", (1e9, 1e9))
        os.utime(out / "pins.lpf", (2.1e9, 2.1e9))
        bitstream.place(b, out, 1, ["b"], {})
        expect("placed: other pins", len(calls) == 4, calls)
        os.utime(out / "pins.lpf", (1e9, 1e9))
        for n in (5, 6):
            try:
                bitstream.place(b, out, 1, ["bad"], {})
                expect("placed: what failed ends it", False)
            except SystemExit:
                expect("placed: what failed is placed again", len(calls) == n, calls)
        with bitstream.alone(out), (out / "lock").open() as f:
            try:
                fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
                expect("seeds side by side: one at a time writes what they share", False)
            except BlockingIOError:
                expect("seeds side by side: one at a time writes what they share", True)

        def routed(made=("config", "json", "report.json"), args=("r",)):
            calls.clear()
            took = bitstream.once(b, out, "seed-1", "placed-1.json", [out / "placed-1.json"],
                                  [out / f"seed-1.{end}" for end in made], list(args), "seed 1")
            for end in ("config", "report.json"):
                (out / f"seed-1.{end}").touch()
                os.utime(out / f"seed-1.{end}", (2e9 + 1, 2e9 + 1))
            os.utime(out / "seed-1.json", (2e9 + 1, 2e9 + 1))
            return len(calls), took["seconds"]

        os.utime(out / "placed-1.json", (2e9, 2e9))
        expect("routed: the first time", routed() == (1, 0))
        (out / "seed-1.done").write_text(json.dumps({"args": ["r"], "seconds": 77, "mebibytes": 5}))
        expect("routed: not again, and it took what it took", routed() == (0, 77))
        expect("routed: with other options", routed(args=("s",))[0] == 1 and routed(args=("s",))[0] == 0)
        (out / "seed-1.config").unlink()
        expect("routed: a file of it is missing", routed(args=("s",))[0] == 1)
        os.utime(out / "placed-1.json", (2e9 + 2, 2e9 + 2))
        expect("routed: another placement", routed(args=("s",))[0] == 1)
    finally:
        bitstream.nextpnr = old


def test_seeds(work):
    """Which seed's bitstream it is, and what is said of those that miss something."""
    out = work / "seeds"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    nets = {"usb": "u_clk", "node": "n_clk", "fabric": "f_clk"}
    b = {"id": "t", "placer": [], "legalize": None, "netlist": "n.json", "folder": out,
         "nets": {d: (0, {n}) for d, n in nets.items()}, "io": {"usb": {"in_ns": 6.0, "out_ns": 8.0}}}
    mhz = {"usb": 60.0, "node": 48.0, "fabric": 12.0}
    (out / "n.json").write_text("{}")
    (out / "pins.lpf").write_text("")
    good = {"usb": 61.0, "node": 50.0, "fabric": 60.0, "in": 5.9, "out": 7.9, "across": 20.3}

    def path(a, z, ns):
        return {"from": a, "to": z, "path": [{"type": "clk-to-q", "delay": 0.5, "from": {"cell": f"first of {a}"},
                                              "to": {"cell": "x"}},
                                             {"type": "routing", "delay": ns - 0.5, "from": {"cell": "x"},
                                              "to": {"cell": f"last of {z}"}}]}

    def ends(seeds, best=False):
        """With the figures of seeds = {seed: what differs from good}: (the seed that is taken, [missed] of
        each that was routed)."""
        def nextpnr(b, out, name, source, args):
            f = good | seeds[int(args[args.index("--seed") + 1])]
            clock = {d: f"posedge {n}" for d, n in nets.items()}
            report = {"fmax": {n: {"achieved": f[d]} for d, n in nets.items() if d in f}, "utilization": {},
                      "critical_paths": [*(path(clock[d], clock[d], 1000 / f[d]) for d in nets),
                                         path("<async>", clock["usb"], f["in"]),
                                         path(clock["usb"], "<async>", f["out"]),
                                         path(clock["node"], clock["fabric"], f["across"])]}
            (out / f"{name}.report.json").write_text(json.dumps(report))
            (out / f"{name}.json").write_text("{}")
            return None

        old, bitstream.nextpnr = bitstream.nextpnr, nextpnr
        try:
            seed, tried, _ = bitstream.route(b, argparse.Namespace(seed=list(seeds), best=best), out, mhz)
        finally:
            bitstream.nextpnr = old
        return seed, [t["missed"] for t in tried]

    three = {1: {"node": 47.9}, 2: {"node": 48.0}, 3: {"node": 51.0}}
    seed, missed = ends(three)
    expect("seeds: the first that meets all, and none behind it", seed == 2 and len(missed) == 2 and not missed[1],
           (seed, missed))
    expect("seeds: a clock that is missed, with both ends of its path", len(missed[0]) == 1
           and "node reaches 47.9 of 48.0 MHz" in missed[0][0] and "first of posedge n_clk" in missed[0][0]
           and "last of posedge n_clk" in missed[0][0] and "0.5 ns in logic" in missed[0][0], missed)
    each = [{"seconds": 60, "mebibytes": 5}, {"seconds": 70, "mebibytes": 6}]
    expect("seeds: what they share counts once", bitstream.total({"seconds": 100, "mebibytes": 9}, each)
           == {"seconds": 230, "mebibytes": 9} and bitstream.total(None, each) == {"seconds": 130, "mebibytes": 6})
    seed, missed = ends(three | {4: {"node": 49.0}}, best=True)
    expect("seeds: the best of all", seed == 3 and len(missed) == 4, (seed, missed))
    seed, missed = ends({1: {"node": 53.0, "in": 6.1}, 2: {"node": 49.0}}, best=True)
    expect("seeds: one that misses its pads is not the best", seed == 2
           and "6.1 ns from a pad, 6.0 are left" in missed[0][0], (seed, missed))
    for what, f, words in (("to a pad", {"out": 8.1}, "8.1 ns to a pad"),
                           ("between clocks", {"across": 20.4}, "node to fabric takes 20.4 of 20.3 ns")):
        seed, missed = ends({1: f})
        expect(f"seeds: missed {what}", seed is None and len(missed[0]) == 1 and words in missed[0][0], (seed, missed))


class Terminal(io.StringIO):
    def __init__(self, is_one):
        super().__init__()
        self.isatty = lambda: is_one


def test_progress(work):
    """What is shown while nextpnr runs, by a program in its place that writes such a log, and fails in the end."""
    program, log = work / "slow.py", work / "slow.log"
    lines = ["Info: Packing..", "Info: overlap: COMB=99.8%, FF=99.8%, RAM=0.0%, MUL=92.0%",
             "Info:            |   (re-)routed arcs  |   delta    | remaining|       time spent     |",
             "Info:       1000 |      103        896 |  103   896 |    264853|       3.60       3.60|"]
    program.write_text(f"#!{sys.executable}\nimport pathlib, sys, time\n"
                       "log = pathlib.Path(sys.argv[sys.argv.index('--log') + 1])\n"
                       f"for line in {lines!r}:\n    log.open('a').write(line + '\\n')\n    time.sleep(0.4)\n"
                       "if 'fails' in sys.argv:\n    print('x' * 200000, file=sys.stderr)\n    print('ERROR: no "
                       "place', file=sys.stderr)\n    print('ERROR: more', file=sys.stderr)\n    sys.exit(1)\n")
    program.chmod(0o755)
    for line, what in (("Info:     at iteration #7, type ALL: wirelen solved = 10068, spread = 1228307, legal = "
                        "1384097; time = 59.41s", "placing, round 7"),
                       ("Info:   at iteration #10: temp = 0.000000, timing cost = 1629, wirelen = 468263",
                        "placing, round 10 of refinement"),
                       ("Info: Packing constants..", "reading and packing")):
        expect(f"progress: {what}", nextpnr_run.stage(line + "\n") == what, nextpnr_run.stage(line))
    old = flow.tool, progress.TERMINAL_SECONDS, progress.LOG_SECONDS
    flow.tool, progress.TERMINAL_SECONDS, progress.LOG_SECONDS = lambda name: str(program), 0.1, 0.1
    try:
        shown = {}
        for terminal in (True, False):
            out = Terminal(terminal)
            expect(f"progress: well, {'a' if terminal else 'no'} terminal",
                   nextpnr_run.run([], log, "board: seed 1", out) is None)
            shown[terminal] = out.getvalue()
            stages = [shown[terminal].find(s) for s in ("board: seed 1: reading and packing, 0 min",
                                                        "board: seed 1: placing, 100 % of the cells still lie upon "
                                                        "each other", "board: seed 1: routing, 264853 arcs are left")]
            expect(f"progress: every stage in its order, {'a' if terminal else 'no'} terminal",
                   -1 < stages[0] < stages[1] < stages[2], shown[terminal])
        expect("progress: one line on a terminal, which is empty in the end", "\n" not in shown[True]
               and shown[True].endswith(" \r"), shown[True])
        expect("progress: lines of their own elsewhere", "\r" not in shown[False] and shown[False].count("\n") > 3,
               shown[False])
        fault = nextpnr_run.run(["fails"], log, "board: seed 1", Terminal(True))
        expect("progress: what went wrong, in a line, however much was said",
               fault == f"nextpnr: no place (log: {log})", fault)
    finally:
        flow.tool, progress.TERMINAL_SECONDS, progress.LOG_SECONDS = old


def test_synthesis_progress(work):
    """What is shown while Yosys runs, and what is said when it fails, by a program in its place."""
    program = work / "slow_yosys.py"
    program.write_text(f"#!{sys.executable}\nimport pathlib, sys, time\n"
                       "log = pathlib.Path(sys.argv[sys.argv.index('-l') + 1])\n"
                       "for line in ('1. Executing RTLIL frontend.', '23.4.1. Executing OPT_EXPR pass (perform const "
                       "folding).'):\n"
                       "    log.open('a').write(line + '\\n')\n    time.sleep(0.4)\n"
                       "if 'fails' in log.name:\n    print('ERROR: no such module', file=sys.stderr)\n"
                       "    sys.exit(1)\n")
    program.chmod(0o755)
    old = flow.YOSYS, progress.TERMINAL_SECONDS, progress.LOG_SECONDS, sys.stderr
    flow.YOSYS, progress.TERMINAL_SECONDS, progress.LOG_SECONDS = lambda: [str(program)], 0.1, 0.1
    try:
        sys.stderr = shown = Terminal(True)
        flow.yosys(work, "synth", "")
        stages = [shown.getvalue().find(s) for s in ("synth: step 1, RTLIL frontend, 0 min",
                                                     "synth: step 23, OPT_EXPR pass (perform const folding), 0 min")]
        expect("synthesis: every step in its order", -1 < stages[0] < stages[1] and shown.getvalue().endswith(" \r"),
               shown.getvalue())
        sys.stderr = shown = Terminal(False)
        status = None
        try:
            flow.yosys(work, "fails", "")
        except SystemExit as e:
            status = e.code
        expect("synthesis: what went wrong, and where the log is", status == 2 and "no such module" in shown.getvalue()
               and "fails.log" in shown.getvalue(), (status, shown.getvalue()))
    finally:
        flow.YOSYS, progress.TERMINAL_SECONDS, progress.LOG_SECONDS, sys.stderr = old


def test_page(work):
    out = work / "page"
    refused("refused: a page of what is not placed", python(SYNTH / "board_report.py", "ecpix5-85f", work / "nothing",
                                                            out), "make bitstream")
    expect("no page of what is not placed", not out.exists())
    placed = {"i_board.i_device.i_cross.i_device.gen_threads.i_fabric.i_core.i_switch.a": ("TRELLIS_COMB", 0, 0),
              "x.i_fabric.i_node.i_hub.i_gpu_side.b": ("TRELLIS_FF", 2, 1),
              "x.i_fabric.i_node.i_hub.c": ("TRELLIS_FF", 2, 1), "x.i_device.i_usb.d": ("TRELLIS_COMB", 2, 1),
              "x.i_device.i_soc.i_ram.mem.0": ("DP16KD", 1, 1)}
    cells = {n: {"type": t, "attributes": {"NEXTPNR_BEL": f"X{x}/Y{y}/SLICEA.LUT0"}} for n, (t, x, y) in placed.items()}
    folder = work / "area/ecpix5-85f-n4"
    folder.mkdir(parents=True)
    (folder / "seed-2.json").write_text(json.dumps({"modules": {"t": {"cells": cells}}}))
    seed = {"clocks": {"usb": {"asked_mhz": 60.0, "reached_mhz": 61.5},
                       "node": {"asked_mhz": 36.0, "reached_mhz": 37.25}},
            "pads": {"usb in": {"limit_ns": 11.2, "ns": 8.5}}, "between": {"node to fabric": 20.5}}
    report = {"part": "P", "settings": ["N=4", "FlitBytes=8"], "cycle_clocks": 4, "mhz": {"node": 36.0, "fabric": 9.0},
              "seed": 2, "tools": "tool 1", "tree": "abc123", "seconds": 120, "mebibytes": 2048,
              "seeds": [{"seed": 1, **seed, "missed": ["usb"]}, {"seed": 2, **seed, "missed": []}]}
    (folder / "ecpix5-85f.json").write_text(json.dumps(report))
    # of another board, whose device has the same settings; its first primitive takes 7 flip-flops
    names = boards.load("ecpix5-85f")["primitives"]
    for place, ff in (("a-n4", 100), *((f"a-n4-without-{p}", 93 if p == names[0] else 100) for p in names)):
        (folder.parent / place).mkdir()
        area = {"settings": report["settings"], "tree": "def456", "cells": {"comb": 1, "ff": ff, "bram": 2, "dsp": 3}}
        (folder.parent / place / "area.json").write_text(json.dumps(area))
    r = python(SYNTH / "board_report.py", "ecpix5-85f", folder, out)
    text = (out / "ecpix5-85f.md").read_text() if r.returncode == 0 else r.stderr
    for line in ("| switch | 1 | 0 | 0 | 0 |", "| hub | 0 | 2 | 0 | 0 |", "| control SoC | 0 | 0 | 1 | 0 |",
                 "| USB core | 1 | 0 | 0 | 0 |", "9.00 million cycles per second",
                 "| 1 | 61.5 | 37.2 | 8.5 | 20.5 | missed |",
                 "| 2 | 61.5 | 37.2 | 8.5 | 20.5 | **met** |", "The bitstream is of seed 2.", "2 minutes and 2.0 GiB",
                 "commit abc123 with tool 1", "`make board-area BOARD=a`", "commit def456",
                 f"| `{names[0]}` | 0 | 7 | 0 | 0 |", f"| `{names[-1]}` | 0 | 0 | 0 | 0 |",
                 "| `target_list_cache`, and with it `switch_reductions` |", "| all of the device | 1 | 100 | 2 | 3 |"):
        expect(f"page of a board: {line}", line in " ".join(text.split()), text)
    (folder.parent / f"a-n4-without-{names[1]}/area.json").unlink()
    r = python(SYNTH / "board_report.py", "ecpix5-85f", folder, out)
    expect("page of a board: a primitive that is not measured", r.returncode == 0 and "make board-area" in r.stdout
           and "Area by primitive" not in (out / "ecpix5-85f.md").read_text(), r.stdout + r.stderr)
    svg = (out / "ecpix5-85f.svg").read_text()
    raw = base64.b64decode(re.search(r"base64,([^\"]+)", svg)[1])
    at = raw.index(b"IDAT")
    rows = zlib.decompress(raw[at + 4:at + 4 + int.from_bytes(raw[at - 4:at], "big")])
    pixel = lambda x, y: rows[y * 10 + 1 + 3 * x:y * 10 + 4 + 3 * x].hex()
    colour = lambda part: re.search(rf'fill="#(\w+)"/>\n<text[^>]*>{part}<', svg)[1]
    expect("floorplan: a tile is its most frequent part's, an empty one is white", len(rows) == 20
           and pixel(0, 0) == colour("switch") and pixel(2, 1) == colour("hub")
           and pixel(1, 1) == colour("control SoC") and pixel(1, 0) == "ffffff", rows.hex())


def test_crossings(work):
    for what, (text, fault) in DESIGNS.items():
        source = work / "t.sv"
        source.write_text(HEAD + text + "\nendmodule\n")
        flow.yosys(work, "t", f"read_slang --threads 1 -I rtl/common --top t {' '.join(CDC)} {source}\nsynth_ecp5 -top "
                   f"t -nowidelut\nwrite_json {work}/t.json\n")
        # the pins belong to clock a, but where a pin itself is what is looked at
        r = python(SYNTH / "crossings.py", work / "t.json", "t", *([] if what == "a pin" else ["pin=a", "r=b"]))
        if fault is None:
            expect(f"crossings: {what}", r.returncode == 0 and "21 bits" in r.stdout, r.stdout)
        else:
            expect(f"crossings: found: {what}", r.returncode == 1 and re.search(f"FAILED: .*{fault}", r.stdout),
                   r.stdout)
        if what == "a register by itself":
            r = python(SYNTH / "crossings.py", work / "t.json", "t", "pin=a", "r=b", "b~a")
            expect("crossings: two clocks of one oscillator are one", r.returncode == 0
                   and "0 bits" in r.stdout, r.stdout)
    expect("crossings: no netlist is refused", python(SYNTH / "crossings.py", work / "none.json", "t").returncode == 2)


def test_read_back(work):
    """A bitstream that is whole, one of other contents, and ones of which bits are others or missing."""
    config, bit = work / "small.config", work / "small.bit"
    words = [f"{random.Random(5).getrandbits(9):03x}" for _ in range(2048)]

    def write(words):
        config.write_text(".device LFE5UM5G-25F\n\n"
                          + "".join(f".bram_init {n}\n" + "".join(" ".join(words[i:i + 8]) + "\n"
                                                                  for i in range(0, 2048, 8)) + "\n" for n in (1, 2)))

    write(words)
    r = subprocess.run([flow.tool("yowasp-ecppack"), str(config), "--compress", "--bit", str(bit)],
                       capture_output=True, text=True)
    expect("read back: a bitstream is packed", r.returncode == 0 and bit.exists(), r.stderr)
    whole = bit.read_bytes()
    fault = read_back.fault(bit, config)
    expect("read back: it is whole", fault is None, fault)
    write([*words[:-1], f"{int(words[-1], 16) ^ 1:03x}"])
    fault = read_back.fault(bit, config) or ""
    expect("read back: a bit of a block RAM is another", "other words in block RAM 1" in fault, fault)
    write(words)
    for what, broken in (("a byte of it is another", whole[:-5000] + bytes([whole[-5000] ^ 16]) + whole[-4999:]),
                         ("it ends too soon", whole[:-3000]), ("it is none", b"no bitstream")):
        bit.write_bytes(broken)
        fault = read_back.fault(bit, config) or ""
        expect(f"read back: {what}", fault.startswith(str(bit)), fault)


def test_ram(work):
    words, new = ram_init.random_words(3), ram_init.random_words(4)
    cells = {}
    for n in range(8):  # four bits each, as Yosys lays the CPU's RAM out
        values = [["0"] * 320 for _ in range(64)]
        for a, w in enumerate(words):
            for k in range(4):
                i, p = ram_init.bit_place(4 * a + k)
                values[i][p] = str(w >> (4 * n + k) & 1)
        cells[f"ram{n}"] = {"type": "DP16KD", "parameters": {"DATA_WIDTH_A": f"{4:032b}"}
                            | {f"INITVAL_{i:02X}": "".join(reversed(v)) for i, v in enumerate(values)}}
    design = {"modules": {"t": {"cells": cells}}}
    before = json.dumps(design)
    expect("firmware into a netlist: every block RAM of the CPU's", ram_init.into_netlist(design, words, new) == 8)
    expect("and back", json.dumps(design) != before and ram_init.into_netlist(design, new, words) == 8
           and json.dumps(design) == before)
    firmware = ROOT / "build/firmware/firmware.hex"
    image = ram_init.read_hex(firmware)
    expect("the firmware, and zeros behind it", ram_init.read_firmware(firmware)
           == image + [0] * (ram_init.WORDS - len(image)))
    expect("other words are not found", ram_init.into_netlist(design, new, words) == 0)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    work = pathlib.Path(sys.argv[1]) / "board/test"
    test_pll()
    test_boards(work)
    test_refusals(work)
    test_placement(work)
    test_seeds(work)
    test_progress(work)
    test_synthesis_progress(work)
    test_page(work)
    test_crossings(work)
    test_ram(work)
    test_read_back(work)
    print(f"boards: {'passed' if not failed else str(len(failed)) + ' failed'}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
