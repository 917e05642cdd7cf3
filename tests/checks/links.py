#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that what the pages and the sources refer to is there.

usage: links.py [FOLDER]     the repository, or a folder like it

Every relative link of a page (*.md) names a file, and a heading of it if it has an anchor. Every page of docs is
linked from docs/README.md. Every path of a page in a source is that of a page. Exit status 1, and a line for each that
fails.
"""
import os
import pathlib
import re
import sys

LINK = re.compile(r"\]\(([^()\s]+)\)")
MENTION = re.compile(r"(?<![\w/-])docs/[\w/-]+\.(?:md|svg)")
ELSEWHERE = {"build", ".git", "__pycache__"}
SOURCES = {".c", ".cpp", ".core", ".h", ".lpf", ".map", ".md", ".mk", ".py", ".rdl", ".sv", ".svh", ".toml", ""}
# BOARD stands for the name of a board
PLACEHOLDERS = {"docs/reference/boards/BOARD.md"}


def files_of(root):
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(f for f in folders if f not in ELSEWHERE)
        yield from (pathlib.Path(folder, n) for n in sorted(names) if pathlib.Path(n).suffix in SOURCES)


def prose_of(text):
    """A page without its blocks of code."""
    return re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)


def anchors_of(page):
    """The anchors of a page's headings, as GitHub makes them."""
    found = {}
    for heading in re.findall(r"^#+ (.*)$", prose_of(page.read_text()), re.M):
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
        found[name] = found.get(name, -1) + 1
        yield f"{name}-{found[name]}" if found[name] else name
    yield from re.findall(r'<a (?:id|name)="([^"]+)"', page.read_text())


def broken_links(root, page):
    for target in LINK.findall(prose_of(page.read_text())):
        name, _, anchor = target.partition("#")
        if "://" in name or name.startswith("mailto:"):
            continue
        file = page.parent / name if name else page
        if not file.exists():
            yield f"{page.relative_to(root)}: {target}: no such file"
        elif anchor and file.suffix == ".md" and anchor not in anchors_of(file):
            yield f"{page.relative_to(root)}: {target}: no such heading"


def broken_mentions(root, file):
    try:
        text = file.read_text()
    except UnicodeDecodeError:
        return
    for name in MENTION.findall(text):
        if name not in PLACEHOLDERS and not (root / name).exists():
            yield f"{file.relative_to(root)}: {name}: no such file"


def not_in_index(root):
    index = root / "docs" / "README.md"
    linked = {(index.parent / t.partition("#")[0]).resolve() for t in LINK.findall(index.read_text())}
    # folders with an index of their own are linked by that
    for page in sorted((root / "docs").rglob("*.md")):
        own = (page.parent / "README.md").resolve()
        if page.resolve() not in linked and own not in linked and page != index:
            yield f"{page.relative_to(root)}: docs/README.md has no link to it"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2])
    files = [f for f in files_of(root) if f.is_file()]
    found = [*not_in_index(root)]
    for f in files:
        found += broken_mentions(root, f)
        if f.suffix == ".md":
            found += broken_links(root, f)
    print("\n".join(found), end="\n" if found else "")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
