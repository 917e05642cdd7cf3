#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the English of the documentation and of comments, and fails above the limits.

usage: english.py [--list N] [FILE...]

Without FILE: README.md and docs for prose, and comments of the RTL, of programs in C, and of tests in C, C++ and
SystemVerilog. Prints for each of the four the number of sentences, their length in words (mean, 90th percentile) and
the semicolons per 1 000 words. --list N shows the N longest sentences
with their places. A sentence ends at a full stop, a question mark or an exclamation mark before a space, at the
end of a list item, of a paragraph, or of a comment block. Code, tables (in comments: lines that are indented) and
headings do not count. Without FILE it also checks words.toml: no former term in any file, and no verb of persons in
pages, comments of the RTL, strings of the programs and names of tests. Exit status 1: a figure is above its limit in
LIMITS, or a word is found."""
import argparse
import dataclasses
import pathlib
import re
import statistics
import subprocess
import sys
import tomllib

# What is reached, and a little room. A change that lowers a figure lowers its limit, too.
LIMITS = {
    "docs": {"mean": 14.5, "p90": 24, "semicolons": 2},
    "rtl": {"mean": 13.5, "p90": 23, "semicolons": 5},
    "programs": {"mean": 12, "p90": 21, "semicolons": 6},
    "tests": {"mean": 12, "p90": 19, "semicolons": 2},
}
FOLDERS = {"driver": "programs", "firmware": "programs", "flow": "programs", "host-tools": "programs", "rtl": "rtl",
           "sim": "programs", "tests": "tests"}
CODE = (".c", ".cpp", ".h", ".sv", ".svh")

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


def blocks_of_code(lines):
    """Blocks of // comments that have lines of their own, as (line, text). Indented lines are tables."""
    start, block, beside = 0, [], None
    for number, line in enumerate([*lines, ""], 1):
        code, slashes, comment = line.partition("//")
        text = comment.strip().lstrip("/").strip()
        if code.strip() or not slashes:
            beside = len(code) if slashes else None
        # what goes on below a comment beside code is a part of that one
        goes_on = not code.strip() and len(code) == beside
        aside = goes_on or comment.startswith("  ") or re.match(r"SPDX|[-=]{3}|verilator|synopsys|pragma", text)
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
    print(f"{name}: {len(lengths)} sentences, {figures['mean']} words on average, 90th percentile {figures['p90']}, "
          f"{figures['semicolons']} semicolons per 1 000 words")
    return figures


def tracked():
    """Files of the repository that hold text of ours."""
    skip = ("tests/fuzz/", "LICENSES/", "tests/checks/words.toml", "tests/qemu/")
    names = subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True).stdout.split()
    return [pathlib.Path(n) for n in names if not n.startswith(skip) and pathlib.Path(n).is_file()]


def kind_of(path, any_folder):
    """What the text of a file belongs to, or None. any_folder: code outside the folders counts as the RTL's."""
    if path.suffix == ".md":
        return "docs" if any_folder or path.parts[0] == "docs" or path.name == "README.md" and not path.parent.name \
            else None
    if path.suffix not in CODE:
        return None
    return FOLDERS.get(path.parts[0], "rtl" if any_folder else None)


def prose_of(path, line):
    """The parts of a line in which the verbs count."""
    if path.suffix == ".md":
        return [line]
    if path.parts[0] == "rtl" and path.suffix in (".sv", ".svh"):
        return [line.partition("//")[2]]
    if path.suffix in (".c", ".h", ".cpp"):
        if path.parts[0] in ("host-tools", "driver", "firmware", "sim"):
            return re.findall(r'"((?:\\.|[^"\\])*)"', line)
        if path.parts[0] == "tests":
            names = re.findall(r"\b(?:TEST|TEST_IF|cmocka_unit_test)\((?:\w+, )?(\w+)\)", line)
            return [n.replace("_", " ") for n in names]
    return []


def alternatives(words):
    return re.compile(r"(?<![A-Za-z])(" + "|".join(map(re.escape, words)) + r")(?![A-Za-z])")


def check_words(rules):
    """Lines with a word of the list, as text."""
    terms, verbs = alternatives(rules["terms"]), alternatives([*rules["verbs"],
                                                               *(v.capitalize() for v in rules["verbs"])])
    spared = {(e["path"], w) for e in rules["exception"] for w in e["words"]}
    used, found = set(), []
    for path in tracked():
        try:
            lines = path.read_text().splitlines()
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(lines, 1):
            hits = [(w, rules["terms"]) for w in terms.findall(line)]
            hits += [(w.lower(), rules["verbs"]) for part in prose_of(path, line) for w in verbs.findall(part)]
            for word, table in hits:
                if (str(path), word) in spared:
                    used.add((str(path), word))
                else:
                    found.append(f"{path}:{number}: {word}: write {table[word]} (tests/checks/words.toml)")
    return found + [f"words.toml: the exception {word} of {path} is not used" for path, word in sorted(spared - used)]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--list", type=int, default=0, metavar="N")
    p.add_argument("files", nargs="*", type=pathlib.Path)
    a = p.parse_args()
    files = a.files or tracked()
    kinds = {kind: [] for kind in LIMITS}
    for f in files:
        kind = kind_of(f, bool(a.files))
        if kind:
            kinds[kind] += sentences(f, blocks_of_page if kind == "docs" else blocks_of_code)
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
                print(f"{name}: {figure} is {figures[figure]}, at most {limit} is allowed: shorten what you added "
                      "(--list 20 shows the longest)", file=sys.stderr)
                failed = True
    if not a.files:
        found = check_words(tomllib.loads(pathlib.Path("tests/checks/words.toml").read_text()))
        print(*found, sep="\n", end="\n" if found else "", file=sys.stderr)
        failed |= bool(found)
    sys.exit(failed)


main()
