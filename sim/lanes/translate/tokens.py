# SPDX-License-Identifier: Apache-2.0
"""A function of Verilator's code, token by token."""
import re

from .refuse import PLACE, fail

TOKEN = re.compile(r'\s+|//[^\n]*|/\*.*?\*/|("(?:[^"\\]|\\.)*"|\x27.\x27)'
                   r'|(\d+\.\d+(?:e[-+]?\d+)?|0x[0-9a-fA-F]+(?:ULL|U)?|\d+(?:ULL|U)?)|([A-Za-z_]\w*(?:::\w+)*)'
                   r'|(->|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^~!<>=?:;,.(){}\[\]])', re.S)


class Tokens:
    def __init__(self, name, code):
        self.name, self.at = name, 0
        self.tokens, at = [], 0
        code = code.replace("CData/*0:0*/", "CBit")  # a type of its own here
        self.places = []  # (token, place in the source) from which on it holds
        while at < len(code):
            m = TOKEN.match(code, at) or fail(f"{name}: '{code[at:at + 40]}'", self.places and self.places[-1][1])
            if m.lastindex:
                self.tokens.append(m[0])
            elif place := PLACE.match(m[0]):
                self.places.append((len(self.tokens), place[1]))
            at = m.end()

    def peek(self, ahead=0):
        return self.tokens[self.at + ahead] if self.at + ahead < len(self.tokens) else ""

    def take(self, want=None):
        token = self.peek()
        if want and token != want:
            self.fail(f"'{' '.join(self.tokens[max(0, self.at - 12):self.at + 4])}' where '{want}' was expected",
                      self.at)
        self.at += 1
        return token

    def fail(self, what, at=None):
        """refuse something, which is at a token: that in front of the next one, or `at`"""
        at = self.at - 1 if at is None else at
        place = [p for token, p in self.places if token <= at]
        fail(f"{what}" if place else f"{self.name}: {what}", place and place[-1])
