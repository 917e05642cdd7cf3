#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The manual page of the library, from its header, which is the one place where it is described.

usage: man.py moeswitch.h >libmoeswitch.3

Comments in front of a declaration become text, declarations stay as they are; "// ---- title ----" begins a section.
"""
import re
import sys
from pathlib import Path


def roff(line):
    """A line in which no character is a request or an escape, and a hyphen can be copied."""
    line = line.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + line if line[:1] in (".", "'") else line


def prose(lines):
    return [roff(line) for line in lines if line]


def code(lines):
    return [".PP", ".nf", *map(roff, lines), ".fi"]


def chunk(lines):
    """Declarations with comments between them: a paragraph for each comment, code for the rest."""
    out, text, plain = [], [], []

    def flush():
        if text:
            out.extend([".PP", *prose(text)])
        if plain:
            out.extend(code(plain))
        text.clear()
        plain.clear()

    for line in lines:
        comment = re.match(r"///? ?(.*)", line)
        if comment and plain:
            flush()
        if comment:
            text.append(comment[1])
        elif not re.match(r"#(?!define MW_(?!API ))", line):
            plain.append(line.replace("MW_API ", ""))
    flush()
    return out


def paragraphs(text):
    return [block.split("\n") for block in re.split(r"\n(?:[ \t]*\n)+", text) if block.strip()]


def page(header):
    version = re.search(r'#define MW_VERSION "(.*)"', header)[1]
    intro, body = header.split("#ifndef MOESWITCH_H", 1)
    intro = re.sub(r"^//.*SPDX.*\n", "", intro)
    intro = [re.sub(r"^// ?", "", line) for line in intro.split("\n")]
    title, *rest = paragraphs("\n".join(intro).strip())
    name, summary = " ".join(title).split(": ", 1)
    out = [f'.TH {name.upper()} 3 "" "moeswitch {version}" "Library Functions"', ".SH NAME",
           f"{name} \\- {roff(summary.rstrip('.'))}", ".SH SYNOPSIS", ".nf", "#include <moeswitch.h>", ".PP",
           roff("cc program.c $(pkg-config --cflags --libs moeswitch)"), ".fi", ".SH DESCRIPTION"]
    for block in rest:
        out.extend([".PP", *prose(block)])
    sections = ["constants", *re.split(r"^// ---- (.*?) -+$\n", body, flags=re.M)]
    for heading, text in zip(sections[::2], sections[1::2]):
        out.append(f'.SH "{heading.upper()}"')
        text = re.sub(r"#ifdef __cplusplus.*?#endif", "", text, flags=re.S).replace("#endif", "")
        for block in paragraphs(text):
            out.extend(chunk(block))
    return "\n".join([*out, '.SH "SEE ALSO"', ".BR moeswitch (1)", ""])


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.stdout.write(page(Path(sys.argv[1]).read_text()))
