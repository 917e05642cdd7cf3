# SPDX-License-Identifier: Apache-2.0
"""A function of Verilator's code, token by token."""
import re

from .refuse import fail

TOKEN = re.compile(r'\s+|//[^\n]*|/\*.*?\*/|("(?:[^"\\]|\\.)*"|\x27.\x27)|(0x[0-9a-fA-F]+(?:ULL|U)?|\d+(?:ULL|U)?)|([A-Za-z_]\w*(?:::\w+)*)|(->|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^~!<>=?:;,.(){}\[\]])', re.S)


class Tokens:
    def __init__(self, name, code):
        self.name, self.at = name, 0
        self.tokens, at = [], 0
        while at < len(code):
            m = TOKEN.match(code, at) or fail(f"{name} holds '{code[at:at + 40]}'")
            if m.lastindex:
                self.tokens.append(m[0])
            at = m.end()

    def peek(self, ahead=0):
        return self.tokens[self.at + ahead] if self.at + ahead < len(self.tokens) else ""

    def take(self, want=None):
        token = self.peek()
        if want and token != want:
            fail(f"{self.name} has '{' '.join(self.tokens[max(0, self.at - 12):self.at + 4])}' where '{want}' was expected")
        self.at += 1
        return token
