# SPDX-License-Identifier: Apache-2.0
"""Generates the SystemVerilog package, the C header and the page of docs of the host protocol, host.toml.

usage: gen_host.py OUTDIR    writes host_pkg.sv, host.h, host-protocol.md
"""
import pathlib
import sys

from gen import C_HEAD, SV_HEAD, c_enum, camel, load, md_table, sv_enum

# SystemVerilog reserves these names
SV_NAMES = {"type": "kind", "sequence": "number"}
SIZES = {"uint16_t": 2, "uint32_t": 4, "uint64_t": 8, "char[32]": 32}
RECORDS = ("info", "selftest", "fed", "log", "image")
ENUMS = (("type", "MW_FRAME"), ("status", "MW_STATUS"), ("feature", "MW_FEATURE"), ("test", "MW_TEST"),
         ("outcome", "MW_FED"), ("log_code", "MW_LOG"))


def head(text):
    return text.format(src="host.toml").replace("gen.py", "gen_host.py")


def number(value):
    return hex(value) if value > 0xFFFFF or value in (0x574D, 0x1209, 0x81, 0xFF, 0x4D) else str(value)


def record_rows(p, name):
    """Fields of a record with their offsets; its size is checked, and that no field is off its alignment."""
    rows, at = [], 0
    for field, kind, doc in p[name]["fields"]:
        size = SIZES[kind]
        assert at % min(size, 8) == 0, f"{name}.{field} is not aligned"
        rows.append((field, at, kind, doc))
        at += size
    assert at <= p[name]["bytes"], f"{name} is longer than it says"
    return rows, p[name]["bytes"] - at


def package(p):
    sv = head(SV_HEAD) + "package host_pkg;\n"
    for n, c in p["constants"].items():
        bits = n.startswith("CRC_")
        kind = "logic [31:0]" if bits else "int unsigned"
        value = f"32'h{c['value']:x}" if bits else c["value"]
        sv += f"  localparam {kind} {camel(n)} = {value};  // {c['doc']}\n"
    sv += "\n" + sv_enum("frame", "FRAME", 8, [(t["name"], t["value"], "") for t in p["type"]])
    sv += sv_enum("status", "STATUS", 8, [(s["name"], s["value"], "") for s in p["status"]])
    sv += "  localparam logic [7:0] FrameReply = 8'h80;  // set in the type of a reply\n\n"
    sv += "  typedef struct packed {\n"
    for n, w, d in reversed(p["header"]["fields"]):
        sv += f"    logic [{w - 1}:0] {SV_NAMES.get(n, n)};  // {d}\n"
    return sv + "  } frame_header_t;\n\nendpackage\n/* verilator lint_on UNUSEDPARAM */\n`default_nettype wire\n"


def header(p):
    c = head(C_HEAD) + "#ifndef MW_HOST_H\n#define MW_HOST_H\n#include <stdint.h>\n\n"
    for n, k in p["constants"].items():
        c += f"#define MW_HOST_{n} {number(k['value'])}{'u' if n.startswith('CRC_') else ''} /* {k['doc']} */\n"
    c += "#define MW_FRAME_REPLY 0x80 /* set in the type of a reply */\n\n"
    for key, prefix in ENUMS:
        c += c_enum(prefix, [(e["name"], e["value"], e["doc"]) for e in p[key]])
    c += "/* X(name, value, text) over them */\n"
    for key, prefix in ENUMS:
        c += f"#define {prefix}_LIST(X) \\\n" + " \\\n".join(f'    X({e["name"]}, {e["value"]}, "{e["doc"]}")'
                                                             for e in p[key]) + "\n"
    c += "\n/* header of a frame, as it is on the wire of a little-endian machine */\nstruct mw_frame_header {\n"
    for n, w, d in p["header"]["fields"]:
        c += f"    uint{w}_t {n}; /* {d} */\n"
    c += ("};\n\nstruct mw_frame_trailer {\n    uint32_t status;\n    uint32_t crc; /* CRC-32 of payload and status "
          "*/\n};\n\n")
    c += "struct mw_frame_register {\n    uint32_t address;\n    uint32_t value;\n};\n\n"
    for name in RECORDS:
        rows, rest = record_rows(p, name)
        c += f"struct mw_frame_{name} {{\n"
        for field, _, kind, doc in rows:
            c += f"    {kind.split('[')[0]} {field}{'[32]' if '[' in kind else ''}; /* {doc} */\n"
        c += f"    uint8_t rsvd[{rest}]; /* zero */\n" if rest else ""
        c += "};\n\n"
    return c + "#endif\n"


def record_table(p, name):
    fields, rest = record_rows(p, name)
    return md_table(["field", "byte", "type", "meaning"], [(f, at, kind, d) for f, at, kind, d in fields]
                    + ([("", p[name]["bytes"] - rest, f"{rest} bytes", "zero")] if rest else []))


def page(p):
    bit, rows = 0, []
    for n, w, d in p["header"]["fields"]:
        rows.append((n, f"{bit // 8}", f"{w // 8}", d))
        bit += w
    md = "# Host protocol\n\nGenerated from `spec/host.toml`.\n" + "".join(s["text"] for s in p["section"]
                                                                           if s["at"] == "top") + "\n"
    md += "## Header\n\n" + md_table(["field", "byte", "bytes", "meaning"], rows)
    md += ("## Types\n\n`by` says who carries a request out: the link's hardware, DMA without the processor, or "
           "firmware.\n\n")
    md += md_table(["type", "value", "since", "by", "meaning", "request", "reply"],
                   [(t["name"], f"0x{t['value']:02x}", f"1.{t.get('minor', 0)}", t["by"], t["doc"], t["request"],
                     t["reply"]) for t in p["type"]])
    md += "## Status\n\n" + md_table(["name", "value", "meaning"],
                                     [(s["name"], s["value"], s["doc"]) for s in p["status"]])
    for name, title, enum, what in (("info", "INFO", "feature", "feature"), ("selftest", "SELFTEST", "test", "test"),
                                    ("fed", "FED", "outcome", "outcome"), ("log", "LOG", "log_code", "code")):
        md += f"## {title} record, {p[name]['bytes']} bytes\n\n" + record_table(p, name)
        md += md_table([what, "number", "meaning"], [(e["name"], e["value"], e["doc"]) for e in p[enum]])
    md += f"## Image of a firmware\n{p['image']['doc']}\n" + record_table(p, "image")
    md += "## Constants\n\n" + md_table(["name", "value", "meaning"],
                                        [(n, number(k["value"]), k["doc"]) for n, k in p["constants"].items()])
    return md


def check(p):
    """What the tables say twice must agree."""
    c = {n: k["value"] for n, k in p["constants"].items()}
    assert sum(f[1] for f in p["header"]["fields"]) == 8 * c["HEADER_BYTES"], "header length"
    assert c["SYNC_GAP"] == c["MAX_PAYLOAD"] + c["HEADER_BYTES"] + c["TRAILER_BYTES"], "SYNC_GAP"
    # a frame in part received swallows all but HEADER_BYTES of the gap; the zeros are counted in words where bytes
    # begin in the middle of one
    assert (c["MAX_PAYLOAD"] <= c["SYNC_ZEROS"] <= c["SYNC_GAP"] - c["HEADER_BYTES"]
            and c["SYNC_ZEROS"] & (c["SYNC_ZEROS"] - 1) == 0), "SYNC_ZEROS"
    assert all(p[name]["bytes"] % 8 == 0 and p[name]["bytes"] <= c["MAX_COMMAND"]
               for name in RECORDS), "records are whole words"
    for key, _ in ENUMS:
        values = [e["value"] for e in p[key]]
        assert len(set(values)) == len(values), f"{key}: a value twice"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    p = load("host.toml")
    check(p)
    (out / "host_pkg.sv").write_text(package(p))
    (out / "host.h").write_text(header(p))
    (out / "host-protocol.md").write_text(page(p))


if __name__ == "__main__":
    main()
