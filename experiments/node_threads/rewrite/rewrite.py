#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes of a module one whose state rotates through N threads: N clocks of it are one of N copies of the module, each
with inputs and outputs of its own.

usage: rewrite.py --top NAME --threads N --out DIR [--param NAME=VALUE ...] FILE...

The module NAME_threads has the ports of NAME and thread_i, the number of the thread whose inputs are there,
and whose outputs: 0 to N-1, each a clock, in turn. It is written to DIR as NAME_threads.v, for simulation, and
NAME_threads.il, for synthesis; docs/design/threads.md says why it is right. FILE: the RTL, packages first. Yosys
runs from the current folder (its slang front end opens only files below it). Exit status 1: the module holds what no
rule is for, 2: Yosys failed.
"""
import argparse
import json
import pathlib
import sys

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[3] / "flow/ecp5"))
import flow  # noqa: E402
import memories  # noqa: E402
import registers  # noqa: E402
import settings  # noqa: E402
from netlist import Netlist, Refused, parameter  # noqa: E402

PORT = "thread_i"
LEAST, MOST = 3, 32  # threads: a word of a RAM is two clocks on its way
# What no register and no memory is: the same in every thread, and without state
FUNCTIONS = set("""$not $pos $neg $and $or $xor $xnor $reduce_and $reduce_or $reduce_xor $reduce_xnor $reduce_bool
$shl $shr $sshl $sshr $shift $shiftx $lt $le $eq $ne $eqx $nex $ge $gt $add $sub $mul $div $mod $divfloor $modfloor $pow
$logic_not $logic_and $logic_or $mux $pmux $bmux $demux $bwmux $bweqx $concat $slice $alu $fa $lcu
$macc $macc_v2 $lut $sop""".split())
# say something of the module, and are not part of it
IGNORED = {"$scopeinfo", "$print", "$check", "$assert", "$assume", "$cover", "$live", "$fair"}

# One word per register and memory, and everything that Yosys finds out about enables, resets and reads with a clock.
# Arrays of registers, which the front end takes for memories, become registers: small ones of which several words are
# read or written at once, unless the RTL asks for a RAM. Ports of memories stay as wide as the memory.
FRONT = """
hierarchy -check -top {top}
proc
flatten
delete t:$check t:$print
opt_clean
opt -full -nodffe -nosdff
opt_mem
opt_mem_priority
opt_mem_feedback
memory_bmux2rom
memory_share -nowiden
memory_collect
select -set several t:$mem_v2 r:WR_PORTS>1 %i t:$mem_v2 r:RD_PORTS>1 %i %u r:SIZE<=16 %i a:ram_style %d
memory_map @several
opt -full
wreduce
peepopt
opt_clean
opt
opt_mem
opt_mem_priority
opt_mem_feedback
memory_bmux2rom
memory_dff
memory_share -nowiden
opt_clean
memory_collect
opt_clean
write_json {out}/{top}.json
"""
BACK = """
read_json {out}/{top}_threads.json
hierarchy -check -top {top}_threads
opt_clean
write_rtlil {out}/{top}_threads.il
bwmuxmap
splitnets -driver
write_verilog -noattr {out}/{top}_threads.v
"""


def parse():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--top", required=True)
    p.add_argument("--threads", type=int, required=True)
    p.add_argument("--out", required=True)
    p.add_argument("--param", action="append", default=[])
    p.add_argument("files", nargs="+")
    return p.parse_args()


def threaded(name, module, threads):
    """The module of Yosys' JSON, flat and with cells of word width, with threads; it is changed in place."""
    if not LEAST <= threads <= MOST:
        raise Refused(f"{name}: {threads} threads; {LEAST} to {MOST} are possible")
    for n in [n for n, c in module["cells"].items() if c["type"] in IGNORED]:
        del module["cells"][n]
    for n, c in module["cells"].items():
        registers.check(n, c)
        memories.check(n, c)
        if c["type"] not in FUNCTIONS and c["type"] not in registers.KINDS and not memories.is_memory(c):
            raise Refused(f"{name}: no rule for {n} of type {c['type']}")
    if PORT in module["ports"]:
        raise Refused(f"{name}: has a port {PORT} already")
    net = Netlist(name, module)
    thread = net.word((threads - 1).bit_length())
    module["ports"][PORT] = {"direction": "input", "bits": thread}
    net.nets[PORT] = {"hide_name": 0, "bits": thread, "attributes": {}}
    registers.registers(net, threads)
    memories.memories(net, threads, thread)
    return module


def read(out, top, params, files):
    """The module of the RTL, as the rules want it."""
    flow.yosys(out, f"{top}_front", f"read_slang --threads 1 --keep-hierarchy{settings.slang(params, out)} --top {top} "
               f"{' '.join(files)}\n" + FRONT.format(out=out, top=top))
    modules = json.loads((out / f"{top}.json").read_text())["modules"]
    return modules[top]


def write(out, top, module):
    module["attributes"] = {"top": parameter(1)}
    (out / f"{top}_threads.json").write_text(json.dumps({"creator": "", "modules": {f"{top}_threads": module}}))
    flow.yosys(out, f"{top}_back", BACK.format(out=out, top=top))


def main():
    a = parse()
    out = pathlib.Path(a.out)
    out.mkdir(parents=True, exist_ok=True)
    try:
        write(out, a.top, threaded(a.top, read(out, a.top, a.param, a.files), a.threads))
    except Refused as e:
        sys.exit(f"threads: {e}")


if __name__ == "__main__":
    main()
