# SPDX-License-Identifier: Apache-2.0
"""Expressions of Verilator's code as expressions of vectors."""
import re

from . import functions
from .functions import ALL_ONES
from .refuse import construct
from .tokens import Tokens
from .variables import C_TYPE, is_memory, leaf

MASK = re.compile(r"0x[0-9a-f]+UL? & ")
BINARY = {op: level for level, ops in enumerate(("||", "&&", "|", "^", "&", "== !=", "< > <= >=", "<< >>", "+ -", "*"))
          for op in ops.split()}


def apart(code, other):
    """a choice of a lane between this and `other`: where constants say which bits this takes from
    that (lanes.h: apart)"""
    masked = other in code and any(code.startswith(other, m.end()) for m in MASK.finditer(code))
    return f"lanes::apart({code})" if masked else code


class Value:
    """C++ text of a vector, kind u or q, or of the set of lanes that hold 1, kind b; `value` of a constant, `most` the
    largest that it can be, `low` the text of the set of lanes whose lowest bit is 1, where that needs no vector"""

    def __init__(self, code, kind, most=ALL_ONES, value=None, low=None):
        self.code, self.kind, self.most, self.value, self.low = code, kind, most, value, code if kind == "b" else low


class Place:
    """the variable `of` or a part of it: `path` is what was indexed, as (index, count, elements below)"""

    def __init__(self, of, name, t, whole, path=()):
        self.of, self.name, self.type, self.whole, self.path = of, name, t, whole, path


class Expressions(Tokens):
    # -- values
    def number(self, text):
        if "." in text:
            self.fail("real numbers")
        wide = text.endswith("ULL")
        n = int(text.rstrip("UL"), 0)
        return Value(f"({'lanes::Q' if wide else 'lanes::U'}){n:#x}U{'L' if wide else ''}", "q" if wide else "u", n, n)

    def as_u(self, v):
        return f"lanes::bit({v.code})" if v.kind == "b" else f"lanes::low({v.code})" if v.kind == "q" else v.code

    def as_q(self, v):
        return v.code if v.kind == "q" else f"lanes::wide({self.as_u(v)})"

    def bit(self, v):
        """text of the set of lanes in which the lowest bit is 1"""
        if v.low:
            return v.low
        if v.value is not None:
            return "lanes::ALL" if v.value & 1 else "lanes::M{}"
        return f"lanes::nz({v.code if v.most <= 1 else self.combine('&', v, self.number('1U')).code})"

    def both_bits(self, op, a, b):
        """of an operation bit by bit, where neither needs a vector"""
        if not (a.low or b.low) or not all(v.low or v.value is not None for v in (a, b)):
            return None
        return f"({self.bit(a)} {op} {self.bit(b)})"

    def cast(self, v, kind):
        if v.value is not None:
            return Value(
                f"({C_TYPE[kind]}){v.value & (ALL_ONES if kind == 'u' else -1):#x}U{'L' if kind == 'q' else ''}", kind,
                v.most, v.value)
        if kind == "u":
            return Value(self.as_u(v), "u", 1 if v.kind == "b" else v.most & ALL_ONES if v.most <= ALL_ONES
                         else ALL_ONES, low=v.low)
        return Value(self.as_q(v), "q", 1 if v.kind == "b" else v.most, low=v.low)

    def mask(self, v):
        return v.low if v.low and v.most <= 1 else f"lanes::nz({v.code})"

    def expression(self):
        c = self.binary(0)
        if self.peek() != "?":
            return c
        self.take("?")
        a = self.rvalue(self.expression())
        self.take(":")
        b = self.rvalue(self.expression())
        c = self.rvalue(c)
        if a.most <= 1 and b.most <= 1 and (a.low or b.low):
            return Value(f"lanes::sel({self.mask(c)}, {self.bit(a)}, {self.bit(b)})", "b", 1)
        kind = "q" if "q" in (a.kind, b.kind) else "u"
        a, b = self.cast(a, kind), self.cast(b, kind)
        return Value(f"lanes::sel({self.mask(c)}, {apart(a.code, b.code)}, {apart(b.code, a.code)})", kind,
                     max(a.most, b.most),
                     low=f"lanes::sel({self.mask(c)}, {a.low}, {b.low})" if a.low and b.low else None)

    def binary(self, level):
        """an expression of operators that bind as tightly as those of the level, or more"""
        a = self.unary()
        while BINARY.get(self.peek(), -1) >= level:
            op = self.take()
            a = self.combine(op, self.rvalue(a), self.rvalue(self.binary(BINARY[op] + 1)))
        return a

    def combine(self, op, a, b):
        if op in ("&&", "||"):
            return Value(f"({self.mask(a)} {op[0]} {self.mask(b)})", "b", 1)
        if op in ("<<", ">>"):
            by = self.cast(b, "u")
            a = self.cast(a, "u") if a.kind == "b" else a
            limit = 63 if a.kind == "q" else 31
            if by.value is not None:
                shift = f"{by.value}U{'L' if a.kind == 'q' else ''}"
                if by.value > limit:
                    self.fail(f"a shift by {by.value} of {limit + 1} bits")
                if op == ">>":
                    low = (f"lanes::nz({a.code} & "
                           f"{self.number(hex(1 << by.value) + ('ULL' if a.kind == 'q' else 'U')).code})")
                    return Value(f"({a.code} >> {shift})", a.kind, a.most >> by.value, low=low)
                return Value(f"({a.code} << {shift})", a.kind, min(a.most << by.value, ALL_ONES if a.kind == "u"
                                                                   else 2**64 - 1))
            return Value(f"lanes::{'shl' if op == '<<' else 'shr'}({a.code}, {by.code})", a.kind, a.most if op == ">>"
                         else 2**64 - 1 if a.kind == "q" else ALL_ONES)
        if self.of_bits(op, a, b):
            return self.on_bits(op, a, b)
        kind = "q" if "q" in (a.kind, b.kind) else "u"
        a, b = self.cast(a, kind), self.cast(b, kind)
        if op in ("==", "!=", "<", ">", "<=", ">="):
            return Value(f"lanes::where({a.code} {op} {b.code})", "b", 1)
        most = ALL_ONES if kind == "u" else 2**64 - 1
        if op == "&":
            most = min(a.most, b.most)
        elif op in ("|", "^"):
            most = (1 << max(a.most.bit_length(), b.most.bit_length())) - 1
        elif op == "+":
            most = min(most, a.most + b.most)
        elif op == "*":
            most = min(most, a.most * b.most)
        return Value(f"({a.code} {op} {b.code})", kind, most, low=self.both_bits(op, a, b)
                     if op in ("&", "|", "^") else None)

    @staticmethod
    def of_bits(op, a, b):
        """whether an operation is one of sets of lanes: what it gives is one bit, and one side has that as a set"""
        if op == "&":
            return (a.most <= 1 or b.most <= 1) and bool(a.low or b.low)
        return op in ("|", "^", "==", "!=") and a.most <= 1 and b.most <= 1 and bool(a.low or b.low)

    def on_bits(self, op, a, b):
        for x, y in ((a, b), (b, a)):
            if x.value is not None and op != "|":
                same = x.value == (1 if op in ("&", "==") else 0)
                if op == "&" and not same:
                    break
                return Value(self.bit(y) if same else f"(~{self.bit(y)})", "b", 1)
        code = f"({self.bit(a)} {'^' if op in ('==', '!=') else op} {self.bit(b)})"
        return Value(f"(~{code})" if op == "==" else code, "b", 1)

    def unary(self):
        token = self.peek()
        if token in ("~", "-", "!"):
            self.take()
            v = self.rvalue(self.unary())
            if token == "!":
                return Value(f"(~{self.mask(v)})", "b", 1)
            low = v.low and (v.low if token == "-" else f"(~{v.low})")
            if v.kind == "b" and token == "-":
                return Value(f"lanes::spread({v.code})", "u", low=low)
            v = self.cast(v, "u") if v.kind == "b" else v
            return Value(f"({token}{v.code})", v.kind, ALL_ONES if v.kind == "u" else 2**64 - 1, low=low)
        if token == "(" and self.peek(1) in ("IData", "QData", "CData", "SData") and self.peek(2) == ")":
            self.take()
            kind = self.take()
            self.take(")")
            v = self.rvalue(self.unary())
            if v.kind == "b" and kind != "QData":
                return v
            if kind in ("CData", "SData"):
                bits = 0xFF if kind == "CData" else 0xFFFF
                return self.combine("&", self.cast(v, "u"), self.number(f"{bits}U"))
            return self.cast(v, "q" if kind == "QData" else "u")
        return self.postfix()

    def postfix(self):
        token = self.take()
        if token == "(":
            v = self.expression()
            self.take(")")
            return v
        if token[0].isdigit():
            return self.number(token)
        if self.peek() == "(":
            return self.call(token)
        return self.place(token)

    def place(self, token):
        if token == "vlSelfRef" or token == "vlSelf":
            self.take("." if token == "vlSelfRef" else "->")
            token = self.take()
            self.known(token, self.types)
            self.reads.add(token)
            p = Place(token, "s." + token, self.types[token], self.types[token])
        elif token in self.tables:
            p = Place(token, token, self.tables[token], None)
        else:
            self.known(token, self.locals)
            self.reads.add(token)
            p = Place(token, token, self.locals[token], self.locals[token])
        while True:
            if self.peek() == "." and p.type[0] == "s":
                self.take()
                field = self.take()
                self.known(field, p.type[1])
                t = p.type[1][field]
                p = Place(p.of, f"{p.name}__{field}", t, t)
            elif self.peek() == "[":
                self.take()
                index = self.cast(self.rvalue(self.expression()), "u")
                self.take("]")
                if p.type[0] == "a":
                    below = p.type[1]
                    p = Place(p.of, p.name, below, p.whole,
                              p.path + ((index, p.type[2], leaf(below)[1] * leaf(below)[2]),))
                elif p.type[0] == "w":
                    p = Place(p.of, p.name, ("u", 32), p.whole, p.path + ((index, p.type[1], 1),))
                else:
                    self.fail(f"an element of {p.name}")
            else:
                return p

    def known(self, name, names):
        if name not in names:
            self.fail(f"{name}, whose type is none of lanes")

    def rvalue(self, v):
        if isinstance(v, Value):
            return v
        p = v
        if p.type[0] not in "buq":
            self.fail(f"{p.name} as a number")
        most = 2 ** p.type[1] - 1
        if p.whole is None:  # table of constants
            (index, count, _), = p.path
            return Value(f"lanes::lookup({p.name}, {self.inside(index, count)})", "u", most)
        code = self.read(p, 0)
        return Value(code, p.type[0], most, low=f"lanes::nz({code})" if most == 1 and p.type[0] == "u" else None)

    def inside(self, index, count):
        return index.code if index.most < count else f"lanes::at_most({index.code}, {count - 1}U)"

    def position(self, p, word):
        """(constant part, [dynamic parts]) of a place, in words"""
        constant, moving = word, []
        for index, count, below in p.path:
            if index.value is not None:
                if index.value >= count:
                    self.fail(f"element {index.value} of {count} of {p.name}")
                constant += index.value * below
            else:
                moving.append((index, count, below))
        return constant, moving

    def read(self, p, word):
        kind, count, words = leaf(p.whole)
        constant, moving = self.position(p, word)
        if is_memory(p.whole):
            at, w = self.element(p, word)
            return f"{p.name}.get({at}, {w})"
        if not p.path and p.whole[0] in "buq":
            return p.name
        if not moving:
            return f"{p.name}[{constant}]"
        if kind == "b" and len(moving) > 1:
            return f"lanes::pick<{count - constant}, 1>({p.name} + {constant}, {self.linear(moving)})"
        if len(moving) == 1 and (moving[0][1] <= 8 or kind == "b"):
            index, n, below = moving[0]
            return f"lanes::pick<{n}, {below}>({p.name} + {constant}, {self.inside(index, n)})"
        return f"lanes::gather({p.name} + {constant}, {self.linear(moving)})"

    def linear(self, moving):
        return " + ".join(f"({self.inside(i, n)}) * {below}U" if below > 1 else f"({self.inside(i, n)})"
                          for i, n, below in moving)

    def element(self, p, word):
        """element of a memory (text of a vector) and word inside it"""
        kind, count, words = leaf(p.whole)
        parts, moving = [], ""
        for index, n, below in p.path:
            if below < words and index.value is None:
                moving = f" + {self.inside(index, n)}"
            elif below < words:
                word += index.value
            else:
                parts.append(f"({self.inside(index, n) if index.value is None else index.code})"
                             + (f" * {below // words}U" if below > words else ""))
        return " + ".join(parts), f"(lanes::U){word}U{moving}" if moving else word

    def arguments(self):
        self.take("(")
        args = []
        while self.peek() != ")":
            args.append(self.expression())
            if self.peek() == ",":
                self.take()
        self.take(")")
        return args

    def value(self, code, kind, most=None):
        return Value(code, kind, functions.MOST[kind] if most is None else most)

    def clean(self, v, bits):
        """without what is above some bits"""
        ones = 2**bits - 1
        return v if v.most <= ones else self.combine("&", v, self.number(f"{ones}U{'LL' if bits > 32 else ''}"))

    def words(self, v, kind):
        """the words of a wide variable, or of a part of one, as values"""
        if not isinstance(v, Place) or v.type[0] != "w":
            self.fail("words of what is no wide variable")
        return [Value(self.read(v, w) if v.whole else f"(lanes::U){v.name}[{w}]", kind) for w in range(v.type[1])]

    def call(self, name):
        at = self.at - 1
        args = self.arguments()
        if name == "VL_UNLIKELY" or name == "VL_LIKELY":
            return args[0]
        translate = functions.find(name) or self.fail(construct(name), at)
        return translate(self, name, args)
