#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make refuses a variable that names nothing with one line and status 2, before it makes anything."""
import subprocess
import sys

BAD = (
    (["bitstream", "BOARD=foo"], "BOARD=foo: the boards are "),
    (["bitstream"], "BOARD=: the boards are "),
    (["bitstream", "BOARD=ecpix5-85f ulx3s-85f"], "the boards are "),
    (["load", "BOARD=%"], "the boards are "),
    (["flash", "BOARD=foo"], "the boards are "),
    (["board-page", "BOARD=foo"], "the boards are "),
    (["firmware-bitstream", "BOARD=foo"], "the boards are "),
    (["bitstream", "BOARD=ecpix5-85f", "N=9"], "N=9: a board has 2 to 8 GPUs"),
    (["bitstream", "BOARD=ecpix5-85f", "UNTIL=route"], "UNTIL=route: possible is one of netlist packed"),
    (["bitstream", "BOARD=ecpix5-85f", "UNTIL=netlist packed"], "possible is one of netlist packed"),
    (["bitstream", "BOARD=ecpix5-85f", "PADS=yes"], "PADS=yes: possible is one of 0 1"),
    (["bitstream", "BOARD=ecpix5-85f", "BEST=yes"], "BEST=yes: possible is one of 0 1"),
    (["bitstream", "BOARD=ecpix5-85f", "SEEDS=1,2"], "SEEDS=1,2: numbers from 1 on are possible"),
    (["bitstream", "BOARD=ecpix5-85f", "SEEDS=2 0"], "SEEDS=2 0: numbers from 1 on are possible"),
    (["bitstream", "BOARD=ecpix5-85f", "SEEDS=-1"], "SEEDS=-1: numbers from 1 on are possible"),
    (["bitstream", "BOARD=ecpix5-85f", "FABRIC_MHZ=fast"], "FABRIC_MHZ=fast: a number of MHz is possible"),
    (["bitstream", "BOARD=ecpix5-85f", "FABRIC_MHZ=40 50"], "FABRIC_MHZ=40 50: a number of MHz is possible"),
    (["bitstream", "BOARD=ecpix5-85f", "WITHOUT=foo"], "WITHOUT=foo: possible is one of adder_bypass "),
    (["bitstream", "BOARD=ecpix5-85f", "WITHOUT=delay gathered"], "WITHOUT=delay gathered: one primitive is possible"),
    (["load", "BOARD=ecpix5-85f", "WITHOUT=link_rate"], "WITHOUT=link_rate: possible is one of "),
    (["board-page", "BOARD=ecpix5-85f", "WITHOUT=delay"], "WITHOUT=delay: the page in docs/reference/boards is of the "
                                                          "whole board: leave it out"),
    (["board-page", "BOARD=ecpix5-85f", "PADS=1"], "PADS=1: the page in docs/reference/boards is of the whole board"),
    (["board-pages", "WITHOUT=delay"], "WITHOUT=delay: the page in docs/reference/boards is of the whole board"),
    (["board-pages", "WITHOUT=delay", "PADS=1"], "WITHOUT=delay PADS=1: the page in docs/reference/boards is of"),
    (["pnr", "P=foo"], "P=foo: the parts are "),
    (["gate", "BOARD=ulx3s-85f"], "BOARD=ulx3s-85f: make gate runs BOARD=ecpix5-85f"),
    (["gate", "N=2", "WITHOUT=delay"], "N=2 WITHOUT=delay: make gate runs"),
    (["gate", "PADS=1"], "PADS=1: make gate runs"),
    (["mutate", "M=fifo,foo"], "M=fifo,foo: no module is named foo"),
    (["test", "T=no_test_is_named_so"], "T=no_test_is_named_so: no test has that in its name"),
    (["model", "N=73"], "N=73: 2 to 72 GPUs"),
    (["model", "N=2 x"], "N=2 x: 2 to 72 GPUs"),
    (["model", "N=02"], "N=02: 2 to 72 GPUs"),
    (["model", "F=12"], "F=12: flits have 8 or 16 bytes"),
    (["model", "F=8 9"], "F=8 9: flits have 8 or 16 bytes"),
    (["model", "LIKE=foo"], "LIKE=foo: a folder of boards"),
    (["model", "LIKE=*", "F=8"], "LIKE=*: a folder of boards"),
    (["model", "LIKE=e*", "F=8"], "LIKE=e*: a folder of boards"),
    (["model", "LIKE=%", "F=8"], "LIKE=%: a folder of boards"),
    (["model", "LIKE=ecpix5-85f ulx3s-85f", "F=8"], "a folder of boards"),
    (["model", "LIKE=../boards/ecpix5-85f", "F=8"], "a folder of boards"),
    (["model", "LIKE=ecpix5-85f", "F=16"], "LIKE=ecpix5-85f: with F=8"),
    (["model", "BACKEND=fast"], "BACKEND=fast: plain and lanes"),
)


def main():
    wrong = 0
    for words, says in BAD:
        done = subprocess.run(["make", "-n", *words], capture_output=True, text=True)
        if done.returncode != 2 or done.stdout or says not in done.stderr or done.stderr.count("\n") != 1:
            wrong += 1
            print(f"make {' '.join(words)}: status {done.returncode}, {done.stdout[:200]!r}, {done.stderr[:300]!r}")
    for words in (["bitstream", "BOARD=ulx3s-85f", "N=2"], ["mutate", "M=fifo,voq"], ["pnr", "P=node-4"]):
        done = subprocess.run(["make", "-n", *words], capture_output=True, text=True)
        if done.returncode:
            wrong += 1
            print(f"make {' '.join(words)}: {done.stderr[:300]!r}")
    # a model like a board has its primitives, also before the first make has its own Python
    words = ["model", "LIKE=ecpix5-85f", "N=4", "F=8", "BACKEND=plain", "PY=/nowhere/python3"]
    done = subprocess.run(["make", "-n", *words], capture_output=True, text=True)
    if "SourceLists=1" not in done.stdout:  # whatever the status: what is below needs folders that -n does not make
        wrong += 1
        print(f"make {' '.join(words)}: no SourceLists=1: {done.stderr[:300]!r}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
