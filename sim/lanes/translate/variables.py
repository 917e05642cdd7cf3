# SPDX-License-Identifier: Apache-2.0
"""Variables of Verilator's code: their types, and the vectors that they become.

A type is ("b", 1) of a variable of one bit, ("u", bits) up to 32 bits, ("q", bits) up to 64, ("w", words, bits), ("a",
element, count) or ("s", {field: type}).
"""
import re

BIG = 32  # arrays of this many elements and more are kept lane by lane: an access touches one cache line per lane

BIT = "CData/*0:0*/"
SCALAR = r"(CData|SData|IData|QData)/\*(\d+):0\*/"
WIDE = r"VlWide<(\d+)>/\*(\d+):0\*/"


def parse_type(text, structs):
    text = text.strip()
    if text == BIT:
        return ("b", 1)
    if m := re.fullmatch(SCALAR, text):
        return ("q" if m[1] == "QData" else "u", int(m[2]) + 1)
    if m := re.fullmatch(WIDE, text):
        return ("w", int(m[1]), int(m[2]) + 1)
    if m := re.fullmatch(r"VlUnpacked<(.*), (\d+)>", text):
        inner = parse_type(m[1], structs)
        t = inner and ("a", inner, int(m[2]))
        return numbers(t) if t and is_memory(t) else t
    return ("s", structs[text]) if text in structs else None


def numbers(t):
    """the same with bits as numbers: of a memory, and of what others look at"""
    return ("u", 1) if t[0] == "b" else ("a", numbers(t[1]), t[2]) if t[0] == "a" else t


def leaf(t):
    """(kind of the words, elements, words of an element) of a type without structures"""
    count = 1
    while t[0] == "a":
        count, t = count * t[2], t[1]
    return ("u", count, t[1]) if t[0] == "w" else (t[0], count, 1)


def element_bits(t):
    while t[0] == "a":
        t = t[1]
    return t[-1]


def keep_small(count):
    """arrays of `count` elements are no memories; whether that is new"""
    global BIG
    before, BIG = BIG, max(BIG, count + 1)
    return BIG != before


def is_memory(t):
    return t[0] == "a" and leaf(t)[1] >= BIG


def begins_random(name, t):
    """whether its first contents are anything: those of a memory of the RTL are, in a table of Verilator's own only the
    element that a number names is set"""
    return is_memory(t) and not name.startswith("__VdfgBinToOneHot_Tab_")


C_TYPE = {"b": "lanes::M", "u": "lanes::U", "q": "lanes::Q"}
C_WORD = {"u": "uint32_t", "q": "uint64_t"}


def declare(name, t):
    kind, count, words = leaf(t)
    if is_memory(t):
        return f"lanes::memory<{C_WORD[kind]}, {C_TYPE[kind]}, {count}, {words}> {name};"
    return f"{C_TYPE[kind]} {name}" + (f"[{count * words}]" if t[0] in "aw" else "") + "{};"


def flat(types, name="", source=""):
    """(name, its place in the scalar model, type) of every variable; those of a structure one by one"""
    for field, t in types.items():
        if t[0] == "s":
            yield from flat(t[1], f"{name}{field}__", f"{source}{field}.")
        else:
            yield name + field, source + field, t


def copy_from(name, source, t):
    """C++ that loads one lane of a variable from a scalar model; memories begin as zero in both, or
    at random by start()"""
    if is_memory(t):
        return None
    if t[0] == "b":
        return f"{name}.set(lane, from.{source});"
    if t[0] in "uq":
        return f"{name}[lane] = from.{source};"
    sizes = []
    while t[0] == "a":
        sizes.append(t[2])
        t = t[1]
    if t[0] == "w":
        sizes.append(t[1])
    lines, index, access = [], "", ""
    for i, n in enumerate(sizes):
        lines.append(f"for (unsigned i{i} = 0; i{i} < {n}; i{i}++)")
        index = f"({index}) * {n} + i{i}" if index else f"i{i}"
        access += f"[i{i}]"
    if t[0] == "b":
        return " ".join(lines) + f" {name}[{index}].set(lane, from.{source}{access});"
    return " ".join(lines) + f" {name}[{index}][lane] = from.{source}{access};"
