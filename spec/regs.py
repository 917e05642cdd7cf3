#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Generates from one SystemRDL file the register block, its package, the C header and the page of docs.

usage: regs.py FILE.rdl OUTDIR    writes NAME_regs.sv, NAME_regs_pkg.sv, NAME_regs.h, NAME_regs.md
"""
import pathlib
import subprocess
import sys

from systemrdl import RDLCompiler
from systemrdl.node import MemNode, RegfileNode, RegNode

from gen import md_row, md_text


def access(node):
    return node.get_property("sw").name


def returns(field):
    """Name of the signal that brings the reset value back; "": the device's reset alone."""
    signal = field.get_property("resetsignal")
    return signal.get_property("name") if signal else ""


def reset_of(field):
    reset = field.get_property("reset")
    return "" if reset is None else f"{reset}, {returns(field)}" if returns(field) else str(reset)


def bits(field):
    return f"{field.high}:{field.low}" if field.high != field.low else str(field.low)


def register_rows(node, base):
    """One row for the register and one for each of its fields, or one for both."""
    address = base + (node.raw_address_offset if node.is_array else node.address_offset)
    where = f"0x{address:03x}" + (f" + {node.array_stride} i, i < {node.array_dimensions[0]}" if node.is_array else "")
    fields = list(node.fields())
    if len(fields) == 1:
        f = fields[0]
        return [(f"`{node.inst_name}`", where, bits(f), access(f), reset_of(f),
                 f"{node.get_property('name')}: {f.get_property('desc')}")]
    rows = [(f"`{node.inst_name}`", where, "", "", "", node.get_property("name"))]
    for f in fields:
        rows.append((f"&nbsp; {f.inst_name}", "", bits(f), access(f), reset_of(f), f.get_property("desc")))
    return rows


def memory_row(node):
    end = node.address_offset + node.size - 1
    text = f"{node.get_property('name')}, {node.get_property('mementries')} words. {node.get_property('desc')}"
    return (f"`{node.inst_name}`", f"0x{node.address_offset:04x} - 0x{end:04x}", "31:0", access(node), "", text)


def after_hold(top):
    """Every field that firmware can write, in a map where a signal returns some of them: none may
    be forgotten there."""
    fields = [f for r in top.descendants(unroll=False) if isinstance(r, RegNode) for f in r.fields()
              if f.is_sw_writable]
    if not any(map(returns, fields)):
        return ""
    rows = []
    for f in fields:
        name = f"`{f.parent.inst_name}.{f.inst_name}`"
        if returns(f):
            rows.append((name, str(f.get_property("reset"))))
        elif f.get_property("singlepulse"):
            rows.append((name, "0: a write is a pulse"))
        elif not f.get_property("host_alone"):
            sys.exit(f"{f.get_path()}: firmware writes it, and nothing says when it returns: give it a resetsignal")
    rows += [(f"`{m.inst_name}`", "unchanged") for m in top.children(unroll=False) if isinstance(m, MemNode)
             and m.is_sw_writable]
    head = "### What firmware can write, and its value after a hold\n\n| register and field | value |\n|---|---|\n"
    return head + "".join(map(md_row, rows)) + "\n"


def page(top):
    rows = []
    for c in top.children(unroll=False):
        if isinstance(c, RegNode):
            rows += register_rows(c, 0)
        elif isinstance(c, MemNode):
            rows.append(memory_row(c))
        elif isinstance(c, RegfileNode):
            rows.append((f"**{c.get_property('name')}**", f"0x{c.address_offset:03x}", "", "", "",
                         c.get_property("desc")))
            for r in c.children(unroll=False):
                rows += register_rows(r, c.address_offset)
    head = (f"## {top.get_property('name')}\n\n{md_text(top.get_property('desc'))}\n\n| register, field | address | "
            "bits | access | reset | meaning |\n|---|---|---|---|---|---|\n")
    return head + "".join(map(md_row, rows)) + "\n" + after_hold(top)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    rdl, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    name = rdl.stem
    peakrdl = str(pathlib.Path(sys.executable).parent / "peakrdl")
    subprocess.run([peakrdl, "regblock", str(rdl), "-o", str(out), "--cpuif", "passthrough", "--module-name",
                    f"{name}_regs", "--package-name", f"{name}_regs_pkg",
                    "--default-reset", "rst_n", "--err-if-bad-addr", "--err-if-bad-rw"], check=True)
    subprocess.run([peakrdl, "c-header", str(rdl), "-o", str(out / f"{name}_regs.h")], check=True)
    compiler = RDLCompiler()
    compiler.compile_file(str(rdl))
    (out / f"{name}_regs.md").write_text(page(compiler.elaborate().top))


if __name__ == "__main__":
    main()
