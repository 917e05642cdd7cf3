# SPDX-License-Identifier: Apache-2.0
"""Elements of memories that are read as a whole."""
import re

NESTED = r"[^()]*"
for _ in range(6):
    NESTED = rf"(?:[^()]|\({NESTED}\))*"
GET = re.compile(rf"s\.(\w+)\.get\(({NESTED}), (\d+)\)")  # a memory, the element, its word
ASSIGNMENT = re.compile(r"(?:s\.)?(\w+)(?:\[\d+\])? = [^{}]*;")


def by_rows(lines):
    """lines in which assignments behind each other that take several words of one element have it read as a whole
    in front of the first"""
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
