#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Generates the SystemVerilog package, the C header and the page of docs of each definition in this folder.

usage: gen.py OUTDIR

Writes packet_pkg.sv, packet.h, packets.md, isa_pkg.sv, isa.h, isa.md, errors.h, errors.def, errors.md.
"""
import pathlib
import sys
import textwrap
import tomllib

HERE = pathlib.Path(__file__).parent
SV_HEAD = ("// SPDX-License-Identifier: CERN-OHL-P-2.0\n// Generated from spec/{src} by spec/gen.py: change it there.\n"
           "`default_nettype none\n/* verilator lint_off UNUSEDPARAM */\n")
C_HEAD = "// SPDX-License-Identifier: Apache-2.0\n// Generated from spec/{src} by spec/gen.py: change it there.\n"


def load(name):
    with open(HERE / name, "rb") as f:
        return tomllib.load(f)


def camel(name):
    return "".join(w.capitalize() for w in name.lower().split("_"))


def sv_enum(type_name, prefix, width, items):
    rows = [f"    {prefix}_{n} = {width}'d{v}" for n, v, _ in items]
    return f"  typedef enum logic [{width - 1}:0] {{\n" + ",\n".join(rows) + f"\n  }} {type_name}_e;\n\n"


def c_list(name, rows):
    """A macro that applies another one, X, to each row, whose last column is a string."""
    return f"#define {name}(X) \\\n" + " \\\n".join(
        f"    X({', '.join(map(str, r[:-1]))}, \"{r[-1]}\")" for r in rows) + "\n"


def c_enum(prefix, items):
    rows = [f"    {prefix}_{n} = {v}, /* {d} */" for n, v, d in items]
    return "enum {\n" + "\n".join(rows) + "\n};\n\n"


def md_row(cells):
    return "| " + " | ".join(str(c).replace("|", "\\|") for c in cells) + " |\n"


def md_table(head, rows):
    return md_row(head) + "|" + "---|" * len(head) + "\n" + "".join(md_row(r) for r in rows) + "\n"


def md_text(text):
    """A paragraph of a page."""
    return textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False)


# attribute of an opcode: what it may be, the first one where it is not stated
ATTRIBUTES = {"targets": ("none", "port", "group", "experts", "loads"),
              "extent": ("none", "memory", "row", "event", "counts"),
              "sender": ("none", "hub", "switch"), "receiver": ("none", "hub", "switch"),
              "needs": ("nothing", "multicast", "reductions", "row_sparse", "switch_reductions", "merged_loads")}
FLAGS = ("payload", "ordered")  # and those that are true or false


def attribute(opcode, name):
    value = opcode.get(name, ATTRIBUTES[name][0])
    assert value in ATTRIBUTES[name], f"{opcode['name']}: {name} is {value}"
    return value


def attribute_enum(name):
    """The enum of an attribute's values. Sender and receiver share that of a unit."""
    return "unit" if name in ("sender", "receiver") else name


def attribute_enums():
    """The values of each enum, as name, number and text."""
    return {attribute_enum(name): [(v.upper(), i, v) for i, v in enumerate(values)]
            for name, values in ATTRIBUTES.items()}


def attribute_table(opcodes):
    """SystemVerilog: a function that returns what is true of every packet of an opcode."""
    sv = ""
    for name, values in attribute_enums().items():
        sv += sv_enum(name, name.upper(), (len(values) - 1).bit_length(), values)
    sv += """  // what is true of every packet of an opcode; of one that there is not, all 0
  // (loads: those of merged loads are there)
  typedef struct packed {
    cls_e cls;
    targets_e targets;  // experts: a list of them
    extent_e extent;  // what the address names
    logic payload;  // one follows the header
    logic ordered;  // it takes effect behind every earlier store of its source
    unit_e sender;  // a hub, whose uplink may carry it, or the switch alone
    unit_e receiver;
    needs_e needs;  // what must be built for it
  } attributes_t;

  function automatic attributes_t attributes_of(opcode_e op, logic loads);
    attributes_t a;
"""
    there = [o for o in opcodes if attribute(o, "sender") != "none"]

    def one_of(opcodes):
        """Whether op is one of these. Those of merged loads cost nothing in a build without."""
        optional = [f"OP_{o['name']}" for o in opcodes if attribute(o, "needs") == "merged_loads"]
        always = [f"OP_{o['name']}" for o in opcodes if f"OP_{o['name']}" not in optional]
        terms = [f"op inside {{{', '.join(always)}}}"] * bool(always)
        terms += [f"(loads && op inside {{{', '.join(optional)}}})"] * bool(optional)
        return " || ".join(terms)

    def chosen(field, prefix, values, value_of):
        """Each value with the opcodes that have it. No case: synthesis would make a memory of its table."""
        text = ""
        for v in values[1:]:
            text += f"({one_of([o for o in there if value_of(o) == v])}) ? {prefix}{v.upper()} : "
        return f"    a.{field} = {text}{prefix}{values[0].upper()};\n"

    sv += chosen("cls", "CLS_", ("CTRL", "STORE", "REQ", "PART"), lambda o: o["class"])
    for name, values in ATTRIBUTES.items():
        sv += chosen(name, f"{attribute_enum(name).upper()}_", values, lambda o, name=name: attribute(o, name))
    for name in FLAGS:
        sv += f"    a.{name} = {one_of([o for o in there if o.get(name)])};\n"
    return sv + "    return a;\n  endfunction\n\n"


def attribute_array(opcodes):
    """C: the same by the number of the opcode, of every one that a header has room for."""
    c = "".join(c_enum(f"MW_{name.upper()}", values) for name, values in attribute_enums().items())
    c += "/* what is true of every packet of an opcode; of one that there is not, all 0 */\nstruct mw_opcode {\n"
    c += "".join(f"    uint8_t {name};\n" for name in ("cls", *ATTRIBUTES, *FLAGS)) + "};\n"
    c += ("static inline struct mw_opcode mw_opcode_of(unsigned opcode)\n{\n"
          "    static const struct mw_opcode all[64] = {\n")
    by_value = {o["value"]: o for o in opcodes if attribute(o, "sender") != "none"}
    for value in range(64):
        o = by_value.get(value)
        words = [f"MW_CLS_{o['class']}", *(f"MW_{attribute_enum(n)}_{attribute(o, n)}".upper() for n in ATTRIBUTES),
                 *(str(int(o.get(n, False))) for n in FLAGS)] if o else ["0"] * (1 + len(ATTRIBUTES) + len(FLAGS))
        c += f"        {{{', '.join(words)}}},{' /* ' + o['name'] + ' */' if o else ''}\n"
    return c + "    };\n    return all[opcode & 63];\n}\n\n"


def attribute_page(opcodes):
    """The section of packets.md on what is true of every packet of an opcode."""
    there = [o for o in opcodes if attribute(o, "sender") != "none"]
    rows = [(o["name"], attribute(o, "targets"), attribute(o, "extent"), *("yes" if o.get(f) else "no" for f in FLAGS),
             f"{attribute(o, 'sender')} to {attribute(o, 'receiver')}", attribute(o, "needs").replace("_", " "))
            for o in there]
    notes = [("targets", "what names the receivers: port (dst), group (target0 is a static group), experts (a list), "
                         "loads (all that wait for the row)"),
             ("address", "what addr of a packet of class STORE names: memory (a byte of it), row (a byte of a token's "
                         "row; with stage FLAT a byte of memory), event (an event counter), counts (the first of the "
                         "words)"),
             ("payload", "one follows the header"),
             ("ordered", "it takes effect once every earlier store of its source is in memory"),
             ("way", "sender and receiver"),
             ("needs", "the primitives that must be built for it")]
    return ("## Attributes of opcodes\n\n" + md_table(["column", "meaning"], notes)
            + md_table(["opcode", "targets", "address", "payload", "ordered", "way", "needs"], rows))


def packet(out):
    p = load("packet.toml")
    fields = p["header"]["fields"]
    assert sum(f[1] for f in fields) == 128, "the header has 128 bits"
    classes = [(c["name"], c["value"], c["doc"]) for c in p["class"]]
    cls_of = {c["name"]: c["value"] for c in p["class"]}
    ops = [(o["name"], o["value"], o["doc"]) for o in p["opcode"]]
    types = {"opcode": "opcode_e", "cls": "cls_e", "stage": "stage_e", "dtype": "dtype_e", "redop": "redop_e"}

    sv = SV_HEAD.format(src="packet.toml") + "package packet_pkg;\n"
    for n, c in p["constants"].items():
        sv += f"  localparam int unsigned {camel(n)} = {c['value']};  // {c['doc']}\n"
    sv += "\n" + sv_enum("cls", "Cls", 2, classes).replace("Cls_", "CLS_") + sv_enum("opcode", "OP", 6, ops)
    for e in p["enum"]:
        sv += sv_enum(e["name"], e["name"].upper(), e["width"], e["values"])
    sv += "  typedef logic [PortBits-1:0] port_t;  // number of a port\n\n"

    def struct(name, fields, doc=""):
        lines = [(types.get(n, f"logic [{w - 1}:0]" if w > 1 else "logic"), n, d) for n, w, d in reversed(fields)]
        return doc + "  typedef struct packed {\n" + "".join(f"    {t} {n};  // {d}\n"
                                                             for t, n, d in lines) + f"  }} {name};\n\n"

    low = next(i for i in range(len(fields)) if sum(f[1] for f in fields[:i]) == 64)
    sv += struct("header_t", fields)
    sv += struct("header_low_t", fields[:low], "  // its first 8 bytes, the first flit of those with 8\n")
    lane = p["lane"]["fields"]
    lane_bits = sum(f[1] for f in lane)
    assert lane_bits * p["constants"]["LANES"]["value"] <= 64, "lanes fit the upper half of a header"
    sv += struct("lane_t", lane, "  // a row that a READY, a GRANT or an LD names\n")
    sv += f"  localparam int unsigned LaneBits = {lane_bits};\n\n"
    sv += attribute_table(p["opcode"])
    sv += "endpackage\n/* verilator lint_on UNUSEDPARAM */\n`default_nettype wire\n"
    (out / "packet_pkg.sv").write_text(sv)

    c = C_HEAD.format(src="packet.toml") + "#ifndef MW_PACKET_H\n#define MW_PACKET_H\n#include <stdint.h>\n\n"
    for n, k in p["constants"].items():
        c += f"#define MW_{n} {k['value']} /* {k['doc']} */\n"
    c += "\n" + c_enum("MW_CLS", classes) + c_enum("MW_OP", ops) + attribute_array(p["opcode"])
    for e in p["enum"]:
        c += c_enum("MW_" + e["name"].upper(), e["values"])
        if e.get("names"):
            c += (f"/* names by number, each behind a text */\n#define MW_{e['name'].upper()}_NAMES(before) "
                  + ", ".join(f'before "{n.lower()}"' for n, _, _ in e["values"]) + "\n\n")
    c += ("/* a lane of a READY, a GRANT or an LD; lane i lies at bit MW_LANE_BITS * i of the second word of the "
          "header */\n")
    c += f"#define MW_LANE_BITS {lane_bits}\n"
    c += "static inline uint64_t mw_lane_pack(" + ", ".join(f"uint32_t {n}" for n, _, _ in lane) + ")\n{\n    return "
    shifts = [sum(f[1] for f in lane[:i]) for i in range(len(lane))]
    c += " | ".join(f"(uint64_t)({n} & 0x{(1 << w) - 1:x})" + (f" << {s}" if s else "")
                    for (n, w, _), s in zip(lane, shifts)) + ";\n}\n\n"
    c += "struct mw_header {\n"
    for n, w, d in fields:
        ty = "uint64_t" if w > 32 else "uint32_t"
        c += f"    {ty} {n}; /* {w} bits: {d} */\n"
    c += "};\n\n/* header to its 16 wire bytes as two little-endian words, and back */\n"
    pack, unpack, bit = "", "", 0
    for n, w, _ in fields:
        word, sh = divmod(bit, 64)
        assert sh + w <= 64, f"{n} crosses the middle of the header"
        mask = f"UINT64_C(0x{(1 << w) - 1:x})"
        pack += f"    w[{word}] |= ((uint64_t)h->{n} & {mask}) << {sh};\n"
        unpack += f"    h->{n} = ({'uint64_t' if w > 32 else 'uint32_t'})((w[{word}] >> {sh}) & {mask});\n"
        bit += w
    c += ("static inline void mw_header_pack(const struct mw_header *h, uint64_t w[2])\n{\n    w[0] = w[1] = 0;\n"
          + pack + "}\n\n")
    c += "static inline void mw_header_unpack(struct mw_header *h, const uint64_t w[2])\n{\n" + unpack + "}\n\n#endif\n"
    (out / "packet.h").write_text(c)

    md = ("# Packet formats\n\nGenerated from `spec/packet.toml`.\n\n## Classes\n\n"
          + md_table(["class", "value", "meaning"], [(n, v, d) for n, v, d in classes]))
    md += "## Opcodes\n\n" + md_table(["opcode", "value", "class", "meaning"],
                                      [(o["name"], f"0x{o['value']:02x}", o["class"], o["doc"]) for o in p["opcode"]])
    md += attribute_page(p["opcode"])
    bit, rows = 0, []
    for n, w, d in fields:
        rows.append((n, f"{bit + w - 1}:{bit}", d))
        bit += w
    md += "## Header, 128 bits\n\n" + md_table(["field", "bits", "meaning"], rows)
    bit, rows = 0, []
    for n, w, d in lane:
        rows.append((n, f"{bit + w - 1}:{bit}" if w > 1 else str(bit), d))
        bit += w
    md += (f"## Lane of a READY, a GRANT or an LD\n\nLane i lies at bit {lane_bits} i of the header's upper half.\n\n"
           + md_table(["field", "bits", "meaning"], rows))
    for e in p["enum"]:
        md += f"## {e['name']}\n\n" + md_table(["name", "value", "meaning"], e["values"])
    md += "## Constants\n\n" + md_table(["name", "value", "meaning"],
                                        [(n, k["value"], k["doc"]) for n, k in p["constants"].items()])
    md += "## Layout\n\n" + md_text("Header, target list (targets 2 .. cnt, two bytes each, from lane 0 of the next "
                                    "flit, last flit filled with zeros), payload. "
                                   "With 8-byte flits the header is two flits, bits 63:0 first. Byte b of the payload "
                                   "sits at byte lane (addr + b) modulo the flit width.") + "\n"
    (out / "packets.md").write_text(md)


def ptx_page(ptx):
    """The section of isa.md on PTX's multimem. Types and operators of the last column are those of packets."""
    there = {e["name"]: {v[0] for v in e["values"]} for e in load("packet.toml")["enum"]}
    rows = []
    for *row, here in ptx["rows"]:
        for part in here.split("; ") if here != "none" else []:
            names, ops = part.split(": ")
            assert set(names.split(", ")) <= there["dtype"] and set(ops.upper().split(", ")) <= there["redop"], here
        rows.append((" ".join(f"`{t}`" for t in row[0].split(", ")), *row[1:], here))
    head = ["PTX's type", *(f"`{i}`" for i in ("ld_reduce", "red", "red.async", "cp.reduce.async.bulk")),
            "here, `ld_reduce` and `red`"]
    return "## PTX's `multimem`\n\n" + ptx["doc"] + "\n" + md_table(head, rows)


def isa(out):
    p = load("isa.toml")
    ops = [(o["name"], o["value"], o["doc"]) for o in p["instr"]]
    fields = p["word"]["fields"]
    assert sum(f[1] for f in fields) == 128
    sv = SV_HEAD.format(src="isa.toml") + "package isa_pkg;\n"
    for n, c in p["constants"].items():
        sv += f"  localparam int unsigned {camel(n)} = {c['value']};  // {c['doc']}\n"
    sv += "\n" + sv_enum("iop", "I", 8, [(n.upper().replace(".", "_"), v, d) for n, v, d in ops])
    sv += sv_enum("event", "EV", 5, [tuple(e) for e in p["events"]["values"]])
    sv += "  typedef struct packed {\n"
    for n, w, d in reversed(fields):
        t = "iop_e" if n == "op" else f"logic [{w - 1}:0]"
        sv += f"    {t} {n};  // {d}\n"
    sv += "  } instr_t;\n\nendpackage\n/* verilator lint_on UNUSEDPARAM */\n`default_nettype wire\n"
    (out / "isa_pkg.sv").write_text(sv)
    c = C_HEAD.format(src="isa.toml") + "#ifndef MW_ISA_H\n#define MW_ISA_H\n#include <stdint.h>\n\n"
    for n, k in p["constants"].items():
        c += f"#define MW_{n} {k['value']} /* {k['doc']} */\n"
    c += ("\n" + c_enum("MW_I", [(n.upper().replace(".", "_"), v, d) for n, v, d in ops])
          + c_enum("MW_EV", [tuple(e) for e in p["events"]["values"]]))
    c += "/* one instruction, 16 bytes, little-endian in GPU memory */\nstruct mw_instr {\n"
    for n, w, d in fields:
        c += f"    uint8_t {n} : {w}; /* {d} */\n" if w < 8 else f"    uint{w}_t {n}; /* {d} */\n"
    c += ("};\n\n/* X(value, name) of the instructions, and of the event counters */\n"
          + c_list("MW_I_LIST", [(v, n) for n, v, _ in ops])
          + c_list("MW_EV_LIST", [(v, n) for n, v, _ in p["events"]["values"]]) + "\n#endif\n")
    (out / "isa.h").write_text(c)
    md = "# Instruction set of the emulated GPU\n\nGenerated from `spec/isa.toml`.\n\n" + p["doc"] + "\n\n"
    md += "## Word, 16 bytes\n\n" + md_table(["field", "bits", "meaning"], fields)
    md += "## Instructions\n\n" + md_table(["instruction", "op", "operands", "unit", "order", "retires when"],
                                           [(f"`{o['name']}`<br>{o['doc']}", f"0x{o['value']:02x}", o["operands"],
                                             o["unit"], o["order"], o["retires"]) for o in p["instr"]])
    md += "## Event counters\n\n" + md_table(["name", "number", "meaning"], p["events"]["values"])
    md += "## Limits\n\n" + md_table(["name", "value", "meaning"],
                                     [(n, k["value"], k["doc"]) for n, k in p["constants"].items()])
    (out / "isa.md").write_text(md + ptx_page(p["ptx"]))


def errors(out):
    p = load("errors.toml")
    hw = [(e["name"], e["value"], e["text"]) for e in p["hardware"]]
    sw = [(e["name"], e["value"], e["text"]) for e in p["library"]]
    sv = (SV_HEAD.format(src="errors.toml") + "package error_pkg;\n" + sv_enum("err", "ERR", 8, hw)
          + "endpackage\n/* verilator lint_on UNUSEDPARAM */\n`default_nettype wire\n")
    (out / "error_pkg.sv").write_text(sv)
    c = (C_HEAD.format(src="errors.toml") + "#ifndef MW_ERRORS_H\n#define MW_ERRORS_H\n\n/* codes that the hardware "
         "records */\n" + c_enum("MW_HWERR", hw))
    c += "/* codes that libmoeswitch returns */\n" + c_enum("MW_ERR", [(n, v, d) for n, v, d in sw])
    c += ("/* X(name, value, text) over both sets */\n" + c_list("MW_HWERR_LIST", hw) + c_list("MW_ERR_LIST", sw)
          + "\n#endif\n")
    (out / "errors.h").write_text(c)
    md = "# Error codes\n\nGenerated from `spec/errors.toml`.\n\n## Recorded by the hardware\n\n" + md_table(
        ["name", "code", "meaning"], hw) + "## Returned by libmoeswitch\n\n" + md_table(["name", "code", "meaning"], sw)
    (out / "errors.md").write_text(md)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    packet(out)
    isa(out)
    errors(out)


if __name__ == "__main__":
    main()
