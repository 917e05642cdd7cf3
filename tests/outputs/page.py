#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the page of `moeswitch run --html` against the JSON of the same run.

usage: page.py BUILD    exit status 1, with a line, when something is wrong

The page is well-formed XML and HTML whose elements close in their order, asks for no other file, and says all of each
chart to whoever does not see it. Each figure of its tables names its place in the JSON (`data-json`, a JSON Pointer):
it must be that figure, rounded as its text says, and each figure of the JSON must be on the page. Text from outside
(trace, model, file names) is text on the page, whatever characters it has.
"""
import html.parser
import json
import re
import struct
import sys
import xml.etree.ElementTree as ET

from command import check_refused, fail, run, scratch_folder

GROUP, MINUS = "\u202f", "\u2212"
VOID = {"meta", "br"}
# of rows and panels, and where bins begin: no figures of their own
NAMES = re.compile(r"/tool|/workload/\d+/layer|/systems/\d+/(system|ports/\d+/port|layers/\d+/"
                   r"(layer|(latency|series/ports)/\d+/port|phases/\d+/phase|latency/\d+/bins/\d+/0))")
SMALL = "--gpus 4 --flit-bytes 8 --hidden 64 --experts 8 --k 3 --tokens-per-gpu 16 --tile 2 "
NASTY = "<script>&amp;\"'é€"  # a folder's name
MODEL = "</title><b>M&M</b>\u0001\u0085\ufffe\"'\U0001f600"  # of meta.json; JSON takes all of it


class Nesting(html.parser.HTMLParser):
    """Elements close in their order, and nothing is fetched."""

    def __init__(self):
        super().__init__()
        self.open, self.seen = [], set()

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open.append(tag)
        self.look(tag, attrs)

    def handle_startendtag(self, tag, attrs):
        self.look(tag, attrs)

    def look(self, tag, attrs):
        self.seen.add(tag)
        for name, value in attrs:
            if name in ("src", "href", "srcset", "action", "data", "xlink:href", "style") or name.startswith("on"):
                fail(f"<{tag}> has {name}={value}")

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            fail(f"</{tag}> closes another element")


def resolve(root, pointer):
    at = root
    for part in pointer.split("/")[1:]:
        at = at[int(part)] if isinstance(at, list) else at[part]
    return at


def number(text):
    return float(text.replace(GROUP, "").replace(MINUS, "-").removesuffix(" %"))


def check_cell(cell, want):
    text = "".join(cell.itertext())
    where = f"{cell.get('data-json')}: the page has {text!r}, the JSON {want!r}"
    if isinstance(want, bool):
        return text == str(want).lower() or fail(where)
    if isinstance(want, str):
        return text == as_text(want) or fail(where)
    exact = cell.get("data-value")
    if exact is None:
        return re.fullmatch(rf"\d{{1,3}}({GROUP}\d{{3}})*", text) and number(text) == want or fail(where)
    shown = want * 100 if text.endswith(" %") else want
    decimals = len(text.removesuffix(" %").partition(".")[2])
    return float(exact) == want and abs(number(text) - shown) <= 0.5000001 * 10 ** -decimals or fail(where)


def as_text(text):
    """What a page can hold of a text from outside: no control characters, no characters that are none."""
    return re.sub("[\0-\x1f\x7f-\x9f\u2028\u2029\ufdd0-\ufdef\ufffe\uffff]", "\ufffd", text)


def leaves(value, pointer=""):
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, f"{pointer}/{key}")
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from leaves(item, f"{pointer}/{i}")
    else:
        yield pointer


def check_figures(page, root):
    seen = set()
    for element in page.iter():
        pointer = element.get("data-json")
        if pointer is None:
            continue
        want = resolve(root, pointer)
        if element.tag == "tr":
            cells = [number("".join(td.itertext())) for td in element.iter("td")]
            if cells != want:
                fail(f"{pointer}: the page has {cells[:9]}..., the JSON {want[:9]}...")
            seen |= {f"{pointer}/{i}" for i in range(len(want))}
        else:
            check_cell(element, want)
            seen.add(pointer)
    missing = [p for p in leaves(root) if p not in seen and not NAMES.fullmatch(p) and resolve(root, p) is not None]
    if missing:
        fail(f"{len(missing)} figures of the JSON are not on the page, {missing[0]} first")
    return len(seen)


def check_columns(page, root):
    """What the charts say of each class on each port: flits and bytes of the JSON."""
    words = {"control": "ctrl", "stores": "store", "reduction requests": "request",
             "partial sums and results": "partial"}
    column = re.compile(r"port (\d+) (up|down), ([a-z ]+): (\d+) flits, (\d+) bytes")
    found = [column.fullmatch(t.text) for t in page.iter("title")]
    found = [[m[1], m[2], words[m[3]], m[4], m[5]] for m in found if m]
    wanted = [[str(p["port"]), d, c, str(p[d][c]), str(p[d][c] * root["params"]["flit_bytes"])]
              for s in root["systems"] for p in s["ports"] for d in ("up", "down") for c in words.values() if p[d][c]]
    if sorted(found) != sorted(wanted):
        fail("the columns of the ports do not say what the JSON does")


def check_bars(page, root):
    """Bars are as long as their cycles, with the bounds where they are."""
    most = max(max(s["cycles"], s["own_bound_cycles"], s["strict_bound_cycles"],
                   sum(layer["limit"]["cycles"] for layer in s["layers"])) for s in root["systems"])
    bars = [e for e in page.iter("div") if e.get("class") == "bar"][:-1]
    if len(bars) != len(root["systems"]):
        fail("not a bar for each system")
    for bar, s in zip(bars, root["systems"]):
        rect, lines = next(bar.iter("rect")), {e.get("class"): float(e.get("x1")[:-1]) for e in bar.iter("line")}
        for got, want in ((float(rect.get("width")[:-1]), s["cycles"]), (lines["strict"], s["strict_bound_cycles"]),
                          (lines["own"], s["own_bound_cycles"])):
            if abs(got - 100 * want / most) > 0.001:
                fail(f"{s['system']}: {got} % of the chart are not {want} of {most} cycles")


def check_access(page):
    ids = [e.get("id") for e in page.iter() if e.get("id")]
    if len(ids) != len(set(ids)):
        fail("an id is there twice")
    for section in page.iter("section"):
        if section.get("aria-labelledby") not in ids:
            fail("a section without a title")
    inner = {s for svg in page.iter("svg") for s in svg.iter("svg") if s is not svg}
    for svg in page.iter("svg"):
        named = svg.get("aria-hidden") == "true" or svg.get("role") == "img" and svg.get("aria-label")
        if svg not in inner and not named:
            fail("a chart that says nothing to whoever does not see it")
    for table in page.iter("table"):
        heads = len(list(table.find("thead/tr")))
        caption = table.findtext("caption")
        if not caption or any(sum(int(c.get("colspan", 1)) for c in row) != heads for row in table.find("tbody")):
            fail(f"a table without a caption, or with rows unlike its head: {caption}")


def check_page(path, root):
    text = path.read_text(encoding="utf-8")
    if re.search(r"https?:|<script|@import|url\(|\bnan\b|\binf\b", text):
        fail(f"{path}: asks for something, or has a figure that is none")
    nesting = Nesting()
    nesting.feed(text)
    nesting.close()
    if nesting.open or not nesting.seen >= {"svg", "table", "details", "style"}:
        fail(f"{path}: not closed: {nesting.open}")
    page = ET.fromstring(text)
    figures = check_figures(page, root)
    check_columns(page, root)
    check_bars(page, root)
    check_access(page)
    check_colours(page)
    return page, figures


def check_colours(page):
    """Each system and each class of packets has a colour, on light screens and on dark ones."""
    style = page.find("head/style").text
    for name in sorted({c for e in page.iter() for c in e.get("class", "").split() if re.fullmatch(r"[skc]\d+", c)}):
        colour = f"--{name.replace('k', 's')}"
        if f".{name} {{" not in style or style.count(f"{colour}: #") != 2 or f"var({colour})" not in style:
            fail(f"the style has no colour for class {name}")


def check_run(build, scratch, words):
    page, data = scratch / "run.html", scratch / "run.json"
    run(build, [*words, "--html", page, "--json", data])
    return check_page(page, json.loads(data.read_text()))


def write_npy(path, kind, shape, values):
    head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"
    head += " " * ((64 - (len(head) + 11) % 64) % 64) + "\n"
    body = struct.pack(f"<{len(values)}{'i' if kind == '<i4' else 'f'}", *values)
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + body)


def make_trace(folder):
    folder.mkdir()
    tokens, k, experts = 64, 2, 8
    ids = [(3 * t + 5 * i) % experts for t in range(tokens) for i in range(k)]
    write_npy(folder / "topk_ids.npy", "<i4", (1, tokens, k), ids)
    (folder / "meta.json").write_text(json.dumps({"model": MODEL, "experts": experts, "axes": "layers,tokens,k"}))


def check_nasty(build, scratch):
    folder = scratch / NASTY
    make_trace(folder)
    words = "--gpus 4 --flit-bytes 8 --hidden 32 --tokens-per-gpu 8 --tile 2 --system moeswitch --trace".split()
    page, _ = check_run(build, scratch, [*words, folder])
    if page.findtext("head/title") != f"moeswitch run: {folder}" or as_text(MODEL) not in page.findtext(".//h1"):
        fail("the page does not name trace and model as they are")
    if "without gate weights, each taken as 1/k" not in page.findtext(".//h1/span"):
        fail("the page does not say that the trace has no weights")
    strange = scratch / "a\udc80\udcffb"  # bytes that are no UTF-8
    make_trace(strange)
    run(build, [*words, strange, "--html", scratch / "strange.html"])
    if ET.parse(scratch / "strange.html").find("head/title").text != f"moeswitch run: {scratch}/a\ufffd\ufffdb":
        fail("bytes that are no text")


def check_small(build, scratch):
    """A device whose ports record nothing has a page all the same, without the charts of that."""
    words = "--set small=1 --gpus 4 --flit-bytes 8 --hidden 32 --experts 8 --k 2 --tokens-per-gpu 4 --tile 1"
    page, _ = check_run(build, scratch, words.split())
    links = "".join(page.find(".//section[@aria-labelledby='links']").itertext())
    if page.find(".//*[@id='latency']") is not None or "record nothing" not in links:
        fail("a page of what the device did not record")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    build = sys.argv[1]
    scratch = scratch_folder(build, "page")
    for words in (SMALL + "--layers 0,1 --interval 97 --model deepseek-v2-lite",
                  SMALL + "--batches 2 --system moeswitch --set store_credits=6",
                  "--gpus 2 --flit-bytes 8 --hidden 4 --experts 2 --k 1 --tokens-per-gpu 1 --expert-cycles 0"):
        print(f"{words}: {check_run(build, scratch, words.split())[1]} figures")
    check_nasty(build, scratch)
    check_small(build, scratch)
    check_refused(build, scratch, "--html")


if __name__ == "__main__":
    main()
