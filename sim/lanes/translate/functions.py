# SPDX-License-Identifier: Apache-2.0
"""Functions of Verilator's run time in expressions, as sim/lanes/lanes.h has them; the first arguments are
numbers of bits or words."""
import re

ALL_ONES = 0xFFFFFFFF
MOST = {"u": ALL_ONES, "q": 2**64 - 1}


def shift(e, name, args):
    kind = "q" if "QQI" in name else "u"
    a, by = e.cast(e.rvalue(args[3]), kind), e.cast(e.rvalue(args[4]), "u")
    return e.combine("<<" if "SHIFTL" in name else ">>", a, by)


def shift_signed(e, name, args):
    kind = "q" if "QQI" in name else "u"
    a, by = e.cast(e.rvalue(args[3]), kind), e.cast(e.rvalue(args[4]), "u")
    v = e.value(f"lanes::shift_signed<{args[1].value}>({a.code}, {by.code})", kind)
    return e.clean(v, args[0].value)


def extend(e, name, args):
    kind = "u" if name.endswith("II") else "q"
    return e.value(f"lanes::extend<{args[1].value}>({e.cast(e.rvalue(args[2]), kind).code})", kind)


def compare_signed(e, name, args):
    kind = "q" if name.endswith("QQ") else "u"
    op = {"LT": "<", "LTE": "<=", "GT": ">", "GTE": ">="}[name.removeprefix("VL_").partition("S_")[0]]
    a, b = (f"lanes::signed_of<{args[0].value}>({e.cast(e.rvalue(x), kind).code})" for x in args[1:])
    return e.value(f"lanes::where({a} {op} {b})", "b", 1)


def multiply_signed(e, name, args):
    kind = "q" if name.endswith("QQQ") else "u"
    a, b = (f"lanes::extend<{args[0].value}>({e.cast(e.rvalue(x), kind).code})" for x in args[1:])
    return e.value(f"({a} * {b})", kind)


def divide(e, name, args):
    kind = "q" if name.endswith("QQQ") else "u"
    a, b = (e.cast(e.rvalue(x), kind) for x in args[1:])
    return e.value(f"lanes::{'remainder' if 'MOD' in name else 'quotient'}({a.code}, {b.code})", kind, a.most)


def count(e, name, args):
    words = e.words(args[1], "u") if name.endswith("W") else [e.rvalue(args[0])]
    ones = " + ".join(f"lanes::ones({e.cast(w, w.kind if w.kind == 'q' else 'u').code})" for w in words)
    ones = e.value(f"({ones})", "u", 64 * len(words))
    if "COUNTONES" in name:
        return ones
    return e.combine("<=" if "ONEHOT0" in name else "==", ones, e.number("1U"))


def parity(e, name, args):
    v = e.rvalue(args[0])
    code = (f"lanes::low({v.code} ^ ({v.code} >> 32UL))" if name.endswith("64") and v.kind == "q"
            else e.cast(v, "u").code)
    return e.value(f"lanes::parity({code})", "u", 1)


def compare_wide(e, name, args):
    a, b = e.words(args[1], "u"), e.words(args[2], "u")
    if "GT" in name:
        a, b = b, a
    if name.startswith(("VL_LTE", "VL_GTE")):  # not the other way round
        return e.value(f"(~{less(b, a)})", "b", 1)
    return e.value(less(a, b), "b", 1)


def less(a, b):
    """text of a mask: words a, the lowest first, are less than words b"""
    code = None
    for x, y in zip(a, b):
        here = f"lanes::where({x.code} < {y.code})"
        code = f"({here} | (lanes::where({x.code} == {y.code}) & {code}))" if code else here
    return code


FUNCTIONS = [
    (r"VL_SHIFT[LR]_(III|QQI)", shift),
    (r"VL_SHIFTRS_(III|QQI)", shift_signed),
    (r"VL_EXTENDS_(II|QI|QQ)", extend),
    (r"VL_(LT|LTE|GT|GTE)S_(III|IQQ)", compare_signed),
    (r"VL_MULS_(III|QQQ)", multiply_signed),
    (r"VL_(MOD)?DIV_(III|QQQ)", divide),
    (r"VL_(COUNTONES|ONEHOT0?)_[IQW]", count),
    (r"VL_REDXOR_(2|4|8|16|32|64)", parity),
    (r"VL_(LT|LTE|GT|GTE)_W", compare_wide),
]


def find(name):
    """what translates a function, or None"""
    return next((f for pattern, f in FUNCTIONS if re.fullmatch(pattern, name)), None)
