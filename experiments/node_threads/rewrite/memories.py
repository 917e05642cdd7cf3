# SPDX-License-Identifier: Apache-2.0
"""Rules for memories: the thread's number becomes the upper part of every address, so each thread
has a bank of its own.

A write, and a read without a clock, are those of the copy: in a clock of thread t they go to bank t, which nobody
else touches in that clock.

A read with a clock (rdata_q <= mem[addr]) is a register, which becomes a ring (registers.py) whose first register is
the one inside the RAM. There it can have neither enable nor reset, as the value that it would hold is not in it but at
the ring's end: both act later, on what was delayed as long. The address waits a clock. So it comes from a register, and
what the thread writes in the same clock is written by then, while others write other banks: the RAM needs no way around
it. Where the word of before is to be read, writes wait two clocks, and are done when the thread is there again.
"""
from netlist import Refused, number, parameter
from registers import ring

PER_READ = ("RD_CLK", "RD_EN", "RD_ARST", "RD_SRST")
BLOCK_WIDTH, BLOCK_WORDS = 16, 32  # from which on a memory with a clocked read is for block RAM: below, LUTs take less


def is_memory(cell):
    return cell["type"] == "$mem_v2"


def bit(word, i):
    """Bit i of a parameter."""
    return word[-1 - i]


def waits(p, clocked):
    """How many clocks reads with a clock, and writes, may wait: (1, 0) where a read gives what is written in the same
    clock, or anything; (1, 2) where it gives what was there before. Where both are asked of one memory nothing waits,
    and its ports stay as they are."""
    writes = number(p["WR_PORTS"])
    at = [r * writes + w for r in clocked for w in range(writes)]
    new = any(bit(p["RD_TRANSPARENCY_MASK"], i) == "1" for i in at)
    old = any(bit(p["RD_TRANSPARENCY_MASK"], i) == "0" and bit(p["RD_COLLISION_X_MASK"], i) == "0" for i in at)
    return (0, 0) if new and old else (1, 2) if old else (1, 0)


def banked(init, threads, size, width, stride):
    """The contents of all banks."""
    if not set(init) - {"x"}:
        return "x" * (((threads - 1) * stride + size) * width)
    gap = "x" * ((stride - size) * width)
    return gap.join([init] * threads)


def fitted(words, bits, size):
    """The addresses without upper bits that are always 0, and how many bits they have."""
    need = (size - 1).bit_length()
    if any(b != "0" for w in words for b in w[need:]):
        return words, bits
    return [w[:need] for w in words], min(bits, need)


def clocked_read(net, name, port, threads, wait, word):
    """What a clocked read gives, with its register as a ring: WORD is what the RAM's register has, 1 + WAIT
    clocks behind the address."""
    cell = net.cells[name]
    p, c, width = cell["parameters"], cell["connections"], number(cell["parameters"]["WIDTH"])
    name = f"{name}$read{port}"
    end = c["RD_DATA"][port * width:(port + 1) * width]
    net.only_clock(name, c["RD_CLK"][port], parameter(int(bit(p["RD_CLK_POLARITY"], port))))
    if c["RD_ARST"][port] not in ("0", "x"):
        raise Refused(f"{name}: no rule for a read with an asynchronous reset")

    def value_of(parameter_name):
        return p[parameter_name][(len(p[parameter_name]) - (port + 1) * width):len(p[parameter_name]) - port * width]

    init, clocks = value_of("RD_INIT_VALUE"), 1 + wait
    begins = bool(set(init) - {"x"})
    enable, reset = c["RD_EN"][port], c["RD_SRST"][port]
    value = word
    first = bit(p["RD_CE_OVER_SRST"], port) == "1"  # without its enable it is not reset

    def cleared(word):
        if reset in ("0", "x"):
            return word
        return net.mux(f"{name}$clear", net.delay([reset], clocks, "0")[0], word,
                       list(reversed(value_of("RD_SRST_VALUE"))))

    value = cleared(value) if first else value
    if enable != "1" or begins:
        value = net.mux(f"{name}$hold", net.delay([enable], clocks, "0")[0], net.delay(end, clocks, init), value)
    value = value if first else cleared(value)
    if begins:
        net.named(end, end[0], "begin", init)
    ring(net, name, value, end, [init] * (threads - clocks))


def memory(net, name, threads, thread):
    """Gives every thread a bank, THREAD being the word with its number."""
    cell = net.cells[name]
    p, c = cell["parameters"], cell["connections"]
    reads, writes, width, bits, size = (number(p[k]) for k in ("RD_PORTS", "WR_PORTS", "WIDTH", "ABITS", "SIZE"))
    if "1" in p["RD_WIDE_CONTINUATION"] + p["WR_WIDE_CONTINUATION"] or number(p["OFFSET"]):
        raise Refused(f"{net.name}: no rule for memory {p['MEMID']} with ports of several words, or one that does not "
                      "begin at 0")
    for w in range(writes):
        if bit(p["WR_CLK_ENABLE"], w) != "1":
            raise Refused(f"{net.name}: no rule for memory {p['MEMID']}, which is written without a clock")
        net.only_clock(p["MEMID"], c["WR_CLK"][w], parameter(int(bit(p["WR_CLK_POLARITY"], w))))
    words = [c[f"{k}_ADDR"][i * bits:(i + 1) * bits] for k, count in (("RD", reads), ("WR", writes))
             for i in range(count)]
    words, bits = fitted(words, bits, size)
    bank = thread if writes else []  # what nobody writes is the same for all
    if writes:
        p["SIZE"], p["INIT"] = parameter((threads - 1) * (1 << bits) + size), banked(p["INIT"], threads, size,
                                                                                     width, 1 << bits)
    p["ABITS"] = parameter(bits + len(bank))

    data, addresses = [], []
    clocked = [r for r in range(reads) if bit(p["RD_CLK_ENABLE"], r) == "1"]
    wait, write_wait = waits(p, clocked)
    for r in range(reads):
        if r not in clocked:
            data += c["RD_DATA"][r * width:(r + 1) * width]
            addresses += words[r] + bank
            continue
        word = net.word(width)
        clocked_read(net, name, r, threads, wait, word)
        data += word
        addresses += net.delay(words[r] + bank, wait)
        for i, k in enumerate(PER_READ[1:]):
            c[k] = [*c[k][:r], "100"[i], *c[k][r + 1:]]
    for k in ("RD_INIT_VALUE", "RD_SRST_VALUE", "RD_ARST_VALUE"):
        p[k] = "x" * (reads * width)
    p["RD_CE_OVER_SRST"] = "0" * reads
    c["RD_DATA"], c["RD_ADDR"] = data, addresses
    if wait and clocked and writes:  # in another bank than every write
        pairs = [r in clocked for r in range(reads) for _ in range(writes)]
        p["RD_TRANSPARENCY_MASK"] = "0" * len(pairs)
        p["RD_COLLISION_X_MASK"] = "".join(str(int(x)) for x in reversed(pairs))
    c["WR_ADDR"] = net.delay([b for w in words[reads:] for b in w + bank], write_wait)
    c["WR_DATA"] = net.delay(c["WR_DATA"], write_wait)
    c["WR_EN"] = net.delay(c["WR_EN"], write_wait, "0" * len(c["WR_EN"]))
    # what one copy has in LUTs, too: it is N times as deep
    if clocked and writes and width >= BLOCK_WIDTH and number(p["SIZE"]) >= BLOCK_WORDS:
        cell["attributes"]["ram_style"] = "block"


def memories(net, threads, thread):
    for name in [n for n, c in net.cells.items() if is_memory(c)]:
        memory(net, name, threads, thread)


def check(name, cell):
    kind = cell["type"]
    if "$mem" in kind and not is_memory(cell):
        raise Refused(f"{name}: {kind} is part of a memory that was not collected")
