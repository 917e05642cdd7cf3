# SPDX-License-Identifier: Apache-2.0
"""Rules for registers: each becomes a ring of N, whose end is what the logic reads.

In a clock of thread t the end holds what thread t's copy of the register holds; the registers in front of it hold
those of threads t+1, t+2, ... What the copy would become enters the ring at its first register and is at the end N
clocks later, in t's next clock. So enable and reset of the copy act at the first register, where the value goes by, and
nowhere else: an enable that is off lets in what was at the end.
"""
from netlist import Refused, number

KINDS = {"$dff": "", "$dffe": "e", "$sdff": "r", "$sdffe": "er", "$sdffce": "er"}


def ring(net, name, value, end, init):
    """Registers between VALUE, a word that is as many clocks on its way as the list INIT is short of N, and END;
    INIT has what each begins with, the last one END's."""
    for k, begin in enumerate(init):
        last = k == len(init) - 1
        q = end if last else net.word(len(end))
        if not last:
            net.named(q, end[0], f"thread{len(init) - 1 - k}", begin)
        net.dff(f"{name}$ring{k}", value, q)
        value = q


def register(net, name, threads):
    """Puts a ring in the place of the register."""
    cell = net.cells.pop(name)
    kind, p, c = KINDS[cell["type"]], cell["parameters"], cell["connections"]
    net.only_clock(name, c["CLK"][0], p["CLK_POLARITY"])
    value, end = c["D"], c["Q"]
    init = net.inits(end)
    enable = reset = None
    if "e" in kind:
        enable = c["EN"][0] if number(p["EN_POLARITY"]) else net.invert(f"{name}$en", c["EN"][0])
    if "r" in kind:
        reset = c["SRST"][0] if number(p["SRST_POLARITY"]) else net.invert(f"{name}$srst", c["SRST"][0])

    def cleared(word):
        return net.mux(f"{name}$clear", reset, word, list(reversed(p["SRST_VALUE"])))

    def held(word):
        return net.mux(f"{name}$hold", enable, end, word)

    if cell["type"] == "$sdffce":  # without its enable it is not reset
        value = held(cleared(value))
    else:
        value = held(value) if enable else value
        value = cleared(value) if reset else value
    ring(net, name, value, end, [init] * threads)


def registers(net, threads):
    for name in [n for n, c in net.cells.items() if c["type"] in KINDS]:
        register(net, name, threads)


def check(name, cell):
    """Other cells that hold something have no rule."""
    kind = cell["type"]
    if kind not in KINDS and ("ff" in kind or "latch" in kind or kind in ("$sr", "$fsm", "$initstate")):
        raise Refused(f"{name}: no rule for {kind}; registers must be clocked by one clock, and reset by it if at all")
