# SPDX-License-Identifier: Apache-2.0
"""Statements of Verilator's code as statements for the lanes of a mask."""
import dataclasses
import re

from .calls import Calls
from .expression import ALL_ONES, Place, Value, apart
from .variables import declare, is_memory, leaf


# A body of no more lines and operations than this costs less than a branch that is foreseen wrongly.
SHORT_LINES, SHORT_OPERATIONS = 4, 12
OPERATION = re.compile(r"[-+*&|^~<>=]=?|lanes::\w+\(|\?")
SLOW = re.compile(r"\.get\(|gather|lookup|pick<|shl|shr|shift_signed|parity|quotient|remainder")


@dataclasses.dataclass
class Put:
    target: str
    word: object  # number, or text of a vector
    rest: str
    values: list

    def __str__(self):
        return f"{self.target}{self.word}, {self.rest}, {', '.join(self.values)});"


@dataclasses.dataclass
class Statement:
    lines: list
    reads: set
    writes: set
    rank: int = 0


class Function(Calls):
    def __init__(self, name, code, types, tables, structs, known=frozenset()):
        super().__init__(name, code)
        self.types, self.tables, self.structs = types, tables, structs
        self.locals, self.out, self.masks, self.label = {}, [], 0, {}
        self.blocks, self.jumps, self.homes = [], [], self.find_homes()
        self.known_texts, self.texts = known, set()  # assignments that need not be translated; those seen
        self.reads, self.writes, self.inner = set(), set(), set()  # variables of the statement; those declared inside

    def find_homes(self):
        """for local variables the block, by its opening brace, that has in it whatever is done with them but that they
        begin as zero, where that starts with an assignment in this block itself: in a lane that does not run the block,
        it does not matter what they hold"""
        path, homes, first, declared = [], {}, {}, set()
        for at, token in enumerate(self.tokens):
            if token == "{":
                path.append(at)
            elif token == "}":
                path.pop()
            elif self.tokens[at + 1:at + 2] == [";"] and self.tokens[at - 1] in ("CBit", "CData", "SData", "IData",
                                                                                 "QData", ">"):
                declared.add(token)
            elif token in declared and self.tokens[at - 1] != "." and not self.is_first_zero(at):
                behind = self.tokens[at + 1:at + 5]
                first.setdefault(token, path[-1] if "=" in (behind[:1] + (behind[3:] if behind[:1] == ["["] else []))
                                 else None)
                homes[token] = [a for a, b in zip(homes.get(token, path), path) if a == b]
        return {name: home[-1] for name, home in homes.items() if home[-1:] == [first[name]]}

    def is_first_zero(self, at):
        """a local variable, declared just before, becomes zero"""
        name, before = self.tokens[at], self.tokens[max(0, at - 6):at]
        return (before[-2:] == [name, ";"] and self.tokens[at + 1:at + 3] == ["=", "0"]
                or before[-6:-3] == [name, ";", "VL_ZERO_W"])

    # -- statements
    def emit(self, text):
        self.out.append(text)

    def put(self, target, word, rest, value):
        """a store to one word; those to the words behind it join it, since they have their lanes' places in common"""
        last = self.out[-1] if self.out else None
        name = re.split(r"[.( ]", target.removeprefix("lanes::scatter(").removeprefix("s."))[0]
        reads = name in value and name in re.findall(r"\w+", value)
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
        # other lanes do not read what they have in a variable that this block alone uses
        if p.of in self.locals and self.homes.get(p.of) == self.blocks[-1] and not self.jumps[-1]:
            mask = None
        kind, count, words = leaf(p.whole)
        code = self.as_q(v) if kind == "q" else self.bit(v) if kind == "b" else self.as_u(v)
        constant, moving = self.position(p, word)
        lanes_of = mask or "lanes::ALL"
        if is_memory(p.whole):
            at, w = self.element(p, word)
            self.put(f"{p.name}.put({at}, ", w, lanes_of, code)
        elif moving and kind == "b":
            n, step, index = ((count - constant, 1, self.linear(moving)) if len(moving) > 1
                              else (moving[0][1], moving[0][2], self.inside(*moving[0][:2])))
            self.emit(f"lanes::place<{n}, {step}>({p.name} + {constant}, {index}, {lanes_of}, {code});")
        elif moving:
            self.put(f"lanes::scatter({p.name} + ", constant, f"{self.linear(moving)}, {lanes_of}", code)
        else:
            target = p.name if not p.path and p.whole[0] in "buq" else f"{p.name}[{constant}]"
            self.emit(f"{target} = {f'lanes::sel({mask}, {apart(code, target)}, {target})' if mask else code};")

    def narrow(self, v, t):
        """what C++ leaves of a value in a variable of a type: CData has 8 bits, SData 16; of one bit no
        more than that is kept"""
        if t[0] == "b":
            return Value(self.bit(v), "b", 1)
        limit = 0xFF if t[1] <= 8 else 0xFFFF if t[1] <= 16 else ALL_ONES
        v = self.cast(v, t[0])
        return v if t[0] == "q" or v.most <= limit else self.combine("&", v, self.number(f"{limit}U"))

    def assign(self, p, v, mask):
        if p.whole is None:
            self.fail(f"a write to {p.name}")
        if p.type[0] in "buq":
            return self.store(p, 0, self.narrow(self.rvalue(v), p.type), mask)
        if not isinstance(v, Place) or v.type[0] not in "aw" or leaf(v.type) != leaf(p.type):
            self.fail(f"something of another kind that {p.name} gets")
        kind, count, words = leaf(p.type)
        for w in range(count * words):
            self.store(p, w, Value(self.read(v, w) if v.whole else f"(lanes::U){v.name}[{w}]", kind), mask)

    def declaration(self):
        """a local variable, as wide as its C++ type: the comment with its bits is gone from the tokens"""
        types = {"CBit": ("b", 1), "CData": ("u", 8), "SData": ("u", 16), "IData": ("u", 32), "QData": ("q", 64)}
        t = None
        if self.peek() in types:
            t = types[self.take()]
        elif self.peek() == "VlWide":
            self.take()
            self.take("<")
            t = ("w", int(self.take()))
            self.take(">")
        elif self.peek() == "VlUnpacked":
            self.fail(f"a local array, {self.tokens[self.tokens.index(';', self.at) - 1]}")
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
        self.blocks.append(self.at)
        self.take("{")
        labels, left = self.labels_here(), set()
        self.jumps.append(bool(labels))
        for name in labels:
            self.label[name] = f"gone_{name}_{self.fresh()}"
            self.emit(f"lanes::M {self.label[name]}{{}};")
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
                    self.fail("a jump out of a block without a mask")
                self.emit(f"{mask} = {mask} & ~({' | '.join(self.label[g] for g in sorted(gone))});")
                left |= gone
        self.take("}")
        self.blocks.pop()
        self.jumps.pop()
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
                self.fail(f"a jump back to {name}")
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
        at = len(self.out)
        self.emit(f"if (lanes::any({yes})) {{")
        left = self.block(yes)
        self.without_branch(at)
        self.emit("}")
        if self.peek() == "else":
            self.take()
            no = self.fresh()
            self.emit(f"lanes::M {no} = ~{taken}{both};")
            at = len(self.out)
            self.emit(f"if (lanes::any({no})) {{")
            left = left | (self.branch(no) if self.peek() == "if" else self.block(no))
            self.without_branch(at)
            self.emit("}")
        self.emit("}")
        return left

    def without_branch(self, at):
        """leaves out the test in front of a body that was emitted behind it, if it does more good to run it always"""
        body = self.out[at + 1:]
        plain = all(isinstance(line, str) and re.match(r"[\w.\[\]]+ = ", line) and not SLOW.search(line)
                    for line in body)
        if plain and len(body) <= SHORT_LINES and sum(len(OPERATION.findall(line))
                                                      for line in body) <= SHORT_OPERATIONS:
            self.out[at] = "{"

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
        self.blocks, self.jumps = [self.at], [False]
        self.take("{")
        if self.labels_here():
            self.fail("a jump among what follows from inputs")
        fresh, found = None, []
        while self.peek() != "}":
            self.out, self.reads, self.writes, self.inner = [], set(), set(), set()
            zero = self.tokens[self.at:self.at + 4] == [fresh, "=", "0",
                                                        ";"] or (self.peek() == "VL_ZERO_W" and self.peek(4) == fresh)
            declared = self.declaration()
            fresh = self.tokens[self.at - 2] if declared else None
            if not declared:
                self.statement(None)
                if not zero:
                    found.append(Statement(list(map(str, self.out)), self.reads - self.inner, self.writes - self.inner))
        return found
