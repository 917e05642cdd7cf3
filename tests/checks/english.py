#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the English of the documentation and of the comments in the RTL, and fails above the limits.

usage: english.py [--list N] [FILE...]

Without FILE: README.md and docs for prose, rtl for comments. Prints for each of the two the number of sentences, their
length in words (mean, 90th percentile) and the semicolons per 1 000 words. --list N shows the N longest sentences with
their places. A sentence ends at a full stop, a question mark or an exclamation mark before a space, at the end of a
list item, of a paragraph, or of a comment block. Code, tables (in comments: lines that are indented) and headings do
not count. Exit status 1: a figure is above its limit in LIMITS."""
import argparse
import dataclasses
import pathlib
import re
import statistics
import sys

# What is reached, and a little room. A change that lowers a figure lowers its limit, too.
LIMITS = {"docs": {"mean": 15, "p90": 25, "semicolons": 2.5}, "rtl": {"mean": 14}}

# a sentence may begin with the name of a signal or of an instruction
END = re.compile(r"(?<=[.!?])[)\"'*_]*\s+(?=[\"'(*_`\[]*(?:[A-Z0-9`]|\w+[_.]\w))")
ABBREVIATION = re.compile(r"\b(e\.g|i\.e|etc|vs|cf|Fig|Sec|No|approx)\.$")
ITEM = re.compile(r"\s*(?:[-*]|\d+\.)\s+")


@dataclasses.dataclass
class Sentence:
    path: pathlib.Path
    line: int
    text: str

    @property
    def words(self):
        return len(self.text.split())


def plain(text):
    """Markdown without its marks: a link is its text. Stops inside code end no sentence."""
    text = re.sub(r"`+([^`]*)`+", lambda m: m[1].replace(". ", " ").capitalize(), text)
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)", "", text)
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)


def blocks_of_page(lines):
    """Paragraphs and list items of a Markdown page, as (line, text)."""
    fenced, start, block, in_item = False, 0, [], False
    for number, line in enumerate([*lines, ""], 1):
        if line.startswith("```"):
            fenced = not fenced
        code = fenced or line.startswith("```") or (line.startswith("    ") and not in_item)
        breaks = code or not line.strip() or line.lstrip().startswith(("|", "#", "<")) or ITEM.match(line)
        if breaks and block:
            yield start, " ".join(block)
            block = []
        if ITEM.match(line) and not code:
            in_item, start, block = True, number, [ITEM.sub("", line, count=1)]
        elif not breaks:
            start, block = (start if block else number), [*block, line.strip()]
        if line.strip() and not line.startswith(" ") and not ITEM.match(line):
            in_item = False


def blocks_of_rtl(lines):
    """Blocks of // comments that have lines of their own, as (line, text). Indented lines are tables."""
    start, block = 0, []
    for number, line in enumerate([*lines, ""], 1):
        code, slashes, comment = line.partition("//")
        text = comment.strip().lstrip("/").strip()
        aside = comment.startswith("  ") or re.match(r"SPDX|[-=]{3}|verilator|synopsys|pragma", text)
        whole = slashes and not code.strip() and text and not aside
        if block and (not whole or ITEM.match(text)):
            yield start, " ".join(block)
            block = []
        if whole:
            start, block = (start if block else number), [*block, ITEM.sub("", text, count=1)]


def sentences(path, blocks):
    for line, block in blocks(path.read_text().splitlines()):
        pieces = END.split(plain(block))
        merged = []
        for piece in pieces:
            if merged and ABBREVIATION.search(merged[-1]):
                merged[-1] += " " + piece
            else:
                merged.append(piece)
        yield from (s for s in (Sentence(path, line, m.strip()) for m in merged) if s.words > 1)


def measure(name, found):
    lengths = sorted(s.words for s in found)
    words = sum(lengths)
    figures = {
        "mean": round(statistics.fmean(lengths), 1),
        "p90": lengths[int(0.9 * (len(lengths) - 1))],
        "semicolons": round(1000 * sum(s.text.count(";") for s in found) / words, 1),
    }
    print(f"{name}: {len(lengths)} sentences, {figures['mean']} words on average, 90th percentile {figures['p90']}, {figures['semicolons']} semicolons per 1 000 words")
    return figures


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--list", type=int, default=0, metavar="N")
    p.add_argument("files", nargs="*", type=pathlib.Path)
    a = p.parse_args()
    files = a.files or [pathlib.Path("README.md"), *sorted(pathlib.Path("docs").rglob("*.md")), *sorted(pathlib.Path("rtl").rglob("*.sv")), *sorted(pathlib.Path("rtl").rglob("*.svh"))]
    kinds = {
        "docs": [s for f in files if f.suffix == ".md" for s in sentences(f, blocks_of_page)],
        "rtl": [s for f in files if f.suffix in (".sv", ".svh") for s in sentences(f, blocks_of_rtl)],
    }
    failed = False
    for name, found in kinds.items():
        if not found:
            continue
        figures = measure(name, found)
        for s in sorted(found, key=lambda s: -s.words)[: a.list]:
            print(f"  {s.path}:{s.line}: {s.words}: {s.text}")
        if a.files:
            continue
        for figure, limit in LIMITS[name].items():
            if figures[figure] > limit:
                print(f"{name}: {figure} is {figures[figure]}, at most {limit} is allowed: shorten what you added (--list 20 shows the longest)", file=sys.stderr)
                failed = True
    sys.exit(failed)


main()
