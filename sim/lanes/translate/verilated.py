# SPDX-License-Identifier: Apache-2.0
"""What Verilator wrote of a part: its functions, what a clock edge calls, its variables."""
import re

from .refuse import PLACE, fail
from .variables import numbers, parse_type

NOISE = re.compile(r"^(VL_DEBUG_IF\(.*|V\w+__Syms\* const .*|auto& vlSelfRef = .*|// Body|\})$")


def function_body(top, name, code):
    """what stands between the braces of a function of `code`, or None"""
    m = re.search(rf"^(/\*\S+ 0x\w+\*/)?void {re.escape(name)}\({top}___024root\* vlSelf\) \{{\n(.*?)^\}}$", code,
                  re.M | re.S)
    return m and (m[1] or "") + m[2]


def statements(text):
    """lines of a function, each whole: with places in it, Verilator wraps them anywhere"""
    line = ""
    for part in map(str.strip, PLACE.sub("", text).splitlines()):
        line += part
        if not line or line[-1] in ";{})" and line.count("(") == line.count(")") or line.startswith("//"):
            yield line
            line = ""
        elif part[-1:] not in ("", "("):
            line += " "
    yield line


def without_trigger(body):
    """the body of a function without the test for its trigger, which is always there, and without Verilator's
    own names for the model"""
    gap = r"(?:\s|/\*\S+ 0x\w+\*/)*"
    test = gap.join(re.escape(t) for t in "if ( ( 1ULL & vlSelfRef.__VicoTriggered [ 0U ] ) ) {".split())
    return re.sub(r"^\s*(V\w+__Syms\* const .*|auto& vlSelfRef = .*)$", "", re.sub(test, "{", body), flags=re.M)


def calls(top, code):
    """the functions of `code` that follow inputs without a clock edge, and those of a clock edge, in their order"""

    def body(name):
        return function_body(top, f"{top}___024root___{name}", code)

    def listed(name, text, trigger):
        found = []
        for line in filter(None, statements(text)):
            if m := re.fullmatch(rf"({top}___024root___{name}_\w+)\(vlSelf\);", line):
                found.append(m[1])
            elif line != f"if ((1ULL & vlSelfRef.{trigger}[0U])) {{" and not NOISE.match(line):
                return line, []
        return None, found

    triggers = body("eval_triggers_vec__act") or fail(f"{top} has no eval_triggers_vec__act")
    for m in re.finditer(r"vlSelfRef\.__Vtrigprevexpr___TOP__(\w+)__\d+\)", triggers):
        if m[1] != "clk_i":
            place = PLACE.findall(triggers[:m.start()])
            fail(f"an edge of {m[1]} (an asynchronous reset, or another clock)", place and place[-1])
        elif not re.sub(r"\s", "", PLACE.sub("", triggers[:m.start()])).endswith("(~(IData)("):
            place = PLACE.findall(triggers[:m.start()])
            fail("the falling edge of clk_i", place and place[-1])
    rising = "(IData)(vlSelfRef.clk_i)&(~(IData)(vlSelfRef.__Vtrigprevexpr___TOP__clk_i__0))"
    if rising not in re.sub(r"\s", "", PLACE.sub("", triggers)) or triggers.count("__VactTriggered") != 1:
        fail("another trigger than the rising edge of clk_i")
    if body("eval_act"):
        fail(f"{top} has an active region")

    strange, edge = listed("nba", body("eval_nba") or fail(f"{top} has no eval_nba"), "__VnbaTriggered")
    if strange or not edge:
        fail(f"eval_nba of {top} holds '{strange}'" if strange else f"eval_nba of {top} calls nothing")
    settle = body("eval_ico")
    strange, inputs = listed("ico", settle or "", "__VicoTriggered")
    return [f"{top}___024root___eval_ico"] if strange else inputs, edge


def structures(header):
    """the structures by name; Verilator declares what one is made of before it"""
    found = {}
    for m in re.finditer(r"^struct (\w+) \{\n(.*?)\n\s*\n", header, re.M | re.S):
        fields = [re.fullmatch(r"(.*[>/\w]) (\w+);", line.strip()) for line in m[2].splitlines()]
        if all(fields):
            found[m[1]] = {f[2]: parse_type(f[1], found) for f in fields}
    return found


def variables(header, root, structs):
    body = re.search(rf"^class .*{root}.*? \{{\n(.*?)^\}};", header, re.M | re.S) or fail(f"no class {root}")
    ports = {"VL_IN8": "u", "VL_OUT8": "u", "VL_IN16": "u", "VL_OUT16": "u", "VL_IN": "u", "VL_OUT": "u",
             "VL_IN64": "q", "VL_OUT64": "q"}
    types = {}
    for line in body[1].splitlines():
        line = line.strip()
        if m := re.fullmatch(r"(VL_\w+)\((\w+),(\d+),0(?:,(\d+))?\);", line):
            types[m[2]] = ("w", int(m[4]), int(m[3]) + 1) if m[4] else (ports[m[1]], int(m[3]) + 1)
        elif m := re.fullmatch(r"(.*[>/\w]) (\w+);", line):
            t = parse_type(m[1], structs)
            if t and not m[2].startswith(("__Vtrig", "__Vico", "__Vnba", "__Vact", "__Vstl")):
                types[m[2]] = t if "__" in m[2] else numbers(t)  # ports are for the shim
    return types
