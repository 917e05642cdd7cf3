# SPDX-License-Identifier: Apache-2.0
"""Statements of Verilator's code that are calls of its run time."""
from .expression import Expressions, Place, Value
from .refuse import construct

KNOWN = ("VL_ZERO_W", "VL_ASSIGN_W", "VL_ASSIGNSEL_WI", "VL_SHIFTL_WWI", "VL_SHIFTR_WWI", "VL_ADD_W", "VL_SUB_W")


class Calls(Expressions):
    def message(self, strings):
        """what $fatal prints: the first string, in which %m stands for the second, the path of an instance"""
        said = strings[0][1:-1].removeprefix("[%0t] %%").removesuffix(r"\n")
        if "%m" in said:
            said = said.replace("%m", strings[1][1:-1])
        if "%" in said.replace("%%", ""):
            self.fail(f"values in a message: {said}")
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
                self.emit(f'lanes::say("{self.message([t for t in text if t[0] == chr(34)])}", '
                          f'{mask or "lanes::ALL"});')
            elif name != "VL_DEBUG_IF":
                self.emit(f"{name}({''.join(text)};")
            if self.peek() == ";":
                self.take()
            return
        at = self.at - 1
        if name not in KNOWN:
            self.fail(construct(name), at)
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
            self.emit(f"lanes::assign_sel<{args[3].type[1]}>({args[3].name}, {args[1].value}, "
                      f"{self.cast(self.rvalue(args[2]), 'u').code}, {self.as_u(self.rvalue(args[4]))}, {lanes_of});")
        elif name in ("VL_SHIFTL_WWI", "VL_SHIFTR_WWI") and self.plain(args[3]) and self.plain(args[4]):
            self.writes.add(args[3].of)
            self.emit(f"lanes::shift_{'left' if 'SHIFTL' in name else 'right'}<{args[3].type[1]}>({args[3].name}, "
                      f"{args[4].name}, {self.cast(self.rvalue(args[5]), 'u').code}, {lanes_of});")
        elif name in ("VL_ADD_W", "VL_SUB_W") and self.plain(args[1]):
            self.writes.add(args[1].of)
            a, b = ("{" + ", ".join(v.code for v in self.words(x, "u")) + "}" for x in args[2:])
            self.emit(f"lanes::{'add' if 'ADD' in name else 'subtract'}<{args[0].value}>({args[1].name}, {a}, {b}, "
                      f"{lanes_of});")
        else:
            self.fail(construct(name), at)

    def plain(self, p):
        return isinstance(p, Place) and p.type[0] == "w" and not p.path and p.whole
