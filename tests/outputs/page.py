#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the page of `moeswitch run --html` in a browser against the JSON of the same run.

usage: page.py BUILD    exit status 1, with a line, when something is wrong

The page has the JSON of the run, whatever characters its texts have, loads no other file and writes no error to the
console. Each figure of its tables names its place in the JSON (`data-json`, a JSON Pointer): it must be that figure,
rounded as its text says, and each figure of the JSON must be on the page. Charts have as many elements as the run has
systems, ports and classes, and their sizes are the figures'. The page fits wide and narrow windows, works by the
keyboard, follows light and dark, and prints light.
"""
import copy
import json
import re
import struct
import sys

from browser import Browser
from command import check_refused, fail, run, scratch_folder
from page_checks import check_access, check_charts, check_figures, check_look, check_widths

SMALL = "--gpus 4 --flit-bytes 8 --hidden 64 --experts 8 --k 3 --tokens-per-gpu 16 --tile 2 "
NASTY = "<script>&amp;\"'é€"  # a folder's name
MODEL = "</script><!--<b>M&M</b>\u0001\u0085\u2028\ufffe\"'\\\U0001f600\U0001fffe"  # of meta.json; JSON takes all of it
MOST_BYTES, MOST_ELEMENTS = 3_000_000, 25_000  # of 32 GPUs and eight systems
DATA = re.compile(r'(<script type="application/json" id="data">\n)(.*?)(</script>)', re.S)


def as_text(text):
    """What the page shows of a text from outside: no control characters, no characters that are none."""
    return re.sub("[\0-\x1f\x7f-\x9f\u2028\u2029\ufdd0-\ufdef\ufffe\uffff\U0001fffe]", "\ufffd", text)


def check_embedded(path, root):
    """The JSON on the page is the run's, and none of its characters can end its element."""
    text = path.read_text(encoding="utf-8")
    inside = DATA.search(text)[2]
    if json.loads(inside) != root or re.search("[<\u2028\u2029\n]", inside):
        fail(f"{path}: the page has another JSON than --json")
    if re.search(r"https?:(?!//www.w3.org/2000/svg)|@import|url\(", text):
        fail(f"{path}: names another file")
    return len(text.encode())


def check_page(browser, path, root):
    size = check_embedded(path, root)
    browser.size(1280)
    browser.load(path)
    check_charts(browser, root)
    check_look(browser, root)
    figures = check_figures(browser, root)
    check_access(browser, root)
    check_widths(browser)
    browser.check_quiet()
    return f"{figures} figures, {size} bytes"


def check_run(browser, build, scratch, words):
    page, data = scratch / "run.html", scratch / "run.json"
    run(build, [*words, "--html", page, "--json", data])
    root = json.loads(data.read_text())
    return root, check_page(browser, page, root)


def show(browser, scratch, root, name="made.html"):
    """The last run's page with other data."""
    text, path = (scratch / "run.html").read_text(), scratch / name
    path.write_text(DATA.sub(lambda m: m[1] + json.dumps(root).replace("<", "\\u003c") + m[3], text))
    return path


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


def check_nasty(browser, build, scratch):
    folder = scratch / NASTY
    make_trace(folder)
    words = "--gpus 4 --flit-bytes 8 --hidden 32 --tokens-per-gpu 8 --tile 2 --system moeswitch --trace".split()
    check_run(browser, build, scratch, [*words, folder])
    title, model, kind = browser.evaluate("[document.title, document.querySelector('h1').firstChild.data, "
                                          "document.querySelector('h1 span').textContent]")
    if title != f"moeswitch run: {folder}" or model != as_text(MODEL):
        fail(f"the page does not name trace and model as they are: {title!r}, {model!r}")
    if "without gate weights, each taken as 1/k" not in kind:
        fail("the page does not say that the trace has no weights")
    strange = scratch / "a\udc80\udcffb"  # bytes that are no UTF-8
    make_trace(strange)
    run(build, [*words, strange, "--html", scratch / "strange.html"])
    browser.load(scratch / "strange.html")
    if browser.evaluate("document.title") != f"moeswitch run: {scratch}/a\ufffd\ufffdb":
        fail("bytes that are no text")


def check_small(browser, build, scratch):
    """A device whose ports record nothing has a page all the same, without the charts of that."""
    words = "--set small=1 --gpus 4 --flit-bytes 8 --hidden 32 --experts 8 --k 2 --tokens-per-gpu 4 --tile 1"
    check_run(browser, build, scratch, words.split())
    links, hidden = browser.evaluate("[document.getElementById('links').textContent, "
                                     "document.getElementById('latency').hidden]")
    if not hidden or "record nothing" not in links:
        fail("a page of what the device did not record")


def check_wrong(browser, scratch, root):
    """A result that is wrong shows at the top of the page, with where it begins; one that is right says so."""
    verdict = "[document.getElementById('verdict').className, document.getElementById('verdict').textContent]"
    right = browser.evaluate(verdict)
    if right[0] != "verdict good" or not right[1].startswith("Every bit"):
        fail(f"a right run: {right}")
    bad = copy.deepcopy(root)
    bad["systems"][-1] |= {"wrong": 1234, "flit_errors": 2, "below_bound": 1}
    apart = {"device_cycles": 9000, "layer_cycles": 7000, "idle_cycles": 1500, "tokens_per_s": 1e6}
    bad["systems"][0]["feeding"] = {"clock_hz": 60000000, "apart": apart, "fed": apart, "wrong": 3}
    where = {"token": 5, "element": 9, "expected": 16256, "got": 16257}
    bad["systems"][-1]["layers"][-1] |= {"wrong": 1234, "first_wrong": where}
    path = show(browser, scratch, bad)
    check_page(browser, path, bad)
    wrong = browser.evaluate(verdict)
    if wrong[0] != "verdict bad" or not wrong[1].startswith(
            "Wrong: 1\u202f237 elements of the output differ from the golden model, 2 counters from the analytic list, "
            "1 layers"):
        fail(f"a wrong run: {wrong}")
    first = browser.evaluate("[...document.querySelectorAll('#errors [data-json*=first_wrong]')].map((e) => "
                             "e.textContent)")
    if first != ["5", "9", "16\u202f256", "16\u202f257"]:
        fail(f"the first wrong element: {first}")


def stretch(items, count):
    return [copy.deepcopy(items[i % len(items)]) for i in range(count)]


def check_large(browser, scratch, root):
    """32 GPUs, eight systems, 240 samples of each port, made of a small run's figures."""
    gpus, count, large = 32, 240, copy.deepcopy(root)
    large["params"]["gpus"] = gpus
    for layer in large["workload"]:
        for key in "expert_rows", "hub_additions":
            layer[key] = stretch(layer[key], gpus)
    for system in large["systems"]:
        system["ports"] = [port | {"port": p} for p, port in enumerate(stretch(system["ports"], gpus))]
        for layer in system["layers"]:
            layer["latency"] = [port | {"port": p} for p, port in enumerate(stretch(layer["latency"], gpus))]
            series = layer["series"]
            series["interval"], series["samples"] = -(-layer["cycles"] // count), count
            series["ports"] = [{key: stretch(value, count) for key, value in port.items() if key != "port"}
                               | {"port": p}
                               for p, port in enumerate(stretch(series["ports"], gpus))]
    path = show(browser, scratch, large, "large.html")
    text = path.read_text().replace(", ", ",").replace(": ", ":")  # as the tool writes it
    browser.size(1280)
    browser.load(path)
    check_charts(browser, large)
    elements = browser.evaluate("document.querySelectorAll('*').length")
    if len(large["systems"]) != 8 or len(text.encode()) > MOST_BYTES or elements > MOST_ELEMENTS:
        fail(f"32 GPUs: {len(text.encode())} bytes, {elements} elements")
    print(f"32 GPUs, {len(large['systems'])} systems: {len(text.encode())} bytes, {elements} elements before "
          "tables open")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    build = sys.argv[1]
    scratch = scratch_folder(build, "page")
    with Browser() as browser:
        for words in (SMALL + "--layers 0,1 --interval 97 --model deepseek-v2-lite",
                      SMALL + "--batches 2 --system moeswitch --set store_credits=6 --seed 18446744073709551615",
                      SMALL + "--pass step --layers 0,1 --system unicast,moeswitch",
                      SMALL + "--pass recompute --layers 0,1 --system dysharp,nvls",
                      SMALL + "--pass backward --system overlap,moe-hub --no-gate-gradients",
                      SMALL + "--hardware hgx-h100 --link-latency 3 --system unicast,dysharp",
                      SMALL + "--hardware hgx-h100 --link-latency 3 --system unicast,nvls --planes all",
                      "--workload sublayer --gpus 4 --flit-bytes 8 --rows 36 --hidden 64 --tile 3 --jitter 30",
                      "--workload gemm-rs --gpus 4 --flit-bytes 8 --rows 12 --hidden 64 --system chain",
                      "--gpus 2 --flit-bytes 8 --hidden 4 --experts 2 --k 1 --tokens-per-gpu 1 --expert-cycles 0"):
            print(f"{words}: {check_run(browser, build, scratch, words.split())[1]}")
        check_nasty(browser, build, scratch)
        check_small(browser, build, scratch)
        root, _ = check_run(browser, build, scratch, (SMALL + "--layers 1").split())
        check_wrong(browser, scratch, root)
        check_large(browser, scratch, root)
    check_refused(build, scratch, "--html")


if __name__ == "__main__":
    main()
