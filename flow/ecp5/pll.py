#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Parameters of an ECP5 PLL (EHXPLLL) for the clocks that a board requests, and the module around it.

usage: pll.py INPUT_MHZ NAME=MHZ[!]...    prints the module board_clocks; !: exactly this frequency

CLKOP is the feedback of the PLL, which locks it to the input. The clocks are CLKOS, CLKOS2 and CLKOS3, other divisors
of the same oscillator. An exact clock is within 100 ppm. Every other clock has the highest possible frequency at or
below the requested one, within 2 %. Bounds: FPGA-DS-02012 (sysCLOCK PLL timing) and FPGA-TN-02200. Exit status 2: the
PLL cannot make them.
"""
import sys

IN_MHZ = (8.0, 400.0)
PFD_MHZ = (3.125, 400.0)   # input divided
VCO_MHZ = (400.0, 800.0)
OUT_MHZ = (3.125, 400.0)
DIVISORS = range(1, 129)
FEEDBACK = range(1, 81)
PORTS = ("CLKOS", "CLKOS2", "CLKOS3")
EXACT = 100e-6             # of what a crystal gives away
BELOW = 0.02               # of what is asked for, at most


class Impossible(Exception):
    """No setting gives what is asked for; the text says what."""


def within(x, bounds):
    return bounds[0] <= x <= bounds[1]


def fits(mhz, asked, exact):
    return abs(mhz / asked - 1) <= EXACT if exact else 1 - BELOW <= mhz / asked <= 1 + 1e-9


def best_divisor(vco, asked, exact):
    """The divisor whose frequency fits best, or None: that below or above the quotient."""
    below = int(vco / asked)
    found = [d for d in (below, below + 1) if d in DIVISORS and within(vco / d, OUT_MHZ)
             and fits(vco / d, asked, exact)]
    return min(found, key=lambda d: abs(vco / d - asked), default=None)


def solve(input_mhz, outputs, divided=()):
    """outputs: [(name, MHz, exact)]; divided: [(name, number of the output, factor)] of clocks that are exactly so much
    slower than one of those, in phase with it. One to three in all. Returns the divisors and what comes out of them, of
    outputs, then of what is divided."""
    if not within(input_mhz, IN_MHZ):
        raise Impossible(f"an input of {input_mhz:g} MHz: the PLL takes {IN_MHZ[0]:g} to {IN_MHZ[1]:g}")
    if not 1 <= len(outputs) + len(divided) <= len(PORTS):
        raise Impossible(f"{len(outputs) + len(divided)} clocks: a PLL makes one to {len(PORTS)}")
    for name, mhz in [(name, mhz) for name, mhz, _ in outputs] + [(name, outputs[of][1] / by)
                                                                  for name, of, by in divided]:
        if not within(mhz, OUT_MHZ):
            raise Impossible(f"{name} of {mhz:g} MHz: the PLL makes {OUT_MHZ[0]:g} to {OUT_MHZ[1]:g}")
    best = None
    for clki in DIVISORS:
        pfd = input_mhz / clki
        if not within(pfd, PFD_MHZ):
            continue
        for clkfb in FEEDBACK:
            for clkop in DIVISORS:
                vco = pfd * clkfb * clkop
                if not within(vco, VCO_MHZ) or not within(pfd * clkfb, OUT_MHZ):
                    continue
                divisors = [best_divisor(vco, mhz, exact) for _, mhz, exact in outputs]
                if None in divisors:
                    continue
                divisors += [divisors[of] * by for _, of, by in divided]
                if not all(d in DIVISORS and within(vco / d, OUT_MHZ) for d in divisors):
                    continue
                made = [vco / d for d in divisors]
                # nearest to what is asked for; then the fastest comparison, which jitters least, and a fast oscillator
                quality = (round(sum(abs(m / o[1] - 1) for m, o in zip(made, outputs)), 9), clki, -vco, -clkop)
                if best is None or quality < best[0]:
                    best = (quality, {"clki": clki, "clkfb": clkfb, "clkop": clkop, "vco": vco, "divisors": divisors,
                                      "mhz": made})
    if best is None:
        asked = ", ".join(f"{n} {m:g} MHz{' exactly' if e else ''}" for n, m, e in outputs)
        raise Impossible(f"{asked} from {input_mhz:g} MHz: no divisors of the PLL give that, an oscillator of "
                         f"{VCO_MHZ[0]:g} to {VCO_MHZ[1]:g} MHz between; ask for another frequency")
    return best[1]


def package(made, cycle_clocks):
    """SystemVerilog package clocks_pkg: kHz of each clock, and how many of the nodes' are one of the fabric's."""
    lines = ([f"    localparam int unsigned CycleClocks = {cycle_clocks};"]
             + [f"    localparam int unsigned {name.capitalize()}Khz = {round(mhz * 1000)};" for name, mhz in made])
    return "\n".join(["// Made by flow/ecp5/pll.py", "/* verilator lint_off UNUSEDPARAM */", "package clocks_pkg;",
                      *lines, "endpackage", ""])


def module(input_mhz, names, s, same=()):
    """SystemVerilog of board_clocks; `same`: [(name, another one's)] of clocks with two names."""
    ports = [f"    output wire logic {n}_o," for n in [*names, *(n for n, _ in same)]]
    what = ", ".join(f"{n} {m:g} MHz" for n, m in zip(names, s["mhz"]))
    used = list(zip(PORTS, names, s["divisors"]))
    settings = [f"        .{port}_ENABLE(\"ENABLED\"), .{port}_DIV({d}), .{port}_CPHASE({d - 1}),"
                for port, _, d in used]
    enables = [f".EN{port}(1'b{int(i < len(used))})" for i, port in enumerate(PORTS)]
    clocks = "".join(f" .{port}({names[i] + '_o' if i < len(names) else ''})," for i, port in enumerate(PORTS))
    return "\n".join([
        "// Made by flow/ecp5/pll.py", f"// {input_mhz:g} MHz / {s['clki']} * {s['clkfb']} * {s['clkop']}: oscillator "
        f"{s['vco']:g} MHz; {what}", "`default_nettype none",
        "module board_clocks (", "    input  wire logic clk_i,", *ports, "    output wire logic locked_o", ");",
        "    wire back;", "",
        "    EHXPLLL #(",
        f"        .CLKI_DIV({s['clki']}), .CLKFB_DIV({s['clkfb']}), .CLKOP_DIV({s['clkop']}), "
        f".CLKOP_CPHASE({s['clkop'] - 1}),", *settings,
        "        .FEEDBK_PATH(\"CLKOP\")", "    ) i_pll (",
        "        .CLKI(clk_i), .CLKFB(back), .CLKOP(back)," + clocks,
        f"        .ENCLKOP(1'b1), {', '.join(enables)}, .RST(1'b0), .STDBY(1'b0),",
        "        .PHASESEL0(1'b0), .PHASESEL1(1'b0), .PHASEDIR(1'b0), .PHASESTEP(1'b0), .PHASELOADREG(1'b0),",
        "        .PLLWAKESYNC(1'b0), .LOCK(locked_o)", "    );",
        *(f"    assign {n}_o = {other}_o;" for n, other in same), "endmodule", "`default_nettype wire", ""])


def main():
    try:
        outputs = [(n, float(m.rstrip("!")), m.endswith("!")) for n, _, m in (a.partition("=") for a in sys.argv[2:])]
        input_mhz = float(sys.argv[1])
    except (IndexError, ValueError):
        sys.exit(__doc__)
    try:
        s = solve(input_mhz, outputs)
    except Impossible as e:
        print(f"pll: {e}", file=sys.stderr)
        sys.exit(2)
    names = [o[0] for o in outputs]
    print(package(list(zip(names, s["mhz"])), 1) + module(input_mhz, names, s), end="")


if __name__ == "__main__":
    main()
