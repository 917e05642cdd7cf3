#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a Verilated part again so that one run serves all its copies: a lane of a vector each (sim/lanes.h).

usage: lanes.py TOP FOLDER [--ring]

FOLDER holds the C++ that Verilator made of TOP. Written there, for sim/shim.cpp:
  V<TOP>_lanes.h      struct V<TOP>_lanes: every variable of V<TOP>___024root with all lanes, load() from a scalar model, inputs(), edge()
  V<TOP>_lanes_K.cpp  the functions that inputs() and edge() call, in parts to compile side by side, and load()
  V<TOP>_lanes.mk     rules that make V<TOP>_lanes.a of them, with CXX and CXXFLAGS

inputs() is for what follows from inputs without a clock edge, edge() for the rising edge; outputs that follow from inputs are known behind inputs() only.

With --ring the copies are wired to each other too: a port x_i of each is x_o of the others, by distance (sim/lanes.h). inputs() takes these wires as they become known: what
depends on no other copy is computed first, then what depends on that of others, and so on, each statement once.

What Verilator writes is a small part of C++: assignments, if, while, forward goto, and macros. Anything else is an error (exit status 1) that
names it, because a model that left something out would be wrong without a word.
"""
import argparse
import dataclasses
import pathlib
import re
import sys

import schedule
from schedule import fail

BIG = 32  # arrays of this many elements and more are kept lane by lane: an access touches one cache line per lane
FAR = 1 << 15  # memories of this many elements are in no cache: the next access is announced


# ---- types: ("u", bits) up to 32 bits, ("q", bits) up to 64, ("w", words, bits), ("a", element, count), ("s", {field: type}) ----

SCALAR = r"(CData|SData|IData|QData)/\*(\d+):0\*/"
WIDE = r"VlWide<(\d+)>/\*(\d+):0\*/"


def parse_type(text, structs):
    text = text.strip()
    if m := re.fullmatch(SCALAR, text):
        return ("q" if m[1] == "QData" else "u", int(m[2]) + 1)
    if m := re.fullmatch(WIDE, text):
        return ("w", int(m[1]), int(m[2]) + 1)
    if m := re.fullmatch(r"VlUnpacked<(.*), (\d+)>", text):
        inner = parse_type(m[1], structs)
        return inner and ("a", inner, int(m[2]))
    return ("s", structs[text]) if text in structs else None


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


def is_memory(t):
    return t[0] == "a" and leaf(t)[1] >= BIG


C_TYPE = {"u": "lanes::U", "q": "lanes::Q"}
C_WORD = {"u": "uint32_t", "q": "uint64_t"}


def declare(name, t):
    kind, count, words = leaf(t)
    if is_memory(t):
        return f"lanes::memory<{C_WORD[kind]}, {C_TYPE[kind]}, {count}, {words}> {name};"
    return f"{C_TYPE[kind]} {name}" + (f"[{count * words}]" if t[0] in "aw" else "") + "{};"


# ---- expressions -----------------------------------------------------------------------------------------------

TOKEN = re.compile(r'\s+|//[^\n]*|/\*.*?\*/|("(?:[^"\\]|\\.)*"|\x27.\x27)|(0x[0-9a-fA-F]+(?:ULL|U)?|\d+(?:ULL|U)?)|([A-Za-z_]\w*(?:::\w+)*)|(->|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^~!<>=?:;,.(){}\[\]])', re.S)
BINARY = [["||"], ["&&"], ["|"], ["^"], ["&"], ["==", "!="], ["<", ">", "<=", ">="], ["<<", ">>"], ["+", "-"], ["*"]]
ALL_ONES = 0xFFFFFFFF


def apart(code, other):
    """a choice of a lane between this and `other`: where constants say which bits this takes from that (lanes.h: apart)"""
    return f"lanes::apart({code})" if re.search(r"0x[0-9a-f]+UL? & " + re.escape(other), code) else code



class Value:
    """C++ text of a vector: kind b (mask), u, q; `value` of a constant, `most` the largest that it can be"""

    def __init__(self, code, kind, most=ALL_ONES, value=None):
        self.code, self.kind, self.most, self.value = code, kind, most, value


class Place:
    """the variable `of` or a part of it: `path` is what was indexed, as (index, count, elements below)"""

    def __init__(self, of, name, t, whole, path=()):
        self.of, self.name, self.type, self.whole, self.path = of, name, t, whole, path


@dataclasses.dataclass
class Put:
    target: str
    word: object  # number, or text of a vector
    rest: str
    values: list

    def __str__(self):
        return f"{self.target}{self.word}, {self.rest}, {', '.join(self.values)});"


class Function:
    def __init__(self, name, code, types, tables, structs, known=frozenset()):
        self.name, self.types, self.tables, self.structs = name, types, tables, structs
        self.locals, self.out, self.masks, self.label = {}, [], 0, {}
        self.known_texts, self.texts = known, set()  # assignments that need not be translated; those seen
        self.reads, self.writes, self.inner = set(), set(), set()  # variables of the statement; those declared inside
        self.tokens, at = [], 0
        while at < len(code):
            m = TOKEN.match(code, at) or fail(f"{name} holds '{code[at:at + 40]}'")
            if m.lastindex:
                self.tokens.append(m[0])
            at = m.end()
        self.at = 0

    # -- tokens
    def peek(self, ahead=0):
        return self.tokens[self.at + ahead] if self.at + ahead < len(self.tokens) else ""

    def take(self, want=None):
        token = self.peek()
        if want and token != want:
            fail(f"{self.name} has '{' '.join(self.tokens[max(0, self.at - 12):self.at + 4])}' where '{want}' was expected")
        self.at += 1
        return token

    # -- values
    def number(self, text):
        wide = text.endswith("ULL")
        n = int(text.rstrip("UL"), 0)
        return Value(f"({'lanes::Q' if wide else 'lanes::U'}){n:#x}U{'L' if wide else ''}", "q" if wide else "u", n, n)

    def as_u(self, v):
        return f"lanes::bit({v.code})" if v.kind == "b" else f"lanes::low({v.code})" if v.kind == "q" else v.code

    def as_q(self, v):
        return v.code if v.kind == "q" else f"lanes::wide({self.as_u(v)})"

    def cast(self, v, kind):
        if v.value is not None:
            return Value(f"({C_TYPE[kind]}){v.value & (ALL_ONES if kind == 'u' else -1):#x}U{'L' if kind == 'q' else ''}", kind, v.most, v.value)
        if kind == "u":
            return Value(self.as_u(v), "u", 1 if v.kind == "b" else v.most & ALL_ONES if v.most <= ALL_ONES else ALL_ONES)
        return Value(self.as_q(v), "q", 1 if v.kind == "b" else v.most)

    def mask(self, v):
        return v.code if v.kind == "b" else f"lanes::nz({v.code})"

    def expression(self):
        c = self.binary(0)
        if self.peek() != "?":
            return c
        self.take("?")
        a = self.rvalue(self.expression())
        self.take(":")
        b = self.rvalue(self.expression())
        c = self.rvalue(c)
        if a.kind == b.kind == "b":
            return Value(f"(({self.mask(c)}) ? {a.code} : {b.code})", "b", 1)
        kind = "q" if "q" in (a.kind, b.kind) else "u"
        a, b = self.cast(a, kind), self.cast(b, kind)
        return Value(f"lanes::sel({self.mask(c)}, {apart(a.code, b.code)}, {apart(b.code, a.code)})", kind, max(a.most, b.most))

    def binary(self, level):
        if level == len(BINARY):
            return self.unary()
        a = self.binary(level + 1)
        while self.peek() in BINARY[level]:
            op = self.take()
            a = self.combine(op, self.rvalue(a), self.rvalue(self.binary(level + 1)))
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
                    fail(f"{self.name} shifts by {by.value}")
                most = min(a.most << by.value, ALL_ONES if a.kind == "u" else 2**64 - 1) if op == "<<" else a.most >> by.value
                return Value(f"({a.code} {op} {shift})", a.kind, most)
            return Value(f"lanes::{'shl' if op == '<<' else 'shr'}({a.code}, {by.code})", a.kind, a.most if op == ">>" else 2**64 - 1 if a.kind == "q" else ALL_ONES)
        if a.kind == b.kind == "b" and op in ("&", "|", "^"):
            return Value(f"({a.code} {op} {b.code})", "b", 1)
        kind = "q" if "q" in (a.kind, b.kind) else "u"
        a, b = self.cast(a, kind), self.cast(b, kind)
        if op in ("==", "!=", "<", ">", "<=", ">="):
            code = f"({a.code} {op} {b.code})"
            return Value(code if kind == "u" else f"__builtin_convertvector({code}, lanes::M)", "b", 1)
        most = ALL_ONES if kind == "u" else 2**64 - 1
        if op == "&":
            most = min(a.most, b.most)
        elif op in ("|", "^"):
            most = (1 << max(a.most.bit_length(), b.most.bit_length())) - 1
        elif op == "+":
            most = min(most, a.most + b.most)
        elif op == "*":
            most = min(most, a.most * b.most)
        return Value(f"({a.code} {op} {b.code})", kind, most)

    def unary(self):
        token = self.peek()
        if token in ("~", "-", "!"):
            self.take()
            v = self.rvalue(self.unary())
            if token == "!":
                return Value(f"(~{self.mask(v)})", "b", 1)
            v = self.cast(v, "u") if v.kind == "b" else v
            return Value(f"({token}{v.code})", v.kind, ALL_ONES if v.kind == "u" else 2**64 - 1)
        if token == "(" and self.peek(1) in ("IData", "QData", "CData", "SData") and self.peek(2) == ")":
            self.take()
            kind = self.take()
            self.take(")")
            v = self.rvalue(self.unary())
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
                    p = Place(p.of, p.name, below, p.whole, p.path + ((index, p.type[2], leaf(below)[1] * leaf(below)[2]),))
                elif p.type[0] == "w":
                    p = Place(p.of, p.name, ("u", 32), p.whole, p.path + ((index, p.type[1], 1),))
                else:
                    fail(f"{self.name} indexes {p.name}")
            else:
                return p

    def known(self, name, names):
        if name not in names:
            fail(f"{self.name} uses {name}, whose type it does not declare")

    def rvalue(self, v):
        if isinstance(v, Value):
            return v
        p = v
        if p.type[0] not in "uq":
            fail(f"{self.name} uses {p.name} as a number")
        most = 2 ** p.type[1] - 1
        if p.whole is None:  # table of constants
            (index, count, _), = p.path
            return Value(f"lanes::lookup({p.name}, {self.inside(index, count)})", "u", most)
        return Value(self.read(p, 0), p.type[0], most)

    def inside(self, index, count):
        return index.code if index.most < count else f"lanes::at_most({index.code}, {count - 1}U)"

    def position(self, p, word):
        """(constant part, [dynamic parts]) of a place, in words"""
        constant, moving = word, []
        for index, count, below in p.path:
            if index.value is not None:
                if index.value >= count:
                    fail(f"{self.name} takes element {index.value} of {count} of {p.name}")
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
        if not p.path and p.whole[0] in "uq":
            return p.name
        if not moving:
            return f"{p.name}[{constant}]"
        if len(moving) == 1 and moving[0][1] <= 8:
            index, n, below = moving[0]
            return f"lanes::pick<{n}, {below}>({p.name} + {constant}, {self.inside(index, n)})"
        return f"lanes::gather({p.name} + {constant}, {self.linear(moving)})"

    def linear(self, moving):
        return " + ".join(f"({self.inside(i, n)}) * {below}U" if below > 1 else f"({self.inside(i, n)})" for i, n, below in moving)

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
                parts.append(f"({self.inside(index, n) if index.value is None else index.code})" + (f" * {below // words}U" if below > words else ""))
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

    def call(self, name):
        args = self.arguments()
        if name == "VL_UNLIKELY" or name == "VL_LIKELY":
            return args[0]
        values = [self.rvalue(a) for a in args if not (isinstance(a, Place) and a.type[0] not in "uq")]
        if name in ("VL_SHIFTL_III", "VL_SHIFTR_III", "VL_SHIFTL_QQI", "VL_SHIFTR_QQI"):
            kind = "q" if "QQI" in name else "u"
            a, by = self.cast(values[3], kind), self.cast(values[4], "u")
            return self.combine("<<" if "SHIFTL" in name else ">>", a, by)
        if re.fullmatch(r"VL_REDXOR_(2|4|8|16|32)", name):
            return Value(f"lanes::parity({self.cast(values[0], 'u').code})", "u", 1)
        fail(f"{self.name} calls {name}, which sim/lanes.py does not know")

    # -- statements
    def emit(self, text):
        self.out.append(text)

    def put(self, target, word, rest, value):
        """a store to one word; those to the words behind it join it, since they have their lanes' places in common"""
        last = self.out[-1] if self.out else None
        reads = re.split(r"[.( ]", target.removeprefix("lanes::scatter(").removeprefix("s."))[0] in value
        if isinstance(last, Put) and not reads and (last.target, last.rest, self.behind(last)) == (target, rest, word):
            last.values.append(value)
        else:
            self.out.append(Put(target, word, rest, [value]))

    @staticmethod
    def behind(put):
        return put.word + len(put.values) if isinstance(put.word, int) else None

    def fresh(self):
        self.masks += 1
        return f"m{self.masks}"

    def store(self, p, word, v, mask):
        self.writes.add(p.of)
        kind, count, words = leaf(p.whole)
        code = self.as_q(v) if kind == "q" else self.as_u(v)
        constant, moving = self.position(p, word)
        lanes_of = mask or "lanes::ALL"
        if is_memory(p.whole):
            at, w = self.element(p, word)
            self.put(f"{p.name}.put({at}, ", w, lanes_of, code)
        elif moving:
            self.put(f"lanes::scatter({p.name} + ", constant, f"{self.linear(moving)}, {lanes_of}", code)
        else:
            target = p.name if not p.path and p.whole[0] in "uq" else f"{p.name}[{constant}]"
            self.emit(f"{target} = {f'lanes::sel({mask}, {apart(code, target)}, {target})' if mask else code};")

    def narrow(self, v, t):
        """what C++ leaves of a value in a variable of a type: CData has 8 bits, SData 16"""
        limit = 0xFF if t[1] <= 8 else 0xFFFF if t[1] <= 16 else ALL_ONES
        v = self.cast(v, t[0])
        return v if t[0] == "q" or v.most <= limit else self.combine("&", v, self.number(f"{limit}U"))

    def assign(self, p, v, mask):
        if p.whole is None:
            fail(f"{self.name} writes {p.name}")
        if p.type[0] in "uq":
            return self.store(p, 0, self.narrow(self.rvalue(v), p.type), mask)
        if not isinstance(v, Place) or v.type[0] not in "aw" or leaf(v.type) != leaf(p.type):
            fail(f"{self.name} assigns something else to {p.name}")
        kind, count, words = leaf(p.type)
        for w in range(count * words):
            self.store(p, w, Value(self.read(v, w) if v.whole else f"(lanes::U){v.name}[{w}]", kind), mask)

    def message(self, strings):
        """what $fatal prints: the first string, in which %m stands for the second, the path of an instance"""
        said = strings[0][1:-1].removeprefix("[%0t] %%").removesuffix(r"\n")
        if "%m" in said:
            said = said.replace("%m", strings[1][1:-1])
        if "%" in said.replace("%%", ""):
            fail(f"{self.name} prints values: {said}")
        return said.replace("%%", "%")

    def macro(self, name, mask):
        """a statement that is a call"""
        if name in ("VL_DEBUG_IF", "VL_WRITEF_NX", "VL_STOP_MT", "VL_FATAL_MT"):
            self.take("(")
            depth, text = 1, []
            while depth:
                token = self.take()
                depth += (token == "(") - (token == ")")
                text.append(token)
            if name == "VL_WRITEF_NX":
                self.emit(f'lanes::say("{self.message([t for t in text if t[0] == chr(34)])}", {mask or "lanes::ALL"});')
            elif name != "VL_DEBUG_IF":
                self.emit(f"{name}({''.join(text)};")
            if self.peek() == ";":
                self.take()
            return
        args = self.arguments()
        self.take(";")
        lanes_of = mask or "lanes::ALL"
        if name == "VL_ZERO_W":
            for w in range(args[1].type[1]):
                self.store(args[1], w, Value("(lanes::U)0U", "u", 0, 0), mask)
        elif name == "VL_ASSIGN_W":
            self.assign(args[1], args[2], mask)
        elif name == "VL_ASSIGNSEL_WI" and self.plain(args[3]):
            self.writes.add(args[3].of)
            self.emit(f"lanes::assign_sel<{args[3].type[1]}>({args[3].name}, {args[1].value}, {self.cast(self.rvalue(args[2]), 'u').code}, {self.as_u(self.rvalue(args[4]))}, {lanes_of});")
        elif name in ("VL_SHIFTL_WWI", "VL_SHIFTR_WWI") and self.plain(args[3]) and self.plain(args[4]):
            self.writes.add(args[3].of)
            self.emit(f"lanes::shift_{'left' if 'SHIFTL' in name else 'right'}<{args[3].type[1]}>({args[3].name}, {args[4].name}, {self.cast(self.rvalue(args[5]), 'u').code}, {lanes_of});")
        else:
            fail(f"{self.name} calls {name}, which sim/lanes.py does not know")

    def plain(self, p):
        return isinstance(p, Place) and p.type[0] == "w" and not p.path and p.whole

    def declaration(self):
        """a local variable, as wide as its C++ type: the comment with its bits is gone from the tokens"""
        types = {"CData": ("u", 8), "SData": ("u", 16), "IData": ("u", 32), "QData": ("q", 64)}
        t = None
        if self.peek() in types:
            t = types[self.take()]
        elif self.peek() == "VlWide":
            self.take()
            self.take("<")
            t = ("w", int(self.take()))
            self.take(">")
        elif self.peek() == "VlUnpacked":
            fail(f"{self.name} has a local array")
        if not t:
            return False
        name = self.take()
        self.take(";")
        self.locals[name] = t
        self.inner.add(name)
        self.emit(declare(name, t))
        return True

    def block(self, mask):
        """statements up to the closing brace; returns the labels that lanes left for"""
        self.take("{")
        labels, left = self.labels_here(), set()
        for name in labels:
            self.label[name] = f"gone_{name}_{self.fresh()}"
            self.emit(f"lanes::M {self.label[name]} = (lanes::M)0;")
        if labels and not mask:
            mask = self.fresh()
            self.emit(f"lanes::M {mask} = lanes::ALL;")
        while self.peek() != "}":
            if self.peek(1) == ":" and self.peek() in labels:
                name = self.take()
                self.take(":")
                if self.peek() == ";":
                    self.take()
                self.emit(f"{mask} = {mask} | {self.label[name]};")
                left.discard(name)
                continue
            gone = self.statement(mask)
            if gone:
                if not mask:
                    fail(f"{self.name} leaves a block that has no mask")
                self.emit(f"{mask} = {mask} & ~({' | '.join(self.label[g] for g in sorted(gone))});")
                left |= gone
        self.take("}")
        return left

    def labels_here(self):
        """labels of this block, behind its opening brace"""
        depth, i, found = 1, self.at, set()
        while depth:
            token = self.tokens[i]
            depth += (token == "{") - (token == "}")
            if depth == 1 and self.tokens[i + 1] == ":" and re.fullmatch(r"__Vlabel\w*", token):
                found.add(token)
            i += 1
        return found

    def statement(self, mask):
        token = self.peek()
        if token == "{":
            inner = self.fresh()
            self.emit("{")
            if mask:
                self.emit(f"lanes::M {inner} = {mask};")
            left = self.block(inner if mask else None)
            self.emit("}")
            return left
        if token == "if":
            return self.branch(mask)
        if token == "while":
            return self.loop(mask)
        if token == "goto":
            self.take()
            name = self.take()
            self.take(";")
            if name not in self.label:
                fail(f"{self.name} jumps back to {name}")
            self.emit(f"{self.label[name]} = {self.label[name]} | {mask};")
            return {name}
        if token == ";":
            self.take()
            return set()
        if token == "vlSelfRef" or (token == "VL_ASSIGN_W" and self.peek(4) == "vlSelfRef"):
            end = self.tokens.index(";", self.at)
            text = " ".join(self.tokens[self.at:end])
            if text in self.known_texts:
                self.at = end + 1
                return set()
            self.texts.add(text)
        if self.peek(1) == "(":
            self.take()
            self.macro(token, mask)
            return set()
        if self.declaration():
            return set()
        p = self.place(self.take())
        self.take("=")
        v = self.expression()
        self.take(";")
        self.assign(p, v, mask)
        return set()

    def branch(self, mask):
        self.take("if")
        self.take("(")
        c = self.rvalue(self.expression())
        self.take(")")
        yes = self.fresh()
        both = f" & {mask}" if mask else ""
        self.emit("{")
        self.emit(f"lanes::M {yes} = {self.mask(c)}{both};")
        taken = self.fresh()
        self.emit(f"const lanes::M {taken} = {yes};")
        self.emit(f"if (lanes::any({yes})) {{")
        left = self.block(yes)
        self.emit("}")
        if self.peek() == "else":
            self.take()
            no = self.fresh()
            self.emit(f"lanes::M {no} = ~{taken}{both};")
            self.emit(f"if (lanes::any({no})) {{")
            left = left | (self.branch(no) if self.peek() == "if" else self.block(no))
            self.emit("}")
        self.emit("}")
        return left

    def loop(self, mask):
        self.take("while")
        self.take("(")
        inner = self.fresh()
        self.emit("{")
        self.emit(f"lanes::M {inner} = {mask or 'lanes::ALL'};")
        self.emit("while (true) {")
        c = self.rvalue(self.expression())
        self.take(")")
        self.emit(f"{inner} = {inner} & {self.mask(c)};")
        self.emit(f"if (!lanes::any({inner})) break;")
        left = self.block(inner)
        self.emit("}")
        self.emit("}")
        return left

    def translate(self):
        self.block(None)
        return list(map(str, self.out))

    def statements(self):
        """the statements of the body one by one, without declarations of its variables, which begin as zero"""
        self.take("{")
        if self.labels_here():
            fail(f"{self.name} has a label")
        fresh, found = None, []
        while self.peek() != "}":
            self.out, self.reads, self.writes, self.inner = [], set(), set(), set()
            zero = self.tokens[self.at:self.at + 4] == [fresh, "=", "0", ";"] or (self.peek() == "VL_ZERO_W" and self.peek(4) == fresh)
            declared = self.declaration()
            fresh = self.tokens[self.at - 2] if declared else None
            if not declared:
                self.statement(None)
                if not zero:
                    found.append(Statement(list(map(str, self.out)), self.reads - self.inner, self.writes - self.inner))
        return found


@dataclasses.dataclass
class Statement:
    lines: list
    reads: set
    writes: set
    rank: int = 0


def give_ranks(statements, rank):
    """the least rank for each of some statements, in their order, so that it runs behind what it needs; `rank` of what they read has those of their inputs, and is completed"""
    reader = {}
    for s in statements:
        s.rank = max([rank.get(v, 0) for v in s.reads | s.writes] + [reader.get(v, 0) for v in s.writes], default=0)
        for v in s.writes:
            rank[v] = s.rank
        for v in s.reads:
            reader[v] = max(s.rank, reader.get(v, 0))


class Settling:
    """what follows from inputs, in steps: with a ring, a step for what needs nothing of other copies, one for what needs the step before of them, ..."""

    MOST = 4

    def __init__(self, functions, types, ring):
        self.functions = [(f, f.statements()) for f in functions]
        self.types = types
        pairs = [(t[:-2] + "_o", t) for t in types if ring and t.endswith("_i") and t[:-2] + "_o" in types]
        self.wires = {i: 0 for _, i in pairs}  # input: step in front of which it is taken
        everything = [s for _, ss in self.functions for s in ss]
        for _ in range(self.MOST + 1):
            rank = dict(self.wires)
            give_ranks(everything, rank)
            written = set().union(*(s.writes for s in everything)) if everything else set()
            wires = {i: rank[o] + 1 if o in written else 0 for o, i in pairs}
            if wires == self.wires:
                break
            self.wires = wires
        else:
            fail(f"the copies wait for each other in a circle, or in more than {self.MOST} steps")
        self.steps = 1 + max([s.rank for s in everything] + list(self.wires.values()), default=0)
        self.shared = []  # (field, type) of local variables that several steps use
        self.bodies = []  # (name, lines)
        for f, ss in self.functions:
            used = [set().union(*((s.reads | s.writes) & f.locals.keys() for s in ss if s.rank == r)) for r in range(self.steps)]
            for r in range(self.steps):
                lines = []
                for v in sorted(used[r]):
                    field = f"{f.name}__{v}"
                    if sum(v in u for u in used) > 1:
                        lines.append(f"auto &{v} = s.{field};")
                        if (field, f.locals[v]) not in self.shared:
                            self.shared.append((field, f.locals[v]))
                    else:
                        lines.append(declare(v, f.locals[v]))
                statements = [line for s in ss if s.rank == r for line in s.lines]
                if statements:
                    self.bodies.append((r, f"{f.name}_{r}", lines + statements))

    def wire(self, i):
        """C++ that takes one input of all copies from the outputs of the others"""
        to, out = self.types[i], self.types[i[:-2] + "_o"]
        name = f"{i}, {i[:-2]}_o"
        if to[0] == "a":
            if leaf(to) != (leaf(out)[0], to[2], leaf(out)[2]):
                fail(f"{name} are not alike")
            return f"lanes::ring_each<{leaf(to)[2]}>({i}, {'&' if out[0] in 'uq' else ''}{i[:-2]}_o);"
        if to == out:
            return f"lanes::ring_sets<{to[-1]}>({name});"
        if out == ("u", 1):
            return f"lanes::ring_bits({name});"
        fail(f"{name} are not alike")

    def calls(self):
        """C++ of inputs()"""
        for r in range(self.steps):
            yield from (self.wire(i) for i, at in self.wires.items() if at == r)
            yield from (f"{name}(*this);" for at, name, _ in self.bodies if at == r)


# ---- memories --------------------------------------------------------------------------------------------------

NESTED = r"[^()]*"
for _ in range(6):
    NESTED = rf"(?:[^()]|\({NESTED}\))*"
GET = re.compile(rf"s\.(\w+)\.get\(({NESTED}), (\d+)\)")  # a memory, the element, its word
ASSIGNMENT = re.compile(r"(?:s\.)?(\w+)(?:\[\d+\])? = [^{}]*;")


def by_rows(lines):
    """lines in which assignments behind each other that take several words of one element have it read as a whole in front of the first"""
    out, at = [], 0
    while at < len(lines):
        end = at
        while end < len(lines) and ASSIGNMENT.fullmatch(lines[end]):
            end += 1
        run = lines[at:end]
        uses = {}
        for i, line in enumerate(run):
            for m in GET.finditer(line):
                uses.setdefault((m[1], m[2]), []).append((i, int(m[3])))
        rows = {}
        for (name, index), places in uses.items():
            first, last = places[0][0], places[-1][0]
            written = {ASSIGNMENT.fullmatch(line)[1] for line in run[first:last]}
            if len({word for _, word in places}) > 1 and not written & {name, *re.findall(r"\w+", index)}:
                rows[name, index] = (first, f"row{len(out) + first}_{len(rows)}")
        for i, line in enumerate(run):
            for (name, index), (first, row) in rows.items():
                if first == i:
                    out.append(f"auto {row} = s.{name}.row({index});")
            out.append(GET.sub(lambda m: f"{rows[m[1], m[2]][1]}.word[{m[3]}]" if (m[1], m[2]) in rows else m[0], line))
        out += lines[end:end + 1]
        at = end + 1
    return out


# ---- the part --------------------------------------------------------------------------------------------------

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
    ports = {"VL_IN8": "u", "VL_OUT8": "u", "VL_IN16": "u", "VL_OUT16": "u", "VL_IN": "u", "VL_OUT": "u", "VL_IN64": "q", "VL_OUT64": "q"}
    types = {}
    for line in body[1].splitlines():
        line = line.strip()
        if m := re.fullmatch(r"(VL_\w+)\((\w+),(\d+),0(?:,(\d+))?\);", line):
            types[m[2]] = ("w", int(m[4]), int(m[3]) + 1) if m[4] else (ports[m[1]], int(m[3]) + 1)
        elif m := re.fullmatch(r"(.*[>/\w]) (\w+);", line):
            t = parse_type(m[1], structs)
            if t and not m[2].startswith(("__Vtrig", "__Vico", "__Vnba", "__Vact", "__Vstl")):
                types[m[2]] = t
    return types


def flat(types, name="", source=""):
    """(name, its place in the scalar model, type) of every variable; those of a structure one by one"""
    for field, t in types.items():
        if t[0] == "s":
            yield from flat(t[1], f"{name}{field}__", f"{source}{field}.")
        else:
            yield name + field, source + field, t


def copy_from(name, source, t):
    """C++ that loads one lane of a variable from a scalar model; memories begin as zero in both, or at random by start()"""
    if is_memory(t):
        return None
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
    return " ".join(lines) + f" {name}[{index}][lane] = from.{source}{access};"


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("top")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--ring", action="store_true")
    args = parser.parse_args()
    top, folder = "V" + args.top, args.folder
    root = f"{top}___024root"
    header = (folder / f"{root}.h").read_text()
    code = "\n".join(f.read_text() for f in sorted(folder.glob(f"{root}__*.cpp")))
    packages = "\n".join(f.read_text() for f in sorted(folder.glob(f"{top}_*_pkg.h")))
    structs = structures(packages + "\n" + header)
    types = variables(header, root, structs)
    tables = {m[2]: parse_type(m[1], {}) for m in re.finditer(rf"^extern const (.*) ({top}__ConstPool__\w+);$", code, re.M)}
    inputs, edge = schedule.calls(top, code)

    def function(name, known=frozenset()):
        body = schedule.function_body(top, name, code) or fail(f"{top} has no function {name}")
        body = body.replace("if ((1ULL & vlSelfRef.__VicoTriggered[0U])) {", "{")
        body = re.sub(r"^\s*(V\w+__Syms\* const .*|auto& vlSelfRef = .*)$", "", body, flags=re.M)
        return Function(name, f"{{{body}}}", types, tables, structs, known)

    # what follows from inputs is not computed behind an edge too: inputs() comes before the next one
    settling = Settling([function(name) for name in inputs], types, args.ring)
    known = set().union(*(f.texts for f, _ in settling.functions)) if inputs else set()
    bodies = [(name, lines) for _, name, lines in settling.bodies] + [(name, function(name, known).translate()) for name in edge]

    # what an edge leaves as the address of a large memory is where the next one reads
    fields = [(n, t) for n, _, t in flat(types)] + settling.shared
    far = {n for n, t in fields if leaf(t)[1] >= FAR}
    reads = {(m[1], m[2]) for _, body in bodies for line in body for m in GET.finditer(line)}
    soon = [f"{name}.soon({m[1]});" for name, index in sorted(reads) if name in far and (m := re.fullmatch(r"\(s\.(\w+)\)", index))]
    bodies = [(name, by_rows(body)) for name, body in bodies]

    lines = ["// Generated by sim/lanes.py.", "#pragma once", '#include "lanes.h"', f'#include "{root}.h"', f"struct {top}_lanes {{"]
    # in the order in which they are used, so that what is used together is in the caches together
    first = {}
    for name in (m[1] for _, body in bodies for line in body for m in re.finditer(r"\bs\.(\w+)", line)):
        first.setdefault(name, len(first))
    lines += [declare(n, t) for n, t in sorted(fields, key=lambda f: first.get(f[0], len(first)))]
    lines += [f"void load(unsigned lane, const {root} &from);", "void start(unsigned lane);", "void inputs();", "void edge();", "};"]
    lines += [f"void {f}({top}_lanes &);" for f, _ in bodies]
    lines += [f"inline void {top}_lanes::inputs() {{ {' '.join(settling.calls())} }}"]
    lines += [f"inline void {top}_lanes::edge() {{ {' '.join([f + '(*this);' for f in edge] + soon)} }}"]
    (folder / f"{top}_lanes.h").write_text("\n".join(lines) + "\n")

    for i, (name, body) in enumerate(bodies):
        text = "\n".join(body)
        used = sorted(t for t in tables if t in text)
        out = ["// Generated by sim/lanes.py.", f'#include "{top}_lanes.h"'] + [f"extern const {re.search(rf'^extern const (.*) {t};$', code, re.M)[1]} {t};" for t in used]
        out += [f"void {name}({top}_lanes &s)", "{"] + body + ["}"]
        (folder / f"{top}_lanes_{i}.cpp").write_text("\n".join(out) + "\n")
    loads = ["// Generated by sim/lanes.py.", f'#include "{top}_lanes.h"', f"void {top}_lanes::load(unsigned lane, const {root} &from)", "{"]
    starts = ["}", "", f"void {top}_lanes::start(unsigned lane)", "{"] + [f"{n}.start(lane, {element_bits(t)});" for n, t in fields if is_memory(t)]
    (folder / f"{top}_lanes_load.cpp").write_text("\n".join(loads + list(filter(None, (copy_from(*v) for v in flat(types)))) + starts + ["}", ""]))
    objects = " ".join(f"{top}_lanes_{i}.o" for i in [*range(len(bodies)), "load"])
    (folder / f"{top}_lanes.mk").write_text(
        f"{top}_lanes.a: {objects}\n\trm -f $@ && ar rcs $@ $^\n{objects}: %.o: %.cpp {top}_lanes.h\n\t$(CXX) $(CXXFLAGS) -c -o $@ $<\n{top}_lanes_load.o: override CXXFLAGS += -O0\n")


if __name__ == "__main__":
    main()
