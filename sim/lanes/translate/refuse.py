# SPDX-License-Identifier: Apache-2.0
"""What ends a translation: the place in the SystemVerilog source, where it is known, and the construct, on one line."""
import re
import sys

# What Verilator's code has of a place, with --decorations node
PLACE = re.compile(r"/\*(\S+?:\d+) 0x[0-9a-f]+\*/")

# Functions of Verilator's run time by the construct that they are for
CONSTRUCTS = [
    (r"VL_MULS?_WWW?|VL_MUL_W", "* of more than 64 bits"),
    (r"VL_DIVS?_WWW", "/ of more than 64 bits"),
    (r"VL_MODDIVS?_WWW", "% of more than 64 bits"),
    (r"VL_DIVS_\w+", "/ of signed numbers"),
    (r"VL_MODDIVS_\w+", "% of signed numbers"),
    (r"VL_POWS?\w*", "**"),
    (r"VL_(LT|LTE|GT|GTE)S_IWW", "comparison of signed numbers of more than 64 bits"),
    (r"VL_SHIFTRS_W\w+", ">>> of more than 64 bits"),
    (r"VL_SHIFT[LR]_\w+", "a shift by a number of more than 32 bits"),
    (r"VL_NEGATE_W", "- of more than 64 bits"),
    (r"VL_EXTENDS_W\w+", "sign extension to more than 64 bits"),
    (r"VL_ASSIGNSEL_W[QW]", "a part of more than 32 bits written at an index that moves"),
    (r"VL_ASSIGNSEL_WI", "a part of an element written at an index that moves"),
    (r"VL_FINISH_MT", "$finish"),
    (r"VL_STREAM\w+", "streaming concatenation"),
    (r"VL_COUNTBITS_\w+", "$countbits"),
    (r"VL_CLOG2_\w+", "$clog2 of a variable"),
    (r"VL_U?RAND\w+|VL_RANDOM\w*", "$random, $urandom"),
    (r"VL_READMEM_\w+", "$readmem"),
    (r"VL_TIME\w*", "$time"),
    (r"VL_FWRITEF\w*|VL_FFLUSH\w*|VL_FCLOSE\w*|VL_FOPEN\w*", "a file"),
    (r"VL_SFORMATF\w*|\w+_N\w*|VL_CONCATN\w*", "strings"),
    (r"VL_[IQ]TOR_D\w*|VL_RTOI\w*|VL_\w+_D", "real numbers"),
]


class Refused(Exception):
    pass


def fail(text, place=None):
    raise Refused(f"{place}: {text}" if place else text)


def construct(function):
    """what a function of Verilator's run time is for, as its user wrote it"""
    for pattern, what in CONSTRUCTS:
        if re.fullmatch(pattern, function):
            return f"{what} (Verilator's {function})"
    return f"Verilator's {function}"


def run(main):
    """main(), or one line and exit status 1"""
    try:
        main()
    except Refused as why:
        sys.exit(f"{why}: nothing that lanes take (docs/developer/simulation.md); BACKEND=plain does")
